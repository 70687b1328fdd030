//! YCSB's table on servers, which is all of the data set.

use std::rc::Rc;
use std::time::Duration;

use ciphertax_columns::MasterKey;
use ciphertax_engine::Part;
use ciphertax_lab::{PrivateServer, ProvedAtRest};
use ciphertax_model::{Arm, Study};
use ciphertax_reactor::Reactor;
use ciphertax_wire::Session as _;
use ciphertax_wire::mongodb::Session;
use ciphertax_workload::Access as _;
use ciphertax_workload::dataset::{Contents, DatasetError};
use ciphertax_workload::mongodb::{MongodbAccess, dataset};
use ciphertax_workload::ycsb::FieldEncryption;

use super::cells_proof;
use super::clients::MongoDb;
use super::control::grant;
use crate::database::{Control, Tables};
use crate::error::RunError;
use crate::patience::PATIENCE;

/// How long servers may take to remove a data set of any size.
const REMOVAL: Duration = Duration::from_secs(600);

impl Tables for MongoDb {
    /// It is there when all members have it.
    fn load(
        &mut self,
        control: &mut Control<Self>,
        study: &Study,
        _key: Option<&MasterKey>,
        fields: Option<FieldEncryption>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<bool, RunError> {
        let contents = Contents::of(study, MongodbAccess::VOCABULARIES);
        let Some(table) = contents.usertable else {
            return Ok(false);
        };
        let of = table.record_count.into();
        progress(0, of);
        let access = self.default_access(control);
        let reactor = &control.reactor;
        let prepare = async {
            let primary = access.primary(reactor).await?;
            dataset::prepare(reactor, &primary, &table, fields.as_ref(), &mut |records| {
                progress(records, of)
            })
            .await?;
            let members = access.member_count(reactor).await?;
            let (mut session, _) = Session::connect(reactor, &primary).await?;
            dataset::wait_for_members(&mut session, members).await
        };
        let prepared = control.wait_for(contents.patience(), prepare)?;
        prepared.map(|()| true).map_err(|error| match error {
            DatasetError::Wire(error) if error.is_missing_right() => {
                control.unusable(format!("{error}; {}", grant(&access.options.login)))
            }
            error => control.of_dataset(error),
        })
    }

    fn begin_load(&mut self, control: &mut Control<Self>, contents: &Contents) -> Result<bool, RunError> {
        let Some(table) = &contents.usertable else {
            return Ok(false);
        };
        let access = self.default_access(control);
        let begin = async {
            let primary = access.primary(&control.reactor).await?;
            dataset::begin(&control.reactor, &primary, table).await
        };
        Ok(control.wait_for(PATIENCE, begin)?.unwrap_or(false))
    }

    async fn load_part(
        reactor: &Rc<Reactor>,
        access: &MongodbAccess,
        contents: &Contents,
        part: Part,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), DatasetError> {
        let Some(table) = &contents.usertable else {
            return Ok(());
        };
        let primary = access.primary(reactor).await?;
        dataset::load_part(reactor, &primary, table, part, progress).await
    }

    fn remove(&self, control: &Control<Self>) -> Result<bool, RunError> {
        let access = self.default_access(control);
        let remove = async {
            let primary = access.primary(&control.reactor).await?;
            let (mut session, _) = Session::connect(&control.reactor, &primary).await?;
            dataset::remove(&mut session).await
        };
        let removed = control.wait_for(REMOVAL, remove)?;
        removed.map_err(|error| control.of_removal(error))
    }

    fn prove_cells(
        &self,
        control: &Control<Self>,
        arm: &Arm,
        key: Option<&MasterKey>,
        server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>, RunError> {
        cells_proof::prove(control, &self.default_access(control), arm, key, server)
    }
}
