//! What of the cost of encrypted columns is bytes, encoding, cipher, or a driver's eagerness: arms that differ in one step on the way
//! from a plain column to an encrypted one.

use ciphertax_base::Interval;
use ciphertax_base::format::rounded;
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::CellSamples;
use ciphertax_model::{CellAlgorithm, CellEncoding, ColumnEncryption, ColumnSelection, Decrypt, Metric};
use ciphertax_records::{Finding, MeasuredCell, Run};
use ciphertax_stats::FEWEST_BLOCKS;
use ciphertax_stats::jackknife::{Formula, formula_of};
use ciphertax_stats::verdict::{SIGNIFICANCE, benjamini_hochberg};

use super::super::cause;
use super::{PAID, arms, payer};

/// One finding for each pair of arms that differ in one step, for each side.
pub(super) fn steps(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
) -> Result<Vec<Finding>, EstimateError> {
    let mut found = Vec::new();
    let study = &run.head.study;
    for (to, columns) in arms(run, cell) {
        for from in study.arms_of(cell.asked).filter(|from| from.name != to.name) {
            let Some(step) = Step::between(from.columns.as_ref(), columns) else {
                continue;
            };
            let starts_plain = from
                .columns
                .as_ref()
                .is_none_or(|from| from.columns != columns.columns);
            let words = step.words(starts_plain);
            for metric in PAID {
                if let Some(more) = more_than(samples, &from.name, &to.name, metric)? {
                    found.push((step, [&from.name, &to.name], words, metric, more));
                }
            }
        }
    }
    let adjusted = benjamini_hochberg(&found.iter().map(|(.., more)| more.p_value).collect::<Vec<_>>());
    let counts = |(step, _, _, metric, more): &(Step, _, _, Metric, Formula), p_value: f64| {
        // Of two ciphers, the dearer is the one in place of the other.
        let is_reversed = *step == Step::Algorithm && more.interval.value < 0.0;
        let floor = floor_us(run, &cell.asked.name, *metric);
        let is_beyond_floor = floor.is_some_and(|floor| more.interval.value.abs() > floor);
        !is_reversed && is_beyond_floor && p_value <= SIGNIFICANCE
    };
    let found = found.into_iter().zip(adjusted);
    let found = found.filter(|(step, p_value)| counts(step, *p_value));
    Ok(found
        .map(|((_, [from, to], words, metric, more), _)| {
            told(&cell.asked.name, [from, to], words, metric, more.interval)
        })
        .collect())
}

/// By how much the baseline differs from itself, in microseconds per operation; `None` where that was not measured.
fn floor_us(run: &Run, cell: &str, metric: Metric) -> Option<f64> {
    let mut rows = run.results.estimates.iter();
    let row = rows.find(|row| row.cell == cell && row.metric == metric)?;
    Some(row.floor? * row.baseline)
}

fn told(cell: &str, [from, to]: [&str; 2], what: &str, metric: Metric, more: Interval) -> Finding {
    let (verb, amount) = match more.value < 0.0 {
        true => ("saves", more.negated()),
        false => ("costs", more),
    };
    cause(
        "cell-step",
        format!(
            "{cell}: {what} {verb} the {} {} per operation.",
            payer(metric),
            rounded::microseconds_between(amount)
        ),
        format!("{to} minus {from}, in the blocks of both"),
    )
}

/// By how much a metric of one arm is more than that of another, per operation and in the metric's unit, from the blocks in which
/// both were measured; `None` where these are too few.
fn more_than(
    samples: &CellSamples<'_>,
    one: &str,
    other: &str,
    metric: Metric,
) -> Result<Option<Formula>, EstimateError> {
    let (Some(one), Some(other)) = (samples.index_of(one), samples.index_of(other)) else {
        return Ok(None);
    };
    let rows: Vec<[f64; 4]> = samples.taken([one, other], metric).map(|(row, _)| row).collect();
    if rows.len() < FEWEST_BLOCKS as usize {
        return Ok(None);
    }
    let more = formula_of(&rows, &[[0.0], [0.0]], |[a, of_a, b, of_b], _| {
        b / of_b - a / of_a
    })?;
    Ok(Some(more))
}

/// One step on the way from plain columns to encrypted ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
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
    fn between(from: Option<&ColumnEncryption>, to: &ColumnEncryption) -> Option<Self> {
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
    fn words(self, starts_plain: bool) -> &'static str {
        match self {
            Self::Interception => "looking for cells in results that have none",
            Self::Expansion => "the extra bytes of a cell",
            Self::Encoding if starts_plain => "the extra bytes of a cell and Base64",
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
