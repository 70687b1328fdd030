//! Descriptions of a run, in words that the outputs share: servers, loads, verdicts, and what is missing.

use ciphertax_base::Witness;
use ciphertax_base::format;
use ciphertax_model::{Command, Counts, Link, Pace, Placement, Workload};
use ciphertax_records::{
    Agreement, ArmRecord, ArmRole, CpuSource, EstimateRow, KindRate, MeasuredCell, PublishedRow, Run,
    RunStatus, ServerPlacement, ServerRecord, Severity, VoidReason,
};
use ciphertax_stats::{Rule, Verdict};

use crate::lookup;
use crate::way::way_in_words;
use crate::words::bound;

/// What was compared for a published figure, with the kind of operation where it is of one.
pub(crate) fn published_metric(row: &PublishedRow) -> String {
    match &row.kind {
        None => row.metric.to_string(),
        Some(kind) => format!("{} of {kind}", row.metric),
    }
}

/// How fast the arms of a cell did its batches, in words; `None` where there are none.
pub(crate) fn batches_in_words(run: &Run, cell: MeasuredCell<'_>) -> Option<String> {
    let what = match cell.asked.workload.makes_connections() {
        true => "Connections",
        false => "Operations",
    };
    let is_shown = |arm: &str| {
        let arm = run.head.arm(arm);
        arm.is_some_and(|arm| arm.role != ArmRole::BaselineAgain)
    };
    let rates: Vec<String> = run
        .results
        .batches
        .iter()
        .filter(|row| row.cell == cell.found.name && is_shown(&row.arm))
        .map(|row| {
            let deviation = row
                .standard_deviation
                .map_or(format::ABSENT.into(), format::significant);
            let batches = match row.batches {
                1 => "1 batch".into(),
                n => format!("{} batches", format::count(n.into())),
            };
            format!(
                "{} {} ({deviation}) in {batches}",
                row.arm,
                format::significant(row.mean)
            )
        })
        .collect();
    (!rates.is_empty()).then(|| {
        format!(
            "{what} per second, mean and standard deviation over the batches: {}",
            rates.join(", ")
        )
    })
}

/// TPC-C's figure, which only its audited runs may call by TPC's name (TPC policies, 8.2).
pub(crate) fn new_orders_in_words(run: &Run, cell: MeasuredCell<'_>) -> Option<String> {
    if cell.asked.workload != Workload::Tpcc {
        return None;
    }
    let arms = run
        .head
        .baseline()
        .into_iter()
        .chain(lookup::variants_in(run, cell));
    let of_arm = |arm: &ArmRecord| {
        let mut rates = run.results.rates.iter();
        let is_meant =
            |row: &&KindRate| row.cell == cell.found.name && row.arm == arm.name && row.kind == "new_order";
        let rate = rates.find(is_meant)?;
        Some(format!(
            "{} {}",
            arm.name,
            format::significant(rate.per_second * 60.0)
        ))
    };
    let rates: Vec<String> = arms.filter_map(of_arm).collect();
    (!rates.is_empty()).then(|| {
        format!(
            "New-orders per minute (not a TPC result, and not comparable with one): {}",
            rates.join(", ")
        )
    })
}

/// Why the CPU time of servers is not there, in a sentence each.
pub(crate) fn cpu_unread_in_words(run: &Run) -> impl Iterator<Item = String> {
    run.head.servers.iter().filter_map(|server| {
        let reason = server.cpu_unread.as_ref()?;
        Some(format!(
            "Server CPU is not measured on {}: {reason}.",
            server.name
        ))
    })
}

/// What read the CPU time of servers from another machine and how exactly, in a sentence each.
pub(crate) fn cpu_from_in_words(run: &Run) -> impl Iterator<Item = String> {
    run.head.servers.iter().filter_map(|server| {
        Some(match server.cpu_from.as_ref()? {
            CpuSource::Agent(agent) => {
                let share = agent.error_share.map(|share| format!(", {:.3} %", share * 100.0));
                format!(
                    "Server CPU is that of {}, read on the server's machine ({}, {} CPUs) by the agent {}: {} readings, round trip {} \
                     (at most {}), so each is accurate to {}. The idle server used {:.2} % of a CPU, which adds about {} to a slice's \
                     CPU time{}.",
                    agent.program,
                    agent.host.cpu,
                    agent.host.cpus,
                    agent.address,
                    agent.readings,
                    format::microseconds(agent.round_trip_us),
                    format::microseconds(agent.round_trip_max_us),
                    format::microseconds(agent.round_trip_us / 2.0),
                    agent.quiet_cpu_share * 100.0,
                    format::microseconds(agent.error_us()),
                    share.unwrap_or_default(),
                )
            }
            CpuSource::Counter(counter) => format!(
                "Server CPU is that of {}, as {} reports. The counter lags up to {:.3} s, so every reading waited that long, and slices \
                 are at least twice as long.",
                counter.counts, counter.source, counter.resolution_s
            ),
        })
    })
}

/// The arms that were not measured, in a sentence each.
pub(crate) fn left_out_in_words(run: &Run) -> impl Iterator<Item = String> {
    let left_out = run.head.left_out.iter();
    left_out.map(|left_out| format!("Left out: {}, because {}.", left_out.arm, left_out.reason))
}

/// What was changed about the server for an arm, in a sentence each: a probe is no setting to compare, but a question put to
/// the server.
pub(crate) fn probes_in_words(run: &Run) -> impl Iterator<Item = String> {
    let probed = run.head.study.arms.iter();
    probed.filter_map(|arm| {
        let probe = arm.probe.as_ref()?;
        Some(format!(
            "{} is a probe: its slices ran with {probe} on the server of the other arms, for which it was set back.",
            arm.name
        ))
    })
}

/// How the connects of an arm logged in and shook hands, in words; of a database that runs in its client how often it was
/// opened.
pub(crate) fn connects(run: &Run, cell: &str, arm: &str) -> Option<String> {
    let row = run
        .results
        .connects
        .iter()
        .find(|row| row.cell == cell && row.arm == arm)?;
    if run.head.is_embedded() {
        let opened: u64 = row.logins.values().sum();
        return Some(format!("opened {} times", format::count(opened as f64)));
    }
    let logins = row
        .logins
        .iter()
        .map(|(login, count)| format!("{} logins by {}", format::count(*count as f64), login.words()));
    let handshakes = row.handshakes.map(|handshakes| match handshakes.offered {
        0 => "every TLS handshake full".to_owned(),
        offered => format!(
            "{} of {} TLS handshakes offered an earlier session, {} were resumed",
            format::count(offered as f64),
            format::count(handshakes.count as f64),
            format::count(handshakes.resumed as f64)
        ),
    });
    Some(logins.chain(handshakes).collect::<Vec<_>>().join("; "))
}

/// The cell in words: what is asked, how hard.
pub(crate) fn load_in_words(cell: MeasuredCell<'_>) -> String {
    let distance = distance_in_words(cell);
    if let Some(command) = &cell.asked.command {
        return format!("{}{distance}", command_in_words(command));
    }
    let connections = match (
        cell.asked.load.connections,
        cell.asked.workload.makes_connections(),
    ) {
        (1, true) => "one connect at a time".into(),
        (n, true) => format!("{n} connects at a time"),
        (1, _) => "1 connection".into(),
        (n, _) => format!("{n} connections"),
    };
    let pace = match cell.asked.load.pace() {
        Pace::Closed => String::new(),
        Pace::Batch { operations } => format!(", in batches of {}", format::count(operations.into())),
        Pace::Open { rate } => format!(" at most, {} begun per second", format::count(rate.into())),
    };
    format!("{}, {connections}{pace}{distance}", cell.asked.workload.asks())
}

/// The program, as much of its line as is easily read, and what of it counts.
fn command_in_words(command: &Command) -> String {
    const LONGEST: usize = 60;
    let mut line: String = command.to_string().replace(char::is_control, " ");
    if let Some((cut, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(cut);
        line.push('…');
    }
    let operation = match command.counts {
        Counts::Runs => "one run of the program",
        Counts::Queries => "one query counted by the server",
    };
    format!("{line}; an operation is {operation}")
}

/// How the load was made: by threads of ciphertax, or by a program of the user's own.
pub(crate) fn load_threads(run: &Run, cell: MeasuredCell<'_>) -> String {
    if let Some(command) = &cell.asked.command {
        return format!("killed after {} s", command.timeout_s);
    }
    let threads = match cell.found.workers {
        1 => "1 load thread".to_owned(),
        workers => format!("{workers} load threads"),
    };
    if run.head.is_embedded() {
        return threads;
    }
    format!(
        "{threads}, waits {} µs for more ready sockets",
        cell.asked.load.poll_delay_us
    )
}

/// How far the server of a cell is, and how far its nodes are from each other: `, nodes 1 ms apart, 10 ms away`; empty if
/// neither.
pub(crate) fn distance_in_words(cell: MeasuredCell<'_>) -> String {
    let nodes = cell
        .node_link
        .map(|link| format!(", nodes {} ms apart", link.rtt_ms));
    let server = cell.link.map(|link| format!(", {} ms away", link.rtt_ms));
    nodes.into_iter().chain(server).collect()
}

/// How much longer a cell had to be measured for the precision asked for; `None` if it has it or nobody knows.
pub(crate) fn time_wanted(cell: MeasuredCell<'_>) -> Option<String> {
    let seconds = cell
        .found
        .more_time_s
        .filter(|seconds| !cell.found.precise && *seconds > 0.0)?;
    Some(format!(
        "{} more for the precision asked for",
        format::span(seconds)
    ))
}

/// How many blocks a cell has.
pub(crate) fn blocks_in_words(cell: MeasuredCell<'_>) -> String {
    match cell.found.blocks {
        1 => "1 block".into(),
        n => format!("{} blocks", format::count(n.into())),
    }
}

/// How quiet it was between the slices; `None` where arms do not differ at rest.
pub(crate) fn quiet_in_words(cell: MeasuredCell<'_>) -> Option<String> {
    let rounds = cell.found.rounds?;
    let dropped = match rounds.dropped {
        0 => "",
        _ => {
            ", and the kernel's cache of the server's files dropped: what the server has not in its own memory comes from the disk"
        }
    };
    let waited = format!(
        "{:.1} s of idle servers before each slice on average{dropped}",
        rounds.quiet_s
    );
    Some(match rounds.disturbed {
        0 => waited,
        disturbed => format!(
            "{waited}; {} of {} slices ran while another arm's server was busy, which may have slowed them down",
            format::count(disturbed.into()),
            format::count(rounds.slices.into())
        ),
    })
}

/// The few words of a verdict, or why there is none although there are numbers.
pub(crate) fn verdict_word(run: &Run, row: &EstimateRow) -> String {
    let word = match (row.rule, row.verdict) {
        (Rule::ClientBound, _) => "client-bound",
        (_, Verdict::Costs) => "costs",
        (_, Verdict::CostsPerhaps) => "costs, perhaps",
        // No protection makes anything cheaper by itself.
        (_, Verdict::Gains) if run.head.study.adds_protection(&row.arm) => "gains?",
        (_, Verdict::Gains) => "gains",
        (_, Verdict::GainsPerhaps) => "gains, perhaps",
        (_, Verdict::NoCost) => return format!("no cost above {}", bound(row.margin, row.metric)),
        (_, Verdict::CannotTell) => "not decided",
    };
    word.to_owned()
}

/// A published figure in words: a change, or a bound.
pub(crate) fn published_figure(row: &PublishedRow) -> String {
    match (row.change, row.within) {
        (Some(change), _) => format::change(change),
        (None, Some(bound)) => format!("within ±{}", format::share(bound)),
        (None, None) => format::ABSENT.into(),
    }
}

/// Who has proved an arm to be what it says, each once.
pub(crate) fn witnesses(arm: &ArmRecord) -> Vec<Witness> {
    let mut witnesses: Vec<Witness> = Vec::new();
    for proof in arm.sessions.iter().flat_map(|session| &session.proofs) {
        if !witnesses.contains(&proof.witness) {
            witnesses.push(proof.witness);
        }
    }
    witnesses
}

/// Why the server does not prove an arm; `None` where it does.
pub(crate) fn unproved(arm: &ArmRecord) -> Option<&str> {
    arm.sessions
        .iter()
        .find_map(|session| session.unproved.as_deref())
}

/// The arms, each with how it was proved to be what it says.
pub(crate) fn proofs_in_words(run: &Run) -> impl Iterator<Item = (&str, String)> {
    run.head.arms_once().map(|arm| {
        let names: Vec<String> = witnesses(arm).iter().map(ToString::to_string).collect();
        let mut words = match names.as_slice() {
            [] => "not proved: the run ended before".to_owned(),
            names => format!("proved by {}", names.join(", ")),
        };
        if let Some(why) = unproved(arm) {
            words.push_str(&format!("; not proved by the server: {why}"));
        }
        (arm.name.as_str(), words)
    })
}

/// The measured change with its interval.
pub(crate) fn measured_change(row: &PublishedRow) -> String {
    row.measured
        .map_or("not measured".into(), format::change_with_interval)
}

/// The words of an agreement.
pub(crate) fn agreement_word(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "agrees",
        Agreement::Differs => "differs",
        Agreement::CannotTell => "not decided",
    }
}

/// What a finding is called.
pub(crate) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Cause => "cause",
        Severity::Advice => "advice",
        Severity::Suspicion => "suspicion",
    }
}

/// What a reader of an unfinished run must know first; `None` for a complete one.
pub(crate) fn unfinished(run: &Run) -> Option<String> {
    match &run.head.status {
        RunStatus::Complete => None,
        RunStatus::Running => {
            Some("This run has not ended: it is still measuring, or it was killed. Below is what it has measured so far.".into())
        }
        RunStatus::Partial { reason } => Some(format!(
            "This run ended early: {}. Below is what it measured.",
            reason.trim_end_matches('.')
        )),
        RunStatus::NotCleanedUp { problem } => Some(format!(
            "This run is complete, but {}.",
            problem.trim_end_matches('.')
        )),
    }
}

/// What that is which was measured.
pub(crate) fn server_word(run: &Run) -> &'static str {
    match run.head.is_embedded() {
        true => "database",
        false => "server",
    }
}

/// Which servers they were, and whether both sides shared the CPUs.
pub(crate) fn servers_in_words(run: &Run) -> String {
    let mut servers: Vec<String> = run
        .head
        .servers
        .iter()
        .map(|server| server_in_words(run, server))
        .collect();
    // The same server with several certificates is one to a reader.
    servers.dedup();
    servers.join("; ")
}

/// What kept a server at a distance, how exactly, and what a reader of the figures must know of it; `None` without one.
pub(crate) fn link_in_words(server: &ServerRecord) -> Option<String> {
    let link = server.link.as_ref()?;
    let listed = |distances: &[Link], how: &str| {
        let each: Vec<String> = distances
            .iter()
            .map(|link| format!("{} ms", link.rtt_ms))
            .collect();
        (!each.is_empty()).then(|| format!("{} {how}", each.join(", ")))
    };
    let away = listed(&link.distances, "away");
    let apart = listed(&link.node_distances, "between its nodes");
    let distances: Vec<String> = away.into_iter().chain(apart).collect();
    let dropped = match link.dropped {
        0 => String::new(),
        n => format!(", {} dropped", format::count(n as f64)),
    };
    Some(format!(
        "{}: {} packets, late by {} at the median, {} at the 99th percentile, {} at most{dropped}",
        distances.join(" and "),
        format::count(link.packets as f64),
        format::microseconds(link.lateness_median_us),
        format::microseconds(link.lateness_p99_us),
        format::microseconds(link.lateness_max_us),
    ))
}

fn server_in_words(run: &Run, server: &ServerRecord) -> String {
    let whose = match server.placement {
        ServerPlacement::Private => "private server",
        ServerPlacement::External => "your server",
        ServerPlacement::Embedded => {
            return format!(
                "{} {}, embedded: it runs in the application's process, here called the client, which bears all costs; a new connection \
                 opens the file",
                server.product, server.version
            );
        }
    };
    let place = match (server.same_host, run.head.host.cpus) {
        _ if run.head.study.placement == Placement::Together => "on one CPU together with the load".into(),
        (true, 1) => "on the same CPU as the load".into(),
        (true, cpus) => format!("on the same {cpus} CPUs as the load"),
        (false, _) => format!("at {}", server.address),
    };
    format!(
        "{} {}, {whose} {place}{}",
        server.product,
        server.version,
        way_in_words(run, server)
    )
}

/// Void slices with the same kind of reason.
pub(crate) struct VoidGroup {
    /// The kind of reason.
    pub(crate) kind: &'static str,
    /// How many slices.
    pub(crate) count: usize,
}

/// Void slices by kind of reason, the commonest first.
pub(crate) fn void_groups(run: &Run) -> Vec<VoidGroup> {
    let mut groups: Vec<VoidGroup> = Vec::new();
    for row in &run.results.void {
        let kind = void_kind(&row.reason);
        match groups.iter_mut().find(|group| group.kind == kind) {
            Some(group) => group.count += 1,
            None => groups.push(VoidGroup { kind, count: 1 }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}

fn void_kind(reason: &VoidReason) -> &'static str {
    match reason {
        VoidReason::Errors { .. } => "operations failed",
        VoidReason::FactsDiffer { .. } => "session not what its arm says",
        VoidReason::CellsDiffer { .. } => "cells not as their columns say",
        VoidReason::ServerDied { .. } => "server died",
        VoidReason::PoolerDied { .. } => "pooler died",
        VoidReason::ColumnRelayDied { .. } => "relay died",
        VoidReason::RankLost { .. } => "load generator lost",
        VoidReason::RanksApart { .. } => "load generators apart",
        VoidReason::AgentLost { .. } => "server's CPU not read",
        VoidReason::Steal { .. } => "CPU taken by the hypervisor",
        VoidReason::Empty => "no operation completed",
        VoidReason::Stalled { .. } => "operations did not finish",
        VoidReason::ScheduleMissed { .. } => "schedule missed",
        VoidReason::Interrupted => "interrupted",
    }
}
