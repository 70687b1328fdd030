//! The noise: a target that does nothing, measured against itself as arms of a study are.

mod echo;

use std::time::{Duration, Instant};

use ciphertax_base::format::{change_interval, rounded};
use ciphertax_engine::Engine;
use ciphertax_model::Load;
use ciphertax_reactor::stop;
use ciphertax_records::{Check, CheckStatus};
use ciphertax_stats::{BalancedOrder, Estimate};
use echo::{Echo, serve};

/// How long is measured, and how long a slice is.
const TIME: Duration = Duration::from_secs(6);
const SLICE: Duration = Duration::from_millis(50);
const CONNECTIONS: u32 = 4;
const TWO_MINUTES: f64 = 120.0;
/// Arms of the study that the precision is told for, in its one cell.
const ARMS: f64 = 4.0;
/// Pairs of slices without which nothing can be told; on a machine that nobody else uses there are sixty.
const FEWEST: usize = 10;
/// Half-widths of the interval in two minutes from which on it limits, and makes no sense.
const NOISY: f64 = 0.02;
const TOO_NOISY: f64 = 0.10;

/// The name of the figure that the summary has.
pub(super) const IN_TWO_MINUTES: &str = "half_width_in_two_minutes";

pub(super) fn look() -> Vec<Check> {
    let check = match measured() {
        Ok(series) => noise(&series),
        Err(problem) => Check::good(
            "noise",
            "noise",
            format!("not measured: {problem}"),
            "it is unknown",
        )
        .but(CheckStatus::Limited, "look at what the message names"),
    };
    vec![check]
}

/// What each block yielded, of both arms, which are alike.
struct Series {
    /// The client's CPU time per operation.
    cpu: [Vec<f64>; 2],
    /// Operations a second.
    rate: [Vec<f64>; 2],
}

fn measured() -> Result<Series, String> {
    let server = serve(2 * CONNECTIONS).map_err(|error| error.to_string())?;
    let load = Load {
        workers: Some(1),
        ..Load::closed(CONNECTIONS)
    };
    let arms = vec![Echo(server), Echo(server)];
    let mut engine = Engine::start(arms, &load, 1).map_err(|error| error.to_string())?;
    for arm in 0..2 {
        let prepared = engine.prepare(arm).map_err(|error| error.to_string())?;
        prepared.map_err(|failure| failure.message().to_owned())?;
    }
    let mut series = Series {
        cpu: Default::default(),
        rate: Default::default(),
    };
    let end = Instant::now() + TIME;
    for block in BalancedOrder::new(2, 1) {
        if Instant::now() > end || stop::is_requested() {
            break;
        }
        let mut yielded = [None, None];
        for arm in block {
            let slice = engine.slice(arm, SLICE).map_err(|error| error.to_string())?;
            let operations: u64 = slice.operations.iter().map(|kind| kind.count).sum();
            let cpu = slice.client_cpu.total_ns as f64 / operations.max(1) as f64;
            let rate = operations as f64 * 1e9 / slice.duration_ns.max(1) as f64;
            yielded[arm] = Some((cpu, rate)).filter(|_| operations > 0);
        }
        if let [Some(one), Some(other)] = yielded {
            for (arm, (cpu, rate)) in [one, other].into_iter().enumerate() {
                series.cpu[arm].push(cpu);
                series.rate[arm].push(rate);
            }
        }
    }
    Ok(series)
}

fn noise(series: &Series) -> Check {
    let pairs = series.cpu[0].len();
    if pairs < FEWEST {
        return Check::good(
            "noise",
            "noise",
            format!(
                "not measured: in {} s a target that does nothing answered in {pairs} pairs of slices, of {} at best",
                TIME.as_secs(),
                (TIME.as_secs_f64() / (2.0 * SLICE.as_secs_f64())).round()
            ),
            "programs here wait so long for a CPU that nothing measured would be of what was measured",
        )
        .but(
            CheckStatus::Bad,
            "measure when less runs here, with more CPUs, or on another machine",
        );
    }
    let estimate = |[one, other]: &[Vec<f64>; 2]| Estimate::of_pairs(one, other).ok();
    let (Some(cpu), Some(rate)) = (estimate(&series.cpu), estimate(&series.rate)) else {
        return Check::good(
            "noise",
            "noise",
            "not measured: the target did not answer",
            "it is unknown",
        )
        .but(CheckStatus::Limited, "try again when less runs here");
    };
    let time = pairs as f64 * 2.0 * SLICE.as_secs_f64();
    // Of independent blocks, the more the narrower by their root; a block is a slice of every arm.
    let pairs_later = TWO_MINUTES / (ARMS * SLICE.as_secs_f64());
    let later = |estimate: &Estimate| estimate.half_width() * (pairs as f64 / pairs_later).sqrt();
    let (cpu_later, rate_later) = (later(&cpu), later(&rate));
    let between = |estimate: &Estimate| change_interval(estimate.interval());
    let check = Check::good(
        "noise",
        "noise (A/A)",
        format!(
            "the same against itself, in {time:.0} s: CPU per operation {} %, throughput {} %; in two minutes of four arms in \
             one cell ± {} and ± {}",
            between(&cpu),
            between(&rate),
            rounded::share(cpu_later),
            rounded::share(rate_later)
        ),
        "smaller changes cannot be detected here; a real server adds its own noise",
    )
    .with("cpu_half_width", cpu.half_width())
    .with("throughput_half_width", rate.half_width())
    .with(IN_TWO_MINUTES, cpu_later)
    .with("throughput_half_width_in_two_minutes", rate_later);
    match cpu_later {
        width if width > TOO_NOISY => check.but(
            CheckStatus::Bad,
            "measure when less runs here, or on another machine: no interval would be narrow enough to say anything",
        ),
        width if width > NOISY => check.but(
            CheckStatus::Limited,
            "measure longer (--time 10m), or when less runs here: four times the time halves the interval",
        ),
        _ => check,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(noise: f64) -> Series {
        let values = |phase: usize| -> Vec<f64> {
            (0..40)
                .map(|block| 1_000.0 * (1.0 + noise * [1.0, -1.0, 0.5, -0.5][(block + phase) % 4]))
                .collect()
        };
        Series {
            cpu: [values(0), values(1)],
            rate: [values(2), values(3)],
        }
    }

    #[test]
    fn the_noisier_the_less_can_be_told() {
        for (noisy, status) in [
            (0.01, CheckStatus::Good),
            (0.4, CheckStatus::Limited),
            (0.9, CheckStatus::Bad),
        ] {
            let check = noise(&series(noisy));
            assert_eq!(check.status, status, "{check:?}");
            assert!(check.figures[IN_TWO_MINUTES] > 0.0);
        }
    }

    #[test]
    fn too_few_slices_make_measuring_senseless() {
        let mut few = series(0.01);
        for values in few.cpu.iter_mut().chain(&mut few.rate) {
            values.truncate(FEWEST - 1);
        }
        let check = noise(&few);
        assert_eq!(check.status, CheckStatus::Bad, "{check:?}");
        assert!(check.found.contains("in 9 pairs of slices, of 60") && check.remedy.is_some());
        let nothing = Series {
            cpu: Default::default(),
            rate: Default::default(),
        };
        assert_eq!(noise(&nothing).status, CheckStatus::Bad);
    }

    #[test]
    fn two_minutes_of_four_arms_have_so_many_blocks() {
        let check = noise(&series(0.01));
        // Forty blocks of two slices were measured; there would be six hundred of four.
        let ratio = check.figures[IN_TWO_MINUTES] / check.figures["cpu_half_width"];
        assert!((ratio - (40.0_f64 / 600.0).sqrt()).abs() < 1e-9, "{ratio}");
    }
}
