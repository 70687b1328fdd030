//! What a login costs a new connection beside what TLS costs it.

use ciphertax_model::{Arm, AuthenticationMethod, Metric};
use ciphertax_records::{Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::format::{plain, rounded};
use ciphertax_stats::jackknife::interval_of;
use ciphertax_stats::{FEWEST_BLOCKS, Interval, Verdict};

use super::finding::finding;
use crate::cell::{BASELINE, CellSamples, value};
use crate::error::ExplainError;

/// Of a study whose baseline proves nobody's identity in plaintext: one arm that adds TLS to it, and arms that add a login
/// to either. One finding for each side that TLS costs anything.
pub(super) fn login_against_tls(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
) -> Result<Vec<Finding>, ExplainError> {
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
) -> Result<Option<Finding>, ExplainError> {
    let baseline = run.head.study.baseline();
    let proves_nobody = matches!(
        baseline.authentication.method,
        Some(AuthenticationMethod::Trust | AuthenticationMethod::NoLogin)
    );
    if !cell.asked.workload.makes_connections() || baseline.transport.is_encrypted() || !proves_nobody {
        return Ok(None);
    }
    let costs = |arm: &Arm| {
        let row = run.results.estimate(&cell.asked.name, &arm.name, metric);
        row.filter(|row| row.verdict == Verdict::Costs)
    };
    let index = |arm: &Arm| samples.arms.iter().position(|name| *name == arm.name);
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
    let parts: Vec<String> = [
        ("more than that by", sure(&|ratio| ratio.low > 1.0)),
        ("less than that by", sure(&|ratio| ratio.high < 1.0)),
        (
            "about as much by",
            sure(&|ratio| ratio.low <= 1.0 && ratio.high >= 1.0),
        ),
    ]
    .into_iter()
    .filter(|(_, arms)| !arms.is_empty())
    .map(|(words, arms)| format!("{words} {}", arms.join(", ")))
    .collect();
    Ok(Some(finding(
        "login-against-tls",
        Severity::Cause,
        format!(
            "{}: TLS costs the {side} {} of CPU a new connection ({}). A login costs it {}.{}",
            cell.asked.name,
            rounded::microseconds_between(tls_row.difference),
            tls.name,
            parts.join("; "),
            by_password(side, &ratios)
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

/// True if an arm is the other with a login, for which it may show a certificate.
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

/// Who derives the keys where the password itself is sent: PostgreSQL keeps SCRAM's (`scram_verify_plain_password` in
/// `src/backend/libpq/auth-scram.c`).
fn by_password(side: &str, ratios: &[(&Arm, Interval)]) -> String {
    let by_password =
        |(arm, _): &&(&Arm, Interval)| arm.authentication.method == Some(AuthenticationMethod::Password);
    match ratios.iter().find(by_password) {
        Some((arm, _)) if side == "server" => format!(
            " Over {} the password is sent, and the server derives SCRAM's keys from it, which elsewhere is the client's work.",
            arm.name
        ),
        _ => String::new(),
    }
}

/// What a login takes, divided by what TLS takes; `None` of too few blocks. The arms are that without the login, that with it,
/// and TLS alone.
fn ratio(
    samples: &CellSamples<'_>,
    [without, login, tls]: [usize; 3],
    metric: Metric,
) -> Result<Option<Interval>, ExplainError> {
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
