//! Causes, advice and suspicions, each with the measured evidence that triggered it. One function a finding, by topic; each has an
//! identifier that stays the same from release to release.

mod bounds;
mod columns;
mod connects;
mod disturbed;
mod encryption;
mod layers;
mod logins;
mod looked;
mod pays;
mod storage;

use ciphertax_records::{EstimateRow, Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::verdict::SIGNIFICANCE;
use ciphertax_stats::{Rule, Verdict};

pub(crate) use connects::{Retried, hello_retried, major, no_resumption_of_postgresql};
pub(crate) use encryption::unverified_session;
pub(crate) use pays::which_server_pays_most;

use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::CellSamples;

pub(crate) fn all(run: &Run, cells: &[CellSamples<'_>]) -> Result<Vec<Finding>, EstimateError> {
    let mut findings = Vec::new();
    for arm in variants(run) {
        findings.extend(pays::pays_most(run, cells, arm)?);
        findings.extend(encryption::crypto_library(run, cells, arm)?);
    }
    for (cell, samples) in run.cells().zip(cells) {
        findings.extend(bounds::round_trips(run, cell));
        findings.extend(logins::login_against_tls(run, samples, cell)?);
        findings.extend(variants(run).filter_map(|arm| connects::slowest_phase(run, cell, arm)));
        findings.extend(variants(run).filter_map(|arm| connects::waits_for_cpu(run, samples, cell, arm)));
        findings.extend(variants(run).filter_map(|arm| encryption::record_layer(run, cell, arm)));
        findings.extend(variants(run).filter_map(|arm| bounds::pooler(run, cell, arm)));
        findings.extend(variants(run).filter_map(|arm| connects::key_derivation(run, cell, arm)));
        findings.extend(at_rest_in(run, samples, cell)?);
        findings.extend(layers::which_layer(run, cell));
        findings.extend(columns::in_cell(run, samples, cell)?);
    }
    findings.extend(bounds::bounds(run));
    findings.extend(bounds::what_follows(run));
    findings.extend(storage::space(run));
    let churn = run.results.churn.iter();
    findings.extend(churn.filter_map(|row| connects::keep_connections(run, row)));
    findings.extend(disturbed::shared_cpus(run));
    findings.extend(disturbed::load_generators(run, cells));
    findings.extend(disturbed::client_bound(run, cells));
    findings.extend(cells.iter().filter_map(disturbed::whose_cpu));
    findings.extend(cells.iter().filter_map(disturbed::lateness));
    findings.extend(cells.iter().filter_map(disturbed::operations_change));
    findings.extend(encryption::gains(run));
    findings.extend(disturbed::late_links(run));
    findings.extend(encryption::unverified(run));
    findings.extend(columns::unprotected(run));
    findings.extend(storage::not_in_memory(&run.head.study, cells));
    findings.extend(logins::full_logins(&run.head.study, cells));
    findings.extend(connects::hello_retry(run));
    findings.extend(connects::no_resumption(run));
    findings.extend(disturbed::noisy(run));
    findings.extend(disturbed::own_stalls(run));
    findings.extend(looked::profile_gaps(run));
    findings.extend(looked::looking_costs(run));
    findings.extend(encryption::kernel_cipher(run));
    findings.extend(disturbed::servers_of_their_own(run));
    findings.extend(variants(run).filter_map(|arm| layers::not_encryption_alone(run, arm)));
    findings.extend(
        cells
            .iter()
            .filter_map(|cell| logins::connections_of_a_driver(run, cell)),
    );
    findings.extend(variants(run).filter_map(|arm| logins::login_rate(run, arm)));
    Ok(findings)
}

/// What decides the cost of what lies on the disk encrypted.
fn at_rest_in(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
) -> Result<Vec<Finding>, EstimateError> {
    let mut findings = Vec::new();
    for arm in variants(run) {
        findings.extend(storage::decrypted_in_memory(run, cell, arm));
        findings.extend(storage::cost_per_page(run, samples, cell, arm)?);
        findings.extend(storage::device_full(run, cell, arm));
        findings.extend(storage::transit_and_rest(run, samples, cell, arm)?);
    }
    Ok(findings)
}

fn variants(run: &Run) -> impl Iterator<Item = &str> {
    run.head.variants().map(|arm| arm.name.as_str())
}

/// One with its evidence; the identifier stays the same from release to release.
fn finding(severity: Severity, id: &str, summary: impl Into<String>, evidence: impl Into<String>) -> Finding {
    Finding {
        id: id.to_owned(),
        severity,
        summary: summary.into(),
        evidence: evidence.into(),
    }
}

/// What explains a number.
pub(crate) fn cause(id: &str, summary: impl Into<String>, evidence: impl Into<String>) -> Finding {
    finding(Severity::Cause, id, summary, evidence)
}

/// What is to be done.
pub(crate) fn advice(id: &str, summary: impl Into<String>, evidence: impl Into<String>) -> Finding {
    finding(Severity::Advice, id, summary, evidence)
}

/// What casts doubt on a number.
pub(crate) fn suspicion(id: &str, summary: impl Into<String>, evidence: impl Into<String>) -> Finding {
    finding(Severity::Suspicion, id, summary, evidence)
}

/// True if the change is one: it has the verdict, or lacks it only because the figure is not the server's alone.
fn is_sure(row: &EstimateRow) -> bool {
    match row.verdict {
        Verdict::CannotTell if row.rule == Rule::ClientBound => {
            let size = row.log_ratio.mean.abs();
            let is_beyond_floor = row.floor.is_some_and(|floor| size > floor.ln_1p());
            let excludes_zero = row.low > 0.0 || row.high < 0.0;
            excludes_zero && is_beyond_floor && row.adjusted_p_value <= SIGNIFICANCE
        }
        verdict => verdict.is_decided_difference(),
    }
}

/// A part of a whole as percent.
fn share(part: f64, whole: f64) -> String {
    format!("{:.0} %", part / whole * 100.0)
}
