//! PostgreSQL.
//!
//! Neither it nor its `initdb` runs as root. What root starts runs as a user of its own, which has no name (see
//! [`privilege`](ciphertax_supervise::privilege)), and owns the data folder.

mod accounts;
mod canary_row;
mod client;
mod cluster;
mod configuration;
mod pg_hba;
mod plan;
mod proof;
mod shared_memory;
pub(crate) mod tenant;
pub(crate) mod verifier;

use std::path::Path;

use crate::catalogue::{PostgreSqlVariant, Source};
use crate::error::{Error, Result};
use crate::install::step::InstallStep;
use crate::locate::Installation;
use crate::log;
use crate::server::family::{Family, Plan, Running};
use crate::server::spec::Spec;

use accounts::CERTIFICATE_USER;
pub use accounts::DATABASE;
use cluster::{INITDB, recipe, works_in};
use plan::PostgreSqlPlan;
pub use proof::{Conditions, prove, select_canary};

impl Family for PostgreSqlVariant {
    fn works_in(&self) -> fn(argument: &[u8], folder: &Path) -> bool {
        works_in
    }

    fn client_name(&self) -> &'static str {
        CERTIFICATE_USER
    }

    fn check_files(&self, installation: &Installation) -> Result<()> {
        if installation.program().with_file_name(INITDB).is_file() {
            return Ok(());
        }
        Err(Error::Incomplete {
            server: installation.entry().name,
            folder: installation.basedir().into(),
            missing: format!("program {INITDB}"),
        })
    }

    /// One that was fetched has what its entry says is beside it.
    fn is_complete(&self, installation: &Installation) -> bool {
        let Source::Apt { beside, .. } = installation.entry().source else {
            return true;
        };
        beside.iter().all(|name| installation.beside(name).is_some())
    }

    fn after_install(&self, installation: &Installation, on_step: &mut dyn FnMut(InstallStep)) -> Result<()> {
        on_step(InstallStep::Initialising);
        recipe(installation).prepare()
    }

    fn plan<'a>(&'a self, spec: &'a Spec) -> Result<Box<dyn Plan + 'a>> {
        Ok(Box::new(PostgreSqlPlan::new(self, spec)?))
    }

    fn write_canary(&self, server: &Running<'_>, canary: &str) -> Result<()> {
        canary_row::write(server, canary)
    }

    fn remove_canary(&self, server: &Running<'_>) -> Result<()> {
        canary_row::remove(server)
    }

    fn is_ready(&self, log: &str) -> bool {
        log.contains("database system is ready to accept connections")
    }

    fn complaints(&self, log: &Path) -> String {
        log::tail_of(log)
    }
}
