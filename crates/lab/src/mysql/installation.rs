//! What an installed server of this family has besides its program.

use std::path::{Path, PathBuf};

use crate::catalogue::MySqlVariant;
use crate::error::{Error, Result};
use crate::locate::Installation;

/// An installed server of this family.
#[derive(Debug, Clone)]
pub(super) struct MySqlInstallation<'a> {
    installation: &'a Installation,
    variant: &'a MySqlVariant,
    /// Error messages and character sets.
    share: PathBuf,
    /// Libraries that can be loaded; `None` where there are none.
    plugins: Option<PathBuf>,
}

impl<'a> MySqlInstallation<'a> {
    /// Finds its files.
    ///
    /// # Errors
    /// If it has no messages, without which no server starts.
    pub(super) fn of(installation: &'a Installation, variant: &'a MySqlVariant) -> Result<Self> {
        let basedir = installation.basedir();
        // MariaDB 11 says `mariadb` where older releases say `mysql`; upstream's own layout has neither.
        let share = ["share/mysql", "share/mariadb", "share"]
            .map(|folder| basedir.join(folder))
            .into_iter()
            .find(|folder| folder.join("english/errmsg.sys").is_file())
            .ok_or_else(|| Error::Incomplete {
                server: installation.entry().name,
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

    /// The installation.
    pub(super) fn installation(&self) -> &'a Installation {
        self.installation
    }

    /// How it is made and what it understands.
    pub(super) fn variant(&self) -> &'a MySqlVariant {
        self.variant
    }

    pub(super) fn has_plugin(&self, library: &str) -> bool {
        let file = if library.ends_with(".so") {
            library.to_owned()
        } else {
            format!("{library}.so")
        };
        self.plugins().is_some_and(|folder| folder.join(file).is_file())
    }

    /// Error messages and character sets.
    pub(super) fn share(&self) -> &Path {
        &self.share
    }

    /// Libraries that can be loaded; `None` where there are none.
    pub(super) fn plugins(&self) -> Option<&Path> {
        self.plugins.as_deref()
    }

    /// The statements that make the system tables.
    pub(super) fn system_tables(&self) -> Result<PathBuf> {
        ["mysql_system_tables.sql", "mariadb_system_tables.sql"]
            .map(|file| self.share.join(file))
            .into_iter()
            .find(|file| file.is_file())
            .ok_or_else(|| Error::Incomplete {
                server: self.installation.entry().name,
                folder: self.share.clone(),
                missing: "system tables (mariadb_system_tables.sql)".into(),
            })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::catalogue::MARIADB;
    use crate::mysql::testing::variants;

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
