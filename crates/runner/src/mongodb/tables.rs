//! YCSB's table on servers, which is all of the data set.

use std::rc::Rc;

use ciphertax_columns::MasterKey;
use ciphertax_engine::Part;
use ciphertax_lab::{PrivateServer, ProvedAtRest};
use ciphertax_model::Arm;
use ciphertax_reactor::Reactor;
use ciphertax_wire::Session as _;
use ciphertax_wire::mongodb::Session;
use ciphertax_workload::dataset::{Contents, DatasetError};
use ciphertax_workload::mongodb::{MongodbAccess, dataset};

use super::cells_proof;
use super::clients::MongoDb;
use crate::database::{Control, Database as _, REMOVAL, Tables};
use crate::error::Result;
use crate::timeout::{TIMEOUT, wait_for};

impl Tables for MongoDb {
    /// It is there when all members have it.
    fn load(
        &mut self,
        control: &mut Control<Self>,
        contents: &Contents,
        progress: &mut dyn FnMut(u64),
    ) -> Result<bool> {
        let Some(table) = &contents.usertable else {
            return Ok(false);
        };
        progress(0);
        let access = self.default_access(control);
        let reactor = &control.reactor;
        let prepare = async {
            let primary = access.primary(reactor).await?;
            dataset::prepare(reactor, &primary, table, contents.fields.as_ref(), progress).await?;
            let members = access.member_count(reactor).await?;
            let (mut session, _) = Session::connect(reactor, &primary).await?;
            dataset::wait_for_members(&mut session, members).await
        };
        let prepared = control.wait_for(contents.patience(), prepare)?;
        prepared.map(|()| true).map_err(|error| match error {
            DatasetError::Wire(error) if error.is_missing_right() => self.of_missing_right(control, error),
            error => control.of_dataset(error),
        })
    }

    fn begin_load(&mut self, control: &mut Control<Self>, contents: &Contents) -> Result<bool> {
        let Some(table) = &contents.usertable else {
            return Ok(false);
        };
        let access = self.default_access(control);
        let begin = async {
            let primary = access.primary(&control.reactor).await?;
            dataset::begin(&control.reactor, &primary, table).await
        };
        Ok(control.wait_for(TIMEOUT, begin)?.unwrap_or(false))
    }

    fn load_part(
        reactor: &Rc<Reactor>,
        access: &MongodbAccess,
        contents: &Contents,
        part: Part,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let Some(table) = &contents.usertable else {
            return Ok(());
        };
        let loading = async {
            let primary = access.primary(reactor).await?;
            dataset::load_part(reactor, &primary, table, part, progress).await
        };
        Ok(wait_for(reactor, "the server", contents.patience(), loading)??)
    }

    fn remove(&self, control: &Control<Self>) -> Result<bool> {
        self.remove_by(control, REMOVAL, async |session| dataset::remove(session).await)
    }

    fn prove_cells(
        &self,
        control: &Control<Self>,
        arm: &Arm,
        key: Option<&MasterKey>,
        server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>> {
        cells_proof::prove(control, &self.default_access(control), arm, key, server)
    }
}
