//! MySQL and its descendants.

pub mod at_rest;
mod cluster;
mod plan;
mod proof;
mod statements;
#[cfg(test)]
mod testing;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ciphertax_base::Proof;
use ciphertax_records::Readability;
use ciphertax_wire::sql::SqlSession as _;

use crate::catalogue::capabilities::Cluster;
use crate::catalogue::{Entry, MySqlVariant};
use crate::error::{Error, Result};
use crate::locate::{InstallStep, Installation};
use crate::proof::{Objection, ProvedAtRest};
use crate::server::PrivateServer;
use crate::server::family::{Canary, Family, Plan};
use crate::server::spec::Spec;
use at_rest::Encryption;
use plan::MySqlPlan;
use statements::{defaults_file_option, recipe};

pub use cluster::keys_are_wanted;
use proof::canary_statements;
pub use proof::{prove, select_canary};

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

    fn disk_proof_options(&self) -> &'static [&'static str] {
        &at_rest::DISK_PROOF_OPTIONS
    }

    /// What it has on the disk's own file system is in its files, each of which is looked into.
    fn prove_disk(&self, server: &PrivateServer) -> Result<ProvedAtRest, Objection> {
        let Some(file_system) = server.file_system() else {
            return at_rest::prove_at_rest(server);
        };
        let mut proved = server.file_system_proof()?;
        let mut own = at_rest::prove_at_rest(server)?;
        if file_system.kind().is_encrypted() {
            // They were looked into as the server sees them; on the disk they are what is proved above.
            for files in &mut own.disk.files {
                files.readability = Readability::Encrypted;
            }
        }
        proved.proofs.extend(own.proofs);
        proved.disk.searched_bytes += own.disk.searched_bytes;
        proved.disk.files.extend(own.disk.files);
        Ok(proved)
    }

    fn prove_measured_disk(&self, server: &PrivateServer) -> Result<Vec<Proof>, Objection> {
        let beneath = server.file_system().map(|_| server.file_system_proof());
        let mut proofs = beneath.transpose()?.map_or_else(Vec::new, |proved| proved.proofs);
        proofs.extend(at_rest::prove_measured_at_rest(server)?);
        Ok(proofs)
    }

    fn canary(&self, server: &PrivateServer, canary: Canary<'_>) -> Result<()> {
        let statements = canary_statements(canary);
        at_rest::asked(server)?.0.run(async |_, session| {
            for statement in &statements {
                session.query(statement).await?;
            }
            Ok(())
        })
    }
}

/// An installed server of this family.
#[derive(Debug, Clone)]
struct MySqlInstallation<'a> {
    installation: &'a Installation,
    variant: &'a MySqlVariant,
    /// Error messages and character sets.
    share: PathBuf,
    /// Libraries that can be loaded; `None` where there are none.
    plugins: Option<PathBuf>,
}

impl<'a> MySqlInstallation<'a> {
    /// Finds its files.
    fn of(installation: &'a Installation, variant: &'a MySqlVariant) -> Result<Self> {
        let basedir = &installation.basedir;
        // MariaDB 11 says `mariadb` where older releases say `mysql`; upstream's own layout has neither.
        let share = ["share/mysql", "share/mariadb", "share"]
            .map(|folder| basedir.join(folder))
            .into_iter()
            .find(|folder| folder.join("english/errmsg.sys").is_file())
            .ok_or_else(|| Error::Incomplete {
                server: installation.entry.name,
                folder: basedir.into(),
                missing: "messages (english/errmsg.sys)".into(),
            })?;
        let plugins = ["lib/mysql/plugin", "lib/mariadb/plugin", "lib/plugin"]
            .map(|folder| basedir.join(folder))
            .into_iter()
            .find(|folder| folder.is_dir());
        Ok(Self {
            installation,
            variant,
            share,
            plugins,
        })
    }

    fn has_plugin(&self, library: &str) -> bool {
        let file = if library.ends_with(".so") {
            library.to_owned()
        } else {
            format!("{library}.so")
        };
        let folder = self.plugins.as_ref();
        folder.is_some_and(|folder| folder.join(file).is_file())
    }

    /// The statements that make the system tables.
    fn system_tables(&self) -> Result<PathBuf> {
        ["mysql_system_tables.sql", "mariadb_system_tables.sql"]
            .map(|file| self.share.join(file))
            .into_iter()
            .find(|file| file.is_file())
            .ok_or_else(|| Error::Incomplete {
                server: self.installation.entry.name,
                folder: self.share.clone(),
                missing: "system tables (mariadb_system_tables.sql)".into(),
            })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::testing::variants;
    use super::*;

    use crate::catalogue::MARIADB;

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

    #[test]
    fn a_server_without_its_messages_is_called_incomplete() {
        let root = tempfile::tempdir().unwrap();
        let messages = root.path().join("usr/share/mysql/english/errmsg.sys");
        let program = root.path().join("usr/sbin/mariadbd");
        for file in [&messages, &program] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let found = Installation::find_in(&MARIADB, Some(root.path()), &[]).unwrap();
        let (_, variant) = variants().find(|(entry, _)| *entry == &MARIADB).unwrap();
        assert!(MySqlInstallation::of(&found, &variant).is_ok());
        fs::remove_file(messages).unwrap();
        let error = MySqlInstallation::of(&found, &variant).unwrap_err();
        assert!(matches!(error, Error::Incomplete { .. }), "{error}");
    }
}
