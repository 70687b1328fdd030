//! A connection taken apart, as text.

use std::net::SocketAddr;

use ciphertax_base::format::{self, ABSENT, rounded};
use ciphertax_base::{Phase, Verified};
use ciphertax_records::{ConnectionPhase, ConnectionRecord, Finding, Severity, Spread};

use super::grid::{Grid, figure, name};
use super::page::{AS_WIDE_AS_NEEDED, Page, Style, Tone, harmless};
use crate::describe;
use crate::way::through_in_words;

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
            "{}: {} {}, {place}{}.",
            record.target,
            record.product,
            // MariaDB says so to replicas of old MySQL.
            record.facts.server_version.trim_start_matches("5.5.5-"),
            through_in_words(record.through.as_deref())
        ),
        Tone::Plain,
    );
}

fn until_answer(record: &ConnectionRecord) -> impl Iterator<Item = &ConnectionPhase> {
    record.phases.iter().filter(|phase| phase.phase != Phase::Close)
}

fn phases(page: &mut Page, record: &ConnectionRecord) {
    let mut table = phase_table(record, record.connections > 1);
    // The head has the quartiles of the whole.
    if !table.fits(page) {
        table = phase_table(record, false);
    }
    table.print(page);
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
fn phase_table(record: &ConnectionRecord, has_quartiles: bool) -> Grid {
    let spread = if has_quartiles { Some("quartiles") } else { None };
    let header = ["phase", "wall"].into_iter().chain(spread).chain([
        "client CPU",
        "crypto",
        "sent",
        "received",
        "flights",
    ]);
    let mut table = Grid::new(header.map(name));
    let mut row =
        |label: &str, wall: Spread, cpu: [Option<Spread>; 2], [sent, received, flights]: [f64; 3]| {
            let median = |spread: Option<Spread>| {
                spread.map_or_else(|| ABSENT.into(), |spread| rounded::microseconds(spread.median))
            };
            let figures = [median(Some(wall))].into_iter();
            let figures = figures
                .chain(has_quartiles.then(|| quartiles(wall)))
                .chain(cpu.map(median))
                .chain([
                    format::bytes(sent),
                    format::bytes(received),
                    format::plain(flights),
                ]);
            table.add([name(label)].into_iter().chain(figures.map(|text| figure(&text))));
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
    let mut table = Grid::new(["step", "client", "server"].map(name));
    for step in &record.work {
        table.add([&step.step, &step.client, &step.server].map(|text| name(text)));
    }
    table.print(page);
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

fn negotiated(page: &mut Page, record: &ConnectionRecord) {
    page.heading("Negotiated");
    match &record.facts.tls {
        None if record.address.starts_with('/') => page.item("no TLS: plaintext over a Unix socket"),
        None => page.item("no TLS: plaintext"),
        Some(tls) => {
            let group = match tls.group.as_str() {
                "" => String::new(),
                group => format!(", key exchange by {group}"),
            };
            page.item(&format!("{}, {}{group}", tls.version, tls.cipher));
            let handshake = match (tls.resumed, tls.hello_retry_request) {
                (true, _) => "resumed session",
                (false, false) => "full handshake",
                (false, true) => "full handshake with a second ClientHello (HelloRetryRequest)",
            };
            page.item(&format!(
                "{handshake}, ClientHello of {} B, client library {}",
                format::count(tls.client_hello_bytes.into()),
                tls.client_library
            ));
            page.item(match tls.verification {
                Verified::None => "certificate: not verified",
                Verified::Ca => "certificate: its chain verified, its name not",
                Verified::HostName => "certificate: its chain and its name verified",
            });
        }
    }
    let mut logins: Vec<(String, usize)> = Vec::new();
    for login in &record.logins {
        let words = login.words();
        match logins.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => logins.push((words, 1)),
        }
    }
    let words: Vec<String> = match &logins[..] {
        [(only, _)] => vec![only.clone()],
        several => several
            .iter()
            .map(|(login, count)| format!("{count} × {login}"))
            .collect(),
    };
    page.item(&format!("login: {}", words.join(", ")));
}

fn certificates(page: &mut Page, record: &ConnectionRecord) {
    if record.chain.is_empty() {
        return;
    }
    let bytes: u32 = record.chain.iter().map(|certificate| certificate.bytes).sum();
    page.heading(&format!(
        "Certificates: {}, {}",
        record.chain.len(),
        format::bytes(bytes.into())
    ));
    for certificate in &record.chain {
        let date = certificate.not_after.split('T').next().unwrap_or_default();
        let left = match certificate.days_left {
            _ if certificate.begins_after(&record.started) => {
                format!("NOT VALID before {}", certificate.not_before)
            }
            days if days < 0 => format!("EXPIRED on {date}"),
            1 => format!("expires in 1 day, on {date}"),
            days => format!("expires in {} days, on {date}", format::count(days as f64)),
        };
        page.item(&format!(
            "{}: {left}",
            match certificate.subject.as_str() {
                "" => "without a subject",
                subject => subject,
            }
        ));
        page.detail(&format!(
            "{}, signed by {} with {}",
            certificate.key, certificate.issuer, certificate.signature
        ));
        if !certificate.names.is_empty() {
            page.detail(&format!("for {}", certificate.names.join(", ")));
        }
    }
}

/// Each phase as a bar that begins where it begins and is as long as it takes, over the time until the first answer.
fn picture(page: &mut Page, record: &ConnectionRecord, width: usize) {
    let shown: Vec<&ConnectionPhase> = until_answer(record).collect();
    let whole: f64 = shown.iter().map(|phase| phase.wall_us.median).sum();
    let names = shown
        .iter()
        .map(|phase| phase.label.chars().count())
        .max()
        .unwrap_or(0);
    let times: Vec<String> = shown
        .iter()
        .map(|phase| rounded::microseconds(phase.wall_us.median))
        .collect();
    let longest = times.iter().map(|time| time.chars().count()).max().unwrap_or(0);
    // Two spaces before the name, after it, and between the bar and the time.
    let room = width.saturating_sub(names + longest + 6);
    if whole <= 0.0 || room < 10 {
        return;
    }
    let mut before = 0.0;
    for (phase, time) in shown.iter().zip(&times) {
        let bar = bar(before / whole, phase.wall_us.median / whole, room);
        let gap = " ".repeat(room.saturating_sub(bar.chars().count()));
        page.line(&format!(
            "  {:<names$}  {bar}{gap}  {time:>longest$}",
            phase.label
        ));
        before += phase.wall_us.median;
    }
}

/// A bar from a part of the room on, in eighths of a column; never nothing.
fn bar(begin: f64, length: f64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let start = ((begin * room as f64).floor() as usize).min(room - 1);
    let eighths = ((length * room as f64 * 8.0).round() as usize).clamp(1, (room - start) * 8);
    format!(
        "{}{}{}",
        " ".repeat(start),
        "█".repeat(eighths / 8),
        EIGHTHS[eighths % 8]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_begins_where_the_one_before_ended_and_is_never_nothing_nor_too_long() {
        assert_eq!(bar(0.0, 0.5, 10), "█████");
        assert_eq!(bar(0.5, 0.25, 10), "     ██▌");
        assert_eq!(bar(0.0, 0.0, 10), "▏");
        assert_eq!(bar(1.0, 0.0, 10), "         ▏");
        assert_eq!(bar(0.95, 0.2, 10), "         █");
    }
}
