//! What a bound means for what an arm costs.

use ciphertax_base::format::rounded;
use ciphertax_model::{Cell, Metric};
use ciphertax_records::Results;
use ciphertax_records::why::Bound;
use ciphertax_stats::Verdict;

use super::decide::{Decided, of_round_trip};
use super::in_words;
use super::usage::{Fraction, Usage};

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
    let takes = part.map_or("is the bottleneck".to_owned(), |share| {
        format!("takes {}", of_round_trip(usage, share))
    });
    match decided.bound {
        Bound::ClientCpu => Some(format!(
            "The load generator's CPU is the bottleneck: {arm}'s cost is its server CPU per operation, not its speed."
        )),
        Bound::ServerCpu | Bound::Spinning => {
            let costs = speed.verdict == Verdict::Costs && cpu.verdict == Verdict::Costs;
            costs.then(|| {
                format!(
                    "{arm} shows in full ({} {}): the server's CPU is the bottleneck.",
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
                    "{arm} does not slow down operations: {bound} {takes} and hides {arm}'s {} of server CPU.",
                    rounded::microseconds(cpu.variant - cpu.baseline)
                )),
                Verdict::NoCost => Some(format!(
                    "{arm} does not slow down operations: {bound} {takes}; {arm} takes at most {} more server CPU.",
                    rounded::share(cpu.margin)
                )),
                _ => None,
            }
        }
    }
}
