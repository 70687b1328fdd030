//! Cells that the client encrypts before it stores them: the proof that the server sees none, and who cannot have any.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ciphertax_base::{Proof, Witness};
use ciphertax_columns::MasterKey;
use ciphertax_lab::disk_search::{Searched, search};
use ciphertax_lab::{PrivateServer, ProvedAtRest};
use ciphertax_model::{Arm, CellEncoding, ColumnEncryption, ColumnFeature};
use ciphertax_records::{DiskRecord, Readability};
use ciphertax_workload::dataset::{
    CellCanaries, CellsProof, CellsRead, remove_columns_proof, write_cells_proof,
};
use ciphertax_workload::sql::SqlSession;

use crate::columns::{canary, files_on_disk};
use crate::database::{Clients, Control};
use crate::error::Result;
use crate::timeout::TIMEOUT;

/// What is searched for its canaries.
const CELLS: &str = "cells that the client encrypts, in tables and logs";
const OTHERS: &str = "other columns, in tables and logs";

/// Proves by canaries that what an arm's client stores as cells can be read by whoever has the key and by nobody else, neither over
/// a session nor on the server's disk; of cells that only look encrypted, that they can be read. Nothing of other arms.
pub(crate) fn prove<D: Clients<Session: SqlSession>>(
    control: &Control<D>,
    arm: &Arm,
    key: Option<&MasterKey>,
    server: &PrivateServer,
    proof: &CellsProof,
) -> Result<Option<ProvedAtRest>> {
    let is_stored = |columns: &&ColumnEncryption| columns.feature == ColumnFeature::Stored;
    let Some((encryption, key)) = arm.columns.as_ref().filter(is_stored).zip(key) else {
        return Ok(None);
    };
    let [encrypted, plain] = [canary("cell"), canary("beside")];
    let canaries = CellCanaries {
        encrypted: &encrypted,
        plain: &plain,
    };
    let ways = &control.ways[0];
    let write = write_cells_proof::<D::Session>(&control.reactor, ways, (encryption, key), canaries, proof);
    let read = control.wait_for(TIMEOUT, write)?;
    let read = read.map_err(|error| control.of_dataset(error))?;
    let on_disk = [&encrypted, &plain].map(|canary| search(server.folder(), canary.as_bytes()));
    let remove = remove_columns_proof::<D::Session>(&control.reactor, ways);
    control
        .wait_for(TIMEOUT, remove)?
        .map_err(|error| control.of_removal(error))?;
    let [encrypted, plain] = on_disk;
    judge(encryption, canaries, &read, &encrypted?, &plain?)
        .map(Some)
        .map_err(|problem| control.unusable(format!("arm {}: {problem}", arm.name)))
}

fn judge(
    encryption: &ColumnEncryption,
    canaries: CellCanaries<'_>,
    read: &CellsRead,
    encrypted: &Searched,
    plain: &Searched,
) -> Result<ProvedAtRest, String> {
    if read.with_key != canaries.encrypted {
        return Err("a session with the key does not read what was stored".to_owned());
    }
    if read.plain != canaries.plain || plain.found.is_empty() {
        return Err(
            "a plain column is not found where it was stored, so nothing is known of an encrypted one"
                .to_owned(),
        );
    }
    let files = places(plain);
    let hidden = encryption.protects();
    match (hidden, shows(encryption, &read.without_key, canaries.encrypted)) {
        (true, true) => return Err("a session without the key reads what was stored".to_owned()),
        (false, false) => {
            return Err("a session without the key does not read what is not encrypted".to_owned());
        }
        _ => {}
    }
    if let (true, Some(place)) = (hidden, encrypted.found.first()) {
        return Err(format!(
            "what the client encrypts can be read in {}",
            place.path.display()
        ));
    }
    let logs = match read.is_logged {
        true => "the server's log of statements among them",
        false => "the server logs no statements",
    };
    let (claim, seen) = match hidden {
        true => (
            "the server holds cells that it cannot read",
            "a session without the key reads a cell without the canary, one with it reads the canary",
        ),
        false => (
            "unprotected: the server holds cells that anybody can read",
            "a session without any key reads the canary in the cell",
        ),
    };
    let on_disk = match hidden {
        true => format!("the canary is in no file; a plain one beside it is in {files}, {logs}"),
        false => format!("a plain canary beside the cell is in {files}"),
    };
    let proof = |witness, claim: &str, evidence: &str| Proof {
        witness,
        claim: claim.into(),
        evidence: evidence.into(),
    };
    let readability = match hidden {
        true => Readability::Encrypted,
        false => Readability::Readable,
    };
    Ok(ProvedAtRest {
        proofs: vec![
            proof(Witness::Server, claim, seen),
            proof(Witness::Disk, claim, &on_disk),
        ],
        disk: DiskRecord {
            searched_bytes: encrypted.bytes,
            files: vec![
                files_on_disk(CELLS, readability),
                files_on_disk(OTHERS, Readability::Readable),
            ],
        },
    })
}

/// True if a cell shows a text to whoever has no key.
fn shows(encryption: &ColumnEncryption, cell: &[u8], text: &str) -> bool {
    let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let decoded = match encryption.encoding {
        CellEncoding::Base64 => STANDARD.decode(cell).unwrap_or_default(),
        CellEncoding::Binary => Vec::new(),
    };
    has(cell) || has(&decoded)
}

/// The names of the files that something was found in.
fn places(searched: &Searched) -> String {
    let mut names: Vec<String> = searched
        .found
        .iter()
        .filter_map(|sighting| Some(sighting.path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names.dedup();
    names.join(", ")
}
