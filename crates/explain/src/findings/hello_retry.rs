//! Handshakes that begin twice, because the client's first key is of a group that the server does not take.

use ciphertax_records::{
    ArmRole, Finding, MeasuredCell, Phase, PhaseRow, Run, ServerRecord, Severity, TlsFacts,
};
use ciphertax_stats::format::{plain, rounded};

use super::finding::finding;

/// Since this one a list of groups can be given (`ssl_groups`), by default X25519 and P-256.
const LIST_OF_GROUPS_SINCE: u32 = 18;

/// One finding for each server that answered a first ClientHello with HelloRetryRequest (RFC 8446, 4.1.4).
pub(super) fn hello_retry(run: &Run) -> impl Iterator<Item = Finding> {
    run.head
        .servers
        .iter()
        .filter_map(|server| of_server(run, server))
}

fn of_server(run: &Run, server: &ServerRecord) -> Option<Finding> {
    let cells: Vec<MeasuredCell<'_>> = run.cells().filter(|cell| is_of(run, cell, server)).collect();
    let arms: Vec<(&str, &TlsFacts)> = run
        .head
        .arms
        .iter()
        .filter(|arm| arm.role != ArmRole::BaselineAgain)
        .filter_map(|arm| {
            let session = cells.iter().find_map(|cell| arm.sessions_in(cell.found))?;
            let tls = session.facts.tls.as_ref()?;
            tls.hello_retry_request.then_some((arm.name.as_str(), tls))
        })
        .collect();
    let (_, tls) = arms.first()?;
    let names: Vec<&str> = arms.iter().map(|(arm, _)| *arm).collect();
    let connects = cells
        .iter()
        .find_map(|cell| names.iter().find_map(|arm| handshakes(run, *cell, arm)));
    let waits = connects.map_or_else(
        || "a handshake waits for the server twice instead of once".to_owned(),
        |(handshake, trip)| {
            format!(
                "a handshake waits for the server {} times instead of once; a round trip takes {} here",
                plain(handshake.flights),
                rounded::microseconds(trip.mean_us)
            )
        },
    );
    let evidence = connects.map_or_else(String::new, |(handshake, trip)| {
        format!(
            "; {}, {}: {} {} flights, {} {}",
            handshake.cell,
            handshake.arm,
            handshake.phase,
            plain(handshake.flights),
            trip.phase,
            rounded::microseconds(trip.mean_us)
        )
    });
    Some(finding(
        "hello-retry",
        Severity::Advice,
        format!(
            "{}: over {} the client's first key is of a group that the server does not take. It asks for one of {} \
             (HelloRetryRequest), so {waits}. {}",
            server.name,
            names.join(", "),
            group(tls),
            remedy(server, group(tls))
        ),
        format!(
            "{} was agreed on in a second ClientHello, after a first one of {} bytes{}{evidence}",
            group(tls),
            tls.client_hello_bytes,
            setting(server)
        ),
    ))
}

fn group(tls: &TlsFacts) -> &str {
    match tls.group.as_str() {
        "" => "another",
        group => group,
    }
}

fn is_of(run: &Run, cell: &MeasuredCell<'_>, server: &ServerRecord) -> bool {
    run.server_of(cell.found)
        .is_some_and(|other| std::ptr::eq(other, server))
}

/// The handshakes of an arm's connects in a cell, and TCP's, which takes one round trip.
fn handshakes<'a>(run: &'a Run, cell: MeasuredCell<'_>, arm: &str) -> Option<(&'a PhaseRow, &'a PhaseRow)> {
    let row = |phase| {
        let mut rows = run.results.connect_phases.iter();
        rows.find(|row| row.cell == cell.asked.name && row.arm == arm && row.phase == phase)
    };
    row(Phase::Tls).zip(row(Phase::Tcp))
}

/// What the server says of its groups.
fn setting(server: &ServerRecord) -> String {
    let settings = ["ssl_groups", "ssl_ecdh_curve"].map(|name| (name, server.settings.get(name)));
    let mut known = settings
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known.next().map_or_else(String::new, |(name, value)| {
        format!("; the server has {name} = {value}")
    })
}

fn remedy(server: &ServerRecord, group: &str) -> String {
    let major = server.version.split(|c: char| !c.is_ascii_digit()).next();
    let major: Option<u32> = major.and_then(|major| major.parse().ok());
    let server_side = match (server.product.as_str(), major) {
        ("PostgreSQL", Some(major)) if major < LIST_OF_GROUPS_SINCE => format!(
            "The server takes the one group of ssl_ecdh_curve, and no X25519; {LIST_OF_GROUPS_SINCE} takes a list (ssl_groups) that \
             begins with it."
        ),
        ("PostgreSQL", _) => "Put the group that clients offer first into ssl_groups.".to_owned(),
        _ => "Where the server has a list of groups, put that which clients offer first into it.".to_owned(),
    };
    format!(
        "{server_side} Or let clients offer {group} first (OpenSSL: Groups in openssl.cnf; here tls.group)."
    )
}
