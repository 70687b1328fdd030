//! Which server pays most, where the same is asked of several, and what tells why.

use ciphertax_model::{Cell, Metric};
use ciphertax_records::{EstimateRow, Finding, MeasuredCell, Run, ServerRecord, Severity};
use ciphertax_stats::format::rounded;
use ciphertax_stats::jackknife::{Formula, formula_of};
use ciphertax_stats::verdict::{SIGNIFICANCE, holm};
use ciphertax_stats::{FEWEST_BLOCKS, Interval, Verdict};

use super::finding::finding;
use super::what_differs::why;
use crate::cell::{AGAIN, BASELINE, CellSamples};
use crate::compared::as_in_the_tables;
use crate::error::ExplainError;

/// The identifier of these findings.
const PAYS_MOST: &str = "pays-most";
/// What those about the server's side hold.
const SERVER_CPU: &str = ", server CPU of ";

/// What an arm costs one server.
pub(super) struct Payer<'a> {
    pub(super) name: String,
    pub(super) server: &'a ServerRecord,
    pub(super) cell: MeasuredCell<'a>,
    pub(super) row: &'a EstimateRow,
    samples: &'a CellSamples<'a>,
    /// CPU time more in microseconds.
    pub(super) more_us: Interval,
}

/// For every arm, and for every operation that several servers are asked: one finding a side.
pub(super) fn pays_most(
    run: &Run,
    cells: &[CellSamples<'_>],
    arm: &str,
) -> Result<Vec<Finding>, ExplainError> {
    let mut findings = Vec::new();
    for group in groups_of_servers(run, cells) {
        for (side, metric) in [
            ("server", server_cpu(run, &group)),
            ("client", Metric::ClientCpuPerOp),
        ] {
            let payers = payers(run, &group, arm, metric, |row| row.verdict == Verdict::Costs);
            findings.extend(of_side(run, arm, side, metric, payers)?);
        }
    }
    Ok(findings)
}

/// Cells that ask several servers the same.
pub(super) fn groups_of_servers<'a>(
    run: &'a Run,
    cells: &'a [CellSamples<'a>],
) -> Vec<Vec<(MeasuredCell<'a>, &'a CellSamples<'a>)>> {
    let all: Vec<(MeasuredCell<'_>, &CellSamples<'_>)> = run.cells().zip(cells).collect();
    let mut groups = Vec::new();
    for (index, (first, _)) in all.iter().enumerate() {
        let is_same = |other: &MeasuredCell<'_>| asks_another_server_the_same(first.asked, other.asked);
        if all[..index].iter().any(|(other, _)| is_same(other)) {
            continue;
        }
        let others = all.iter().skip(index + 1).filter(|(other, _)| is_same(other));
        let group: Vec<_> = std::iter::once(&all[index]).chain(others).copied().collect();
        if group.len() > 1 {
            groups.push(group);
        }
    }
    groups
}

/// What these findings answer about the servers' own CPU: the first sentence of each.
pub(crate) fn which_server_pays_most(findings: &[Finding]) -> Vec<&str> {
    let of_servers = findings
        .iter()
        .filter(|finding| finding.id == PAYS_MOST && finding.summary.contains(SERVER_CPU));
    of_servers
        .filter_map(|finding| finding.summary.split(". ").next())
        .collect()
}

fn asks_another_server_the_same(one: &Cell, other: &Cell) -> bool {
    let asked = |cell: &Cell| Cell {
        name: String::new(),
        server: None,
        ..cell.clone()
    };
    one.server != other.server && asked(one) == asked(other)
}

/// What says most of what servers pay that are asked the same. Their arms are the same too, so what says it of one of them says
/// it of all.
pub(super) fn server_cpu(run: &Run, group: &[(MeasuredCell<'_>, &CellSamples<'_>)]) -> Metric {
    let first = group.first().map(|(cell, _)| cell.asked.name.as_str());
    first.map_or(Metric::ServerCpuPerOp, |cell| run.results.server_cpu(cell))
}

/// Those whose row is wanted, such as those that are sure to pay; the most first.
pub(super) fn payers<'a>(
    run: &'a Run,
    group: &[(MeasuredCell<'a>, &'a CellSamples<'a>)],
    arm: &str,
    metric: Metric,
    is_wanted: impl Fn(&EstimateRow) -> bool,
) -> Vec<Payer<'a>> {
    let payer = |(cell, samples): &(MeasuredCell<'a>, &'a CellSamples<'a>)| {
        let row = run.results.estimate(&cell.asked.name, arm, metric)?;
        let row = Some(row).filter(|row| is_wanted(row))?;
        let server = run.server_of(cell.found)?;
        Some(Payer {
            name: run.short_name(server),
            server,
            cell: *cell,
            row,
            samples,
            more_us: row.difference,
        })
    };
    let mut payers: Vec<Payer<'_>> = group.iter().filter_map(payer).collect();
    payers.sort_by(|one, other| other.more_us.value.total_cmp(&one.more_us.value));
    payers
}

fn of_side(
    run: &Run,
    arm: &str,
    side: &str,
    metric: Metric,
    payers: Vec<Payer<'_>>,
) -> Result<Option<Finding>, ExplainError> {
    let [most, others @ ..] = payers.as_slice() else {
        return Ok(None);
    };
    let mut ahead = Vec::new();
    for other in others {
        match ahead_of(most, other, arm, metric)? {
            Some(formula) => ahead.push(formula),
            None => return Ok(None),
        }
    }
    let Some(nearest) = ahead.first() else {
        return Ok(None);
    };
    let adjusted = holm(&ahead.iter().map(|formula| formula.p_value).collect::<Vec<_>>());
    let is_sure = |(index, formula): (usize, &Formula)| {
        let floors = floor_us(most) + floor_us(&others[index]);
        formula.interval.low > 0.0 && formula.interval.value > floors && adjusted[index] <= SIGNIFICANCE
    };
    let workload = most.cell.asked.workload;
    let what = match (workload.makes_connections(), workload.is_key_lookup()) {
        (true, _) => "a new connection",
        (false, true) => "a query",
        (false, false) => "an operation",
    };
    let told = |payer: &Payer<'_>| format!("{} {}", payer.name, rounded::microseconds_between(payer.more_us));
    let ranking: Vec<String> = payers.iter().map(told).collect();
    let ranking = ranking.join(", ");
    let by = format!(
        "{} more than {}",
        rounded::microseconds_between(nearest.interval),
        others[0].name
    );
    let answer = match ahead.iter().enumerate().all(is_sure) {
        true => format!("{} pays most for {arm}, {by}", most.name),
        false => format!(
            "which pays most for {arm} cannot be told ({}: {by}, which is not sure or within the noise)",
            most.name
        ),
    };
    let relative = payers
        .iter()
        .max_by(|one, other| one.row.change.total_cmp(&other.row.change));
    let is_alone = |payer: &&Payer<'_>| {
        let mut rivals = payers.iter().filter(|other| other.name != payer.name);
        rivals.all(|other| payer.row.low > other.row.high)
    };
    let relative = relative.filter(is_alone).map_or_else(String::new, |payer| {
        format!(
            " In percent it is most on {}: {} of {} without it.",
            payer.name,
            rounded::change(payer.row.interval()),
            rounded::microseconds(payer.row.baseline)
        )
    });
    Ok(Some(finding(
        PAYS_MOST,
        Severity::Cause,
        format!(
            "{}, {side} CPU of {what}: {answer}. More CPU time: {ranking}.{relative}{}",
            workload.name(),
            match metric {
                Metric::ClientCpuPerOp => String::new(),
                _ => why(run, arm, &payers),
            }
        ),
        evidence(&payers),
    )))
}

/// How much more the one costs than the other, in microseconds; `None` of too few blocks. Cells are independent.
pub(super) fn ahead_of(
    one: &Payer<'_>,
    other: &Payer<'_>,
    arm: &str,
    metric: Metric,
) -> Result<Option<Formula>, ExplainError> {
    let (Some(one), Some(other)) = (logs(one, arm, metric)?, logs(other, arm, metric)?) else {
        return Ok(None);
    };
    let more = |[baseline, arm]: &[f64; 2]| arm.exp() - baseline.exp();
    Ok(Some(formula_of(&one, &other, |one, other| {
        more(one) - more(other)
    })?))
}

/// Logarithms of CPU per operation in microseconds, of the baseline and of the arm, block by block, with the means of the tables;
/// `None` where there are too few blocks.
fn logs(payer: &Payer<'_>, arm: &str, metric: Metric) -> Result<Option<Vec<[f64; 2]>>, ExplainError> {
    let Some(arm) = payer.samples.arms.iter().position(|name| name == arm) else {
        return Ok(None);
    };
    let rows = payer.samples.logs_of([BASELINE, AGAIN, arm], metric);
    match rows.len() < FEWEST_BLOCKS as usize {
        true => Ok(None),
        false => as_in_the_tables(&rows, metric, payer.row.baseline).map(Some),
    }
}

/// What the baseline against itself may differ by, in microseconds.
pub(super) fn floor_us(payer: &Payer<'_>) -> f64 {
    payer.row.floor.unwrap_or(f64::INFINITY) * payer.row.baseline
}

/// What each server pays without the arm, and with which library.
fn evidence(payers: &[Payer<'_>]) -> String {
    let told = payers.iter().map(|payer| {
        let library = match payer.server.tls_library.as_str() {
            "" => String::new(),
            library => format!(", {library}"),
        };
        format!(
            "{}{library}: {} of {}",
            payer.name,
            rounded::change(payer.row.interval()),
            rounded::microseconds(payer.row.baseline)
        )
    });
    told.collect::<Vec<_>>().join("; ")
}
