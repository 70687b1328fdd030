//! What a bound means for what an arm costs.

use ciphertax_base::format::rounded;
use ciphertax_model::{Cell, Metric};
use ciphertax_records::why::Bound;
use ciphertax_records::{EstimateRow, Results};
use ciphertax_stats::Verdict;

use super::decide::{Decided, of_round_trip};
use super::usage::{Fraction, Usage};
use super::words::in_words;

/// Said only where the run's own estimates say the same: of the speed, and of the server's CPU time.
pub(super) fn follows(
    decided: &Decided,
    usage: &Usage,
    results: &Results,
    cell: &Cell,
    arm: &str,
) -> Option<String> {
    let speed = results.estimate(&cell.name, arm, Metric::speed(cell.load.pace()))?;
    let cpu = results.estimate(&cell.name, arm, Metric::ServerCpuPerOp)?;
    let bound = in_words(decided.bound, decided.of.as_deref());
    let part = decided.share.map(|value| Fraction { value, low: value });
    let part = part.map_or(String::new(), |share| {
        format!(", {}", of_round_trip(usage, share))
    });
    match decided.bound {
        Bound::ClientCpu => Some(format!(
            "{arm}'s speed here is the load generator's; what it costs the server is its CPU time per operation."
        )),
        Bound::ServerCpu | Bound::Spinning => {
            let costs = speed.verdict == Verdict::Costs && cpu.verdict == Verdict::Costs;
            costs.then(|| {
                format!(
                    "{arm} shows in full: with no CPU free its {} of the server's CPU per operation slow every operation \
                     ({}: {}).",
                    own_us(cpu),
                    speed.metric.label().to_lowercase(),
                    rounded::change(speed.interval())
                )
            })
        }
        Bound::Mixed | Bound::OtherPrograms => None,
        Bound::LogFlush
        | Bound::Replication
        | Bound::DeviceReads
        | Bound::Lock
        | Bound::RoundTrips
        | Bound::Schedule => {
            if speed.verdict != Verdict::NoCost {
                return None;
            }
            match cpu.verdict {
                Verdict::Costs => Some(format!(
                    "{arm} does not show here: bound by {bound}{part}; its own {} of the server's CPU hide behind it.",
                    own_us(cpu)
                )),
                Verdict::NoCost => Some(format!(
                    "{arm} does not show here: bound by {bound}{part}; nor does it take more than {} more of the server's CPU.",
                    rounded::share(cpu.margin)
                )),
                _ => None,
            }
        }
    }
}

fn own_us(cpu: &EstimateRow) -> String {
    rounded::microseconds(cpu.variant - cpu.baseline)
}
