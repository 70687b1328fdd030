//! What a void slice says of the blocks to come.

use std::collections::BTreeMap;

use super::*;

#[test]
fn what_disturbs_is_waited_out_longer_each_time_up_to_ten_seconds() {
    let run = run(
        &study(120, &[("select", "")]),
        &mut |slice| match (slice.block, slice.position) {
            (2..=8, 1) | (10, 0) => void(slice, stolen()),
            _ => noisy(slice),
        },
    );
    run.assert_complete();
    let waits: Vec<f64> = run.waits.iter().map(Duration::as_secs_f64).collect();
    // A block in which every slice counts ends it.
    assert_eq!(waits, [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 0.5]);
    assert_eq!(run.heard.waiting.len(), 8);
    let words = "hypervisor";
    assert!(run.heard.waiting[0].contains(words), "{:?}", run.heard.waiting);
    assert_eq!(run.heard.blocks.last().unwrap().void, 8);
}

#[test]
fn an_agent_that_cannot_be_reached_for_a_while_is_waited_for() {
    let lost = || VoidReason::AgentLost {
        detail: "no agent".into(),
    };
    let run = run(&study(60, &[("select", "")]), &mut |slice| match slice.block {
        // Slices without an agent end at once.
        2..8 => void(slice, lost()).taking(Duration::from_millis(1)),
        _ => noisy(slice),
    });
    run.assert_complete();
    assert_eq!(run.waits.len(), 6);
    assert!(run.waits.iter().sum::<Duration>() > Duration::from_secs(5));
    let words = "no agent";
    assert!(run.heard.waiting[0].contains(words), "{:?}", run.heard.waiting);
}

/// Load generators that begin so far apart, where a fiftieth of a slice is allowed.
fn begun_apart(slice: &PlannedSlice<'_>, apart: Duration) -> Made {
    let made = match apart > slice.duration / 50 {
        true => void(
            slice,
            VoidReason::RanksApart {
                detail: format!("{} ms", apart.as_millis()),
            },
        ),
        false => noisy(slice),
    };
    made.taking(slice.duration)
}

/// The study of one cell, whose slices take what they need.
fn free_slices(time_s: u32) -> Study {
    Study {
        slice_s: None,
        ..study(time_s, &[("select", "")])
    }
}

/// How long the slices of each block are.
fn lengths(study: &Study, made: impl Fn(&PlannedSlice<'_>) -> Made) -> (Run, Vec<f64>) {
    let mut lengths = BTreeMap::new();
    let run = run(study, &mut |slice| {
        lengths.insert(slice.block, slice.duration.as_secs_f64());
        made(slice)
    });
    run.assert_complete();
    (run, lengths.into_values().collect())
}

#[test]
fn slices_become_longer_until_load_generators_begin_together() {
    let apart = Duration::from_millis(30);
    let (run, seconds) = lengths(&free_slices(60), |slice| begun_apart(slice, apart));
    // 30 ms are 2 % of 1.5 s.
    assert_eq!(seconds[..4], [0.5, 1.0, 2.0, 2.0]);
    assert!(seconds[2..].iter().all(|length| *length == 2.0), "{seconds:?}");
    let said = [("select".to_owned(), 1.0), ("select".to_owned(), 2.0)];
    assert_eq!(run.heard.lengthened, said);
    assert!(run.waits.is_empty(), "what slices bear is not waited for");
}

#[test]
fn slices_become_no_longer_for_what_happens_now_and_then() {
    let (run, seconds) = lengths(&free_slices(60), |slice| match slice.block {
        1 | 3 | 5 => begun_apart(slice, Duration::from_millis(30)),
        _ => begun_apart(slice, Duration::ZERO),
    });
    assert!(seconds.iter().all(|length| *length == seconds[0]), "{seconds:?}");
    assert_eq!(run.waits.len(), 3);
}

#[test]
fn slices_stay_as_long_as_a_study_says_and_take_four_seconds_at_most() {
    let apart = |slice: &PlannedSlice<'_>| begun_apart(slice, Duration::from_millis(100));
    let (_, seconds) = lengths(&study(60, &[("select", "")]), apart);
    assert!(seconds.iter().all(|length| *length == 0.5), "{seconds:?}");
    let (_, seconds) = lengths(&free_slices(120), apart);
    assert_eq!(seconds[..5], [0.5, 1.0, 2.0, 4.0, 4.0]);
    assert!(seconds[3..].iter().all(|length| *length == 4.0), "{seconds:?}");
    // Three blocks of three slices of 2 s take 18 s.
    let (_, seconds) = lengths(&free_slices(18), apart);
    assert_eq!(seconds[..3], [0.5, 1.0, 1.0]);
}

#[test]
fn nobody_waits_longer_than_there_is_time() {
    let run = run(&study(30, &[("select", "")]), &mut |slice| void(slice, stolen()));
    run.assert_complete();
    assert!(run.took <= Duration::from_secs(30), "{:?}", run.took);
    let waited = run.waits[..4].iter().sum::<Duration>();
    assert_eq!(waited, Duration::from_millis(7_500));
}

#[test]
fn a_machine_that_is_always_disturbed_is_not_given_up() {
    let run = run(&study(600, &[("select", "")]), &mut |slice| void(slice, stolen()));
    run.assert_complete();
    assert!(run.blocks() > 40);
}

#[test]
fn three_blocks_in_a_row_that_fail_end_the_run() {
    let run = run(&study(60, &[("select", "")]), &mut |slice| match slice.position {
        2 => void(slice, failed()),
        _ => noisy(slice),
    });
    let reason = run.partial();
    let is_told = reason.contains("3 blocks in a row of select are void") && reason.contains("duplicate key");
    assert!(is_told, "{reason}");
    let found = (run.blocks(), run.log.len());
    assert_eq!(found, (3, 9), "blocks are measured to their end");
    assert!(run.waits.is_empty(), "what fails does not pass");
}

#[test]
fn blocks_that_fail_now_and_then_do_not_end_it() {
    let run = run(
        &study(60, &[("select", "")]),
        &mut |slice| match slice.block % 3 {
            0 | 1 => void(slice, failed()),
            _ => noisy(slice),
        },
    );
    run.assert_complete();
    assert_eq!(run.blocks(), 40);
}

#[test]
fn failures_are_counted_for_each_cell() {
    let run = run(
        &study(60, &[("good", ""), ("bad", "")]),
        &mut |slice| match slice.cell.name.as_str() {
            "bad" => void(slice, failed()),
            _ => noisy(slice),
        },
    );
    assert!(run.partial().contains("3 blocks in a row of bad"));
    assert_eq!(run.turns(), ["good", "bad", "good", "bad", "good", "bad"]);
}

#[test]
fn a_failure_counts_beside_what_passes_and_what_passes_in_between_forgives_none() {
    let run = run(&study(60, &[("select", "")]), &mut |slice| match slice.block {
        0 | 2 if slice.position == 0 => void(slice, failed()),
        3 if slice.position == 2 => void(slice, failed()),
        _ => void(slice, stolen()),
    });
    assert!(run.partial().contains("duplicate key"), "{}", run.partial());
    assert_eq!((run.blocks(), run.waits.len()), (4, 1));
}

#[test]
fn a_rate_beyond_an_arm_fails_and_a_late_load_generator_passes() {
    let open = study(60, &[("open", ", rate = 100")]);
    let missed = || VoidReason::ScheduleMissed {
        detail: "too slow".into(),
    };
    let beyond = run(&open, &mut |slice| Made {
        not_begun: 5,
        ..void(slice, missed())
    });
    assert!(beyond.partial().contains("3 blocks in a row"));
    let late = run(&open, &mut |slice| void(slice, missed()));
    late.assert_complete();
    assert!(!late.waits.is_empty());
}

#[test]
fn every_other_reason_fails() {
    let detail = || "why".to_owned();
    for reason in [
        failed(),
        VoidReason::FactsDiffer { detail: detail() },
        VoidReason::Stalled { detail: detail() },
        VoidReason::Empty,
    ] {
        let run = run(&study(60, &[("select", "")]), &mut |slice| {
            void(slice, reason.clone())
        });
        assert!(run.partial().contains(&reason.to_string()), "{}", run.partial());
        assert_eq!(run.blocks(), 3);
    }
}

#[test]
fn a_server_that_died_ends_the_run_at_once() {
    let run = run(&study(60, &[("one", ""), ("other", "")]), &mut |slice| match (
        slice.cell.name.as_str(),
        slice.block,
        slice.position,
    ) {
        ("other", 1, 1) => void(
            slice,
            VoidReason::ServerDied {
                detail: "its process ended".into(),
            },
        ),
        _ => noisy(slice),
    });
    assert_eq!(run.partial(), "the server died: its process ended");
    assert_eq!((run.log.len(), run.written), (11, 11));
}
