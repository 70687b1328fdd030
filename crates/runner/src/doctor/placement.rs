//! How evenly the CPUs work: the same computation on each, over and over.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ciphertax_observe::{ThreadUsage, placement};
use ciphertax_reactor::stop;
use ciphertax_records::Check;
use ciphertax_stats::format::rounded;

use super::quantile;

/// How long is computed, all CPUs together.
const TIME: Duration = Duration::from_secs(2);
/// About how long one computation takes.
const ONE: Duration = Duration::from_millis(2);
/// CPUs that are looked at.
const MOST_CPUS: usize = 8;
/// By how much CPUs may differ, and one from itself.
const UNEVEN: f64 = 0.05;

pub(super) fn look() -> Vec<Check> {
    let allowed = placement::allowed_cpus().unwrap_or_default();
    let cpus = spread(&allowed);
    // In a thread of its own, whose CPUs nobody needs afterwards.
    let worked = std::thread::spawn(move || work(&cpus)).join().unwrap_or_default();
    evenness(&worked, allowed.len()).into_iter().collect()
}

/// CPU time in nanoseconds of each computation, by CPU.
fn work(cpus: &[usize]) -> Vec<Vec<f64>> {
    let rounds = rounds_in(ONE);
    let mut times = vec![Vec::new(); cpus.len()];
    let end = Instant::now() + TIME;
    while Instant::now() < end && !stop::is_requested() {
        for (cpu, times) in cpus.iter().zip(&mut times) {
            if placement::confine_thread(*cpu).is_err() {
                continue;
            }
            let before = ThreadUsage::now();
            compute(rounds);
            times.push(ThreadUsage::now().since(&before).cpu.total_ns as f64);
        }
    }
    times
}

/// Some of many, from the first to the last: neighbours often are of one kind, and share what they have.
fn spread(cpus: &[usize]) -> Vec<usize> {
    if cpus.len() <= MOST_CPUS {
        return cpus.to_vec();
    }
    let steps = MOST_CPUS - 1;
    (0..=steps)
        .map(|step| cpus[step * (cpus.len() - 1) / steps])
        .collect()
}

/// Multiplications that depend on each other, and touch no memory.
fn compute(rounds: u64) {
    let mut state = black_box(1_u64);
    for round in 0..rounds {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
    }
    black_box(state);
}

fn rounds_in(time: Duration) -> u64 {
    const TRIAL: u64 = 1_000_000;
    let began = Instant::now();
    compute(TRIAL);
    let each = began.elapsed().as_secs_f64() / TRIAL as f64;
    (time.as_secs_f64() / each.max(1e-10)) as u64
}

/// `of` is how many CPUs there are.
fn evenness(by_cpu: &[Vec<f64>], of: usize) -> Option<Check> {
    let mut medians = Vec::new();
    let mut variation: f64 = 0.0;
    for times in by_cpu.iter().filter(|times| times.len() >= 4) {
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        let median = quantile(&sorted, 0.5);
        variation = variation.max((quantile(&sorted, 0.9) - quantile(&sorted, 0.1)) / median.max(1.0));
        medians.push(median);
    }
    medians.sort_by(f64::total_cmp);
    let (least, most) = (*medians.first()?, *medians.last()?);
    let apart = most / least.max(1.0) - 1.0;
    let on_one = format!("80 % lie within {}", rounded::share(variation));
    let found = match medians.len() {
        1 => format!("of the same computation, over and over on one CPU, {on_one}"),
        looked_at => {
            let all = if looked_at < of {
                format!(" ({looked_at} of {of} were looked at)")
            } else {
                String::new()
            };
            format!(
                "the same computation takes up to {} longer on one CPU than on another{all}; on the same CPU {on_one}",
                rounded::share(apart)
            )
        }
    };
    let check = Check::good(
        "placement",
        "placement noise",
        found,
        "where the kernel lets a thread run, and how fast that CPU is just now, is noise; random order and pairs carry it into \
         the interval",
    )
    .with("cpus_looked_at", medians.len() as f64)
    .with("between_cpus_share", apart)
    .with("on_one_cpu_share", variation);
    let uneven = "fix the CPUs' frequency (`cpupower frequency-set -g performance`), switch off what shares their cores (SMT), \
                  or take placement = \"together\" in the study";
    Some(check.limited_if(apart.max(variation) > UNEVEN, uneven))
}

#[cfg(test)]
mod tests {
    use ciphertax_records::CheckStatus;

    use super::*;

    #[test]
    fn uneven_cpus_are_told_from_one_that_is_uneven_itself() {
        let steady = |ns: f64| vec![ns; 10];
        assert_eq!(evenness(&[], 1), None);
        let even = evenness(&[steady(1_000.0), steady(1_010.0)], 2).unwrap();
        assert_eq!(even.status, CheckStatus::Good);
        assert!((even.figures["between_cpus_share"] - 0.01).abs() < 1e-9);
        let uneven = evenness(&[steady(1_000.0), steady(1_300.0)], 64).unwrap();
        assert_eq!(uneven.status, CheckStatus::Limited);
        assert!(
            uneven.found.contains("(2 of 64 were looked at)"),
            "{}",
            uneven.found
        );
        assert!(!even.found.contains("looked at"), "{}", even.found);
        let mut shaking = steady(1_000.0);
        shaking.extend([1_500.0; 4]);
        let shaking = evenness(&[shaking], 1).unwrap();
        assert_eq!(shaking.status, CheckStatus::Limited);
        assert_eq!(shaking.figures["between_cpus_share"], 0.0);
        assert!(
            shaking.found.contains("on one CPU, 80 % lie within"),
            "{}",
            shaking.found
        );
    }

    #[test]
    fn of_many_cpus_the_first_the_last_and_some_between_are_looked_at() {
        let all: Vec<usize> = (0..64).collect();
        assert_eq!(spread(&all), [0, 9, 18, 27, 36, 45, 54, 63]);
        assert_eq!(spread(&all[..3]), [0, 1, 2]);
    }
}
