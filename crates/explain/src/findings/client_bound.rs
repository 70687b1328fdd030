//! The load generator was the bottleneck.

use ciphertax_records::{Finding, Run, Severity};

use super::finding::finding;
use super::load_generators::bottlenecks;
use crate::cell::CellSamples;

pub(super) fn client_bound(run: &Run, cells: &[CellSamples<'_>]) -> impl Iterator<Item = Finding> {
    let bound = run.results.cells.iter().filter(|cell| cell.client_bound);
    bound.map(|cell| {
        let samples = cells.iter().find(|samples| samples.cell.name == cell.name);
        let which = samples.and_then(|samples| bottlenecks(run, samples));
        finding(
            "client-bound",
            Severity::Suspicion,
            format!(
                "{}: {} the bottleneck; throughput and latency get no verdict.",
                cell.name,
                match &which {
                    None => "the load generator was".to_owned(),
                    Some(named) => format!("of the load generators {named} was"),
                }
            ),
            format!(
                "{} {} threads used more than 85 % of the CPUs they may use",
                if which.is_some() { "of" } else { "its" },
                cell.workers
            ),
        )
    })
}
