//! MySQL and its descendants.

mod accounts;
pub mod at_rest;
mod cluster;
mod installation;
mod plan;
mod proof;
mod statements;
#[cfg(test)]
mod testing;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::accounts::USER;
use crate::catalogue::capabilities::Cluster;
use crate::catalogue::{Entry, MySqlVariant};
use crate::error::Result;
use crate::install::step::InstallStep;
use crate::locate::Installation;
use crate::log;
use crate::server::family::{Family, Plan, Running};
use crate::server::spec::Spec;

use at_rest::Encryption;
use installation::MySqlInstallation;
use plan::MySqlPlan;
pub use proof::{prove, select_canary};
use statements::{defaults_file_option, recipe};

/// Makes sure that several servers of this entry can be one cluster, as far as that needs what is not a part of them.
///
/// # Errors
/// Says what is missing, and the remedy.
pub fn check_cluster(entry: &Entry) -> Result<()> {
    match entry.capabilities.cluster {
        Some(Cluster::Galera) => cluster::is_installed(),
        Some(Cluster::GroupReplication) | None => Ok(()),
    }
}

impl Family for MySqlVariant {
    /// Known by where its settings are.
    fn works_in(&self) -> fn(argument: &[u8], folder: &Path) -> bool {
        |argument, folder| argument == defaults_file_option(folder).as_bytes()
    }

    fn client_name(&self) -> &'static str {
        USER
    }

    fn check_files(&self, installation: &Installation) -> Result<()> {
        MySqlInstallation::of(installation, self).map(drop)
    }

    fn is_complete(&self, installation: &Installation) -> bool {
        let has_plugins = |mysql: MySqlInstallation<'_>| {
            let mut plugins = self.plugins.iter();
            plugins.all(|(_, library)| mysql.has_plugin(library))
        };
        MySqlInstallation::of(installation, self).is_ok_and(has_plugins)
    }

    fn after_install(&self, installation: &Installation, on_step: &mut dyn FnMut(InstallStep)) -> Result<()> {
        on_step(InstallStep::Initialising);
        let plain = Encryption::default();
        recipe(&MySqlInstallation::of(installation, self)?, &plain).prepare()
    }

    fn plan<'a>(&'a self, spec: &'a Spec) -> Result<Box<dyn Plan + 'a>> {
        Ok(Box::new(MySqlPlan::new(self, spec)?))
    }

    fn write_canary(&self, server: &Running<'_>, canary: &str) -> Result<()> {
        proof::write_canary(server, canary)
    }

    fn remove_canary(&self, server: &Running<'_>) -> Result<()> {
        proof::remove_canary(server)
    }

    fn write_replicated(&self, server: &Running<'_>, halves: [&str; 2]) -> Result<()> {
        proof::write_replicated_canary(server, halves)
    }

    fn is_ready(&self, log: &str) -> bool {
        log.contains(": ready for connections")
    }

    fn complaints(&self, log: &Path) -> String {
        log::tail_of(log)
    }
}

#[cfg(test)]
mod tests {
    use super::testing::variants;

    #[test]
    fn every_plugin_belongs_to_what_the_server_can() {
        assert_eq!(variants().count(), 7);
        for (entry, variant) in variants() {
            for (method, _) in variant.plugins {
                let known = entry.capabilities.authentication;
                assert!(known.contains(method), "{}: {method}", entry.name);
            }
        }
    }
}
