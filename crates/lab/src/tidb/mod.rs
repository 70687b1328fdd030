//! TiDB: one process that speaks as MySQL does, with a store of its own.

mod first_accounts;
mod plan;
mod settings;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::accounts::USER;
use crate::catalogue::Refusal;
use crate::error::Result;
use crate::install::step::InstallStep;
use crate::locate::Installation;
use crate::log;
use crate::server::family::{Family, Plan};
use crate::server::spec::Spec;

use plan::TiDbPlan;
use settings::file_option;

/// TiDB's servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TiDb;

impl Family for TiDb {
    /// Known by where its settings are.
    fn works_in(&self) -> fn(argument: &[u8], folder: &Path) -> bool {
        |argument, folder| argument == file_option(folder).as_bytes()
    }

    fn client_name(&self) -> &'static str {
        USER
    }

    /// It makes its first data folder in a moment.
    fn after_install(&self, installation: &Installation, _: &mut dyn FnMut(InstallStep)) -> Result<()> {
        installation.version().map(drop)
    }

    fn refusals(&self, spec: &Spec) -> Vec<Refusal> {
        let refuse =
            |condition: bool, setting: &str, instead: &str| condition.then(|| spec.refusal(setting, instead));
        [
            refuse(!spec.access_control, "no access control", "accounts"),
            refuse(spec.replica_set.is_some(), "a replica set", "a single server"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn plan<'a>(&'a self, spec: &'a Spec) -> Result<Box<dyn Plan + 'a>> {
        Ok(Box::new(TiDbPlan::new(spec)?))
    }

    fn is_ready(&self, log: &str) -> bool {
        log.contains("server is running MySQL protocol")
    }

    fn complaints(&self, log: &Path) -> String {
        log::tail_of(log)
    }
}
