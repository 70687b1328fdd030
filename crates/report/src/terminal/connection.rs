//! A connection taken apart, as text.

mod negotiated;
mod picture;

use std::net::SocketAddr;

use ciphertax_records::{ConnectionPhase, ConnectionRecord, Finding, Phase, Severity, Spread};
use ciphertax_stats::format::{self, ABSENT, rounded};
use comfy_table::{Cell, Table};

use negotiated::{certificates, negotiated};
use picture::picture;

use super::page::{AS_WIDE_AS_NEEDED, Page, Style, Tone, harmless, left, right};
use crate::describe;

/// The whole of it, ending with a newline. On a terminal a picture comes first: each phase a bar that begins where the one
/// before it ended.
pub fn connection(record: &ConnectionRecord, style: Style) -> String {
    let mut page = Page::new(style);
    head(&mut page, record);
    if style.width != AS_WIDE_AS_NEEDED {
        page.blank();
        picture(&mut page, record, style.width.clamp(60, WIDEST));
    }
    page.blank();
    phases(&mut page, record);
    for paragraph in totals(record) {
        page.paragraph(&paragraph, Tone::Plain);
    }
    negotiated(&mut page, record);
    certificates(&mut page, record);
    work(&mut page, record);
    findings(&mut page, &record.findings);
    page.text
}

/// Wider than this no bar is easier to read.
const WIDEST: usize = 100;

fn head(page: &mut Page, record: &ConnectionRecord) {
    let wall = record.first_answer.wall_us;
    let what = match record.connections {
        1 => format!("{} until the first answer", rounded::microseconds(wall.median)),
        count => format!(
            "{} until the first answer, the median of {count} connections (half of them {} to {})",
            rounded::microseconds(wall.median),
            rounded::microseconds(wall.low),
            rounded::microseconds(wall.high)
        ),
    };
    page.paragraph(&what, Tone::Strong);
    if record.connections == 1 {
        page.paragraph(
            "It is the first from here, for which servers and resolvers do what later ones need no more: --count 20 leaves it \
             out, and has medians.",
            Tone::Plain,
        );
    }
    let place = if record.same_host {
        "on this machine"
    } else {
        "on another machine"
    };
    page.paragraph(
        &format!(
            "{}: {} {}, {place}.",
            record.target,
            record.product,
            // MariaDB says so to replicas of old MySQL.
            record.facts.server_version.trim_start_matches("5.5.5-")
        ),
        Tone::Plain,
    );
}

fn until_answer(record: &ConnectionRecord) -> impl Iterator<Item = &ConnectionPhase> {
    record.phases.iter().filter(|phase| phase.phase != Phase::Close)
}

fn phases(page: &mut Page, record: &ConnectionRecord) {
    let mut table = phase_table(page, record, record.connections > 1);
    // The head has the quartiles of the whole.
    if !page.fits(&table) {
        table = phase_table(page, record, false);
    }
    page.add_table(&table);
    page.paragraph(
        "wall: time that passes; client CPU: of the client's thread, with system calls; crypto: the cryptography in it; flights: \
         how often the client waits for the server",
        Tone::Plain,
    );
    let is_name = record.address.parse::<SocketAddr>().is_err();
    if is_name && record.phases.iter().any(|phase| phase.phase == Phase::Resolve) {
        page.paragraph(
            "resolve: not the first time, since where the server runs was looked up before; a name that no cache on the way knows \
             takes longer",
            Tone::Plain,
        );
    }
}

/// A phase a row, with the whole before the goodbye.
fn phase_table(page: &Page, record: &ConnectionRecord, has_quartiles: bool) -> Table {
    let spread = if has_quartiles { Some("quartiles") } else { None };
    let header = ["phase", "wall"].into_iter().chain(spread).chain([
        "client CPU",
        "crypto",
        "sent",
        "received",
        "flights",
    ]);
    let mut table = page.table(std::iter::empty());
    table.set_header(header.enumerate().map(|(column, name)| match column {
        0 => left(name),
        _ => right(name.to_owned()),
    }));
    let mut row =
        |name: &str, wall: Spread, cpu: [Option<Spread>; 2], [sent, received, flights]: [f64; 3]| {
            let quartiles = has_quartiles.then(|| right(quartiles(wall)));
            let cells: Vec<Cell> = [left(name), right(rounded::microseconds(wall.median))]
                .into_iter()
                .chain(quartiles)
                .chain(cpu.map(|cpu| {
                    right(cpu.map_or_else(|| ABSENT.into(), |cpu| rounded::microseconds(cpu.median)))
                }))
                .chain([
                    right(format::bytes(sent)),
                    right(format::bytes(received)),
                    right(format::plain(flights)),
                ])
                .collect();
            table.add_row(cells);
        };
    let cpu = |phase: &ConnectionPhase| [phase.client_cpu_us, phase.cryptography_us];
    let figures = |phase: &ConnectionPhase| [phase.bytes_sent, phase.bytes_received, phase.flights];
    for phase in until_answer(record) {
        row(&phase.label, phase.wall_us, cpu(phase), figures(phase));
    }
    let total = &record.first_answer;
    row(
        "first answer",
        total.wall_us,
        [Some(total.client_cpu_us), Some(total.cryptography_us)],
        [total.bytes_sent, total.bytes_received, total.flights],
    );
    for phase in record.phases.iter().filter(|phase| phase.phase == Phase::Close) {
        row(&phase.label, phase.wall_us, cpu(phase), figures(phase));
    }
    table
}

/// `1.10 to 1.32 ms`
fn quartiles(spread: Spread) -> String {
    format!(
        "{} to {}",
        rounded::microseconds(spread.low),
        rounded::microseconds(spread.high)
    )
}

fn totals(record: &ConnectionRecord) -> Vec<String> {
    let total = &record.first_answer;
    let client = rounded::microseconds(total.client_cpu_us.median);
    let server = match (&total.server_cpu_us, &total.server_cpu_unread) {
        (Some(cpu), _) => format!("server {}", rounded::microseconds(cpu.median)),
        (None, Some(why)) => format!("server unknown: {why}"),
        (None, None) => "server unknown: its clock could not be read".to_owned(),
    };
    vec![format!("CPU until the first answer: client {client}, {server}.")]
}

fn work(page: &mut Page, record: &ConnectionRecord) {
    page.heading("Who computes what");
    let mut table = page.table(std::iter::empty());
    table.set_header(["step", "client", "server"].map(left));
    for step in &record.work {
        table.add_row([left(&step.step), left(&step.client), left(&step.server)]);
    }
    page.add_table(&table);
}

fn findings(page: &mut Page, findings: &[Finding]) {
    let (advice, others): (Vec<_>, Vec<_>) = findings
        .iter()
        .partition(|finding| finding.severity != Severity::Cause);
    for (title, findings) in [("What to do", advice), ("Why", others)] {
        if findings.is_empty() {
            continue;
        }
        page.heading(title);
        for finding in findings {
            let word = describe::severity_word(finding.severity);
            page.item(&format!("{word}: {}", finding.summary));
            if !finding.evidence.is_empty() {
                page.detail(&harmless(&finding.evidence));
            }
        }
    }
}
