//! Arms that differ in one step on the way from a plain column to an encrypted one.

use ciphertax_model::{CellAlgorithm, CellEncoding, ColumnEncryption, ColumnSelection, Decrypt};

/// One step on the way from plain columns to encrypted ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The client looks at every result for cells.
    Interception,
    /// Cells are longer than their plaintext.
    Expansion,
    /// Cells are text.
    Encoding,
    /// Cells are encrypted: the cipher, its vector, its check.
    Cipher,
    /// Another cipher.
    Algorithm,
    /// Cells that nobody reads are decrypted too.
    Eagerness,
}

impl Step {
    /// What leads from one arm to another; `None` where they differ in anything else, or in more than this.
    pub(super) fn between(from: Option<&ColumnEncryption>, to: &ColumnEncryption) -> Option<Self> {
        let Some(from) = from else {
            return (to.columns == ColumnSelection::None).then_some(Self::Interception);
        };
        let alike = |of: fn(&mut ColumnEncryption, &ColumnEncryption)| {
            let mut changed = from.clone();
            of(&mut changed, to);
            changed == *to && from != to
        };
        if from.columns == ColumnSelection::None {
            let same_way = alike(|from, to| {
                from.columns = to.columns.clone();
                from.algorithm = to.algorithm;
                from.encoding = to.encoding;
            });
            return (same_way && to.algorithm == CellAlgorithm::Wrapped).then_some(match to.encoding {
                CellEncoding::Binary => Self::Expansion,
                // Without an arm between them these are one step.
                CellEncoding::Base64 => Self::Encoding,
            });
        }
        if alike(|from, to| from.encoding = to.encoding) {
            return (to.encoding == CellEncoding::Base64).then_some(Self::Encoding);
        }
        if alike(|from, to| from.algorithm = to.algorithm) {
            return match (from.algorithm, to.algorithm) {
                (CellAlgorithm::Wrapped, _) => Some(Self::Cipher),
                (_, CellAlgorithm::Wrapped) => None,
                _ => Some(Self::Algorithm),
            };
        }
        let is_eager = from.decrypt == Decrypt::Read && to.decrypt == Decrypt::All;
        (is_eager && alike(|from, to| from.decrypt = to.decrypt)).then_some(Self::Eagerness)
    }

    /// What it adds, in words.
    pub(super) fn words(self, starts_plain: bool) -> &'static str {
        match self {
            Self::Interception => "looking for cells in every result, where there are none,",
            Self::Expansion => "the bytes that a cell has more than its plaintext",
            Self::Encoding if starts_plain => {
                "the bytes that a cell has more than its plaintext, and Base64,"
            }
            Self::Encoding => "Base64",
            Self::Cipher => "the cipher, its vector and its check",
            Self::Algorithm => "this cipher in place of the other",
            Self::Eagerness => "decrypting cells that nobody reads",
        }
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_model::{CellFormat, CellMode, ColumnFeature};

    use super::*;

    fn columns(algorithm: CellAlgorithm, selection: ColumnSelection) -> ColumnEncryption {
        ColumnEncryption {
            feature: ColumnFeature::InResults,
            format: CellFormat::Encdb,
            algorithm,
            mode: CellMode::Random,
            encoding: CellEncoding::Base64,
            columns: selection,
            decrypt: Decrypt::All,
        }
    }

    #[test]
    fn arms_that_differ_in_one_step_are_told_and_all_others_are_not() {
        let ready = columns(CellAlgorithm::Sm4Gcm, ColumnSelection::None);
        let wrapped = columns(CellAlgorithm::Wrapped, ColumnSelection::All);
        let sm4 = columns(CellAlgorithm::Sm4Gcm, ColumnSelection::All);
        let aes = columns(CellAlgorithm::Aes128Gcm, ColumnSelection::All);
        let half = columns(CellAlgorithm::Sm4Gcm, ColumnSelection::Half);
        let frugal = ColumnEncryption {
            decrypt: Decrypt::Read,
            ..sm4.clone()
        };
        let binary = ColumnEncryption {
            encoding: CellEncoding::Binary,
            ..wrapped.clone()
        };
        for (from, to, expected) in [
            (None, &ready, Some(Step::Interception)),
            (None, &sm4, None),
            (Some(&ready), &wrapped, Some(Step::Encoding)),
            (Some(&ready), &binary, Some(Step::Expansion)),
            (Some(&binary), &wrapped, Some(Step::Encoding)),
            (Some(&wrapped), &sm4, Some(Step::Cipher)),
            (Some(&aes), &sm4, Some(Step::Algorithm)),
            (Some(&frugal), &sm4, Some(Step::Eagerness)),
            (Some(&sm4), &frugal, None),
            (Some(&half), &sm4, None),
            (Some(&wrapped), &half, None),
            (Some(&sm4), &sm4, None),
        ] {
            assert_eq!(Step::between(from, to), expected, "{from:?} {to:?}");
        }
    }
}
