//! Arms that only look protected, and cells that can be guessed without a key.

use ciphertax_model::{CellAlgorithm, CellFormat, CellMode, ColumnEncryption, ColumnFeature};
use ciphertax_records::{Finding, Run, Severity};

use super::super::finding::finding;

/// One for each arm that hides less than it seems to.
pub(in super::super) fn unprotected(run: &Run) -> Vec<Finding> {
    let arms = run.head.study.arms.iter();
    let columns = arms.filter_map(|arm| Some((arm.name.as_str(), arm.columns.as_ref()?)));
    columns
        .flat_map(|(arm, columns)| {
            let told = |(id, severity, why): Told| {
                finding(id, severity, format!("{arm}: {why}."), columns.to_string())
            };
            [wrapped(columns), guessable(columns), in_the_clear(columns)]
                .into_iter()
                .flatten()
                .map(told)
                .collect::<Vec<Finding>>()
        })
        .collect()
}

/// An identifier, what it is, and the sentence.
type Told = (&'static str, Severity, &'static str);

fn wrapped(columns: &ColumnEncryption) -> Option<Told> {
    (columns.algorithm == CellAlgorithm::Wrapped).then(|| {
        let why = "unprotected: its cells only look encrypted, and hold the plaintext, to show what a cell costs without its cipher";
        ("wrapped-cells", Severity::Suspicion, why)
    })
}

/// EncDB's deterministic vector is a hash of the plaintext without any key, in clear.
fn guessable(columns: &ColumnEncryption) -> Option<Told> {
    let is_hashed = columns.format == CellFormat::Encdb
        && columns.mode == CellMode::Deterministic
        && columns.algorithm != CellAlgorithm::Wrapped;
    is_hashed.then(|| {
        let why = "its vectors are hashes of the plaintext without a key, in clear: numbers and names can be guessed back by anybody; \
                   take aead_cbc_hmac or csfle, whose deterministic vectors are keyed";
        ("guessable-cells", Severity::Advice, why)
    })
}

/// What the feature is not, which its name suggests.
fn in_the_clear(columns: &ColumnEncryption) -> Option<Told> {
    (columns.feature == ColumnFeature::InResults && columns.protects()).then(|| {
        let why = "the tables are plain, and parameters go to the server in clear; only what the server answers is encrypted, with a key \
                   that the client has given it";
        ("encrypted-in-results", Severity::Cause, why)
    })
}
