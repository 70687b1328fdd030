//! What connects wait for, what makes handshakes longer or full, and how to make fewer of them.

use ciphertax_base::Interval;
use ciphertax_base::format::{self, plain, rounded};
use ciphertax_base::{Phase, TlsFacts};
use ciphertax_model::{Metric, Placement, SqlCipher};
use ciphertax_records::{ChurnRow, ConnectRow, Finding, Handshakes, MeasuredCell, Run, ServerRecord, Side};
use ciphertax_stats::Verdict;

use super::{advice, cause, is_sure, share};
use ciphertax_estimate::cell::{BASELINE, CellSamples, Figures};

/// Which phase makes a connect slower.
pub(super) fn slowest_phase(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let baseline = &run.head.arms.first()?.name;
    let row = |arm: &str, phase| run.results.phase(&cell.asked.name, arm, phase);
    let longer = longer(run, cell, arm)?;
    let mean_us = |arm: &str, phase| row(arm, phase).map(|row| row.mean_us);
    // Whoever asks for TLS waits there for what an unencrypted login waits for: a process of the server's.
    let asks = |arm| row(arm, Phase::Preface).is_some_and(|row| row.is_request_for_tls());
    let begins_otherwise = asks(arm) || asks(baseline);
    let together = |arm: &str, phase| match phase {
        Phase::Preface if begins_otherwise => None,
        Phase::Auth if begins_otherwise => {
            Some(mean_us(arm, phase)? + mean_us(arm, Phase::Preface).unwrap_or(0.0))
        }
        _ => mean_us(arm, phase),
    };
    let extra = |phase| together(arm, phase).map(|us| us - together(baseline, phase).unwrap_or(0.0));
    let (phase, most) = Phase::ALL
        .into_iter()
        .filter_map(|phase| Some((phase, extra(phase)?)))
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    if most < 0.25 * longer.value {
        return None;
    }
    let phases = match phase {
        Phase::Auth if begins_otherwise => "phases TLS request and authentication".to_owned(),
        _ => format!("phase {phase}"),
    };
    let in_the_phase = if most <= longer.value {
        format!("{} of it in the {phases}", share(most, longer.value))
    } else {
        format!(
            "{} more in the {phases} and {} less in the others",
            rounded::microseconds(most),
            rounded::microseconds(most - longer.value)
        )
    };
    let row = row(arm, phase)?;
    let cpu = row
        .client_cpu_us
        .map(|us| format!(", {} of it the client's cryptography", rounded::microseconds(us)));
    let (connect, over, travelled) = match run.head.is_embedded() {
        true => ("opening the database", "with", String::new()),
        false => (
            "a connect",
            "over",
            format!(
                ", {:.1} round trips, {:.0} bytes sent and {:.0} received",
                row.flights, row.bytes_sent, row.bytes_received
            ),
        ),
    };
    Some(cause(
        "slowest-phase",
        format!(
            "{}: {connect} {over} {arm} takes {} longer than {over} {baseline}, {in_the_phase}.",
            cell.asked.name,
            rounded::microseconds_between(longer)
        ),
        format!(
            "{phase}: {} on average{}{travelled}",
            rounded::microseconds(row.mean_us),
            cpu.unwrap_or_default()
        ),
    ))
}

/// By how much a whole connect takes longer, in microseconds; `None` if that is not sure. In a closed loop that is the
/// latency, which the phases add up to.
pub(super) fn longer(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Interval> {
    let row = [
        Metric::LatencyMean,
        Metric::TimeToFirstQueryMean,
        Metric::ConnectMean,
    ]
    .into_iter()
    .find_map(|metric| run.results.estimate(&cell.asked.name, arm, metric))?;
    let is_longer = cell.asked.workload.makes_connections() && is_sure(row) && row.difference.low > 0.0;
    is_longer.then_some(row.difference)
}

/// The part of what a connect takes longer from which on phases without cryptography are worth a word.
const WORTH_A_WORD: f64 = 0.10;
/// The part of the time that a CPU is used, from which on connects queue for it.
const BUSY: f64 = 0.85;

/// In the phases without a handshake or a login an arm has the same work to do as the baseline. What they take longer,
/// while several connects share a CPU, is waiting for those that compute.
pub(super) fn waits_for_cpu(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
    arm: &str,
) -> Option<Finding> {
    // What carries an arm's connections has work of its own to do in every phase.
    let asked = run.head.study.arm(arm)?;
    let has_carrier = asked.tunnel.is_some() || asked.pooler.is_some();
    if cell.asked.load.connections < 2 || has_carrier {
        return None;
    }
    let baseline = &run.head.arms.first()?.name;
    let longer = longer(run, cell, arm)?;
    let elsewhere = |arm: &str| -> f64 {
        let rows = run.results.phases(&cell.asked.name, arm);
        // Whoever asks for TLS waits there for what an unencrypted login waits for: a process of the server's.
        rows.filter(|row| !matches!(row.phase, Phase::Tls | Phase::Auth) && !row.is_request_for_tls())
            .map(|row| row.mean_us)
            .sum()
    };
    let (before, after) = (elsewhere(baseline), elsewhere(arm));
    if after - before < WORTH_A_WORD * longer.value {
        return None;
    }
    let of_arm: Vec<&Figures> = samples.valid(samples.index_of(arm)?).collect();
    let of_baseline: Vec<&Figures> = samples.valid(BASELINE).collect();
    let waits = wait_us(&of_baseline).zip(wait_us(&of_arm));
    let cpus = match run.head.study.placement {
        Placement::Together => 1,
        Placement::Free => run.head.host.cpus.max(1),
    };
    let used = used(&of_arm) / f64::from(cpus);
    let with_the_server = match run.head.servers.iter().any(|server| server.same_host) {
        true => " with the server",
        false => "",
    };
    // The run queue holds what waits for another thread; a connect that waits for another one of its own thread is only
    // seen by how busy the CPU is.
    let is_told = waits.is_some_and(|(before_us, after_us)| after_us - before_us >= 0.5 * (after - before));
    let is_refuted = waits.is_some_and(|(before_us, after_us)| after_us <= before_us);
    if is_refuted || (!is_told && used < BUSY) {
        return None;
    }
    let queue = waits.map(|(before, after)| {
        format!(
            "threads waited for a CPU {} per connect instead of {}; ",
            rounded::microseconds(after),
            rounded::microseconds(before)
        )
    });
    Some(cause(
        "waits-for-cpu",
        format!(
            "{}: over {arm} the phases without cryptography take {} instead of {}, because {} concurrent connects share {}. With \
             load.connections=1 each phase shows by itself.",
            cell.asked.name,
            rounded::microseconds(after),
            rounded::microseconds(before),
            cell.asked.load.connections,
            match cpus {
                1 => format!("one CPU{with_the_server}"),
                cpus => format!("{cpus} CPUs{with_the_server}"),
            }
        ),
        format!(
            "{}both sides used {:.0} % of the CPU time",
            queue.unwrap_or_default(),
            100.0 * used
        ),
    ))
}

/// What the threads of both sides waited in the run queue, per operation; `None` where it was not seen.
fn wait_us(slices: &[&Figures]) -> Option<f64> {
    let waits = slices.iter().map(|slice| {
        let [client, server] = slice.run_queue_wait_ns;
        client
            .or(server)
            .map(|_| client.unwrap_or(0) + server.unwrap_or(0))
    });
    let sum = waits.sum::<Option<u64>>()?;
    let operations: u64 = slices.iter().map(|slice| slice.operations).sum();
    (operations > 0).then(|| sum as f64 / 1e3 / operations as f64)
}

/// CPUs that both sides used.
fn used(slices: &[&Figures]) -> f64 {
    let cpu = slices
        .iter()
        .map(|slice| slice.client_cpu_ns + slice.server_cpu_ns.unwrap_or(0));
    let time: u64 = slices.iter().map(|slice| slice.duration_ns).sum();
    cpu.sum::<u64>() as f64 / (time as f64).max(1.0)
}

/// Since this one a list of groups can be given (`ssl_groups`), by default X25519 and P-256.
const LIST_OF_GROUPS_SINCE: u32 = 18;

/// A connect with a handshake in which the server asked for a second ClientHello.
pub(crate) struct Retried<'a> {
    pub(crate) cell: &'a str,
    pub(crate) arm: &'a str,
    /// Those of the handshake.
    pub(crate) flights: f64,
    /// How long a round trip takes; `None` on one machine, where none is worth a word.
    pub(crate) round_trip_us: Option<f64>,
}

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
        .arms_once()
        .filter_map(|arm| {
            let session = cells.iter().find_map(|cell| arm.sessions_in(cell.found))?;
            let tls = session.facts.tls.as_ref()?;
            tls.hello_retry_request.then_some((arm.name.as_str(), tls))
        })
        .collect();
    let connects = cells
        .iter()
        .find_map(|cell| arms.iter().find_map(|(arm, _)| retried(run, server, *cell, arm)));
    hello_retried(server, &arms, connects)
}

/// Of arms whose handshakes a server made longer, and a connect of one of them; `None` of none.
pub(crate) fn hello_retried(
    server: &ServerRecord,
    arms: &[(&str, &TlsFacts)],
    connect: Option<Retried<'_>>,
) -> Option<Finding> {
    let (_, tls) = arms.first()?;
    let names: Vec<&str> = arms.iter().map(|(arm, _)| *arm).collect();
    let waits = connect.as_ref().map_or_else(
        || "a handshake takes 2 round trips instead of 1".to_owned(),
        |connect| {
            let takes = connect.round_trip_us.map(|us| {
                let trip = rounded::microseconds(us);
                format!(" ({trip} each)")
            });
            format!(
                "a handshake takes {} round trips instead of 1{}",
                plain(connect.flights),
                takes.unwrap_or_default()
            )
        },
    );
    let evidence = connect.map_or_else(String::new, |connect| {
        format!(
            "; {}, {}: {} {} round trips",
            connect.cell,
            connect.arm,
            Phase::Tls,
            plain(connect.flights),
        )
    });
    Some(advice(
        "hello-retry",
        format!(
            "{}: in {} the server accepts only {}, not the client's first key (HelloRetryRequest), so {waits}. {}",
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

fn retried<'a>(
    run: &'a Run,
    server: &ServerRecord,
    cell: MeasuredCell<'_>,
    arm: &str,
) -> Option<Retried<'a>> {
    let handshake = run.results.phase(&cell.asked.name, arm, Phase::Tls)?;
    // Of TCP's handshakes in all arms the shortest, since several at a time wait for each other.
    let by_tcp = run.head.arms_once().filter_map(|arm| {
        let row = run.results.phase(&cell.asked.name, &arm.name, Phase::Tcp)?;
        Some(row.mean_us)
    });
    let of_link = cell.link.map(|link| link.rtt_ms * 1e3).filter(|us| *us > 0.0);
    let measured = || by_tcp.min_by(f64::total_cmp).filter(|_| !server.same_host);
    Some(Retried {
        cell: &handshake.cell,
        arm: &handshake.arm,
        flights: handshake.flights,
        round_trip_us: of_link.or_else(measured),
    })
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

/// The first number of a version, as 15 of `15.18 (Debian)`.
pub(crate) fn major(version: &str) -> Option<u32> {
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn remedy(server: &ServerRecord, group: &str) -> String {
    let server_side = match (server.product.as_str(), major(&server.version)) {
        ("PostgreSQL", Some(major)) if major < LIST_OF_GROUPS_SINCE => format!(
            "This version accepts one group (ssl_ecdh_curve), not X25519; version {LIST_OF_GROUPS_SINCE} has a list (ssl_groups) that \
             begins with X25519."
        ),
        ("PostgreSQL", _) => "Add the group that clients offer first to ssl_groups.".to_owned(),
        _ => "If the server has a list of groups, add the one that clients offer first.".to_owned(),
    };
    format!(
        "{server_side} Or let clients offer {group} first (OpenSSL: Groups in openssl.cnf; here tls.group)."
    )
}

/// Where PostgreSQL switches resumption off: tickets by `SSL_CTX_set_options(SSL_OP_NO_TICKET)` and the cache of sessions by
/// `SSL_SESS_CACHE_OFF`, in every version (`be_tls_init` in `src/backend/libpq/be-secure-openssl.c`).
const SOURCE: &str =
    "PostgreSQL switches session tickets and the session cache off (be_tls_init), in every version";

/// Of a server that resumes no session by design: nobody needs to look for the setting.
pub(super) fn no_resumption(run: &Run) -> Option<Finding> {
    let is_of_postgresql = |row: &&ConnectRow| {
        let server = run.cell(&row.cell).and_then(|cell| run.server_of(cell.found));
        server.is_some_and(|server| server.product == "PostgreSQL")
    };
    let connects = run.results.connects.iter().filter(is_of_postgresql);
    let mut all = Handshakes::default();
    for handshakes in connects.filter_map(|row| row.handshakes) {
        all += handshakes;
    }
    (all.count > 0).then(|| {
        no_resumption_of_postgresql(&format!(
            "{} of {} handshakes were resumed",
            all.resumed, all.count
        ))
    })
}

/// That PostgreSQL resumes no session, with what was seen of it.
pub(crate) fn no_resumption_of_postgresql(seen: &str) -> Finding {
    advice(
        "no-resumption",
        "Keep connections open, in the client or with a pooler: PostgreSQL never resumes TLS sessions, so every new connection pays \
         for a full handshake.",
        format!("{seen}; {SOURCE}"),
    )
}

/// The cost with one query a connection from which on, for sure, it is worth keeping connections.
const WORTH_KEEPING: f64 = 0.20;

/// Pool connections, if the connect is what costs.
pub(super) fn keep_connections(run: &Run, row: &ChurnRow) -> Option<Finding> {
    let arm = &row.arm;
    let connect = run.results.estimate(&row.cell, arm, Metric::ServerCpuPerOp)?;
    let single = row.points.first()?.overhead;
    let budget = row.break_even.iter().find(|budget| budget.budget == 0.05)?;
    // Where one query costs no more than many do, nothing is saved.
    let saves = single.value > row.query_overhead.high;
    if row.side != Side::Server || single.low < WORTH_KEEPING || !saves || connect.verdict != Verdict::Costs {
        return None;
    }
    let query = rounded::change(row.query_overhead);
    let later = match (budget.queries, budget.queries_low, budget.queries_high) {
        (Some(queries), _, Some(high)) if row.is_within(budget) => {
            format!("less than 5 % more with at least {queries:.0} queries ({high:.0} to be sure)")
        }
        (Some(queries), _, _) => format!(
            "perhaps less than 5 % more with at least {queries:.0} queries, perhaps never: a query alone costs {query}"
        ),
        (None, ..) if row.is_never_within(budget) => {
            format!("which falls to {query} with many")
        }
        (None, ..) => {
            format!("this run cannot tell whether it ever falls below 5 %: a query alone costs {query}")
        }
    };
    Some(advice(
        "keep-connections",
        format!(
            "{}: keep connections open: with one query per connection {arm} takes {} server CPU, {later}.",
            row.cell,
            rounded::more(single.value)
        ),
        format!(
            "server CPU of a connect without its query {} instead of {}, of a query {} instead of {}",
            rounded::microseconds(row.connect_variant_us),
            rounded::microseconds(row.connect_baseline_us),
            rounded::microseconds(row.query_variant_us),
            rounded::microseconds(row.query_baseline_us)
        ),
    ))
}

/// The part of what opening takes longer from which on it is the derivation that is to be saved.
const MOST_OF_IT: f64 = 0.5;

/// Databases that are better kept open, because their key is derived each time.
pub(super) fn key_derivation(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let longer = longer(run, cell, arm)?;
    let derivation = run.results.phase(&cell.asked.name, arm, Phase::KeyDerivation)?;
    if derivation.mean_us < MOST_OF_IT * longer.value {
        return None;
    }
    let sqlcipher = run.head.study.arm(arm)?.at_rest.sqlcipher?;
    // An arm that has fewer already is not told to take fewer.
    let fewer = match sqlcipher.kdf_iter >= SqlCipher::default().kdf_iter {
        true => ". If the passphrase is random, fewer KDF rounds (kdf_iter) are enough",
        false => "",
    };
    let cpu = derivation.client_cpu_us.map(rounded::microseconds);
    Some(advice(
        "key-derivation",
        format!(
            "{}: keep databases open: opening one takes {} longer with {arm}, {} of it for key derivation{fewer}.",
            cell.asked.name,
            rounded::microseconds_between(longer),
            share(derivation.mean_us, longer.value.max(derivation.mean_us)),
        ),
        format!(
            "key derivation by {} rounds and the first page: {} on average, of which {} CPU",
            format::count(sqlcipher.kdf_iter.into()),
            rounded::microseconds(derivation.mean_us),
            cpu.unwrap_or_else(|| "an unknown part".into())
        ),
    ))
}
