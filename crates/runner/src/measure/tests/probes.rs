//! A server that a probe changes is as it was after every slice, however that ends.

use super::*;

/// What a server does when it is changed and changed back, and what it was asked so far.
#[derive(Default)]
pub(super) struct Probed {
    asked: Vec<&'static str>,
    stays_as_it_is: bool,
    stays_changed: bool,
}

impl Probed {
    pub(super) fn perturb(&mut self) -> Result<(), RunError> {
        self.asked.push("changed");
        answer(self.stays_as_it_is, "Unknown system variable 'nope'")
    }

    pub(super) fn calm(&mut self) -> Result<(), RunError> {
        self.asked.push("changed back");
        answer(self.stays_changed, "Access denied")
    }
}

fn answer(is_refused: bool, problem: &str) -> Result<(), RunError> {
    match is_refused {
        true => Err(unusable("the server", problem)),
        false => Ok(()),
    }
}

/// What came of a slice, and what the server was asked.
fn measured(mut server: FakeServer, load: FakeLoad) -> (Result<Sample, RunError>, Vec<&'static str>) {
    let sample = measure_on(0, &mut server, load);
    (sample, server.probed.asked)
}

#[test]
fn a_server_is_changed_before_its_first_reading_and_changed_back_after_its_last() {
    let (sample, asked) = measured(server(), load());
    assert!(sample.unwrap().is_valid());
    assert_eq!(asked, ["changed", "changed back"]);
}

#[test]
fn a_slice_that_fails_leaves_the_server_as_it_was() {
    let failed = failing(Failure::Error("duplicate key".into()));
    let unprepared = FakeLoad {
        prepared: Err(Failure::Error("too many connections".into())),
        ..load()
    };
    let silent = || server().counting([None]);
    for (server, load) in [(server(), failed), (server(), unprepared), (silent(), load())] {
        let (sample, asked) = measured(server, load);
        assert!(sample.unwrap().void.is_some());
        assert_eq!(asked, ["changed", "changed back"]);
    }
    let broken = broken();
    let (stopped, asked) = measured(server(), broken);
    assert!(matches!(stopped, Err(RunError::Stopped)));
    assert_eq!(asked, ["changed", "changed back"]);
}

#[test]
fn a_server_that_cannot_be_changed_gets_no_load_and_is_changed_back_as_far_as_it_was() {
    let fixed = FakeServer {
        probed: Probed {
            stays_as_it_is: true,
            ..Probed::default()
        },
        ..server()
    };
    let (sample, asked) = measured(fixed, load());
    let void = sample.unwrap().void.unwrap().to_string();
    assert!(void.contains("Unknown system variable 'nope'"), "{void}");
    assert_eq!(asked, ["changed", "changed back"]);
}

#[test]
fn a_server_that_stays_changed_is_measured_no_further_unless_it_is_gone() {
    let stays = |death: Option<&str>| FakeServer {
        probed: Probed {
            stays_changed: true,
            ..Probed::default()
        },
        death: death.map(str::to_owned),
        ..server()
    };
    let (stopped, _) = measured(stays(None), load());
    assert!(stopped.unwrap_err().to_string().contains("Access denied"));
    let (sample, _) = measured(stays(Some("its process ended")), load());
    assert!(sample.is_ok());
}
