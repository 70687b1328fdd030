//! The data set on servers that speak SQL.

use std::rc::Rc;

use ciphertax_columns::MasterKey;
use ciphertax_engine::Part;
use ciphertax_lab::{PrivateServer, ProvedAtRest};
use ciphertax_model::{Arm, ColumnFunctions};
use ciphertax_reactor::Reactor;
use ciphertax_workload::Access;
use ciphertax_workload::dataset::tpcc::{ConditionResult, TableNames, When};
use ciphertax_workload::dataset::{self, Contents, DatasetError};
use ciphertax_workload::sql::{Columns, SqlSession};

use super::clients::Relational;
use super::control::Control;
use super::{Database, REMOVAL, Tables};
use crate::error::Result;
use crate::timeout::wait_for;
use crate::{columns, stored_cells, tpcc};

impl<D: Database<Model = Relational, Session: SqlSession>> Tables for D {
    fn load(
        &mut self,
        control: &mut Control<Self>,
        contents: &Contents,
        progress: &mut dyn FnMut(u64),
    ) -> Result<bool> {
        progress(0);
        remove_other(self, control, contents)?;
        let (reactor, way) = (&control.reactor, &control.ways[0]);
        let mut opened = Vec::new();
        let prepare = dataset::prepare_contents::<D::Session>(reactor, way, contents, &mut opened, progress);
        let prepared = control.wait_for(contents.patience(), prepare);
        if !matches!(prepared, Ok(Ok(()))) {
            control.given_up = opened;
        }
        match prepared? {
            Ok(()) => Ok(true),
            Err(DatasetError::Wire(error)) if error.is_missing_right() => {
                Err(self.of_missing_right(control, error))
            }
            Err(error) => Err(control.of_dataset(error)),
        }
    }

    fn begin_load(&mut self, control: &mut Control<Self>, contents: &Contents) -> Result<bool> {
        remove_other(self, control, contents)?;
        let begun = dataset::begin::<D::Session>(&control.reactor, &control.ways[0], contents);
        Ok(control.wait_for(contents.patience(), begun)?.unwrap_or(false))
    }

    fn load_part(
        reactor: &Rc<Reactor>,
        access: &Self::Access,
        contents: &Contents,
        part: Part,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let loading = dataset::load_part::<D::Session>(reactor, access.options(), contents, part, progress);
        Ok(wait_for(reactor, "the server", contents.patience(), loading)??)
    }

    fn examine_tables(
        control: &mut Control<Self>,
        contents: &Contents,
        when: &[When],
        alike: &[Vec<TableNames>],
    ) -> Result<Vec<Vec<ConditionResult>>> {
        tpcc::examine(control, contents, when, alike)
    }

    fn restore_tables(
        control: &mut Control<Self>,
        contents: &Contents,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        tpcc::restore(control, contents, progress)
    }

    fn remove(&self, control: &Control<Self>) -> Result<bool> {
        self.remove_by(control, REMOVAL, async |session| dataset::remove(session).await)
    }

    fn prove_columns(
        control: &Control<Self>,
        columns: Option<&Columns>,
        functions: Option<ColumnFunctions>,
        server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>> {
        columns::prove(control, columns, functions, server)
    }

    fn prove_cells(
        &self,
        control: &Control<Self>,
        arm: &Arm,
        key: Option<&MasterKey>,
        server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>> {
        match &D::CELLS_PROOF {
            Some(proof) => stored_cells::prove(control, arm, key, server, proof),
            None => Ok(None),
        }
    }
}

/// Removes what is there of another data set than this, where the statements that make one would not.
fn remove_other<D>(database: &D, control: &Control<D>, contents: &Contents) -> Result<()>
where
    D: Database<Session: SqlSession>,
{
    if D::REMOVES_OTHER_FIRST {
        database.remove_by(control, contents.patience(), async |session| {
            dataset::remove_other(session, contents).await
        })?;
    }
    Ok(())
}
