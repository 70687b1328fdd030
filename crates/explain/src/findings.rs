//! Causes, advice and suspicions, each with the measured evidence that triggered it.

use std::collections::BTreeMap;

use ciphertax_model::record::{
    ArmRecord, ArmRole, CellRecord, ChurnRow, EstimateRow, Finding, Phase, Run, Sample, Severity, Verdict,
};
use ciphertax_model::{Arm, AuthenticationMethod, Metric, PasswordCache, Placement, Study, Tunnel, Workload};

use crate::cell::CellSamples;
use crate::drivers::connections_of_a_driver;
use crate::sentence::{micros, more, percent};

pub(crate) fn all(run: &Run, cells: &[CellSamples<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for cell in &run.cells {
        findings.extend(variants(run).filter_map(|arm| slowest_phase(run, cell, arm)));
        findings.extend(variants(run).filter_map(|arm| record_layer(run, cell, arm)));
    }
    findings.extend(
        run.churn
            .iter()
            .filter(|row| row.side == "server")
            .filter_map(keep_connections),
    );
    findings.extend(shared_cpus(run));
    findings.extend(client_bound(run));
    findings.extend(cells.iter().filter_map(lateness));
    findings.extend(gains(run));
    findings.extend(late_links(run));
    findings.extend(unverified(run));
    findings.extend(not_in_memory(cells));
    findings.extend(full_logins(&run.study, cells));
    findings.extend(noisy(run));
    findings.extend(servers_of_their_own(run));
    findings.extend(cells.iter().filter_map(|cell| connections_of_a_driver(run, cell)));
    findings.extend(variants(run).filter_map(|arm| login_rate(run, arm)));
    findings
}

fn variants(run: &Run) -> impl Iterator<Item = &str> {
    run.arms
        .iter()
        .filter(|arm| arm.role == ArmRole::Variant)
        .map(|arm| arm.name.as_str())
}

fn finding(severity: Severity, summary: String, evidence: String) -> Finding {
    Finding {
        severity,
        summary,
        evidence,
    }
}

/// Which phase makes a connect slower.
fn slowest_phase(run: &Run, cell: &CellRecord, arm: &str) -> Option<Finding> {
    let baseline = &run.arms.first()?.name;
    let row = |arm: &str, phase| {
        run.connect_phases
            .iter()
            .find(|row| row.cell == cell.name && row.arm == arm && row.phase == phase)
    };
    let mean_us = |arm: &str, phase| row(arm, phase).map(|row| row.mean_us);
    let extra = |phase| mean_us(arm, phase).map(|us| us - mean_us(baseline, phase).unwrap_or(0.0));
    let total: f64 = Phase::ALL.into_iter().filter_map(extra).sum();
    let (phase, most) = Phase::ALL
        .into_iter()
        .filter_map(|phase| Some((phase, extra(phase)?)))
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    if total <= 0.0 || most < 0.25 * total {
        return None;
    }
    let row = row(arm, phase)?;
    let cpu = row
        .client_cpu_us
        .map(|us| format!(", of which the client's cryptography computes {}", micros(us)));
    Some(finding(
        Severity::Cause,
        format!(
            "{}: a connect over {arm} takes {} longer, {} of it in the phase {phase}.",
            cell.name,
            micros(total),
            share(most, total)
        ),
        format!(
            "{phase}: {} on average{}, {:.1} flights, {:.0} bytes sent and {:.0} received",
            micros(row.mean_us),
            cpu.unwrap_or_default(),
            row.flights,
            row.bytes_sent,
            row.bytes_received
        ),
    ))
}

/// Arms that no server can have together with the baseline.
fn servers_of_their_own(run: &Run) -> Option<Finding> {
    let mut apart: Vec<&str> = Vec::new();
    for arm in run.arms.iter().filter(|arm| arm.role == ArmRole::Variant) {
        if arm.sessions.iter().any(|session| session.beside.is_some()) {
            apart.push(&arm.name);
        }
    }
    (!apart.is_empty()).then(|| {
        let names: Vec<&str> = run.servers.iter().map(|server| server.name.as_str()).collect();
        finding(
            Severity::Cause,
            format!(
                "{} and the baseline need different servers, so two processes are compared; the noise floor is that of two \
                 identical ones, side by side like these.",
                apart.join(", ")
            ),
            format!("servers with equal memory and the same data: {}", names.join("; ")),
        )
    })
}

/// From how many logins per second on another authentication takes a tenth of a core, where it costs anything at all.
fn login_rate(run: &Run, arm: &str) -> Option<Finding> {
    const SHARE: f64 = 0.1;
    let baseline = run.study.baseline();
    let of_arm = run.study.arms.iter().find(|other| other.name == arm)?;
    // A client's certificate is part of a login by it; everything else of TLS is not the login's.
    let without_login = |arm: &Arm| {
        let mut tls = arm.tls.clone();
        tls.client_certificate = None;
        (arm.transport, arm.tunnel, tls)
    };
    if of_arm.authentication == baseline.authentication || without_login(of_arm) != without_login(baseline) {
        return None;
    }
    let more = match baseline.authentication.method {
        Some(AuthenticationMethod::NoLogin) => String::new(),
        _ => format!(" more than one of {}", baseline.name),
    };
    let makes_connections = |cell: &&CellRecord| cell.workload.makes_connections();
    let cell = run.cells.iter().find(makes_connections)?;
    let row = |metric| {
        let mut rows = run.estimates.iter();
        rows.find(|row| row.cell == cell.name && row.arm == arm && row.metric == metric)
    };
    let sides: Vec<(&str, &EstimateRow)> = [
        ("server", Metric::ServerCpuPerOp),
        ("client", Metric::ClientCpuPerOp),
    ]
    .into_iter()
    .filter_map(|(side, metric)| Some((side, row(metric).filter(|row| row.verdict == Verdict::Costs)?)))
    .collect();
    let rates: Vec<String> = sides
        .iter()
        .map(|(side, row)| {
            let rate = SHARE * 1e6 / (row.variant - row.baseline);
            format!("{rate:.0} logins per second on the {side}")
        })
        .collect();
    let evidence: Vec<String> = sides
        .iter()
        .map(|(side, row)| {
            let (more, low, high) = (row.change, row.low, row.high);
            let extra = micros(row.variant - row.baseline);
            format!(
                "{side} CPU of a connect {extra} more, {} [{}, {}]",
                percent(more),
                percent(low),
                percent(high)
            )
        })
        .collect();
    (!rates.is_empty()).then(|| {
        finding(
            Severity::Advice,
            format!(
                "{arm}: a login takes a tenth of a core{more} at {}; connections that stay open pay it once.",
                rates.join(" and ")
            ),
            evidence.join("; "),
        )
    })
}

/// What the record cipher costs where there is much to carry.
fn record_layer(run: &Run, cell: &CellRecord, arm: &str) -> Option<Finding> {
    if cell.workload != Workload::BulkRead {
        return None;
    }
    let row = |metric| {
        run.estimates
            .iter()
            .find(|row| row.cell == cell.name && row.arm == arm && row.metric == metric)
            .filter(|row| row.verdict == Verdict::Costs)
    };
    let megabytes = 1.048_576;
    let per_side = [
        (Metric::ClientCpuPerOp, "client"),
        (Metric::ServerCpuPerOp, "server"),
    ]
    .map(|(metric, side)| {
        row(metric).map(|row| format!("{side} {}", micros((row.variant - row.baseline) / megabytes)))
    });
    let sides: Vec<String> = per_side.into_iter().flatten().collect();
    if sides.is_empty() {
        return None;
    }
    let cipher = run
        .arms
        .iter()
        .find(|other| other.name == arm)?
        .on(&cell.server)?
        .facts
        .tls
        .as_ref()?
        .cipher
        .clone();
    Some(finding(
        Severity::Cause,
        format!(
            "Encrypting a megabyte with {cipher} ({arm}) takes this much more CPU: {}.",
            sides.join(", ")
        ),
        format!("cell {}: results of 1 MiB, TLS against plain", cell.name),
    ))
}

/// Pool connections, if the connect is what costs.
fn keep_connections(row: &ChurnRow) -> Option<Finding> {
    let arm = &row.arm;
    let single = row.points.first()?.overhead;
    let budget = row.break_even.iter().find(|budget| budget.budget == 0.05)?;
    if single.low < 0.20 {
        return None;
    }
    let alone = more(single.value);
    let summary = match (budget.queries, budget.queries_high) {
        (Some(queries), high) => format!(
            "Keep connections open: with one query a connection {arm} takes {alone} server CPU, from about \
             {queries:.0} queries on less than 5 % more{}.",
            high.map(|high| format!(" (at most {high:.0})"))
                .unwrap_or_default()
        ),
        (None, _) => format!(
            "Keep connections open: with one query a connection {arm} takes {alone} server CPU, with many \
             queries {}, which is what a query itself takes.",
            more(row.query_variant_us / row.query_baseline_us - 1.0)
        ),
    };
    Some(finding(
        Severity::Advice,
        summary,
        format!(
            "server CPU of a connect {} instead of {}, of a query {} instead of {}",
            micros(row.connect_variant_us),
            micros(row.connect_baseline_us),
            micros(row.query_variant_us),
            micros(row.query_baseline_us)
        ),
    ))
}

fn shared_cpus(run: &Run) -> Option<Finding> {
    let same_host = run.servers.iter().any(|server| server.same_host);
    let evidence = match (same_host, run.study.placement) {
        (false, _) => return None,
        (true, Placement::Together) => "the server and the load threads were kept on one CPU".to_owned(),
        (true, Placement::Free) => {
            format!("the server ran on this machine, which has {} CPUs", run.host.cpus)
        }
    };
    Some(finding(
        Severity::Cause,
        "Client and server shared the CPUs: throughput and latency are figures of both together; CPU per operation is \
         the primary metric."
            .into(),
        evidence,
    ))
}

fn client_bound(run: &Run) -> impl Iterator<Item = Finding> {
    run.cells.iter().filter(|cell| cell.client_bound).map(|cell| {
        finding(
            Severity::Suspicion,
            format!(
                "{}: the load generator was the bottleneck; throughput and latency get no verdict.",
                cell.name
            ),
            format!(
                "its {} threads used more than 85 % of the CPUs they may use",
                cell.workers
            ),
        )
    })
}

/// An open loop whose response times are to a good part the load generator's.
fn lateness(cell: &CellSamples<'_>) -> Option<Finding> {
    const MUCH: f64 = 0.10;
    let share_of = |arm: usize| {
        let (delay, response) = cell
            .valid(arm)
            .filter_map(|sample| sample.open_loop.as_ref())
            .fold((0, 0), |(delay, response), sample| {
                (delay + sample.delay_sum_ns, response + sample.response_sum_ns)
            });
        (response > 0).then(|| delay as f64 / response as f64)
    };
    let (arm, most) = (0..cell.arms.len())
        .filter_map(|arm| Some((arm, share_of(arm)?)))
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    (most > MUCH).then(|| {
        finding(
            Severity::Suspicion,
            format!(
                "{}: up to {} of the response time is the load generator's own lateness, and dilutes the changes; a lower \
                 rate, or a machine of its own, keeps it small.",
                cell.cell.name,
                share(most, 1.0)
            ),
            format!(
                "operations of {} for which a connection was free began late, by that much in all",
                cell.arms[arm]
            ),
        )
    })
}

/// Protection that seems to make things faster.
fn gains(run: &Run) -> impl Iterator<Item = Finding> {
    let is_impossible =
        |row: &&EstimateRow| row.verdict == Verdict::Gains && run.study.adds_protection(&row.arm);
    run.estimates.iter().filter(is_impossible).map(|row| {
        let (severity, summary) = match saved_round_trip(run, row) {
            Some(rtt_ms) => (
                Severity::Cause,
                format!(
                    "{}: {} improves the {}: TCP's handshake ends at the near end of the tunnel, whose connection to the far \
                     end is open already, which saves every new connection a round trip of {rtt_ms} ms.",
                    row.cell, row.arm, row.metric
                ),
            ),
            None => (
                Severity::Suspicion,
                format!(
                    "{}: {} seems to improve the {}; a protection cannot do that by itself, so suspect the environment: fewer \
                     requests in flight, other threads placed elsewhere, or batching by a slower client.",
                    row.cell, row.arm, row.metric
                ),
            ),
        };
        let evidence =
            format!("{} [{}, {}] over {} blocks", percent(row.change), percent(row.low), percent(row.high), row.blocks);
        finding(severity, summary, evidence)
    })
}

/// The round trip in milliseconds that a new connection is spared by a tunnel that is open already; `None` if that explains
/// nothing.
fn saved_round_trip(run: &Run, row: &EstimateRow) -> Option<f64> {
    let arm = run.study.arms.iter().find(|arm| arm.name == row.arm)?;
    let cell = run.cells.iter().find(|cell| cell.name == row.cell)?;
    let stays_open = matches!(arm.tunnel, Some(Tunnel::Ssh(_)));
    let is_explained = stays_open && cell.workload.makes_connections() && !row.metric.is_cpu();
    cell.link.filter(|_| is_explained).map(|link| link.rtt_ms)
}

/// Links that kept a longer distance than was asked for.
fn late_links(run: &Run) -> impl Iterator<Item = Finding> {
    /// Microseconds at the median that are not worth a word.
    const PUNCTUAL_US: f64 = 100.0;
    let links = run
        .servers
        .iter()
        .filter_map(|server| Some((server, server.link.as_ref()?)));
    let late = links.filter(|(_, link)| link.lateness_median_us > PUNCTUAL_US);
    late.map(|(server, link)| {
        finding(
            Severity::Suspicion,
            format!(
                "The link to {} was late by {} at the median, so every round trip took longer than asked for: this machine \
                 has too few CPUs for it, or too much else to do.",
                server.name,
                micros(link.lateness_median_us)
            ),
            format!(
                "{} packets by {}, late by {} at the 99th percentile and {} at most",
                link.packets,
                link.by,
                micros(link.lateness_p99_us),
                micros(link.lateness_max_us)
            ),
        )
    })
}

fn unverified(run: &Run) -> Option<Finding> {
    let is_unverified = |arm: &&ArmRecord| {
        let mut tls = arm
            .sessions
            .iter()
            .filter_map(|session| session.facts.tls.as_ref());
        tls.any(|tls| tls.verification == "none")
    };
    run.arms.iter().find(is_unverified).map(|arm| {
        finding(
            Severity::Advice,
            "The TLS sessions were encrypted, but to whom was not verified: give ssl-ca=… in the target."
                .into(),
            format!("arm {}: verification none", arm.name),
        )
    })
}

fn not_in_memory(cells: &[CellSamples<'_>]) -> impl Iterator<Item = Finding> {
    const PAGE_READS: [&str; 2] = [
        "Innodb_buffer_pool_reads",
        "wiredTiger.cache.pages read into cache",
    ];
    let all = cells
        .iter()
        .flat_map(|cell| PAGE_READS.map(|counter| (cell, counter)));
    all.filter_map(|(cell, counter)| {
        let sum = |name: &str| -> i64 {
            cell.samples()
                .filter(|sample| sample.is_valid())
                .filter_map(|sample| sample.server_counters.get(name))
                .sum()
        };
        let operations: u64 = cell.samples().map(|sample| sample.operation_count()).sum();
        let reads = sum(counter);
        (reads as f64 > 0.001 * operations as f64).then(|| {
            finding(
                Severity::Suspicion,
                format!(
                    "{}: data was read from disk, so what is measured is diluted by I/O.",
                    cell.cell.name
                ),
                format!("{counter} rose by {reads} during {operations} operations"),
            )
        })
    })
}

/// Logins that took the slow path of a plugin that has a fast one, where that is not what the arm is for.
fn full_logins(study: &Study, cells: &[CellSamples<'_>]) -> Option<Finding> {
    let is_cold = |sample: &&Sample| {
        let arm = study.arms.iter().find(|arm| arm.name == sample.arm);
        arm.is_some_and(|arm| arm.authentication.password_cache == PasswordCache::Cold)
    };
    let mut logins: BTreeMap<&str, u64> = BTreeMap::new();
    let samples = cells.iter().flat_map(|cell| cell.samples());
    for (path, count) in samples
        .filter(|sample| !is_cold(sample))
        .flat_map(|sample| &sample.logins)
    {
        *logins.entry(path).or_default() += count;
    }
    let total: u64 = logins.values().sum();
    let full: u64 = logins
        .iter()
        .filter(|(path, _)| path.ends_with("/full"))
        .map(|(_, count)| count)
        .sum();
    (full > 0).then(|| {
        finding(
            Severity::Suspicion,
            format!(
                "{} of the logins took the full authentication path.",
                share(full as f64, total as f64)
            ),
            logins
                .iter()
                .map(|(path, count)| format!("{path}: {count}"))
                .collect::<Vec<_>>()
                .join(", "),
        )
    })
}

fn noisy(run: &Run) -> Option<Finding> {
    const NOISY: f64 = 0.05;
    let worst = run
        .noise_floor
        .iter()
        .filter(|row| row.metric.is_cpu())
        .max_by(|one, other| (one.high - one.low).total_cmp(&(other.high - other.low)))?;
    ((worst.high - worst.low) / 2.0 > NOISY).then(|| {
        finding(
            Severity::Advice,
            "This machine was noisy: give the run more time (--time), or a quieter machine.".into(),
            format!(
                "{}: the baseline against itself differs by {} [{}, {}] in {}",
                worst.cell,
                percent(worst.change),
                percent(worst.low),
                percent(worst.high),
                worst.metric
            ),
        )
    })
}

fn share(part: f64, whole: f64) -> String {
    format!("{:.0} %", part / whole * 100.0)
}
