//! What a server can encrypt on the disk by itself, and what it must refuse of it.

use ciphertax_model::{AtRest, AtRestAlgorithm, AtRestPart, Storage};
use serde::Serialize;

use super::capabilities::{Capabilities, Refusal, list};

/// What a server can encrypt on the disk by itself. Held to by tests that search its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AtRestCapabilities {
    /// The parts of its files.
    pub parts: &'static [AtRestPart],
    /// The ciphers that there is a choice of; empty where there is none.
    pub algorithms: &'static [AtRestAlgorithm],
    /// Whether background threads can be told to encrypt what is there.
    pub encryption_threads: bool,
    /// Whether the whole file can be encrypted by SQLCipher.
    pub sqlcipher: bool,
}

impl AtRestCapabilities {
    /// Of a server that writes everything as it is.
    pub(crate) const NONE: Self = Self {
        parts: &[],
        algorithms: &[],
        encryption_threads: false,
        sqlcipher: false,
    };
}

/// How a server can be told to keep data in memory, and to write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StorageCapabilities {
    /// The settings that it has, as study files name them.
    pub settings: &'static [&'static str],
    /// The least memory for data and indexes that it starts with, in megabytes.
    pub least_memory_mb: u32,
}

/// What servers of MySQL's family have: all.
pub(super) const ALL_OF_STORAGE: StorageCapabilities = StorageCapabilities {
    settings: &[
        "memory_mb",
        "flush",
        "flush_log_at_trx_commit",
        "binary_log",
        "sync_binlog",
        "doublewrite",
    ],
    least_memory_mb: *Storage::MEMORY_MB.start(),
};

/// What every server has.
pub(super) const MEMORY_ALONE: StorageCapabilities = StorageCapabilities {
    settings: &["memory_mb"],
    least_memory_mb: *Storage::MEMORY_MB.start(),
};

impl Capabilities {
    /// What an arm wants encrypted that this server cannot encrypt, and which cipher it has not.
    pub fn refuse_at_rest(&self, at_rest: &AtRest) -> Vec<Refusal> {
        let known = self.at_rest;
        let parts = at_rest.parts().filter(|part| !known.parts.contains(part));
        let parts = parts.map(|part| self.refusal(format!("{part} at rest"), self.known_at_rest()));
        // One that encrypts nothing by itself is refused its parts, and these belong to them.
        let encrypts = !known.parts.is_empty();
        let algorithm = at_rest.algorithm.filter(|_| encrypts);
        let algorithm = algorithm.filter(|algorithm| !known.algorithms.contains(algorithm));
        let algorithm = algorithm.map(|algorithm| {
            let instead = match known.algorithms {
                [] => "its own cipher at rest, which leaves no choice: leave algorithm out".to_owned(),
                algorithms => format!("{} at rest", list(algorithms)),
            };
            self.refusal(format!("{algorithm} at rest"), instead)
        });
        let threads = at_rest.encryption_threads > 0 && encrypts && !known.encryption_threads;
        let threads = threads.then(|| self.refusal("encryption_threads at rest", "it without them".into()));
        let sqlcipher = at_rest.sqlcipher.is_some() && !known.sqlcipher;
        let sqlcipher = sqlcipher.then(|| self.refusal("sqlcipher at rest", self.known_at_rest()));
        parts.chain(algorithm).chain(threads).chain(sqlcipher).collect()
    }

    /// What it can encrypt, in words.
    fn known_at_rest(&self) -> String {
        match (self.at_rest.parts, self.at_rest.sqlcipher) {
            (_, true) => "sqlcipher at rest".to_owned(),
            ([], false) => "file_system at rest, and encrypts nothing by itself".to_owned(),
            (parts, false) => format!("{} at rest", list(parts)),
        }
    }

    /// Settings of memory and writing that this server does not have.
    pub fn refuse_storage(&self, storage: &Storage) -> Vec<Refusal> {
        let known = self.storage;
        let unknown = storage.named().filter(|name| !known.settings.contains(name));
        let unknown = unknown.map(|name| {
            self.refusal(
                format!("storage.{name}"),
                format!("storage.{}", list(known.settings)),
            )
        });
        let too_little = storage.memory_mb.filter(|mb| *mb < known.least_memory_mb);
        let too_little = too_little.map(|mb| {
            self.refusal(
                format!("storage.memory_mb = {mb}"),
                format!("{} MB and more", known.least_memory_mb),
            )
        });
        unknown.chain(too_little).collect()
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_model::{AtRestAlgorithm, AtRestPart, SqlCipher};

    use super::*;
    use crate::catalogue::{
        CATALOGUE, MARIADB, MARIADB_10_2, MARIADB_11_4_WOLFSSL, MONGODB, MYSQL, POSTGRESQL, SQLITE, find,
    };

    fn refused(server: &str, at_rest: AtRest) -> Vec<String> {
        let refusals = find(server).unwrap().capabilities.refuse_at_rest(&at_rest);
        refusals.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_a_server_cannot_encrypt_is_refused_by_name_with_the_alternative() {
        for (server, part, words) in [
            (
                &MARIADB,
                AtRestPart::UndoLog,
                "mariadb cannot do undo_log at rest; it can do tables, redo_log",
            ),
            (
                &MYSQL,
                AtRestPart::Temporary,
                "mysql cannot do temporary at rest; it can do tables, redo_log",
            ),
            (
                &MONGODB,
                AtRestPart::Tables,
                "mongodb cannot do tables at rest; it can do file_system at rest",
            ),
            (&POSTGRESQL, AtRestPart::RedoLog, "it can do file_system at rest"),
            (
                &SQLITE,
                AtRestPart::Tables,
                "sqlite cannot do tables at rest; it can do sqlcipher at rest",
            ),
        ] {
            let [refusal] = &refused(server.name, AtRest::from_iter([part]))[..] else {
                panic!("{}: {part}", server.name)
            };
            assert!(refusal.contains(words), "{refusal}");
        }
    }

    #[test]
    fn files_are_encrypted_by_sqlcipher_on_sqlite_alone() {
        let sqlcipher = AtRest {
            sqlcipher: Some(SqlCipher::default()),
            ..AtRest::default()
        };
        for entry in CATALOGUE.into_iter().filter(|entry| *entry != &SQLITE) {
            let refusals = refused(entry.name, sqlcipher);
            assert!(
                refusals[0].contains("cannot do sqlcipher at rest; it can do"),
                "{refusals:?}"
            );
        }
        assert_eq!(refused(SQLITE.name, sqlcipher), Vec::<String>::new());
    }

    #[test]
    fn ciphers_that_a_build_crashes_with_are_refused() {
        let counter_mode = AtRest {
            tables: true,
            algorithm: Some(AtRestAlgorithm::AesCtr),
            ..AtRest::default()
        };
        assert_eq!(refused(MARIADB.name, counter_mode), Vec::<String>::new());
        for entry in [&MARIADB_10_2, &MARIADB_11_4_WOLFSSL] {
            let refusals = refused(entry.name, counter_mode);
            assert!(
                refusals[0].contains("AES-CTR at rest; it can do AES-CBC at rest"),
                "{refusals:?}"
            );
        }
        assert!(refused(MYSQL.name, counter_mode)[0].contains("its own cipher"));
        // It has no cipher that could be another.
        let [refusal] = &refused(POSTGRESQL.name, counter_mode)[..] else {
            panic!("not one refusal")
        };
        assert!(refusal.contains("tables at rest"), "{refusal}");
    }

    #[test]
    fn memory_that_a_server_does_not_start_with_is_refused_with_the_least() {
        let storage = Storage {
            memory_mb: Some(255),
            ..Storage::default()
        };
        let [refusal] = &MONGODB.capabilities.refuse_storage(&storage)[..] else {
            panic!("no refusal")
        };
        assert_eq!(
            refusal.to_string(),
            "mongodb cannot do storage.memory_mb = 255; it can do 256 MB and more"
        );
    }

    #[test]
    fn every_server_can_do_what_it_says_and_keep_its_data_in_memory() {
        let memory = |megabytes| Storage {
            memory_mb: Some(megabytes),
            ..Storage::default()
        };
        let flushed = Storage {
            doublewrite: Some(false),
            ..Storage::default()
        };
        for entry in CATALOGUE {
            let capabilities = &entry.capabilities;
            let all = AtRest::from_iter(capabilities.at_rest.parts.iter().copied());
            assert_eq!(capabilities.refuse_at_rest(&all), []);
            assert_eq!(capabilities.refuse_storage(&memory(256)), []);
            let has_little = entry.protocol() != Some(crate::catalogue::Protocol::MongoDb);
            assert_eq!(capabilities.refuse_storage(&memory(64)).is_empty(), has_little);
            let of_mysql = entry.protocol() == Some(crate::catalogue::Protocol::MySql);
            assert_eq!(
                capabilities.refuse_storage(&flushed).is_empty(),
                of_mysql,
                "{}",
                entry.name
            );
        }
    }
}
