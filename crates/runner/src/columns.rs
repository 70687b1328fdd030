//! Columns that are encrypted: which tables each arm asks, with which key, and that the server has them.

use std::env::{self, VarError};

use ciphertax_base::{Proof, Witness};
use ciphertax_columns::{KeyError, MasterKey};
use ciphertax_lab::disk_search::{Searched, search};
use ciphertax_lab::{PrivateServer, ProvedAtRest};
use ciphertax_model::{Arm, ColumnFunctions, Study};
use ciphertax_records::{DiskRecord, FilesOnDisk, Readability};
use ciphertax_workload::ArmColumns;
use ciphertax_workload::dataset::{ColumnCanaries, ColumnsRead, remove_columns_proof, write_columns_proof};
use ciphertax_workload::sql::{Columns, SqlSession};
use rand::RngExt;

use crate::database::{Clients, Control};
use crate::error::{Result, RunError};
use crate::timeout::TIMEOUT;

/// What is searched for its canaries.
const FIELDS: &str = "fields, in tables and logs";
const OTHERS: &str = "keys and other columns, in tables and logs";

/// Proves by canaries that the server encrypts columns, to whoever asks it and to whoever reads its disk; or, where it is that
/// of an arm without such columns, beside arms with `functions`, that its fields can be read. What nobody encrypts in any arm
/// of a study is not looked at.
pub(crate) fn prove<D: Clients<Session: SqlSession>>(
    control: &Control<D>,
    columns: Option<&Columns>,
    functions: Option<ColumnFunctions>,
    server: &PrivateServer,
) -> Result<Option<ProvedAtRest>> {
    match (columns, functions) {
        (Some(columns), _) => search_disk(control, columns, server).map(Some),
        (None, Some(functions)) => {
            let searched = search_disk(control, &Columns::new(functions), server)?;
            Ok(Some(readable(searched)))
        }
        (None, None) => Ok(None),
    }
}

/// What is proved of fields that are columns like any other.
fn readable(searched: ProvedAtRest) -> ProvedAtRest {
    let files = [FIELDS, OTHERS].map(|kind| files_on_disk(kind, Readability::Readable));
    ProvedAtRest {
        proofs: vec![Proof {
            witness: Witness::Disk,
            claim: "fields can be read on the disk".into(),
            evidence: "a canary in a column that no statement encrypts is there".into(),
        }],
        disk: DiskRecord {
            searched_bytes: searched.disk.searched_bytes,
            files: files.into(),
        },
    }
}

pub(crate) fn files_on_disk(kind: &str, readability: Readability) -> FilesOnDisk {
    FilesOnDisk {
        kind: kind.into(),
        readability,
    }
}

fn search_disk<D: Clients<Session: SqlSession>>(
    control: &Control<D>,
    columns: &Columns,
    server: &PrivateServer,
) -> Result<ProvedAtRest> {
    let [encrypted, plain] = [canary("encrypted"), canary("plain")];
    let canaries = ColumnCanaries {
        encrypted: &encrypted,
        plain: &plain,
    };
    let write = write_columns_proof::<D::Session>(&control.reactor, &control.ways[0], columns, canaries);
    let read = control.wait_for(TIMEOUT, write)?;
    let read = read.map_err(|error| control.of_dataset(error))?;
    let on_disk = [&encrypted, &plain].map(|canary| search(server.folder(), canary.as_bytes()));
    let remove = remove_columns_proof::<D::Session>(&control.reactor, &control.ways[0]);
    control
        .wait_for(TIMEOUT, remove)?
        .map_err(|error| control.of_removal(error))?;
    let [encrypted_on_disk, plain_on_disk] = on_disk;
    judge(columns, canaries, &read, &encrypted_on_disk?, &plain_on_disk?)
        .map_err(|problem| control.unusable(problem))
}

fn judge(
    columns: &Columns,
    canaries: ColumnCanaries<'_>,
    read: &ColumnsRead,
    encrypted: &Searched,
    plain: &Searched,
) -> Result<ProvedAtRest, String> {
    let functions = columns.functions();
    if read.with_key != canaries.encrypted {
        return Err(format!(
            "a session with the key of {functions} does not read what was written"
        ));
    }
    if read.plain != canaries.plain {
        return Err("a session without a key does not read a plain column".to_owned());
    }
    if read.without_key.is_empty() || read.without_key.contains(canaries.encrypted) {
        return Err(format!(
            "a session without the key of {functions} reads what was written"
        ));
    }
    if plain.found.is_empty() {
        return Err(
            "a plain column is not found on the disk, so nothing is known of an encrypted one".to_owned(),
        );
    }
    if let Some(place) = encrypted.found.first() {
        return Err(format!(
            "what {functions} encrypts can be read in {}",
            place.path.display()
        ));
    }
    let proofs = vec![
        Proof {
            witness: Witness::Server,
            claim: format!("the server encrypts columns by {functions}"),
            evidence: "a session with the key reads the canary; one without it reads other bytes, and a plain canary beside it"
                .to_owned(),
        },
        Proof {
            witness: Witness::Disk,
            claim: format!("what {functions} encrypts is not on the disk"),
            evidence: format!(
                "the canary is in none of {} files ({} bytes); one in a plain column is in {}",
                encrypted.files,
                encrypted.bytes,
                plain.found.len()
            ),
        },
    ];
    Ok(ProvedAtRest {
        proofs,
        disk: DiskRecord {
            searched_bytes: encrypted.bytes,
            files: vec![
                files_on_disk(FIELDS, Readability::Encrypted),
                files_on_disk(OTHERS, Readability::Readable),
            ],
        },
    })
}

/// A text that is nowhere else.
pub(crate) fn canary(name: &str) -> String {
    format!("{name} canary {:032x}", rand::rng().random::<u128>())
}

/// Of these arms of a study, by their numbers among all that are measured: the same in every cell.
pub(crate) fn arm_columns(study: &Study, arms: &[Arm], key: Option<&MasterKey>) -> Vec<ArmColumns> {
    let of_arm = |arm: &Arm| ArmColumns {
        set: set_of(study, &arm.name),
        encryption: arm.columns.clone().zip(key.cloned()),
    };
    arms.iter().map(of_arm).collect()
}

/// The number of an arm's tables, where each arm has its own.
pub(crate) fn set_of(study: &Study, arm: &str) -> u32 {
    let measured = study.measured_arms();
    let set = (0..).zip(&measured).find(|(_, other)| other.name == arm);
    set.map_or(0, |(set, _)| set)
}

/// The user's key, which is in the environment, or a random one; `None` where no arm encrypts cells.
///
/// It is kept in memory alone. A run that goes on has another if the environment has none: what was stored with the former is
/// then loaded anew, since a data set is known by a fingerprint of its key.
pub(crate) fn column_key(study: &Study) -> Result<Option<MasterKey>> {
    match study.arms.iter().any(|arm| arm.columns.is_some()) {
        false => Ok(None),
        true => from(env::var(MasterKey::VARIABLE)).map(Some),
    }
}

fn from(variable: Result<String, VarError>) -> Result<MasterKey> {
    let key = match variable {
        Ok(digits) => MasterKey::from_hex(&digits),
        Err(VarError::NotPresent) => MasterKey::random(),
        Err(VarError::NotUnicode(_)) => Err(KeyError::Malformed("no text".into())),
    };
    key.map_err(RunError::ColumnKey)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphertax_lab::disk_search::{Place, Sighting};
    use std::path::PathBuf;

    fn searched(found: bool) -> Searched {
        let sighting = Sighting {
            path: PathBuf::from("data/file"),
            place: Place::Contents(7),
        };
        Searched {
            files: 3,
            bytes: 100,
            found: found.then_some(sighting).into_iter().collect(),
        }
    }

    #[test]
    fn every_canary_that_is_where_it_must_not_be_or_is_missing_ends_the_arm() {
        let columns = Columns::new(ColumnFunctions::AesEncrypt);
        let canaries = ColumnCanaries {
            encrypted: "secret",
            plain: "open",
        };
        let right = || ColumnsRead {
            with_key: "secret".into(),
            without_key: "\u{fffd}x".into(),
            plain: "open".into(),
        };
        let judged = |read: ColumnsRead, encrypted: bool, plain: bool| {
            judge(&columns, canaries, &read, &searched(encrypted), &searched(plain))
        };
        let proved = judged(right(), false, true).unwrap();
        assert_eq!(proved.disk.of(FIELDS), Some(Readability::Encrypted));
        assert_eq!(proved.disk.of(OTHERS), Some(Readability::Readable));
        let proofs = &proved.proofs;
        let found = proofs.iter().map(|proof| proof.witness).collect::<Vec<_>>();
        assert_eq!(found, [Witness::Server, Witness::Disk]);
        assert!(
            judged(right(), true, true)
                .unwrap_err()
                .contains("can be read in data/file")
        );
        assert!(judged(right(), false, false).is_err());
        for wrong in [
            ColumnsRead {
                with_key: String::new(),
                ..right()
            },
            ColumnsRead {
                without_key: "a secret".into(),
                ..right()
            },
            ColumnsRead {
                without_key: String::new(),
                ..right()
            },
            ColumnsRead {
                plain: String::new(),
                ..right()
            },
        ] {
            assert!(judged(wrong, false, true).is_err());
        }
    }

    #[test]
    fn an_arm_has_the_same_tables_in_every_cell_that_measures_it() {
        let study = Study::from_toml(
            r#"name = "s"
        question = "?"
        time_s = 60
        arm = [{ name = "plain", transport = "plain" },
               { name = "keys", transport = "plain", columns = { feature = "in_results", columns = "keys" } },
               { name = "all", transport = "plain", columns = { feature = "in_results", columns = "all" } }]
        cell = [{ name = "few", workload = "tpcc", arms = ["plain", "all"], load = { connections = 1 } },
                { name = "every", workload = "tpcc", load = { connections = 1 } }]"#,
        )
        .unwrap();
        let key = MasterKey::from_hex("000102030405060708090a0b0c0d0e0f").unwrap();
        let sets = |cell: usize| {
            let arms = study.measured_arms_of(&study.cells[cell]);
            let columns = arm_columns(&study, &arms, Some(&key));
            columns
                .into_iter()
                .map(|arm| (arm.set, arm.encryption.is_some()))
                .collect::<Vec<_>>()
        };
        assert_eq!(sets(0), [(0, false), (1, false), (3, true)]);
        assert_eq!(sets(1), [(0, false), (1, false), (2, true), (3, true)]);
    }

    #[test]
    fn a_key_is_the_environments_or_random_and_never_something_else() {
        let digits = "000102030405060708090a0b0c0d0e0f";
        let key = from(Ok(digits.into())).unwrap();
        assert_eq!(key.bytes()[..3], [0, 1, 2]);
        let random = || *from(Err(VarError::NotPresent)).unwrap().bytes();
        assert_ne!(random(), random());
        for wrong in [
            "",
            "000102",
            "000102030405060708090a0b0c0d0e0g",
            "000102030405060708090a0b0c0d0e0f00",
        ] {
            let error = from(Ok(wrong.into())).unwrap_err().to_string();
            assert!(error.starts_with("CIPHERTAX_COLUMN_KEY: "), "{error}");
            assert!(wrong.is_empty() || !error.contains(wrong), "{error}");
        }
        assert!(from(Err(VarError::NotUnicode("".into()))).is_err());
    }
}
