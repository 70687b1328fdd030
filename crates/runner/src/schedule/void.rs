//! Why a slice does not count.

use std::time::Duration;

use ciphertax_engine::Failure;
use ciphertax_model::workload::CELLS;
use ciphertax_model::{Arm, ColumnFeature, Decrypt};
use ciphertax_records::{OpenLoopSample, VoidReason, Yield};

use super::open_loop::missed;

/// Stolen share of all CPU time from which on a slice says nothing about the server.
const MOST_STEAL: f64 = 0.10;

/// A hypervisor tells what it stole in ticks of 10 ms, of which a short slice has few: so much says nothing of any slice.
const BEARABLE_STEAL: Duration = Duration::from_millis(20);

/// What is known of a slice at its end, as far as it may make it void.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome<'a> {
    /// What the load itself says: a program that failed, or was not what its arm says.
    pub(crate) known: Option<VoidReason>,
    /// The first operation that failed, or the gravest.
    pub(crate) first_failure: Option<&'a Failure>,
    /// What [`cells_differ`] says.
    pub(crate) cells: Option<String>,
    pub(crate) failures: u64,
    pub(crate) completed: u64,
    /// Operations that did not finish within ten seconds after the end of the slice.
    pub(crate) unfinished: u64,
    pub(crate) open_loop: Option<&'a OpenLoopSample>,
    /// True if it was cut short because somebody wanted to stop.
    pub(crate) is_interrupted: bool,
    /// True if the server did not answer after the slice.
    pub(crate) is_silent: bool,
    pub(crate) is_restarted: bool,
    /// Why the server's processes could not be read, who run on another machine.
    pub(crate) agent_lost: Option<String>,
    /// That the server is gone, or the arm's pooler, if it is known to be.
    pub(crate) death: Option<VoidReason>,
    /// Stolen share of all CPU time, as a fraction.
    pub(crate) steal: f64,
    pub(crate) stolen: Duration,
}

/// The gravest reason why a slice does not count; `None` if it does. First what makes its arm a lie, then what ends the run,
/// then what failed, and last what may pass by itself.
pub(crate) fn void_reason(outcome: &Outcome<'_>) -> Option<VoidReason> {
    let failure = |failure| reason_of(failure, outcome.failures, outcome.death.as_ref());
    if let Some(differs @ Failure::FactsDiffer(_)) = outcome.first_failure {
        return Some(failure(differs));
    }
    if let Some(detail) = outcome.cells.clone() {
        return Some(VoidReason::CellsDiffer { detail });
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
    if let Some(detail) = outcome.agent_lost.clone() {
        return Some(VoidReason::AgentLost { detail });
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
    let is_stolen = outcome.steal > MOST_STEAL && outcome.stolen > BEARABLE_STEAL;
    is_stolen.then_some(VoidReason::Steal {
        fraction: outcome.steal,
    })
}

/// By how much the cells that were encrypted and decrypted are not those of the columns that are named as encrypted; `None`
/// where they are.
pub(crate) fn cells_differ(load: &Yield) -> Option<String> {
    let [encrypted, decrypted, named] = load.counts_of(CELLS);
    (encrypted.checked_add(decrypted) != Some(named)).then(|| {
        format!("{encrypted} were encrypted and {decrypted} decrypted, of {named} that are not NULL")
    })
}

/// By how much the cells that an arm's relay encrypted are not those that its client decrypted; `None` where they are, and where a
/// client that decrypts what it reads alone has left some.
pub(crate) fn relay_differs(arm: &Arm, encrypted: u64, decrypted: u64) -> Option<String> {
    let in_results = arm.columns.as_ref();
    let in_results = in_results.filter(|columns| columns.feature == ColumnFeature::InResults);
    let is_same = match in_results.map(|columns| columns.decrypt) {
        None => encrypted == 0,
        Some(Decrypt::All) => encrypted == decrypted,
        Some(Decrypt::Read) => encrypted >= decrypted,
    };
    (!is_same).then(|| {
        format!("the relay encrypted {encrypted} of its results, and the client decrypted {decrypted}")
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
            stolen: Duration::from_secs(1),
            death: None,
            ..fine()
        };
        assert_eq!(void_reason(&bearable), None);
        // Two ticks of a hypervisor, in a slice of five.
        let short = Outcome {
            steal: 0.4,
            stolen: BEARABLE_STEAL,
            ..fine()
        };
        assert_eq!(void_reason(&short), None);
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
        let causes: [Cause<'_>; 12] = [
            (
                &|outcome| (outcome.first_failure, outcome.failures) = (Some(&differs), 3),
                VoidReason::FactsDiffer {
                    detail: "TLSv1.2 instead of TLSv1.3".into(),
                },
            ),
            (
                &|outcome| outcome.cells = Some("one is missing".into()),
                VoidReason::CellsDiffer {
                    detail: "one is missing".into(),
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
                &|outcome| outcome.agent_lost = Some("the connection has ended".into()),
                VoidReason::AgentLost {
                    detail: "the connection has ended".into(),
                },
            ),
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
                &|outcome| {
                    outcome.steal = 0.11;
                    outcome.stolen = Duration::from_millis(30);
                },
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
    fn a_relay_must_have_encrypted_what_the_client_decrypted() {
        let arm = |columns: &str| {
            let arms = format!(
                "name = \"s\"\nquestion = \"?\"\ntime_s = 60\narm = [{{ name = \"a\", transport = \"plain\" }}, \
                 {{ name = \"b\", transport = \"plain\"{columns} }}]\n\
                 cell = [{{ name = \"c\", workload = \"tpcc\", load = {{ connections = 1, batch = 100 }} }}]\n"
            );
            ciphertax_model::Study::from_toml(&arms).unwrap().arms.remove(1)
        };
        let all = arm(", columns = { feature = \"in_results\", columns = \"all\" }");
        let read = arm(", columns = { feature = \"in_results\", columns = \"all\", decrypt = \"read\" }");
        let stored = arm(", columns = { feature = \"stored\", columns = \"payload\" }");
        for (arm, encrypted, decrypted, is_same) in [
            (&all, 7, 7, true),
            (&all, 7, 6, false),
            (&all, 6, 7, false),
            (&read, 7, 3, true),
            (&read, 3, 7, false),
            (&stored, 0, 7, true),
            (&stored, 1, 7, false),
        ] {
            let differs = relay_differs(arm, encrypted, decrypted);
            assert_eq!(differs.is_none(), is_same, "{differs:?}");
        }
    }

    #[test]
    fn every_named_cell_must_have_been_encrypted_or_decrypted_and_no_other() {
        let of = |named, encrypted, decrypted| {
            let counts = CELLS
                .map(str::to_owned)
                .into_iter()
                .zip([encrypted, decrypted, named]);
            cells_differ(&Yield {
                counts: counts.collect(),
                ..Yield::default()
            })
        };
        for (named, encrypted, decrypted) in [(0, 0, 0), (7, 7, 0), (7, 0, 7), (7, 3, 4)] {
            assert_eq!(of(named, encrypted, decrypted), None);
        }
        for (named, encrypted, decrypted) in [(7, 3, 3), (7, 4, 4), (0, 1, 0), (1, 0, 0), (0, u64::MAX, 1)] {
            assert!(of(named, encrypted, decrypted).is_some());
        }
        let found = of(7, 3, 2).unwrap();
        assert_eq!(found, "3 were encrypted and 2 decrypted, of 7 that are not NULL");
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
        let found = reason_of(&error, 3, Some(&died("its process ended")));
        assert_eq!(found, errors("disk full"));
    }
}
