//! MongoDB.

mod accounts;
mod canary_row;
mod log;
mod plan;
mod proof;
mod replica_set;
mod set_up;
mod settings;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::Result;
use crate::install::step::InstallStep;
use crate::locate::Installation;
use crate::server::family::{Family, Plan, Running};
use crate::server::file_system::disk_of;
use crate::server::spec::Spec;

use accounts::X509_COMMON_NAME;
use plan::MongoDbPlan;
pub use proof::{Conditions, find_canary, prove};
use settings::DATA_OPTION;

/// MongoDB's servers: all there is to know is in how they are started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MongoDb;

impl Family for MongoDb {
    /// Known by where its data are, which lie below its private folder.
    fn works_in(&self) -> fn(argument: &[u8], folder: &Path) -> bool {
        |argument, folder| {
            let data = argument.strip_prefix(DATA_OPTION.as_bytes());
            data.and_then(|data| Path::new(OsStr::from_bytes(data)).parent()) == Some(&disk_of(folder))
        }
    }

    fn client_name(&self) -> &'static str {
        X509_COMMON_NAME
    }

    /// It makes its first data folder in a moment; what may be missing are libraries of the system.
    fn after_install(&self, installation: &Installation, _: &mut dyn FnMut(InstallStep)) -> Result<()> {
        installation.version().map(drop)
    }

    fn plan<'a>(&'a self, spec: &'a Spec) -> Result<Box<dyn Plan + 'a>> {
        Ok(Box::new(MongoDbPlan::new(spec)?))
    }

    fn write_canary(&self, server: &Running<'_>, canary: &str) -> Result<()> {
        canary_row::write(server, canary)
    }

    fn remove_canary(&self, server: &Running<'_>) -> Result<()> {
        canary_row::remove(server)
    }

    fn write_replicated(&self, server: &Running<'_>, halves: [&str; 2]) -> Result<()> {
        canary_row::write_replicated(server, halves)
    }

    fn is_ready(&self, log: &str) -> bool {
        log::is_ready(log)
    }

    fn complaints(&self, log: &Path) -> String {
        log::complaints(log)
    }
}
