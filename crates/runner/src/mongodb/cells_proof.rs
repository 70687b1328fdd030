//! Fields that the client encrypts before MongoDB stores them: the proof that the server sees none.

use ciphertax_base::{Proof, Witness};
use ciphertax_columns::{CellCipher, CellKind, MasterKey};
use ciphertax_lab::disk_search::search;
use ciphertax_lab::{PrivateServer, ProvedAtRest};
use ciphertax_model::{Arm, ColumnEncryption};
use ciphertax_records::{DiskRecord, Readability};
use ciphertax_wire::mongodb::bson::raw::{RawArrayBuf, RawBsonRef};
use ciphertax_wire::mongodb::bson::spec::BinarySubtype;
use ciphertax_wire::mongodb::bson::{Binary, rawdoc};
use ciphertax_wire::mongodb::{ConnectOptions, Session};
use ciphertax_wire::{Session as _, WireError};
use ciphertax_workload::mongodb::{DATABASE, MongodbAccess};
use rand::RngExt;

use super::clients::MongoDb;
use crate::columns::files_on_disk;
use crate::database::Control;
use crate::error::Result;
use crate::timeout::TIMEOUT;

/// Where proofs are written, which whoever cleans up knows.
const COLLECTION: &str = "ciphertax_proofs";
/// VAR_STRING.
const TEXT: CellKind = CellKind(253);

/// Proves by a canary that a field which an arm's client encrypts can be read by whoever has the key and by nobody else, neither
/// over a session nor on the server's disk. Nothing of an arm that stores no cells. `access` finds the primary.
pub(super) fn prove(
    control: &Control<MongoDb>,
    access: &MongodbAccess,
    arm: &Arm,
    key: Option<&MasterKey>,
    server: &PrivateServer,
) -> Result<Option<ProvedAtRest>> {
    let columns = arm.columns.as_ref().filter(|columns| columns.stores());
    let Some((encryption, key)) = columns.zip(key) else {
        return Ok(None);
    };
    let [encrypted, plain] = [(); 2].map(|()| format!("{:032x}", rand::rng().random::<u128>()));
    let refused = |problem: String| control.unusable(format!("arm {}: {problem}", arm.name));
    let mut cipher = CellCipher::open(encryption, key).map_err(|error| refused(error.to_string()))?;
    let mut cell = Vec::new();
    let made = cipher.encrypt(TEXT, encrypted.as_bytes(), &mut cell);
    made.map_err(|error| refused(error.to_string()))?;

    let options = control.primary(access)?;
    let asked = async {
        let stored = store_and_read(control, &options, cell, &plain).await;
        let on_disk = [&encrypted, &plain].map(|canary| search(server.folder(), canary.as_bytes()));
        let (mut session, _) = Session::connect(&control.reactor, &options).await?;
        session
            .command(&rawdoc! { "drop": COLLECTION, "$db": &*DATABASE })
            .await?;
        Ok::<_, WireError>((stored?, on_disk))
    };
    let (stored, [encrypted_on_disk, plain_on_disk]) = control
        .wait_for(TIMEOUT, asked)?
        .map_err(|error| refused(error.to_string()))?;
    let (encrypted_on_disk, plain_on_disk) = (encrypted_on_disk?, plain_on_disk?);

    let mut read = Vec::new();
    let decrypted = cipher.decrypt(&stored, &mut read);
    decrypted.map_err(|error| refused(error.to_string()))?;
    if read != encrypted.as_bytes() {
        return Err(refused(
            "a client with the key does not read what was stored".into(),
        ));
    }
    let shows = stored
        .windows(encrypted.len())
        .any(|window| window == encrypted.as_bytes());
    if shows || !encrypted_on_disk.found.is_empty() {
        return Err(refused(
            "what the client encrypts can be read on the server".into(),
        ));
    }
    let is_plain_there = !plain_on_disk.found.is_empty();
    Ok(Some(proved(encryption, encrypted_on_disk.bytes, is_plain_there)))
}

/// Writes a cell beside a plain text, brings both to the disk, and returns the cell as another session finds it.
async fn store_and_read(
    control: &Control<MongoDb>,
    options: &ConnectOptions,
    cell: Vec<u8>,
    plain: &str,
) -> Result<Vec<u8>, WireError> {
    let cell = Binary {
        subtype: BinarySubtype::Encrypted,
        bytes: cell,
    };
    let mut documents = RawArrayBuf::new();
    documents.push(rawdoc! { "_id": "cells", "cell": cell, "plain": plain });
    let insert = rawdoc! { "insert": COLLECTION, "documents": documents, "$db": &*DATABASE };
    let (mut session, _) = Session::connect(&control.reactor, options).await?;
    session.command(&insert).await?;
    session
        .command(&rawdoc! { "fsync": 1_i32, "$db": "admin" })
        .await?;
    let (mut other, _) = Session::connect(&control.reactor, options).await?;
    let filter = rawdoc! { "_id": "cells" };
    let found = other.find_all(&DATABASE, COLLECTION, &filter).await?;
    let stored = found.first().and_then(|record| record.get("cell").ok().flatten());
    match stored {
        Some(RawBsonRef::Binary(value)) if value.subtype == BinarySubtype::Encrypted => {
            Ok(value.bytes.to_vec())
        }
        _ => Err(WireError::Protocol(
            "an encrypted value does not come back as one".into(),
        )),
    }
}

fn proved(encryption: &ColumnEncryption, searched_bytes: u64, is_plain_there: bool) -> ProvedAtRest {
    let claim = format!("the server holds cells that it cannot read ({encryption})");
    let mut proofs = vec![Proof {
        witness: Witness::Server,
        claim: claim.clone(),
        evidence: "another session finds a value of BSON's binary subtype 6 without the canary; with the key it is the canary"
            .into(),
    }];
    // What the server compresses may hide a plain text too: then its files say nothing.
    let mut files = Vec::new();
    if is_plain_there {
        proofs.push(Proof {
            witness: Witness::Disk,
            claim,
            evidence: "the canary is in no file; a plain one beside it is".into(),
        });
        files = [
            ("cells that the client encrypts", Readability::Encrypted),
            ("other fields", Readability::Readable),
        ]
        .map(|(kind, readability)| files_on_disk(kind, readability))
        .into();
    }
    ProvedAtRest {
        proofs,
        disk: DiskRecord {
            searched_bytes,
            files,
        },
    }
}
