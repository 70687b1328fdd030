//! Why a slice does not count.

use ciphertax_engine::Failure;
use ciphertax_records::{OpenLoopSample, VoidReason};

use super::open_loop::missed;

/// Stolen share of all CPU time from which on a slice says nothing about the server.
const MOST_STEAL: f64 = 0.10;

/// What is known of a slice at its end, as far as it may make it void.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome<'a> {
    /// What the load itself says: a program that failed, or was not what its arm says.
    pub(crate) known: Option<VoidReason>,
    /// The first operation that failed, or the gravest.
    pub(crate) first_failure: Option<&'a Failure>,
    /// Operations that failed.
    pub(crate) failures: u64,
    /// Operations that completed.
    pub(crate) completed: u64,
    /// Operations that did not finish within ten seconds after the end of the slice.
    pub(crate) unfinished: u64,
    pub(crate) open_loop: Option<&'a OpenLoopSample>,
    /// True if it was cut short because somebody wanted to stop.
    pub(crate) is_interrupted: bool,
    /// True if the server did not answer after the slice.
    pub(crate) is_silent: bool,
    /// True if the server began anew during the slice.
    pub(crate) is_restarted: bool,
    /// That the server is gone, or the arm's pooler, if it is known to be.
    pub(crate) death: Option<VoidReason>,
    /// Stolen share of all CPU time, as a fraction.
    pub(crate) steal: f64,
}

/// The gravest reason why a slice does not count; `None` if it does. First what makes its arm a lie, then what ends the run,
/// then what failed, and last what may pass by itself.
pub(crate) fn void_reason(outcome: &Outcome<'_>) -> Option<VoidReason> {
    let failure = |failure| reason_of(failure, outcome.failures, outcome.death.as_ref());
    if let Some(differs @ Failure::FactsDiffer(_)) = outcome.first_failure {
        return Some(failure(differs));
    }
    if outcome.is_silent {
        return Some(outcome.death.clone().unwrap_or_else(|| VoidReason::ServerDied {
            detail: "it does not answer any more".into(),
        }));
    }
    if outcome.is_restarted {
        return Some(VoidReason::ServerDied {
            detail: "it was restarted".into(),
        });
    }
    if outcome.known.is_some() {
        return outcome.known.clone();
    }
    if let Some(first) = outcome.first_failure {
        return Some(failure(first));
    }
    if outcome.is_interrupted {
        return Some(VoidReason::Interrupted);
    }
    if let Some(detail) = outcome.open_loop.and_then(missed) {
        return Some(VoidReason::ScheduleMissed { detail });
    }
    if outcome.unfinished > 0 {
        let detail = format!("{} operations took more than ten seconds", outcome.unfinished);
        return Some(VoidReason::Stalled { detail });
    }
    if outcome.completed == 0 {
        return Some(VoidReason::Empty);
    }
    (outcome.steal > MOST_STEAL).then_some(VoidReason::Steal {
        fraction: outcome.steal,
    })
}

/// What a failure makes of a slice, of which so many operations failed. `death` says that the server is gone, or the arm's
/// pooler, if it is.
pub(crate) fn reason_of(failure: &Failure, count: u64, death: Option<&VoidReason>) -> VoidReason {
    match (failure, death) {
        (Failure::FactsDiffer(detail), _) => VoidReason::FactsDiffer {
            detail: detail.clone(),
        },
        (Failure::Disconnected(_), Some(death)) => death.clone(),
        (Failure::Disconnected(message) | Failure::Error(message), _) => VoidReason::Errors {
            count,
            first: message.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something that makes a slice void, and what is then said.
    type Cause<'a> = (&'a dyn Fn(&mut Outcome<'a>), VoidReason);

    fn fine() -> Outcome<'static> {
        Outcome {
            completed: 100,
            ..Outcome::default()
        }
    }

    fn errors(first: &str) -> VoidReason {
        VoidReason::Errors {
            count: 3,
            first: first.into(),
        }
    }

    fn died(detail: &str) -> VoidReason {
        VoidReason::ServerDied {
            detail: detail.into(),
        }
    }

    #[test]
    fn a_slice_that_nothing_happened_to_counts() {
        assert_eq!(void_reason(&fine()), None);
        // A little is always stolen, and a server may be slow.
        let bearable = Outcome {
            steal: MOST_STEAL,
            death: None,
            ..fine()
        };
        assert_eq!(void_reason(&bearable), None);
    }

    #[test]
    fn every_reason_goes_before_those_below_it() {
        let differs = Failure::FactsDiffer("TLSv1.2 instead of TLSv1.3".into());
        let error = Failure::Error("duplicate key".into());
        let open_loop = OpenLoopSample {
            planned: 100,
            not_begun: 7,
            late: 0,
            delay_sum_ns: 0,
            response_sum_ns: 0,
            response: ciphertax_stats::histogram::encode(&ciphertax_stats::histogram::empty()),
        };
        let missed_detail = missed(&open_loop).unwrap();
        let stalled = "5 operations took more than ten seconds";
        let known = VoidReason::FactsDiffer {
            detail: "the program did not use TLS".into(),
        };
        let causes: [Cause<'_>; 10] = [
            (
                &|outcome| (outcome.first_failure, outcome.failures) = (Some(&differs), 3),
                VoidReason::FactsDiffer {
                    detail: "TLSv1.2 instead of TLSv1.3".into(),
                },
            ),
            (
                &|outcome| outcome.is_silent = true,
                died("it does not answer any more"),
            ),
            (&|outcome| outcome.is_restarted = true, died("it was restarted")),
            (
                &|outcome| outcome.known = Some(known.clone()),
                VoidReason::FactsDiffer {
                    detail: "the program did not use TLS".into(),
                },
            ),
            (
                &|outcome| {
                    // The gravest failure is kept, so another cannot stand in its place.
                    outcome.first_failure.get_or_insert(&error);
                    outcome.failures = 3;
                },
                errors("duplicate key"),
            ),
            (&|outcome| outcome.is_interrupted = true, VoidReason::Interrupted),
            (
                &|outcome| outcome.open_loop = Some(&open_loop),
                VoidReason::ScheduleMissed {
                    detail: missed_detail,
                },
            ),
            (
                &|outcome| outcome.unfinished = 5,
                VoidReason::Stalled {
                    detail: stalled.into(),
                },
            ),
            (&|outcome| outcome.completed = 0, VoidReason::Empty),
            (
                &|outcome| outcome.steal = 0.11,
                VoidReason::Steal { fraction: 0.11 },
            ),
        ];
        for (rank, (cause, expected)) in causes.iter().enumerate() {
            let mut alone = fine();
            cause(&mut alone);
            assert_eq!(void_reason(&alone).as_ref(), Some(expected), "alone");
            for (other, below) in &causes[rank + 1..] {
                let mut both = fine();
                cause(&mut both);
                other(&mut both);
                assert_eq!(void_reason(&both).as_ref(), Some(expected), "with {below:?}");
            }
            let mut all = fine();
            causes[rank..].iter().for_each(|(cause, _)| cause(&mut all));
            assert_eq!(void_reason(&all).as_ref(), Some(expected), "with all below");
        }
    }

    #[test]
    fn a_lost_connection_is_a_death_only_where_the_server_is_dead() {
        let lost = Failure::Disconnected("connection reset".into());
        let broken = |death: Option<&str>| {
            void_reason(&Outcome {
                first_failure: Some(&lost),
                failures: 3,
                death: death.map(died),
                ..fine()
            })
        };
        assert_eq!(broken(None), Some(errors("connection reset")));
        assert_eq!(broken(Some("its process ended")), Some(died("its process ended")));
        let silent = Outcome {
            is_silent: true,
            death: Some(died("its process ended")),
            ..fine()
        };
        assert_eq!(void_reason(&silent), Some(died("its process ended")));
        // An error that the server itself tells is none of its death.
        let error = Failure::Error("disk full".into());
        assert_eq!(
            reason_of(&error, 3, Some(&died("its process ended"))),
            errors("disk full")
        );
    }
}
