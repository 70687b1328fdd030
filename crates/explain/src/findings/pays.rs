//! Which server pays most for a feature, and what differs between the servers.

use ciphertax_base::Interval;
use ciphertax_base::TlsFacts;
use ciphertax_base::format::{plain, rounded};
use ciphertax_base::joined;
use ciphertax_model::{Cell, Metric};
use ciphertax_records::{EstimateRow, Finding, MeasuredCell, Run, ServerRecord};
use ciphertax_stats::jackknife::{Formula, formula_of};
use ciphertax_stats::verdict::{SIGNIFICANCE, holm};
use ciphertax_stats::{FEWEST_BLOCKS, Verdict};

use super::cause;
use crate::answer::operation;
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::{AGAIN, BASELINE, CellSamples};
use ciphertax_estimate::compared::as_in_the_tables;

/// The identifier of these findings.
const PAYS_MOST: &str = "pays-most";
/// What those about the server's side hold.
const SERVER_CPU: &str = " server CPU ";

/// What those say that do not say which.
const NOT_DECIDED: &str = "which pays most is not decided";

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
) -> Result<Vec<Finding>, EstimateError> {
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

/// What these findings answer about the servers' own CPU: the first sentence of each, those first
/// that are decided.
pub(crate) fn which_server_pays_most(findings: &[Finding]) -> Vec<&str> {
    let of_servers = findings
        .iter()
        .filter(|finding| finding.id == PAYS_MOST && finding.summary.contains(SERVER_CPU));
    let first = of_servers.filter_map(|finding| finding.summary.split(". ").next());
    let (open, decided): (Vec<&str>, Vec<&str>) = first.partition(|sentence| sentence.contains(NOT_DECIDED));
    [decided, open].concat()
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
) -> Result<Option<Finding>, EstimateError> {
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
    let are_behind = are_behind(most, others.iter().zip(&ahead));
    let workload = most.cell.asked.workload;
    let what = operation(run, &most.cell.asked.name);
    let told = |payer: &Payer<'_>| format!("{} {}", payer.name, rounded::microseconds_between(payer.more_us));
    let ranking = joined(payers.iter().map(told), ", ");
    let apart = rounded::microseconds_between(nearest.interval);
    let of_what = match what {
        "operation" => format!("per {what} ({})", workload.name()),
        _ => format!("per {what}"),
    };
    let cost = |payer: &Payer<'_>| rounded::microseconds(payer.more_us.value);
    let answer = match are_behind.iter().all(|is_behind| *is_behind) {
        true => {
            let most_us = cost(most);
            format!(
                "{} pays most {side} CPU for {arm} {of_what}: {most_us}, {apart} more than {}",
                most.name, others[0].name
            )
        }
        false => {
            let each = payers
                .iter()
                .map(|payer| format!("{} {}", payer.name, cost(payer)));
            let each = joined(each, ", ");
            format!(
                "{arm} costs {each} of {side} CPU {of_what}; {NOT_DECIDED} (the first two are {apart} apart)"
            )
        }
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
            " In percent {} pays most: {} of {} without it.",
            payer.name,
            rounded::change(payer.row.interval()),
            rounded::microseconds(payer.row.baseline)
        )
    });
    Ok(Some(cause(
        PAYS_MOST,
        format!(
            "{answer}. Extra CPU time: {ranking}.{relative}{}",
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
) -> Result<Option<Formula>, EstimateError> {
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
fn logs(payer: &Payer<'_>, arm: &str, metric: Metric) -> Result<Option<Vec<[f64; 2]>>, EstimateError> {
    let Some(arm) = payer.samples.index_of(arm) else {
        return Ok(None);
    };
    let rows = payer.samples.logs_of([BASELINE, AGAIN, arm], metric);
    match rows.len() < FEWEST_BLOCKS as usize {
        true => Ok(None),
        false => as_in_the_tables(&rows, metric, payer.row.baseline).map(Some),
    }
}

/// Which of others surely pay less than one: by more than both noise floors, and significantly among them all.
pub(super) fn are_behind<'a>(
    most: &Payer<'_>,
    others: impl Iterator<Item = (&'a Payer<'a>, &'a Formula)>,
) -> Vec<bool> {
    let others: Vec<(&Payer<'_>, &Formula)> = others.collect();
    let adjusted = holm(&others.iter().map(|(_, ahead)| ahead.p_value).collect::<Vec<_>>());
    let is_behind = |((other, ahead), p_value): (&(&Payer<'_>, &Formula), f64)| {
        let floors = floor_us(most) + floor_us(other);
        ahead.interval.low > 0.0 && ahead.interval.value > floors && p_value <= SIGNIFICANCE
    };
    others.iter().zip(adjusted).map(is_behind).collect()
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
    joined(told, "; ")
}

/// What a record of TLS 1.3 adds to what it carries: header, content type, and the tag of AES-GCM or ChaCha20-Poly1305
/// (RFC 8446, 5.2; RFC 5116, 5.1).
const RECORD_BYTES: f64 = 5.0 + 1.0 + 16.0;

/// The product that starts a process for every connection, in every version
/// (<https://www.postgresql.org/docs/current/connect-estab.html>).
const PROCESS_EACH: &str = "PostgreSQL";

/// Why one server pays more for TLS than another: what of the handshakes and of the records is the same, and so no
/// reason. Sentences, each after a space; `payers` are of one operation on several servers, the one that pays most
/// first.
pub(super) fn why(run: &Run, arm: &str, payers: &[Payer<'_>]) -> String {
    let facts = payers.iter().map(|payer| (payer, facts(run, arm, payer)));
    let facts: Vec<(&Payer<'_>, &TlsFacts)> = facts.filter_map(|(payer, tls)| Some((payer, tls?))).collect();
    if facts.len() < payers.len() {
        return String::new();
    }
    let makes_connections = payers
        .iter()
        .any(|payer| payer.cell.asked.workload.makes_connections());
    let sentences = match makes_connections {
        true => of_connections(run, arm, &facts),
        false => records(run, arm, &facts).into_iter().collect(),
    };
    sentences.iter().map(|sentence| format!(" {sentence}")).collect()
}

fn facts<'a>(run: &'a Run, arm: &str, payer: &Payer<'_>) -> Option<&'a TlsFacts> {
    run.head
        .arm(arm)?
        .sessions_in(payer.cell.found)?
        .facts
        .tls
        .as_ref()
}

fn of_connections(run: &Run, arm: &str, facts: &[(&Payer<'_>, &TlsFacts)]) -> Vec<String> {
    let mut sentences = vec![handshakes(run, arm, facts)];
    let Some((most, _)) = facts.first() else {
        return sentences;
    };
    let same_library = facts[1..]
        .iter()
        .map(|(payer, _)| *payer)
        .find(|payer| series(payer.server).is_some() && series(payer.server) == series(most.server));
    if let Some((other, library)) = same_library.zip(series(most.server)) {
        sentences.push(format!(
            "{} uses the same library ({library}), so cryptography is not why {} pays more.",
            other.name, most.name
        ));
    }
    let forks = facts
        .iter()
        .find(|(payer, _)| payer.server.product == PROCESS_EACH);
    if let Some((payer, _)) = forks {
        sentences.push(format!(
            "{} starts a process for every connection ({} without TLS), so every handshake is the first of its process.",
            payer.name,
            rounded::microseconds(payer.row.baseline)
        ));
    }
    sentences
}

/// What a handshake had of something, as it is printed.
type Setting = fn(&TlsFacts) -> String;

/// What the handshakes have in common, and in what they differ.
fn handshakes(run: &Run, arm: &str, facts: &[(&Payer<'_>, &TlsFacts)]) -> String {
    let settings: [(&str, Setting); 6] = [
        ("version", |tls| tls.version.clone()),
        ("group", |tls| tls.group.clone()),
        ("cipher suite", |tls| tls.cipher.clone()),
        ("certificate", |tls| tls.certificate.key.clone()),
        ("HelloRetryRequest", |tls| yes_or_no(tls.hello_retry_request)),
        ("resumed", |tls| yes_or_no(tls.resumed)),
    ];
    let differs: Vec<String> = settings
        .iter()
        .filter(|(_, of)| facts.iter().any(|(_, tls)| of(tls) != of(facts[0].1)))
        .map(|(name, of)| {
            let each = facts
                .iter()
                .map(|(payer, tls)| format!("{} {}", payer.name, of(tls)));
            format!("{name} ({})", joined(each, ", "))
        })
        .collect();
    if !differs.is_empty() {
        return format!("The handshakes differ in {}.", differs.join(" and "));
    }
    let client = facts.iter().filter_map(|(payer, _)| {
        let row = run
            .results
            .estimate(&payer.cell.asked.name, arm, Metric::ClientCpuPerOp)?;
        (row.verdict == Verdict::Costs).then_some(row.difference.value)
    });
    let (least, most) = client.fold((f64::INFINITY, 0.0_f64), |(least, most), us| {
        (least.min(us), most.max(us))
    });
    let of_the_client = match least.is_finite() {
        true => format!(
            ", and cost the client {} to {}",
            rounded::microseconds(least),
            rounded::microseconds(most)
        ),
        false => String::new(),
    };
    let tls = facts[0].1;
    format!(
        "All handshakes are the same ({}, {}, {}, {}, {}){of_the_client}.",
        tls.version,
        tls.group,
        tls.cipher,
        tls.certificate.key,
        if tls.resumed { "resumed" } else { "not resumed" }
    )
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// How many records an operation takes, by the bytes that TLS adds to it.
fn records(run: &Run, arm: &str, facts: &[(&Payer<'_>, &TlsFacts)]) -> Option<String> {
    let counts: Option<Vec<(&str, String)>> = facts
        .iter()
        .map(|(payer, tls)| {
            let row = run
                .results
                .estimate(&payer.cell.asked.name, arm, Metric::BytesPerOp)?;
            let bytes = (tls.version == "TLSv1.3").then_some(row.difference.value)?;
            Some((
                payer.name.as_str(),
                plain((bytes / RECORD_BYTES * 10.0).round() / 10.0),
            ))
        })
        .collect();
    let counts = counts?;
    let (_, first) = counts.first()?;
    let is_alike = counts.iter().all(|(_, count)| count == first);
    Some(match is_alike {
        true => format!(
            "An operation takes {first} TLS records on every server, by the bytes that TLS adds: servers differ in how they read and \
             write them."
        ),
        false => {
            let each = counts.iter().map(|(name, count)| format!("{name} {count}"));
            format!(
                "TLS records per operation, by the bytes that TLS adds: {}.",
                joined(each, ", ")
            )
        }
    })
}

/// A library and the first two numbers of its version, `OpenSSL 3.0`; `None` where they are not known.
fn series(server: &ServerRecord) -> Option<String> {
    let mut words = server.tls_library.split(' ');
    let (name, version) = words.next().zip(words.next())?;
    let mut numbers = version.split('.');
    let (major, minor) = numbers.next().zip(numbers.next())?;
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    (is_number(major) && is_number(minor)).then(|| format!("{name} {major}.{minor}"))
}
