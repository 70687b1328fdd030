//! What was noticed about a connection, and what would be cheaper. Those that runs have too come from their rules.

use ciphertax_base::Interval;
use ciphertax_base::format::{plain, rounded};
use ciphertax_base::joined;
use ciphertax_base::{LoginPath, Phase};
use ciphertax_records::{
    ConnectionPhase, ConnectionRecord, Finding, ServerId, ServerRecord, TriedConnection,
};

use super::certificates;
use crate::asked::Spoken;
use crate::findings::{
    Retried, advice, cause, hello_retried, major, no_resumption_of_postgresql, unverified_session,
};

/// The part of the time until the first answer from which on a phase is worth a word.
const WORTH_A_WORD: f64 = 0.20;
/// The least that a look-up of a name may take before it is worth a word, in microseconds.
const SLOW_LOOK_UP_US: f64 = 1_000.0;
/// Since this one PostgreSQL takes TLS without being asked for it first.
const DIRECT_TLS_SINCE: u32 = 17;

pub(super) fn all(record: &ConnectionRecord) -> Vec<Finding> {
    let mut found = certificates::dates(record);
    found.extend(plaintext(record));
    found.extend(unverified_session(Spoken::by(&record.target), ARM, &record.facts));
    found.extend(hello_retry(record));
    found.extend(record.tried.as_ref().and_then(|tried| resumption(record, tried)));
    found.extend(certificates::root_in_chain(record));
    found.extend(direct_tls(record));
    found.extend(full_login(record));
    found.extend(derived_keys(record));
    found.extend(certificates::large_key(record));
    found.extend(slow_look_up(record));
    found.extend(round_trips(record));
    found
}

/// What findings of runs call it where they name an arm.
const ARM: &str = "this connection";

fn hello_retry(record: &ConnectionRecord) -> Option<Finding> {
    let tls = record.facts.tls.as_ref().filter(|tls| tls.hello_retry_request)?;
    let server = ServerRecord {
        product: record.product.clone(),
        version: record.facts.server_version.clone(),
        ..ServerRecord::unseen(ServerId::default(), &record.address, Vec::new())
    };
    let phases = phase(record, Phase::Tls).zip(phase(record, Phase::Tcp));
    let connect = phases.map(|(handshake, trip)| Retried {
        cell: "connect",
        arm: ARM,
        flights: handshake.flights,
        round_trip_us: (!record.same_host).then_some(trip.wall_us.least),
    });
    hello_retried(&server, &[(ARM, tls)], connect)
}

/// Over TCP to another machine; what stays on this one is seen by nobody else.
fn plaintext(record: &ConnectionRecord) -> Option<Finding> {
    if record.facts.tls.is_some() || record.same_host {
        return None;
    }
    Some(advice(
        "plaintext",
        "Nothing is encrypted: anybody on the way can read queries and answers. Leave out --transport plain to analyse TLS.",
        format!(
            "{} is another machine, and the session has no TLS",
            record.address
        ),
    ))
}

fn resumption(record: &ConnectionRecord, tried: &TriedConnection) -> Option<Finding> {
    if let Some(why) = &tried.impossible {
        return Some(match record.product.as_str() {
            "PostgreSQL" => no_resumption_of_postgresql(why),
            _ => advice(
                "no-session-to-resume",
                "Clients cannot rely on resuming TLS sessions here, so connections pay for full handshakes: keep them open, in the \
                 client or with a pooler.",
                why.clone(),
            ),
        });
    }
    let resumed = tried.wall_us?.median;
    let full = phase(record, Phase::Tls)?.wall_us.median;
    let times = format!(
        "TLS handshake: {} resumed, {} in full, {}",
        rounded::microseconds(resumed),
        rounded::microseconds(full),
        pairs(tried.resumed)
    );
    match tried.saves_us {
        None => Some(advice(
            "resumption",
            "The server lets clients resume TLS sessions, which saves its signature and the certificates. --count 20 measures \
             how much, or says how many connections would.",
            times,
        )),
        Some(saves) if saves.low > 0.0 => Some(advice(
            "resumption",
            format!(
                "Resuming TLS sessions, which this server allows, makes a connect {} shorter: let the client keep them.",
                rounded::microseconds_between(saves)
            ),
            times,
        )),
        Some(saves) => Some(cause(
            "resumption",
            format!(
                "The server lets clients resume TLS sessions, but {} pairs cannot tell whether that makes a connect shorter ({}). {}",
                tried.resumed,
                rounded::microseconds_between(saves),
                match enough(tried.resumed, saves) {
                    Some(count) => format!("--count {count} would tell."),
                    None => "If so, only by little.".to_owned(),
                }
            ),
            times,
        )),
    }
}

/// How many pairs would tell what was seen, were the rest of them alike: an interval shrinks with the square root of their
/// number. `None` where these are more than can be asked for.
fn enough(pairs: u32, saves: Interval) -> Option<u32> {
    const MOST: f64 = 10_000.0;
    const STEP: f64 = 100.0;
    let shrinks = (saves.value - saves.low) / saves.value.max(0.0);
    let needed = (f64::from(pairs) * shrinks.powi(2) / STEP).floor() * STEP + STEP;
    (needed <= MOST).then_some(needed as u32)
}

fn pairs(count: u32) -> String {
    match count {
        1 => "one connection each".into(),
        count => format!("by the medians of {count} pairs"),
    }
}

fn direct_tls(record: &ConnectionRecord) -> Option<Finding> {
    record.facts.tls.as_ref()?;
    let request = phase(record, Phase::Preface)?;
    let version = &record.facts.server_version;
    let major = major(version)?;
    if record.product != "PostgreSQL" || major < DIRECT_TLS_SINCE {
        return None;
    }
    Some(advice(
        "direct-tls",
        "Let clients start TLS at once (sslnegotiation=direct): not asking for it first saves a round trip.",
        format!(
            "{}: {}, {} round trips; PostgreSQL {version}",
            request.label,
            rounded::microseconds(request.wall_us.median),
            plain(request.flights)
        ),
    ))
}

fn full_login(record: &ConnectionRecord) -> Option<Finding> {
    let full = record.logins.iter().filter(|login| login.path == LoginPath::Full);
    let count = full.clone().count();
    let method = &full.clone().next()?.method;
    Some(cause(
        "full-logins",
        format!(
            "{count} of {} logins took the full path of {method}, because the server had not cached the password. It drops its cache \
             when it starts, when an account changes, and on FLUSH PRIVILEGES.",
            record.logins.len()
        ),
        phase(record, Phase::Auth).map_or_else(String::new, |login| {
            format!(
                "{}: {} at least, {} at most",
                login.label,
                rounded::microseconds(login.wall_us.least),
                rounded::microseconds(login.wall_us.most)
            )
        }),
    ))
}

fn derived_keys(record: &ConnectionRecord) -> Option<Finding> {
    let login = phase(record, Phase::Auth)?;
    let cpu = login.cryptography_us?.median;
    let whole = record.first_answer.wall_us.median;
    let is_derived = record.logins.last()?.path == LoginPath::Derived;
    (is_derived && cpu > WORTH_A_WORD * whole).then(|| {
        advice("keys-derived",
            format!(
                "The client derives SCRAM's keys from the password at every connect ({} of its CPU). A driver that caches them, or a pool \
                 of connections, saves that.",
                rounded::microseconds(cpu)
            ),
            format!(
                "{}: {} of {} until the first answer",
                login.label,
                rounded::microseconds(login.wall_us.median),
                rounded::microseconds(whole)
            ),
        )
    })
}

fn slow_look_up(record: &ConnectionRecord) -> Option<Finding> {
    let look_up = phase(record, Phase::Resolve)?.wall_us.median;
    let whole = record.first_answer.wall_us.median;
    (look_up > SLOW_LOOK_UP_US && look_up > WORTH_A_WORD * whole).then(|| {
        advice("slow-look-up",
            format!(
                "Looking up the name takes {} of every connect: use a cache on this machine (systemd-resolved, nscd), a line in \
                 /etc/hosts, or the address.",
                rounded::microseconds(look_up)
            ),
            format!("{} until the first answer", rounded::microseconds(whole)),
        )
    })
}

/// How much of the time is the distance. TCP's handshake is one round trip, and nothing else.
fn round_trips(record: &ConnectionRecord) -> Option<Finding> {
    if record.same_host {
        return None;
    }
    let trip = phase(record, Phase::Tcp)
        .filter(|tcp| tcp.flights == 1.0)?
        .wall_us
        .median;
    let whole = record.first_answer.wall_us.median;
    let flights = record.first_answer.flights;
    let share = flights * trip / whole;
    (share > 0.5 && share <= 1.1).then(|| {
        cause("round-trips",
            format!(
                "A connect takes {} round trips. At {} each (by TCP's handshake) they are {} of its time: only fewer round trips or \
                 open connections help.",
                plain(flights),
                rounded::microseconds(trip),
                rounded::share(share.min(1.0))
            ),
            by_phase(record),
        )
    })
}

fn by_phase(record: &ConnectionRecord) -> String {
    let waits = record.phases.iter().filter(|phase| phase.flights > 0.0);
    let waits = waits.filter(|phase| phase.phase != Phase::Close);
    joined(
        waits.map(|phase| format!("{} {}", phase.label, plain(phase.flights))),
        ", ",
    )
}

fn phase(record: &ConnectionRecord, phase: Phase) -> Option<&ConnectionPhase> {
    record.phases.iter().find(|found| found.phase == phase)
}
