//! Queries of the outputs to a run, and findings that say the same of several arms or cells, together.

use ciphertax_model::Metric;
use ciphertax_model::workload::Unit;
use ciphertax_records::{ArmRecord, EstimateRow, Finding, KindRow, MeasuredCell, PhaseRow, Run, Severity};
use serde::Serialize;

/// True if any arm of a cell has a metric of storage: what is written, read, and worked for it elsewhere.
pub(crate) fn has_storage(run: &Run, cell: &str) -> bool {
    let metrics = [
        Metric::StorageWrittenPerOp,
        Metric::StorageReadPerOp,
        Metric::FileSystemCpuPerOp,
        Metric::KernelWorkersCpuPerOp,
    ];
    metrics.into_iter().any(|metric| is_measured(run, cell, metric))
}

/// True for what one arm may have and the baseline not: such an arm is shown by itself.
pub(crate) fn may_be_missing(metric: Metric) -> bool {
    Metric::MEASURED_ALONE.contains(&metric) || Metric::COMPARED_OF_ROUNDS.contains(&metric)
}

/// The metric that stands for the server's CPU in a cell; any other is itself.
pub(crate) fn of_whole_rounds(run: &Run, cell: &str, metric: Metric) -> Metric {
    match metric {
        Metric::ServerCpuPerOp => run.results.server_cpu(cell),
        other => other,
    }
}

/// True if any arm of a cell has a metric.
fn is_measured(run: &Run, cell: &str, metric: Metric) -> bool {
    let mut rows = run.results.measurements.iter();
    rows.any(|row| row.cell == cell && row.metric == metric)
}

/// The arms the study asks about in this cell: a cell may leave some out.
pub(crate) fn variants_in<'a>(run: &'a Run, cell: MeasuredCell<'a>) -> impl Iterator<Item = &'a ArmRecord> {
    let cell = cell.asked;
    let is_measured =
        move |arm: &&ArmRecord| run.head.study.arms_of(cell).any(|other| other.name == arm.name);
    run.head.variants().filter(is_measured)
}

/// The variants against the baseline for each kind of operation of a cell; empty where there is but one kind.
pub(crate) fn by_kind<'a>(run: &'a Run, cell: &str) -> Vec<&'a KindRow> {
    run.results
        .by_kind
        .iter()
        .filter(|row| row.estimate.cell == cell)
        .collect()
}

/// The baseline against itself.
pub(crate) fn noise<'a>(run: &'a Run, cell: &str, metric: Metric) -> Option<&'a EstimateRow> {
    run.results
        .noise_floor
        .iter()
        .find(|row| row.cell == cell && row.metric == metric)
}

/// The noise floor of a metric in a cell, as a factor less one: smaller changes do not count. `None` where nothing was
/// compared.
pub(crate) fn floor(run: &Run, cell: &str, metric: Metric) -> Option<f64> {
    let mut rows = run.results.estimates.iter();
    rows.find(|row| row.cell == cell && row.metric == metric)?.floor
}

/// What an arm measured by itself, with its unit.
pub(crate) fn measured<'a>(run: &'a Run, cell: &str, arm: &str, metric: Metric) -> Option<(f64, &'a str)> {
    let row = run.results.measured(cell, arm, metric)?;
    Some((row.value, row.unit.as_str()))
}

/// The metrics of what stands between clients and server that any arm of a cell has: of a tunnel, of a pooler, and of a relay, which
/// is a part of the server's.
pub(crate) fn between(run: &Run, cell: &str) -> impl Iterator<Item = Metric> {
    let metrics = Metric::OF_WHAT_IS_BETWEEN.into_iter();
    metrics.filter(move |metric| is_measured(run, cell, *metric))
}

/// The CPU time per operation by these metrics of what stands between an arm's clients and the server, less that of the baseline's,
/// with its unit; `None` where nothing does.
pub(crate) fn more_between<'a>(
    run: &'a Run,
    cell: &str,
    arm: &str,
    metrics: &[Metric],
) -> Option<(f64, &'a str)> {
    let of = |arm: &str| {
        let values = metrics
            .iter()
            .filter_map(|metric| measured(run, cell, arm, *metric));
        values.reduce(|(sum, unit), (value, _)| (sum + value, unit))
    };
    let (value, unit) = of(arm)?;
    let baseline = run.head.baseline().and_then(|arm| of(&arm.name));
    Some((value - baseline.map_or(0.0, |(value, _)| value), unit))
}

/// The phases of an arm's connects, in the order of all reports.
pub(crate) fn phases<'a>(run: &'a Run, cell: &str, arm: &str) -> Vec<&'a PhaseRow> {
    let mut rows: Vec<_> = run
        .results
        .connect_phases
        .iter()
        .filter(|row| row.cell == cell && row.arm == arm)
        .collect();
    rows.sort_by_key(|row| row.phase);
    rows
}

/// What a figure per operation of a cell is per.
pub(crate) fn per_operation(run: &Run, cell: MeasuredCell<'_>) -> &'static str {
    match (
        cell.asked.workload.makes_connections(),
        cell.asked.workload.descriptor().operation,
    ) {
        (true, _) if run.head.is_embedded() => "per open",
        (true, _) => "per connection",
        (false, Unit::Lookup) => "per query",
        (false, Unit::BulkResult) => "per MiB of result",
        (false, _) => "per operation",
    }
}

/// True if client and server shared the CPUs of a machine.
pub(crate) fn is_same_host(run: &Run) -> bool {
    run.head.servers.iter().any(|server| server.same_host)
}

/// The metrics that an arm measures by itself, and that any arm of a cell has.
pub(crate) fn measured_alone(run: &Run, cell: &str) -> impl Iterator<Item = Metric> {
    let metrics = Metric::MEASURED_ALONE.into_iter();
    metrics.filter(move |metric| is_measured(run, cell, *metric))
}

/// Findings whose text is the same but for arms, cells and figures.
pub(crate) struct Group {
    pub(crate) severity: Severity,
    /// The findings, those with equal text but for the arm in one.
    pub(crate) statements: Vec<Statement>,
}

/// What one or several findings say.
#[derive(Serialize)]
pub(crate) struct Statement {
    pub(crate) summary: String,
    /// Of each finding; where they are several, it says of which arm it is.
    pub(crate) evidence: Vec<String>,
}

/// The findings of the run in groups, in the order of the record.
pub(crate) fn grouped(run: &Run) -> Vec<Group> {
    let names = Names::of(run);
    let mut groups: Vec<(String, Vec<&Finding>)> = Vec::new();
    for finding in &run.results.findings {
        let shape = format!(
            "{:?} {}",
            finding.severity,
            without_figures(&names.hidden(&finding.summary))
        );
        match groups.iter_mut().find(|(other, _)| *other == shape) {
            Some((_, findings)) => findings.push(finding),
            None => groups.push((shape, vec![finding])),
        }
    }
    groups
        .into_iter()
        .map(|(_, findings)| Group {
            severity: findings[0].severity,
            statements: statements(&names, &findings),
        })
        .collect()
}

fn statements(names: &Names<'_>, findings: &[&Finding]) -> Vec<Statement> {
    let mut statements: Vec<(String, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let text = names.arms_hidden(&finding.summary);
        // Of two arms in one sentence nobody could tell which belongs to which.
        let names_one = text.matches(ARM).count() == 1;
        match statements
            .iter_mut()
            .find(|(other, _)| names_one && *other == text)
        {
            Some((_, alike)) => alike.push(finding),
            None => statements.push((text, vec![finding])),
        }
    }
    statements
        .into_iter()
        .map(|(text, alike)| {
            let arms = arms_in(&text, &alike);
            let evidence = match alike.as_slice() {
                [only] => vec![only.evidence.clone()],
                _ => {
                    let of_arms = arms.iter().zip(&alike);
                    of_arms
                        .map(|(arm, finding)| format!("{arm}: {}", finding.evidence))
                        .collect()
                }
            };
            Statement {
                evidence,
                summary: match alike.len() {
                    1 => alike[0].summary.clone(),
                    _ => text.replace(ARM, &arms.join(", ")),
                },
            }
        })
        .collect()
}

/// The arm that each of these findings names, where their text names one.
fn arms_in<'a>(text: &str, alike: &[&'a Finding]) -> Vec<&'a str> {
    let Some(before) = text.find(ARM) else {
        return Vec::new();
    };
    let after = text.len() - before - ARM.len_utf8();
    let arm = |finding: &&'a Finding| {
        finding
            .summary
            .get(before..finding.summary.len().checked_sub(after)?)
    };
    alike.iter().filter_map(arm).collect()
}

/// The names of arms and cells, the longest first, so that none is taken for a part of another.
struct Names<'a> {
    arms: Vec<&'a str>,
    cells: Vec<&'a str>,
}

/// Stands for an arm; no name or text has it.
const ARM: char = '\u{1}';
const CELL: char = '\u{2}';

impl<'a> Names<'a> {
    fn of(run: &'a Run) -> Self {
        let longest_first = |mut names: Vec<&'a str>| {
            names.sort_by_key(|name| std::cmp::Reverse(name.len()));
            names
        };
        Self {
            // The baseline is what all findings are against.
            arms: longest_first(run.head.variants().map(|arm| arm.name.as_str()).collect()),
            cells: longest_first(run.cells().map(|cell| cell.found.name.as_str()).collect()),
        }
    }

    fn arms_hidden(&self, text: &str) -> String {
        self.arms.iter().fold(text.to_owned(), |text, name| {
            whole_words_replaced(&text, name, ARM)
        })
    }

    fn hidden(&self, text: &str) -> String {
        let text = self.arms_hidden(text);
        self.cells
            .iter()
            .fold(text, |text, name| whole_words_replaced(&text, name, CELL))
    }
}

/// Replaces a name where it stands alone: `plain` in `over plain,`, and not in `plaintext`.
fn whole_words_replaced(text: &str, name: &str, with: char) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name).filter(|_| !name.is_empty()) {
        let (before, found) = rest.split_at(at);
        let (found, after) = found.split_at(name.len());
        let stands_alone = !before
            .chars()
            .next_back()
            .or(replaced.chars().next_back())
            .is_some_and(is_part)
            && !after.chars().next().is_some_and(is_part);
        replaced.push_str(before);
        match stands_alone {
            true => replaced.push(with),
            false => replaced.push_str(found),
        }
        rest = after;
    }
    replaced + rest
}

/// The text with one sign in place of every number.
fn without_figures(text: &str) -> String {
    let mut shape = String::new();
    for c in text.chars() {
        let is_figure = c.is_ascii_digit() || (c == '.' || c == ',') && shape.ends_with('#');
        if !is_figure {
            shape.push(c);
        } else if !shape.ends_with('#') {
            shape.push('#');
        }
    }
    // Small times are given in other units than large ones.
    shape.replace(" µs", " #").replace(" ms", " #")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_only_where_it_stands_alone() {
        assert_eq!(
            whole_words_replaced("over tls, not tls1", "tls", '*'),
            "over *, not tls1"
        );
        assert_eq!(whole_words_replaced("a-tls tls", "tls", '*'), "a-tls *");
    }

    #[test]
    fn figures_do_not_tell_texts_apart() {
        assert_eq!(
            without_figures("takes 206 µs, 52 % of 1,234.5"),
            without_figures("takes 1.2 ms, 7 % of 9")
        );
        assert_ne!(
            without_figures("takes 206 µs longer"),
            without_figures("takes 206 µs")
        );
    }
}
