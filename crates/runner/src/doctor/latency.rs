//! How late timers ring, and how late a thread runs that another has woken.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_base::format::rounded;
use ciphertax_reactor::{Reactor, stop};
use ciphertax_records::Check;

use super::quantile;

const TIMERS: usize = 400;
const TIMER: Duration = Duration::from_millis(1);
const WAKE_UPS: usize = 3_000;
/// How late the latest of a hundred timers and wake-ups may be, in microseconds.
const LATE_TIMER_US: f64 = 1_000.0;
const LATE_WAKE_UP_US: f64 = 500.0;

pub(super) fn look() -> Vec<Check> {
    let mut checks = Vec::new();
    checks.extend(timers().map(timer));
    checks.extend(wake_ups().map(wake_up));
    checks
}

/// How late timers of the load's own event loop ring, in microseconds; negative for one that rings early.
fn timers() -> Option<Vec<f64>> {
    let reactor = Reactor::new().ok()?;
    let mut late = Vec::with_capacity(TIMERS);
    let waiting = async {
        for _ in 0..TIMERS {
            let due = Instant::now() + TIMER;
            let rang = reactor.sleep_until(due).await;
            // A difference that would be negative is zero.
            let signed = (rang - due).as_secs_f64() - (due - rang).as_secs_f64();
            late.push(signed * 1e6);
        }
    };
    reactor
        .run_one(waiting, Instant::now() + 20 * TIMER * TIMERS as u32)
        .ok()?;
    Some(late)
}

/// How long it takes until a thread runs that waits for another, in microseconds: half of there and back.
fn wake_ups() -> Option<Vec<f64>> {
    let (ask, asked) = mpsc::channel::<()>();
    let (answer, answered) = mpsc::channel::<()>();
    let other = thread::spawn(move || {
        while asked.recv().is_ok() {
            if answer.send(()).is_err() {
                break;
            }
        }
    });
    let mut taken = Vec::with_capacity(WAKE_UPS);
    for _ in 0..WAKE_UPS {
        let began = Instant::now();
        ask.send(()).ok()?;
        answered.recv().ok()?;
        taken.push(began.elapsed().as_secs_f64() * 1e6 / 2.0);
        if stop::is_requested() {
            break;
        }
    }
    drop(ask);
    other.join().ok()?;
    Some(taken)
}

fn timer(late: Vec<f64>) -> Check {
    let (median, latest) = median_and_latest(late);
    let check = Check::good(
        "timers",
        "timers",
        in_words(median, latest),
        "operations at a fixed rate may start so much later",
    )
    .with("median_us", median)
    .with("p99_us", latest);
    check.limited_if(
        latest > LATE_TIMER_US,
        "stop other programs; in a virtual machine take one with CPUs of its own; or measure closed loops, which need no timer",
    )
}

fn wake_up(taken: Vec<f64>) -> Check {
    let (median, latest) = median_and_latest(taken);
    let check = Check::good(
        "wake-ups",
        "wake-ups",
        in_words(median, latest),
        "client and server wake each other at every answer: each wake-up is in every latency, of all arms alike",
    )
    .with("median_us", median)
    .with("p99_us", latest);
    check.limited_if(
        latest > LATE_WAKE_UP_US,
        "rely on CPU per operation rather than on latency here; stop other programs, or keep the CPUs out of deep sleep \
         (`cpupower idle-set -D 10`)",
    )
}

fn in_words(median: f64, latest: f64) -> String {
    format!(
        "{} late at the median, {} at the 99th percentile",
        rounded::microseconds(median),
        rounded::microseconds(latest)
    )
}

fn median_and_latest(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (quantile(&values, 0.5), quantile(&values, 0.99))
}

#[cfg(test)]
mod tests {
    use ciphertax_records::CheckStatus;

    use super::*;

    #[test]
    fn one_late_timer_of_a_hundred_limits_and_the_median_alone_does_not() {
        let mut late = vec![60.0; 200];
        assert_eq!(timer(late.clone()).status, CheckStatus::Good);
        assert_eq!(wake_up(late.clone()).status, CheckStatus::Good);
        late.extend([5_000.0; 4]);
        let check = timer(late.clone());
        assert_eq!(check.status, CheckStatus::Limited);
        let found = (check.figures["median_us"], check.figures["p99_us"]);
        assert_eq!(found, (60.0, 5_000.0));
        assert_eq!(wake_up(late).status, CheckStatus::Limited);
    }

    #[test]
    fn no_timer_of_this_machine_rings_early_and_every_wake_up_is_counted() {
        let late = timers().unwrap();
        assert_eq!(late.len(), TIMERS);
        assert!(late.iter().all(|us| *us >= 0.0));
        assert_eq!(wake_ups().unwrap().len(), WAKE_UPS);
    }
}
