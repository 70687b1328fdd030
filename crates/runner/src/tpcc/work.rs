//! What is done with the tables on a server: they are checked, and restored when they have grown.

use ciphertax_model::tpcc::COLUMNS;
use ciphertax_workload::dataset::Contents;
use ciphertax_workload::dataset::tpcc::{self, ConditionResult, TableNames, TpccSet, When, same_contents};
use ciphertax_workload::sql::SqlSession;

use super::tables::Tables;
use crate::database::{Clients, Control, Database};
use crate::error::{Result, RunError};
use crate::server::GroupServer;

/// Checks every set for what must be true of it, and that the sets which must hold the same do.
pub(crate) fn examine<D: Clients<Session: SqlSession>>(
    control: &mut Control<D>,
    contents: &Contents,
    when: &[When],
    alike: &[Vec<TableNames>],
) -> Result<Vec<Vec<ConditionResult>>> {
    let Some(tpcc) = &contents.tpcc else {
        return Ok(Vec::new());
    };
    control.ask_dataset(contents.patience(), async |session| {
        let mut held = Vec::with_capacity(tpcc.sets.len());
        for (set, when) in tpcc.sets.iter().zip(when) {
            let encrypted = encrypted(set);
            held.push(tpcc::check(session, set.names, &tpcc.tables, *when, &encrypted).await?);
        }
        for names in alike {
            let sets = tpcc.sets.iter().filter(|set| names.contains(&set.names));
            let encrypted: Vec<_> = sets.flat_map(encrypted).collect();
            same_contents(session, names, &encrypted).await?;
        }
        Ok(held)
    })
}

/// Makes all sets anew.
pub(crate) fn restore<D: Clients<Session: SqlSession>>(
    control: &mut Control<D>,
    contents: &Contents,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let Some(tables) = &contents.tpcc else {
        return Ok(());
    };
    let mut opened = Vec::new();
    let restore =
        tpcc::restore::<D::Session>(&control.reactor, &control.ways[0], tables, &mut opened, progress);
    let restored = control.wait_for(contents.patience(), restore);
    if !matches!(restored, Ok(Ok(()))) {
        control.given_up = opened;
    }
    restored?.map_err(|error| control.of_dataset(error))
}

/// The columns of a set that hold cells.
fn encrypted(set: &TpccSet) -> Vec<(&'static str, &'static str)> {
    let stored = set.stored.iter();
    let columns = stored.flat_map(|stored| COLUMNS.iter().filter(|column| column.is_in(&stored.columns)));
    columns.map(|column| (column.table, column.column)).collect()
}

impl Tables {
    /// Checks tables that were just loaded. Those of a run that was killed, on a server of the user's own, are loaded anew.
    pub(crate) fn begin<D: Database>(
        &self,
        server: &mut GroupServer<D>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let when: Vec<When> = self.when().iter().map(|_| When::AfterLoad).collect();
        let examine = |control: &mut _| D::examine_tables(control, &self.contents, &when, &[]);
        let is_private = server.is_private();
        let control = &mut server.control;
        match examine(control) {
            Err(RunError::Inconsistent(_)) if !is_private => {
                let of = self.contents.rows();
                D::restore_tables(control, &self.contents, &mut |rows| progress(rows, of))?;
                examine(control).map(drop)
            }
            examined => examined.map(drop),
        }
    }

    /// Checks them after what was asked.
    pub(crate) fn check<D: Database>(&mut self, server: &mut GroupServer<D>) -> Result<()> {
        let alike = self.alike();
        let held = D::examine_tables(&mut server.control, &self.contents, &self.when(), &alike)?;
        self.held(held, &alike);
        Ok(())
    }

    /// Checks and restores them.
    pub(crate) fn restore<D: Database>(
        &mut self,
        server: &mut GroupServer<D>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        self.check(server)?;
        let of = self.contents.rows();
        progress(0, of);
        D::restore_tables(&mut server.control, &self.contents, &mut |rows| {
            progress(rows, of)
        })?;
        self.restored();
        Ok(())
    }
}
