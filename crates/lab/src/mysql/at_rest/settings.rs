//! What a server is told to encrypt, by its own names.

use ciphertax_model::{AtRest, AtRestAlgorithm, AtRestPart};

use crate::catalogue::{AtRestControl, MySqlVariant};

/// The settings of the parts that are to be encrypted; nothing where none is.
pub(in crate::mysql) fn settings(variant: &MySqlVariant, at_rest: &AtRest) -> Vec<(&'static str, String)> {
    let on = |name: &'static str| (name, "ON".to_owned());
    let parts = at_rest.parts();
    let mut settings: Vec<_> = parts.flat_map(|part| variables(variant, part)).map(on).collect();
    if let (AtRestControl::FileKeyManagement { .. }, false) = (variant.at_rest, settings.is_empty()) {
        let algorithm = match at_rest.algorithm.unwrap_or(AtRestAlgorithm::AesCbc) {
            AtRestAlgorithm::AesCbc => "AES_CBC",
            AtRestAlgorithm::AesCtr => "AES_CTR",
        };
        settings.push(("file_key_management_encryption_algorithm", algorithm.into()));
    }
    settings
}

/// The switches of a part: all are on where it is encrypted, and none where it is not.
pub(super) fn variables(variant: &MySqlVariant, part: AtRestPart) -> Vec<&'static str> {
    match (variant.at_rest, part) {
        (AtRestControl::None, _) => Vec::new(),
        (AtRestControl::FileKeyManagement { temporary_tablespace }, part) => match part {
            AtRestPart::Tables => vec!["innodb_encrypt_tables"],
            AtRestPart::RedoLog => vec!["innodb_encrypt_log"],
            AtRestPart::BinaryLog => vec!["encrypt_binlog"],
            AtRestPart::Temporary if temporary_tablespace => vec![
                "encrypt_tmp_files",
                "encrypt_tmp_disk_tables",
                "innodb_encrypt_temporary_tables",
            ],
            AtRestPart::Temporary => vec!["encrypt_tmp_files", "encrypt_tmp_disk_tables"],
            AtRestPart::Aria => vec!["aria_encrypt_tables"],
            AtRestPart::UndoLog | AtRestPart::SystemTables => Vec::new(),
        },
        (AtRestControl::KeyringComponent, part) => match part {
            AtRestPart::Tables => vec!["default_table_encryption"],
            AtRestPart::RedoLog => vec!["innodb_redo_log_encrypt"],
            AtRestPart::UndoLog => vec!["innodb_undo_log_encrypt"],
            AtRestPart::BinaryLog => vec!["binlog_encryption"],
            // By a statement, and MariaDB's.
            AtRestPart::SystemTables | AtRestPart::Temporary | AtRestPart::Aria => Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::variants;

    #[test]
    fn every_part_that_a_server_says_it_encrypts_has_its_switch() {
        for (entry, variant) in variants() {
            for part in AtRestPart::ALL {
                let can = entry.capabilities.at_rest.parts.contains(&part);
                let has = !variables(&variant, part).is_empty() || part == AtRestPart::SystemTables;
                assert!(!can || has, "{}: {part}", entry.name);
            }
            let nothing = settings(&variant, &AtRest::default());
            assert!(nothing.is_empty(), "{}: {nothing:?}", entry.name);
        }
    }
}
