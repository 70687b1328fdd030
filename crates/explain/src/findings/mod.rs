//! Causes, advice and suspicions, each with the measured evidence that triggered it. One finding a file; each has an
//! identifier that stays the same from release to release.

mod at_rest;
mod bound;
mod client_bound;
mod columns;
mod cost_per_page;
mod crypto_library;
mod decrypted_in_memory;
mod device_full;
mod drivers;
mod finding;
mod full_logins;
mod gains;
mod hello_retry;
mod keep_connections;
mod kernel_cipher;
mod key_derivation;
mod late_links;
mod lateness;
mod layers;
mod load_generators;
mod login_against_tls;
mod login_rate;
mod looking;
mod no_resumption;
mod noisy;
mod not_in_memory;
mod own_stalls;
mod pays_most;
mod pooler;
mod profile_gaps;
mod record_layer;
mod round_trips;
mod servers_of_their_own;
mod shared_cpus;
mod slowest_phase;
mod space;
mod transit_and_rest;
mod unverified;
mod waits_for_cpu;
mod what_differs;
mod whose_cpu;

use ciphertax_records::{Finding, MeasuredCell, Run};

pub(crate) use finding::finding;
pub(crate) use no_resumption::of_postgresql as no_resumption_of_postgresql;
pub(crate) use pays_most::which_server_pays_most;

use crate::cell::CellSamples;
use crate::error::ExplainError;

pub(crate) fn all(run: &Run, cells: &[CellSamples<'_>]) -> Result<Vec<Finding>, ExplainError> {
    let mut findings = Vec::new();
    for arm in variants(run) {
        findings.extend(pays_most::pays_most(run, cells, arm)?);
        findings.extend(crypto_library::crypto_library(run, cells, arm)?);
    }
    for (cell, samples) in run.cells().zip(cells) {
        findings.extend(round_trips::round_trips(run, cell));
        findings.extend(login_against_tls::login_against_tls(run, samples, cell)?);
        findings.extend(variants(run).filter_map(|arm| slowest_phase::slowest_phase(run, cell, arm)));
        findings
            .extend(variants(run).filter_map(|arm| waits_for_cpu::waits_for_cpu(run, samples, cell, arm)));
        findings.extend(variants(run).filter_map(|arm| record_layer::record_layer(run, cell, arm)));
        findings.extend(variants(run).filter_map(|arm| pooler::pooler(run, cell, arm)));
        findings.extend(variants(run).filter_map(|arm| key_derivation::key_derivation(run, cell, arm)));
        findings.extend(at_rest_in(run, samples, cell)?);
        findings.extend(layers::which_layer(run, cell));
        findings.extend(columns::in_cell(run, samples, cell)?);
    }
    findings.extend(bound::bounds(run));
    findings.extend(bound::what_follows(run));
    findings.extend(space::space(run));
    let churn = run.results.churn.iter();
    findings.extend(churn.filter_map(|row| keep_connections::keep_connections(run, row)));
    findings.extend(shared_cpus::shared_cpus(run));
    findings.extend(load_generators::load_generators(run, cells));
    findings.extend(client_bound::client_bound(run, cells));
    findings.extend(cells.iter().filter_map(whose_cpu::whose_cpu));
    findings.extend(cells.iter().filter_map(lateness::lateness));
    findings.extend(gains::gains(run));
    findings.extend(late_links::late_links(run));
    findings.extend(unverified::unverified(run));
    findings.extend(columns::unprotected(run));
    findings.extend(not_in_memory::not_in_memory(&run.head.study, cells));
    findings.extend(full_logins::full_logins(&run.head.study, cells));
    findings.extend(hello_retry::hello_retry(run));
    findings.extend(no_resumption::no_resumption(run));
    findings.extend(noisy::noisy(run));
    findings.extend(own_stalls::own_stalls(run));
    findings.extend(profile_gaps::profile_gaps(run));
    findings.extend(looking::looking_costs(run));
    findings.extend(kernel_cipher::kernel_cipher(run));
    findings.extend(servers_of_their_own::servers_of_their_own(run));
    findings.extend(variants(run).filter_map(|arm| layers::not_encryption_alone(run, arm)));
    findings.extend(
        cells
            .iter()
            .filter_map(|cell| drivers::connections_of_a_driver(run, cell)),
    );
    findings.extend(variants(run).filter_map(|arm| login_rate::login_rate(run, arm)));
    Ok(findings)
}

/// Those rules that need no more than one connection.
pub(crate) fn of_connection(run: &Run) -> Vec<Finding> {
    unverified::unverified(run)
        .into_iter()
        .chain(hello_retry::hello_retry(run))
        .collect()
}

/// What decides the cost of what lies on the disk encrypted.
fn at_rest_in(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
) -> Result<Vec<Finding>, ExplainError> {
    let mut findings = Vec::new();
    for arm in variants(run) {
        findings.extend(decrypted_in_memory::decrypted_in_memory(run, cell, arm));
        findings.extend(cost_per_page::cost_per_page(run, samples, cell, arm)?);
        findings.extend(device_full::device_full(run, cell, arm));
        findings.extend(transit_and_rest::transit_and_rest(run, samples, cell, arm)?);
    }
    Ok(findings)
}

fn variants(run: &Run) -> impl Iterator<Item = &str> {
    run.head.variants().map(|arm| arm.name.as_str())
}
