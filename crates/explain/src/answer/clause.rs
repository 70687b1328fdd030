//! What an arm does to one side, as a part of a sentence.

use ciphertax_base::format::rounded;
use ciphertax_model::Metric;
use ciphertax_model::workload::Unit;
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::Verdict;

/// What a cell's operation is called in a sentence.
pub(crate) fn operation(run: &Run, cell: &str) -> &'static str {
    let workload = run.cell(cell).map(|cell| cell.asked.workload);
    match workload {
        Some(workload) if workload.makes_connections() && run.head.is_embedded() => "open",
        Some(workload) if workload.makes_connections() => "new connection",
        Some(workload) if workload.is_key_lookup() => "query",
        Some(workload) if workload.descriptor().operation == Unit::BulkResult => "result of 1 MiB",
        _ => "operation",
    }
}

/// What is not decided, the nearest to a cost first.
const UNDECIDED: [Verdict; 3] = [Verdict::CostsPerhaps, Verdict::CannotTell, Verdict::GainsPerhaps];

/// The row that says most: a cost, of the server before the client; else what is undecided, else what is sure. Of connects at a
/// distance it is the time they take.
pub(super) fn primary<'a>(run: &'a Run, arm: &str, cell: MeasuredCell<'_>) -> Option<&'a EstimateRow> {
    let time = run.results.estimate(&cell.found.name, arm, Metric::LatencyMean);
    if let Some(time) = time.filter(|_| cell.connects_from_afar()) {
        return Some(time);
    }
    let rows = run
        .results
        .cpu_of_both_sides(&cell.found.name)
        .into_iter()
        .filter_map(|metric| run.results.estimate(&cell.found.name, arm, metric));
    let rows: Vec<&EstimateRow> = rows.collect();
    [Verdict::Costs]
        .into_iter()
        .chain(UNDECIDED)
        .chain([Verdict::Gains, Verdict::NoCost])
        .find_map(|verdict| rows.iter().find(|row| row.verdict == verdict))
        .copied()
}

/// What an arm does to one side.
pub(super) enum Clause {
    /// The rest of a sentence that begins with the arm.
    Decided {
        verb: String,
        /// `2.0 µs`
        amount: String,
        /// ` more CPU`, which is said once of several.
        of_what: &'static str,
        /// ` per query (+20 %)`
        rest: String,
    },
    Undecided(Undecided),
}

/// What it may cost, and the change with its interval.
pub(super) struct Undecided {
    pub(super) what: String,
    change: String,
}

impl Undecided {
    pub(super) fn of(&self, subject: &str) -> String {
        format!(
            "whether {subject} costs {} is not decided: {}",
            self.what, self.change
        )
    }
}

/// `tls costs the server 1.1 µs more CPU per query (…) and 186 µs more CPU per new connection (…)`, and then what is undecided.
pub(super) fn said(subject: &str, clauses: &[Clause]) -> String {
    let mut text = String::new();
    let mut former = "";
    let decided = clauses
        .iter()
        .filter(|clause| matches!(clause, Clause::Decided { .. }));
    let last = decided.count().saturating_sub(1);
    let mut said = 0;
    for clause in clauses {
        let Clause::Decided {
            verb,
            amount,
            of_what,
            rest,
        } = clause
        else {
            continue;
        };
        text.push_str(match said {
            0 => subject,
            _ if said == last => " and",
            _ => ",",
        });
        text.push(' ');
        match verb == former {
            true => text.push_str(&format!("{amount}{rest}")),
            false => text.push_str(&format!("{verb}{amount}{of_what}{rest}")),
        }
        said += 1;
        former = verb;
    }
    for clause in clauses {
        let Clause::Undecided(undecided) = clause else {
            continue;
        };
        let subject = if text.is_empty() { subject } else { "it" };
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&undecided.of(subject));
    }
    text
}

/// What tunnel, pooler and workers of the kernel take beside the server, more than those of the baseline:
/// `; the pooler takes 12 µs more`.
pub(super) fn between(run: &Run, row: &EstimateRow) -> String {
    let each = between_us(run, row).map(|(metric, us)| {
        let takes = match metric {
            Metric::PoolerCpuPerOp => "the pooler takes",
            Metric::KernelWorkersCpuPerOp => "kernel workers take",
            _ => "the tunnel takes",
        };
        format!("; {takes} {} more", rounded::microseconds(us))
    });
    each.collect()
}

/// The same in microseconds, by its metric; of the kernel's workers only what they are sure to take more, and nothing beside what is
/// not the server's CPU.
pub(super) fn between_us(run: &Run, row: &EstimateRow) -> impl Iterator<Item = (Metric, f64)> {
    let of = |arm: &str, metric| {
        let row = run.results.measured(&row.cell, arm, metric);
        row.map(|row| row.value)
    };
    let baseline = &run.head.study.baseline().name;
    let programs = Metric::OF_WHAT_IS_BETWEEN.into_iter().filter_map(move |metric| {
        let more = of(&row.arm, metric)? - of(baseline, metric).unwrap_or(0.0);
        Some((metric, more))
    });
    let workers = Metric::KernelWorkersCpuPerOp;
    let of_workers = run.results.estimate(&row.cell, &row.arm, workers);
    let of_workers = of_workers.filter(|row| row.verdict == Verdict::Costs);
    let all = programs.chain(of_workers.map(|row| (workers, row.difference.value)));
    all.filter(|_| Metric::SERVER_CPU.contains(&row.metric))
}

/// Who pays, and in what; of a time nobody is named.
pub(super) fn payer(run: &Run, metric: Metric) -> (&'static str, &'static str) {
    match metric {
        server if Metric::SERVER_CPU.contains(&server) => ("the server ", "CPU"),
        Metric::LatencyMean => ("", "time"),
        _ if run.head.is_embedded() => ("the application ", "CPU"),
        _ => ("the client ", "CPU"),
    }
}

pub(super) fn clause(run: &Run, row: &EstimateRow, what: &str) -> Clause {
    let (of_whom, what_of) = payer(run, row.metric);
    let change = rounded::change(row.interval());
    let micros = rounded::microseconds(row.difference.value.abs());
    let between = between(run, row);
    let (more, less) = match what_of {
        "time" => (" more time", " of time"),
        _ => (" more CPU", " of CPU"),
    };
    let rest = format!(" per {what} ({change}{between})");
    let (verb, amount, of_what, rest) = match row.verdict {
        Verdict::Costs => ("costs", micros, more, rest),
        Verdict::CostsPerhaps => ("perhaps costs", micros, more, rest),
        Verdict::NoCost => (
            "costs",
            format!("less than {}", rounded::share(row.margin)),
            more,
            match between.strip_prefix("; ") {
                None => format!(" per {what}"),
                Some(between) => format!(" per {what} ({between})"),
            },
        ),
        Verdict::Gains if run.head.study.adds_protection(&row.arm) => (
            "seems to save",
            micros,
            less,
            format!(" per {what} ({change}: suspicious{between})"),
        ),
        Verdict::Gains => ("saves", micros, less, rest),
        Verdict::GainsPerhaps => ("perhaps saves", micros, less, rest),
        Verdict::CannotTell => {
            return Clause::Undecided(Undecided {
                what: format!("{of_whom}{what_of} per {what}"),
                change,
            });
        }
    };
    Clause::Decided {
        verb: format!("{verb} {of_whom}"),
        amount,
        of_what,
        rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undecided_stands_after_what_is_known_as_a_sentence_of_its_own() {
        let costs = || Clause::Decided {
            verb: "costs the client ".into(),
            amount: "2.0 µs".into(),
            of_what: " more CPU",
            rest: " per query (+20 %)".into(),
        };
        let undecided = || {
            Clause::Undecided(Undecided {
                what: "the server CPU per query".into(),
                change: "+28 % [8.1, 52]".into(),
            })
        };
        let expected = "whether tls costs the server CPU per query is not decided: +28 % [8.1, 52]";
        assert_eq!(said("tls", &[undecided()]), expected);
        assert_eq!(
            said("tls", &[undecided(), costs()]),
            "tls costs the client 2.0 µs more CPU per query (+20 %); whether it costs the server CPU per query is not decided: \
             +28 % [8.1, 52]"
        );
    }
}
