//! Kinds of files of a server, and the part of encryption at rest that hides what is in each.

use std::path::Path;

use ciphertax_model::{AtRest, AtRestPart};

use crate::catalogue::{AtRestControl, MySqlVariant};
use crate::template::DATA;

/// A kind of file that what was written to a table may end up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::IntoStaticStr)]
pub enum FileKind {
    /// InnoDB's file of one table.
    #[strum(serialize = "tables")]
    Table,
    /// A general tablespace that somebody made.
    #[strum(serialize = "general tablespaces")]
    GeneralTablespace,
    /// MySQL's own tables (`mysql.ibd`).
    #[strum(serialize = "system tables")]
    SystemTables,
    /// InnoDB's system tablespace (`ibdata1`): on MariaDB the doublewrite buffer, until 10.11 the undo log too.
    #[strum(serialize = "system tablespace")]
    SystemTablespace,
    /// The undo log in tablespaces of its own.
    #[strum(serialize = "undo log")]
    UndoLog,
    /// The redo log.
    #[strum(serialize = "redo log")]
    RedoLog,
    /// MySQL's doublewrite files.
    #[strum(serialize = "doublewrite files")]
    Doublewrite,
    /// The binary log.
    #[strum(serialize = "binary log")]
    BinaryLog,
    /// InnoDB's temporary tablespaces: temporary tables of users, on MySQL also those that queries need.
    #[strum(serialize = "temporary tablespaces")]
    TemporaryTablespace,
    /// Tables that MariaDB makes for queries (Aria).
    #[strum(serialize = "temporary tables of queries")]
    TemporaryTable,
    /// What does not fit into memory of sorted rows, and of transactions for the binary log: files without a name, and since
    /// MariaDB 11.7 those that become a binary log.
    #[strum(serialize = "temporary files")]
    TemporaryFile,
    /// Aria's tables, MariaDB's system tables among them.
    #[strum(serialize = "Aria tables")]
    AriaTable,
    /// MyISAM's tables, which nothing encrypts: until MariaDB 10.3 the system tables among them.
    #[strum(serialize = "MyISAM tables")]
    MyIsamTable,
    /// Aria's log.
    #[strum(serialize = "Aria log")]
    AriaLog,
}

const TEMPORARY: &[AtRestPart] = &[AtRestPart::Temporary];
const TEMPORARY_IN_ARIA: &[AtRestPart] = &[AtRestPart::Temporary, AtRestPart::Aria];

impl FileKind {
    /// The kind of a file, by its path below the [disk](crate::PrivateServer::disk) of its server; `None` for one that is not
    /// known to hold rows.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let ends = |ending: &str| name.ends_with(ending);
        let Ok(below) = path.strip_prefix(DATA) else {
            // The folder itself is where temporary files are.
            return (name.starts_with("#sql") && ends(".MAD")).then_some(Self::TemporaryTable);
        };
        let folder = below.parent()?.to_str()?;
        Some(match folder {
            "#innodb_redo" => Self::RedoLog,
            "#innodb_temp" => Self::TemporaryTablespace,
            "#binlog_cache_files" => Self::TemporaryFile,
            "" if name == "mysql.ibd" => Self::SystemTables,
            "" if name.starts_with("ibdata") => Self::SystemTablespace,
            "" if name.starts_with("ibtmp") => Self::TemporaryTablespace,
            "" if name.starts_with("ib_logfile") => Self::RedoLog,
            "" if name.starts_with("undo") => Self::UndoLog,
            "" if name.starts_with("binlog.") && !ends(".index") => Self::BinaryLog,
            "" if name.starts_with("aria_log.") => Self::AriaLog,
            "" if ends(".dblwr") => Self::Doublewrite,
            "" if ends(".ibd") => Self::GeneralTablespace,
            _ if ends(".ibd") => Self::Table,
            _ if ends(".MAD") => Self::AriaTable,
            _ if ends(".MYD") => Self::MyIsamTable,
            _ => return None,
        })
    }

    /// What readers know it by.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True if what is written to a table is in files of this kind as soon as the table is flushed. Those of a general
    /// tablespace cannot be.
    pub(super) fn is_written_at_once(self) -> bool {
        matches!(
            self,
            Self::Table | Self::RedoLog | Self::BinaryLog | Self::AriaTable
        )
    }

    /// The parts that must all be encrypted so that nothing in files of this kind can be read; `None` if the server leaves
    /// it readable in any case. Seen on the servers themselves.
    pub(super) fn hidden_by(self, variant: &MySqlVariant) -> Option<&'static [AtRestPart]> {
        match variant.at_rest {
            AtRestControl::None => None,
            AtRestControl::FileKeyManagement { temporary_tablespace } => match self {
                Self::Table | Self::GeneralTablespace | Self::SystemTablespace | Self::UndoLog => {
                    Some(&[AtRestPart::Tables])
                }
                Self::RedoLog => Some(&[AtRestPart::RedoLog]),
                Self::BinaryLog => Some(&[AtRestPart::BinaryLog]),
                Self::TemporaryFile => Some(&[AtRestPart::Temporary]),
                Self::TemporaryTablespace => temporary_tablespace.then_some(TEMPORARY),
                // The switch is there, and releases since 10.11 do not heed it.
                Self::TemporaryTable => (!temporary_tablespace).then_some(TEMPORARY_IN_ARIA),
                Self::AriaTable => Some(&[AtRestPart::Aria]),
                Self::AriaLog | Self::MyIsamTable | Self::SystemTables | Self::Doublewrite => None,
            },
            AtRestControl::KeyringComponent => match self {
                Self::Table | Self::GeneralTablespace => Some(&[AtRestPart::Tables]),
                Self::SystemTables => Some(&[AtRestPart::SystemTables]),
                Self::UndoLog => Some(&[AtRestPart::UndoLog]),
                Self::RedoLog => Some(&[AtRestPart::RedoLog]),
                // It has the pages of each tablespace as they are there.
                Self::Doublewrite => {
                    Some(&[AtRestPart::Tables, AtRestPart::SystemTables, AtRestPart::UndoLog])
                }
                Self::BinaryLog => Some(&[AtRestPart::BinaryLog]),
                _ => None,
            },
        }
    }

    /// True if what is written to files of this kind must be found there. In those that no part hides it need not have come
    /// to lie, nor in those of which other parts hide some.
    pub(super) fn is_open(self, variant: &MySqlVariant, at_rest: &AtRest) -> bool {
        let parts = self.hidden_by(variant);
        parts.is_some_and(|parts| !parts.iter().any(|part| at_rest.encrypts(*part)))
    }

    /// True if nothing in files of this kind can be read.
    pub(super) fn is_hidden(self, variant: &MySqlVariant, at_rest: &AtRest) -> bool {
        let parts = self.hidden_by(variant);
        parts.is_some_and(|parts| parts.iter().all(|part| at_rest.encrypts(*part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_where_they_are() {
        for (path, kind) in [
            ("data/shop/orders.ibd", Some(FileKind::Table)),
            ("data/general.ibd", Some(FileKind::GeneralTablespace)),
            ("data/mysql.ibd", Some(FileKind::SystemTables)),
            ("data/ibdata1", Some(FileKind::SystemTablespace)),
            ("data/undo001", Some(FileKind::UndoLog)),
            ("data/undo_002", Some(FileKind::UndoLog)),
            ("data/ib_logfile0", Some(FileKind::RedoLog)),
            ("data/#innodb_redo/#ib_redo5", Some(FileKind::RedoLog)),
            ("data/#ib_16384_0.dblwr", Some(FileKind::Doublewrite)),
            ("data/binlog.000001", Some(FileKind::BinaryLog)),
            ("data/binlog.index", None),
            ("data/ibtmp1", Some(FileKind::TemporaryTablespace)),
            (
                "data/#innodb_temp/temp_9.ibt",
                Some(FileKind::TemporaryTablespace),
            ),
            ("#sql-temptable-1dcf-1b-0.MAD", Some(FileKind::TemporaryTable)),
            ("#sql_32e1_0.MAD", Some(FileKind::TemporaryTable)),
            ("data/mysql/proc.MAD", Some(FileKind::AriaTable)),
            ("data/mysql/proc.MYD", Some(FileKind::MyIsamTable)),
            ("data/aria_log.00000001", Some(FileKind::AriaLog)),
            ("data/#binlog_cache_files/ML_7", Some(FileKind::TemporaryFile)),
            ("data/ib_buffer_pool", None),
            ("server.log", None),
        ] {
            assert_eq!(FileKind::of(Path::new(path)), kind, "{path}");
        }
    }
}
