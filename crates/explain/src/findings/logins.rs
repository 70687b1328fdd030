//! Logins: what they cost beside TLS, and how many there were of whom.

use std::collections::BTreeMap;

use ciphertax_base::Interval;
use ciphertax_base::format::{count, plain, rounded};
use ciphertax_base::joined;
use ciphertax_base::{AuthenticationFacts, LoginPath, counter};
use ciphertax_model::{Arm, AuthenticationMethod, Metric, PasswordCache, Study};
use ciphertax_records::{EstimateRow, Finding, MeasuredCell, Run};
use ciphertax_stats::jackknife::interval_of;
use ciphertax_stats::{FEWEST_BLOCKS, Verdict};

use super::{advice, cause, share, suspicion};
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::{BASELINE, CellSamples, value};

/// Of a study whose baseline proves nobody's identity in plaintext: one arm that adds TLS to it, and arms that add a login
/// to either. One finding for each side that TLS costs anything.
pub(super) fn login_against_tls(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
) -> Result<Vec<Finding>, EstimateError> {
    let mut findings = Vec::new();
    for (side, metric) in [
        ("client", Metric::ClientCpuPerOp),
        ("server", Metric::ServerCpuPerOp),
    ] {
        findings.extend(of_side(run, samples, cell, side, metric)?);
    }
    Ok(findings)
}

fn of_side(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
    side: &str,
    metric: Metric,
) -> Result<Option<Finding>, EstimateError> {
    let baseline = run.head.study.baseline();
    let method = baseline.authentication.method;
    let proves_nobody = method.is_some_and(|method| !method.proves_identity());
    if !cell.asked.workload.makes_connections() || baseline.transport.is_encrypted() || !proves_nobody {
        return Ok(None);
    }
    let costs = |arm: &Arm| {
        let row = run.results.estimate(&cell.asked.name, &arm.name, metric);
        row.filter(|row| row.verdict == Verdict::Costs)
    };
    let index = |arm: &Arm| samples.index_of(&arm.name);
    let variants = || run.head.study.arms_of(cell.asked).skip(1);
    let Some((tls, tls_row, tls_index)) = variants()
        .filter(|arm| adds_tls_alone(arm, baseline))
        .find_map(|arm| Some((arm, costs(arm)?, index(arm)?)))
    else {
        return Ok(None);
    };
    let mut ratios: Vec<(&Arm, Interval)> = Vec::new();
    for arm in variants() {
        // What the arm is without its login: the baseline, or that within TLS.
        let without = match () {
            () if is_with_login(arm, baseline) => BASELINE,
            () if is_with_login(arm, tls) => tls_index,
            () => continue,
        };
        let Some(arm_index) = index(arm).filter(|_| costs(arm).is_some()) else {
            continue;
        };
        let ratio = ratio(samples, [without, arm_index, tls_index], metric)?;
        ratios.extend(ratio.filter(|ratio| ratio.low > 0.0).map(|ratio| (arm, ratio)));
    }
    if ratios.is_empty() {
        return Ok(None);
    }
    ratios.sort_by(|one, other| other.1.value.total_cmp(&one.1.value));
    let sure = |is_meant: &dyn Fn(&Interval) -> bool| -> Vec<String> {
        let meant = ratios.iter().filter(|(_, ratio)| is_meant(ratio));
        meant
            .map(|(arm, ratio)| format!("{} ({})", arm.name, times(*ratio)))
            .collect()
    };
    let holds_one = |ratio: &Interval| ratio.low <= 1.0 && ratio.high >= 1.0;
    // A fifth less, a quarter more.
    let is_near_one = |ratio: &Interval| ratio.low >= 0.8 && ratio.high <= 1.25;
    let parts: Vec<String> = [
        ("more than that with", sure(&|ratio| ratio.low > 1.0)),
        ("less than that with", sure(&|ratio| ratio.high < 1.0)),
        (
            "about as much with",
            sure(&|ratio| holds_one(ratio) && is_near_one(ratio)),
        ),
    ]
    .into_iter()
    .filter(|(_, arms)| !arms.is_empty())
    .map(|(words, arms)| format!("{words} {}", arms.join(", ")))
    .collect();
    let login = match parts.is_empty() {
        true => String::new(),
        false => format!(" A login costs {}.", parts.join("; ")),
    };
    let open = sure(&|ratio| holds_one(ratio) && !is_near_one(ratio));
    let open = match open.is_empty() {
        true => String::new(),
        false => format!(
            " This run cannot tell whether it is more or less with {}.",
            open.join(", ")
        ),
    };
    Ok(Some(cause(
        "login-against-tls",
        format!(
            "{}: TLS costs the {side} {} of CPU per new connection ({}).{login}{open}{}",
            cell.asked.name,
            rounded::microseconds_between(tls_row.difference),
            tls.name,
            who_derives(side, baseline, &ratios)
        ),
        format!(
            "each against {}, block by block: {side} CPU of {} {}",
            baseline.name,
            tls.name,
            rounded::change(tls_row.interval())
        ),
    )))
}

/// True if an arm is the other with TLS around it.
fn adds_tls_alone(arm: &Arm, other: &Arm) -> bool {
    arm.transport.is_encrypted()
        && arm.authentication == other.authentication
        && (arm.tunnel, arm.pooler) == (other.tunnel, other.pooler)
}

/// True if an arm is the other with a login, for which it may show a certificate; everything else of TLS is not the login's.
fn is_with_login(arm: &Arm, other: &Arm) -> bool {
    let of_server = |arm: &Arm| {
        let mut tls = arm.tls.clone();
        tls.client_certificate = None;
        tls
    };
    arm.transport == other.transport
        && of_server(arm) == of_server(other)
        && arm.authentication != other.authentication
        && (arm.tunnel, arm.pooler) == (other.tunnel, other.pooler)
}

/// Who derives the keys. Where the password itself is sent it is PostgreSQL, which keeps SCRAM's (`scram_verify_plain_password` in
/// `src/backend/libpq/auth-scram.c`). libpq 15 takes 4.3 times as long for them as this client: 4.3 ms against 1 ms for 4,096
/// iterations, 98 to 101 ms against 20 for 100,000.
fn who_derives(side: &str, baseline: &Arm, ratios: &[(&Arm, Interval)]) -> String {
    let is_postgresql = baseline.authentication.method == Some(AuthenticationMethod::Trust);
    let by = |is_meant: &dyn Fn(AuthenticationMethod) -> bool| {
        let mut arms = ratios.iter().map(|(arm, _)| arm);
        arms.find(|arm| arm.authentication.method.is_some_and(is_meant))
    };
    let scram = [
        AuthenticationMethod::ScramSha256,
        AuthenticationMethod::ScramSha256Plus,
    ];
    match side {
        "server" => by(&|method| method == AuthenticationMethod::Password).map(|arm| {
            format!(
                " With {} the client sends the password and the server derives SCRAM's keys; with SCRAM the client does that.",
                arm.name
            )
        }),
        // MongoDB has SCRAM too, but nobody trusts everybody there.
        _ => by(&|method| is_postgresql && scram.contains(&method)).map(|_| {
            " The client is ciphertax's own: libpq 15 (psql) takes four to five times as long to derive SCRAM's keys.".into()
        }),
    }
    .unwrap_or_default()
}

/// What a login takes, divided by what TLS takes; `None` of too few blocks. The arms are that without the login, that with it,
/// and TLS alone.
fn ratio(
    samples: &CellSamples<'_>,
    [without, login, tls]: [usize; 3],
    metric: Metric,
) -> Result<Option<Interval>, EstimateError> {
    let log = |slice| value(slice, metric).map(f64::ln);
    let rows: Vec<[f64; 3]> = samples
        .together([BASELINE, without, login, tls])
        .filter_map(|[baseline, without, login, tls]| {
            let baseline = log(baseline)?;
            Some([
                log(without)? - baseline,
                log(login)? - baseline,
                log(tls)? - baseline,
            ])
        })
        .collect();
    if rows.len() < FEWEST_BLOCKS as usize {
        return Ok(None);
    }
    let alone = [[0.0]; 2];
    let times = |[without, login, tls]: &[f64; 3], _: &[f64; 1]| (login.exp() - without.exp()) / tls.exp_m1();
    Ok(Some(interval_of(&rows, &alone, times)?))
}

/// `2.1 times [1.9, 2.3]`
fn times(Interval { value, low, high }: Interval) -> String {
    let [value, low, high] = [value, low, high].map(|times| plain((times * 100.0).round() / 100.0));
    format!("{value} times [{low}, {high}]")
}

/// The part of a core that is worth a word.
const SHARE: f64 = 0.1;

/// From how many logins per second on another authentication takes a tenth of a core, where it costs anything at all.
pub(super) fn login_rate(run: &Run, arm: &str) -> Option<Finding> {
    let baseline = run.head.study.baseline();
    let of_arm = run.head.study.arm(arm)?;
    if !is_with_login(of_arm, baseline) {
        return None;
    }
    let more = match baseline.authentication.method {
        Some(method) if !method.proves_identity() => String::new(),
        _ => format!(" more than with {}", baseline.name),
    };
    let makes_connections = |cell: &MeasuredCell<'_>| cell.asked.workload.makes_connections();
    let cell = run.cells().find(makes_connections)?;
    let sides: Vec<(&str, &EstimateRow, Interval)> = [
        ("server", Metric::ServerCpuPerOp),
        ("client", Metric::ClientCpuPerOp),
    ]
    .into_iter()
    .filter_map(|(side, metric)| {
        let row = run.results.estimate(&cell.asked.name, arm, metric)?;
        Some((side, row, row.difference))
    })
    .filter(|(_, row, extra_us)| row.verdict == Verdict::Costs && extra_us.low > 0.0)
    .collect();
    let rates: Vec<String> = sides
        .iter()
        .map(|(side, _, extra_us)| {
            let [rate, low, high] = [extra_us.value, extra_us.high, extra_us.low].map(|us| SHARE * 1e6 / us);
            let [rate, low, high] = [rate, low, high].map(count);
            format!("{rate} [{low}, {high}] logins per second on the {side}")
        })
        .collect();
    let evidence: Vec<String> = sides
        .iter()
        .map(|(side, row, extra_us)| {
            format!(
                "{side} CPU of a connect {} more, {}",
                rounded::microseconds_between(*extra_us),
                rounded::change(row.interval())
            )
        })
        .collect();
    (!rates.is_empty()).then(|| {
        advice(
            "login-rate",
            format!(
                "{arm}: logins take a tenth of a core{more} at {}; connections that stay open pay once.",
                rates.join(" and ")
            ),
            evidence.join("; "),
        )
    })
}

/// Logins that took the slow path of a plugin that has a fast one, where that is not what the arm is for.
pub(super) fn full_logins(study: &Study, cells: &[CellSamples<'_>]) -> Option<Finding> {
    let is_cold = |name: &String| {
        study
            .arm(name)
            .is_some_and(|arm| arm.authentication.password_cache == PasswordCache::Cold)
    };
    let mut logins: BTreeMap<&AuthenticationFacts, u64> = BTreeMap::new();
    for cell in cells {
        for (arm, _) in cell.arms.iter().enumerate().filter(|(_, name)| !is_cold(name)) {
            for (login, count) in &cell.totals(arm).logins {
                *logins.entry(login).or_default() += count;
            }
        }
    }
    let total: u64 = logins.values().sum();
    let full: u64 = logins
        .iter()
        .filter(|(login, _)| login.path == LoginPath::Full)
        .map(|(_, count)| count)
        .sum();
    (full > 0).then(|| {
        suspicion(
            "full-logins",
            format!(
                "{} of the logins took the full authentication path.",
                share(full as f64, total as f64)
            ),
            joined(
                logins.iter().map(|(login, count)| format!("{login}: {count}")),
                ", ",
            ),
        )
    })
}

/// Connections that a driver keeps open to each member besides those that its client asks over: one on which the member tells
/// of changes (a streaming `hello`), and one that measures the round-trip time. Neither logs in. Source: MongoDB's
/// specification for drivers, *Server Monitoring*,
/// <https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-monitoring.md>;
/// the tests of our own client count them with the official driver.
const MONITORING: usize = 2;

/// How many connections a driver's client opens where ciphertax opens one, beside what the server saw of ciphertax's.
pub(super) fn connections_of_a_driver(run: &Run, cell: &CellSamples<'_>) -> Option<Finding> {
    let name = &cell.cell.name;
    let server = run.server_of(run.cell(name)?.found)?;
    if !cell.cell.workload.makes_connections() || server.product != "MongoDB" {
        return None;
    }
    // Of a replica set, those of all its members.
    let members = server.address.split(',').count();
    let watching = MONITORING * members;
    Some(advice(
        "driver-connections",
        format!(
            "{name}: keep one client per process: an official driver opens {} connections where ciphertax opens one, {watching} to watch \
             the {} (a TLS handshake each, no login), and the first of its pool. For clients that come and go multiply the cost of a \
             handshake by that.",
            watching + 1,
            match members {
                1 => "server".to_owned(),
                members => format!("{members} members"),
            }
        ),
        format!(
            "{}; a driver: 1 + {MONITORING} × {members} (MongoDB's specification for drivers, Server Monitoring)",
            seen(cell)
        ),
    ))
}

/// `the server saw 1.00 connections for each of 4,321 connects`
fn seen(cell: &CellSamples<'_>) -> String {
    let (mut created, mut connects) = (0, 0);
    for arm in 0..cell.arms.len() {
        if let Some((rose, operations)) = cell.totals(arm).counters.get(counter::CONNECTIONS) {
            created += rose;
            connects += operations;
        }
    }
    match connects {
        0 => "the server did not count its connections".into(),
        connects => {
            let each = created as f64 / connects as f64;
            format!("the server saw {each:.2} connections for each of {connects} connects of ciphertax")
        }
    }
}
