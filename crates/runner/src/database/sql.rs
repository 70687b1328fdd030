//! The data set on servers that speak SQL.

use std::rc::Rc;

use ciphertax_columns::MasterKey;
use ciphertax_engine::Part;
use ciphertax_lab::{PrivateServer, ProvedAtRest};
use ciphertax_model::{Arm, ColumnFunctions, Study};
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_workload::Access;
use ciphertax_workload::dataset::tpcc::ConditionResult;
use ciphertax_workload::dataset::{self, CellsProof, Contents, DatasetError};
use ciphertax_workload::sql::{Columns, SqlSession};
use ciphertax_workload::ycsb::FieldEncryption;

use super::Tables;
use super::clients::Clients;
use super::control::Control;
use crate::columns;
use crate::error::RunError;
use crate::stored_cells;
use crate::tpcc::{self, Examination};

/// A database that speaks SQL.
pub(crate) trait SqlDatabase: Clients<Session: SqlSession> {
    /// How it is asked for what the proof of stored cells needs.
    const CELLS_PROOF: CellsProof;

    /// How a private server encrypts columns, where its arms ask it to.
    fn columns(&self) -> Option<&Columns>;

    /// Sessions that loaded and were given up, for which the server may still work.
    fn given_up(&mut self) -> &mut Vec<u32>;

    /// Removes what is there of another data set than this, where the statements that make one would not.
    ///
    /// # Errors
    /// When the server refuses.
    fn remove_other(_control: &Control<Self>, _contents: &Contents) -> Result<(), RunError> {
        Ok(())
    }

    /// What is said of an account without the right to make the data set.
    fn of_missing_right(control: &mut Control<Self>, error: WireError) -> RunError {
        control.of_dataset(DatasetError::Wire(error))
    }

    /// As [`Tables::remove`].
    ///
    /// # Errors
    /// When they are not ciphertax's own, or the server refuses.
    fn remove_tables(&self, control: &Control<Self>) -> Result<bool, RunError>;
}

impl<D: SqlDatabase> Tables for D {
    fn load(
        &mut self,
        control: &mut Control<Self>,
        study: &Study,
        key: Option<&MasterKey>,
        fields: Option<FieldEncryption>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<bool, RunError> {
        let contents = Contents {
            columns: self.columns().copied(),
            fields,
            ..tpcc::contents(study, D::Access::VOCABULARIES, key)
        };
        let of = contents.rows();
        progress(0, of);
        D::remove_other(control, &contents)?;
        let (mut opened, mut progress) = (Vec::new(), |rows| progress(rows, of));
        let prepare = dataset::prepare_contents::<D::Session>(
            &control.reactor,
            &control.ways[0],
            &contents,
            &mut opened,
            &mut progress,
        );
        let prepared = control.wait_for(contents.patience(), prepare);
        if !matches!(prepared, Ok(Ok(()))) {
            *self.given_up() = opened;
        }
        match prepared? {
            Ok(()) => Ok(true),
            Err(DatasetError::Wire(error)) if error.is_missing_right() => {
                Err(D::of_missing_right(control, error))
            }
            Err(error) => Err(control.of_dataset(error)),
        }
    }

    fn begin_load(&mut self, control: &mut Control<Self>, contents: &Contents) -> Result<bool, RunError> {
        D::remove_other(control, contents)?;
        let begun = dataset::begin::<D::Session>(&control.reactor, &control.ways[0], contents);
        Ok(control.wait_for(contents.patience(), begun)?.unwrap_or(false))
    }

    async fn load_part(
        reactor: &Rc<Reactor>,
        access: &Self::Access,
        contents: &Contents,
        part: Part,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), DatasetError> {
        dataset::load_part::<D::Session>(reactor, access.options(), contents, part, progress).await
    }

    fn examine_tables(
        &self,
        control: &mut Control<Self>,
        examination: &Examination,
    ) -> Result<Vec<Vec<ConditionResult>>, RunError> {
        tpcc::examine(control, examination)
    }

    fn restore_tables(
        &mut self,
        control: &mut Control<Self>,
        contents: &Contents,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), RunError> {
        tpcc::restore(control, contents, self.given_up(), progress)
    }

    fn remove(&self, control: &Control<Self>) -> Result<bool, RunError> {
        self.remove_tables(control)
    }

    fn prove_columns(
        &self,
        control: &Control<Self>,
        functions: Option<ColumnFunctions>,
        server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>, RunError> {
        columns::prove(control, self.columns(), functions, server)
    }

    fn prove_cells(
        &self,
        control: &Control<Self>,
        arm: &Arm,
        key: Option<&MasterKey>,
        server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>, RunError> {
        stored_cells::prove(control, arm, key, server, &D::CELLS_PROOF)
    }
}
