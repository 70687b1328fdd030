//! The answer: what each arm costs per query and per new connection, on both sides.

use ciphertax_model::Metric;
use ciphertax_model::workload::Unit;
use ciphertax_records::{ArmRecord, EstimateRow, MeasuredCell, Run};
use ciphertax_stats::FEWEST_BLOCKS;

use crate::describe::distance_in_words;
use crate::lookup;

/// One arm on one server at one distance.
pub(crate) struct Answer<'a> {
    pub(crate) arm: &'a ArmRecord,
    /// Which server and how far away; empty where the run has one place only.
    pub(crate) place: String,
    /// The cell whose operation stands for a query over a connection that stays open.
    pub(crate) query: Option<MeasuredCell<'a>>,
    /// The cell whose operation makes a connection.
    pub(crate) connection: Option<MeasuredCell<'a>>,
}

impl<'a> Answer<'a> {
    /// The estimate of one side's CPU time per operation of a cell of this answer; the server's over whole rounds, where these
    /// were measured.
    pub(crate) fn estimate(
        &self,
        run: &'a Run,
        cell: Option<MeasuredCell<'_>>,
        metric: Metric,
    ) -> Option<&'a EstimateRow> {
        let cell = cell?.found.name.as_str();
        run.results
            .estimate(cell, &self.arm.name, lookup::of_whole_rounds(run, cell, metric))
    }

    /// The CPU time per operation of what stands between its clients and the server, less that of the baseline's, with its
    /// unit; `None` where nothing does.
    pub(crate) fn between(&self, run: &'a Run, cell: Option<MeasuredCell<'_>>) -> Option<(f64, &'a str)> {
        let cell = cell?.found.name.as_str();
        lookup::more_between(run, cell, &self.arm.name, &Metric::OF_WHAT_IS_BETWEEN)
    }
}

/// What stands between clients and server and so takes CPU time too, where any of the answered cells has it.
pub(crate) fn between(run: &Run, answers: &[Answer<'_>]) -> Option<&'static str> {
    let cells = answers
        .iter()
        .flat_map(|answer| [answer.query, answer.connection]);
    let mut metrics: Vec<Metric> = cells
        .flatten()
        .flat_map(|cell| lookup::between(run, &cell.found.name))
        .filter(|metric| Metric::OF_WHAT_IS_BETWEEN.contains(metric))
        .collect();
    metrics.sort_unstable();
    metrics.dedup();
    match metrics.as_slice() {
        [] => None,
        [Metric::TunnelCpuPerOp] => Some("tunnel"),
        [Metric::PoolerCpuPerOp] => Some("pooler"),
        _ => Some("tunnel or pooler"),
    }
}

/// Who pays, in the order reports show them: server and client, or the client alone where the database runs in it.
pub(crate) fn sides(run: &Run) -> &'static [(Metric, &'static str)] {
    const SIDES: [(Metric, &str); 2] = [
        (Metric::ServerCpuPerOp, "server"),
        (Metric::ClientCpuPerOp, "client"),
    ];
    match run.head.is_embedded() {
        true => &SIDES[1..],
        false => &SIDES,
    }
}

/// Every arm the study asks about, on each server and at each distance it was measured at; none where nothing was
/// compared.
pub(crate) fn answers(run: &Run) -> Vec<Answer<'_>> {
    if run.results.estimates.is_empty() {
        return Vec::new();
    }
    let places = places(run);
    let mut answers = Vec::new();
    for cells in &places {
        for arm in run.head.variants() {
            let of_arm = |wanted: &dyn Fn(MeasuredCell<'_>) -> bool| {
                cells.iter().copied().find(|&cell| {
                    wanted(cell) && lookup::variants_in(run, cell).any(|other| other.name == arm.name)
                })
            };
            let query = of_arm(&|cell| cell.asked.workload.is_key_lookup())
                .or_else(|| of_arm(&|cell| !cell.asked.workload.makes_connections()));
            let connection =
                of_arm(&|cell| cell.asked.workload.descriptor().operation == Unit::ConnectionWithLookup)
                    .or_else(|| of_arm(&|cell| cell.asked.workload.makes_connections()));
            if query.or(connection).is_some() {
                answers.push(Answer {
                    arm,
                    place: if places.len() > 1 {
                        place(run, cells[0])
                    } else {
                        String::new()
                    },
                    query,
                    connection,
                });
            }
        }
    }
    answers
}

/// The cells of the run, by server and distance.
fn places(run: &Run) -> Vec<Vec<MeasuredCell<'_>>> {
    let mut places: Vec<Vec<MeasuredCell<'_>>> = Vec::new();
    for cell in run.cells() {
        let together = |place: &&mut Vec<MeasuredCell<'_>>| {
            place[0].found.shares_server_with(cell.found)
                && (place[0].link, place[0].node_link) == (cell.link, cell.node_link)
        };
        match places.iter_mut().find(together) {
            Some(place) => place.push(cell),
            None => places.push(vec![cell]),
        }
    }
    places
}

fn place(run: &Run, cell: MeasuredCell<'_>) -> String {
    let server = run.server_of(cell.found);
    let server = server.map_or_else(|| cell.found.server.clone(), |server| run.short_name(server));
    format!("{server}{}", distance_in_words(cell))
}

/// What an operation of the cells in a column is called: all of them lookups, or not.
pub(crate) fn query_heading(answers: &[Answer<'_>]) -> &'static str {
    match answers
        .iter()
        .filter_map(|answer| answer.query)
        .all(|cell| cell.asked.workload.is_key_lookup())
    {
        true => "per query",
        false => "per operation",
    }
}

/// True if a comparison the study asked for is missing, because too few blocks were measured.
pub(crate) fn lacks_blocks(run: &Run) -> bool {
    run.cells().any(|cell| {
        cell.found.blocks < FEWEST_BLOCKS
            && lookup::variants_in(run, cell).any(|arm| {
                sides(run)
                    .iter()
                    .map(|(metric, _)| *metric)
                    .chain([Metric::Throughput, Metric::ResponseMean])
                    .all(|metric| {
                        run.results
                            .estimate(&cell.found.name, &arm.name, metric)
                            .is_none()
                    })
            })
    })
}

/// What is said once where intervals are missing.
pub(crate) fn needs_blocks() -> String {
    format!(
        "Where a figure is missing, it was not measured often enough: an interval needs {FEWEST_BLOCKS} blocks. Give it more \
         time (--time)."
    )
}
