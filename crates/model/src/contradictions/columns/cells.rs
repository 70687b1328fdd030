//! What cells cannot be, whatever is in them.

use super::super::found::{Found, Path};
use crate::arm::Arm;
use crate::columns::{CellAlgorithm, CellFormat, CellMode, ColumnEncryption, ColumnFeature};

/// `path` is that of what the arm encrypts.
pub(super) fn check_cells(arm: &Arm, columns: &ColumnEncryption, path: &Path, found: &mut Found) {
    let name = &arm.name;
    if columns.format != CellFormat::Encdb && columns.algorithm != CellAlgorithm::default() {
        let (format, algorithm): (&str, &str) = (columns.format.into(), columns.algorithm.into());
        let message = format!(
            "arm {name:?}: only cells of encdb have algorithms to choose, and {format} has one of its own; leave algorithm = \
             {algorithm:?} out"
        );
        found.add(path.key("algorithm"), message);
    }
    let is_gcm = matches!(
        columns.algorithm,
        CellAlgorithm::Sm4Gcm | CellAlgorithm::Aes128Gcm
    );
    if columns.feature == ColumnFeature::InResults
        && columns.mode == CellMode::Deterministic
        && columns.format == CellFormat::Encdb
        && is_gcm
    {
        let message = format!(
            "arm {name:?}: deterministic cells show who has no key which values are equal, and GCM must never have one vector for two \
             values; nobody compares cells in results, so servers make random ones: leave mode out"
        );
        found.add(path.key("mode"), message);
    }
    if columns.format == CellFormat::Csfle && columns.feature == ColumnFeature::InResults {
        let message = format!(
            "arm {name:?}: csfle is what a client stores in MongoDB; take format = \"encdb\", or feature = \"stored\""
        );
        found.add(path.key("format"), message);
    }
}

/// True if equal values have equal cells, whatever the mode.
pub(super) fn are_deterministic(columns: &ColumnEncryption) -> bool {
    let without_vectors = columns.format == CellFormat::Encdb
        && matches!(
            columns.algorithm,
            CellAlgorithm::Sm4Ecb | CellAlgorithm::Aes128Ecb | CellAlgorithm::Wrapped
        );
    without_vectors || columns.mode == CellMode::Deterministic
}
