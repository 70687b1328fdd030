//! When it is enough.

use super::*;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

#[test]
fn what_is_said_of_a_cell_after_its_block_is_what_all_samples_say() {
    let study = study(3_600, &[("one", ""), ("other", "")]);
    let begun = run(&study, &mut |slice| {
        quiet(slice).failing((slice.block, slice.position) == (5, 1))
    });
    for run in [run(&study, &mut quiet), resume(&study, begun.samples, &mut quiet)] {
        run.assert_complete();
        let said = run.heard.blocks.last().unwrap();
        let cell = study.cells.iter().find(|cell| cell.name == said.cell).unwrap();
        let log = run.samples.into();
        let all = ciphertax_estimate::precision(&study, cell, &log).unwrap();
        assert!(all.precise && all.blocks == said.blocks);
        let widths = (said.cpu.0, said.throughput.0);
        assert_eq!(widths, (all.cpu_half_width, all.throughput_half_width));
    }
}

#[test]
fn a_run_ends_when_every_cell_is_precise() {
    let run = run(&study(3_600, &[("one", ""), ("other", "")]), &mut quiet);
    run.assert_complete();
    assert_eq!(run.blocks(), 24, "twelve each, which is the least");
    assert_eq!(run.written, run.samples.len());
    let last = run.heard.blocks.last().unwrap();
    assert_eq!((last.cell.as_str(), last.blocks, last.void), ("other", 12, 0));
    assert!(last.cpu.0.unwrap() <= last.cpu.1 && last.throughput.0.unwrap() <= last.throughput.1);
    assert_eq!(last.elapsed + last.left, seconds(3_600.0));
}

#[test]
fn no_block_begins_that_would_end_after_the_time() {
    for (time_s, blocks) in [(60, 40), (61, 40), (62, 41), (1, 0)] {
        let run = run(&study(time_s, &[("select", "")]), &mut noisy);
        run.assert_complete();
        assert_eq!(run.blocks(), blocks, "in {time_s} s");
        assert!(run.took <= seconds(time_s.into()));
    }
}

#[test]
fn how_long_a_batch_takes_the_one_before_it_tells() {
    let batch = study(60, &[("batch", ", batch = 1000")]);
    let run = run(&batch, &mut |slice| noisy(slice).taking(seconds(9.0)));
    run.assert_complete();
    // The first is begun whatever it takes, the third would end after 81 s.
    assert_eq!((run.blocks(), run.took), (2, seconds(54.0)));
}

#[test]
fn a_server_that_clears_a_backlog_is_given_the_time() {
    let open = study(60, &[("open", ", rate = 100")]);
    let slow = run(&open, &mut |slice| noisy(slice).taking(seconds(4.0)));
    slow.assert_complete();
    assert_eq!(slow.blocks(), 5);
    // A block is never thought to be shorter than its slices.
    let fast = run(&open, &mut |slice| noisy(slice).taking(seconds(0.4)));
    let holds = fast.took > seconds(58.0) && fast.took <= seconds(60.0);
    assert!(holds, "{:?}", fast.took);
}

#[test]
fn what_a_user_interrupts_is_void_and_all_else_is_kept() {
    let mut slices = 0;
    let run = run(&study(60, &[("one", ""), ("other", "")]), &mut |slice| {
        slices += 1;
        match slices {
            // Whatever a slice that is cut short looks like.
            8 => void(slice, failed()).stopping(true),
            _ => noisy(slice),
        }
    });
    assert_eq!(run.partial(), "stopped by the user");
    assert_eq!((run.log.len(), run.written), (8, 8), "no other slice begins");
    let (last, others) = run.samples.split_last().unwrap();
    assert_eq!(last.void, Some(VoidReason::Interrupted));
    assert!(others.iter().all(Sample::is_valid));
    assert_eq!(run.heard.void.len(), 1);
    let ending = "interrupted by the user";
    assert!(run.heard.void[0].ends_with(ending), "{:?}", run.heard.void);
    assert_eq!(run.heard.blocks.len(), 2, "its block did not end");
}

#[test]
fn a_slice_that_was_whole_when_a_user_stopped_counts() {
    let run = run(&study(60, &[("select", "")]), &mut stopping_at(2));
    assert_eq!(run.partial(), "stopped by the user");
    assert_eq!(run.samples.len(), 2);
    assert!(run.samples.iter().all(Sample::is_valid));
}

#[test]
fn an_error_ends_the_run_and_loses_nothing() {
    let mut slices = 0;
    let run = run(&study(60, &[("select", "")]), &mut |slice| {
        slices += 1;
        noisy(slice).failing(slices == 5)
    });
    assert!(run.status.is_err());
    assert_eq!((run.samples.len(), run.written), (4, 4));
}

#[test]
fn a_run_that_goes_on_has_the_time_that_is_left() {
    let study = study(60, &[("select", "")]);
    let first = run(&study, &mut |slice| {
        noisy(slice).stopping(slice.block == 9 && slice.position == 2)
    });
    assert_eq!(first.samples.len(), 30);
    let second = resume(&study, first.samples, &mut noisy);
    second.assert_complete();
    assert_eq!((second.blocks(), second.took), (30, seconds(60.0)));
    assert_eq!(second.samples.len(), 120);
}

#[test]
fn a_run_that_was_precise_measures_nothing_more() {
    let study = study(60, &[("select", "")]);
    let first = run(&study, &mut quiet);
    let second = resume(&study, first.samples, &mut quiet);
    second.assert_complete();
    assert_eq!(second.log, []);
}

/// The same study, whose slices are as short as its load bears.
fn free(time_s: u32) -> Study {
    Study {
        slice_s: None,
        ..study(time_s, &[("select", "")])
    }
}

#[test]
fn slices_are_as_short_as_the_load_bears_and_what_was_tried_does_not_count() {
    let study = free(60);
    let mut asked = Vec::new();
    // 100,000 operations in each: the more the shorter they are.
    let run = run(&study, &mut |slice| {
        asked.push((slice.arm_index, slice.duration));
        noisy(slice).taking(slice.duration)
    });
    run.assert_complete();
    let trial = seconds(0.1);
    assert_eq!(asked[..3], [(0, trial), (1, trial), (2, trial)]);
    assert!(asked[3..].iter().all(|(_, duration)| *duration == seconds(0.05)));
    assert_eq!(run.samples.len(), asked.len() - 3);
    // As many blocks as fit into what is left of a minute after 0.3 s.
    assert_eq!(run.samples.len(), 3 * 398);
}

#[test]
fn a_load_that_cannot_be_tried_and_one_that_is_slow_have_long_slices() {
    let stolen = |slice: &PlannedSlice<'_>| void(slice, stolen()).taking(slice.duration);
    let failed = |slice: &PlannedSlice<'_>| void(slice, failed()).taking(slice.duration);
    let slow = |slice: &PlannedSlice<'_>| noisy(slice).taking(seconds(2.0));
    let endless = |slice: &PlannedSlice<'_>| noisy(slice).taking(seconds(20.0));
    let makes: [&dyn Fn(&PlannedSlice<'_>) -> Made; 4] = [&stolen, &failed, &slow, &endless];
    // What passes is tried three times, and what is slow twice.
    for (make, trials) in makes.into_iter().zip([3, 1, 2, 2]) {
        let mut asked = Vec::new();
        run(&free(60), &mut |slice| {
            asked.push(slice.duration);
            make(slice)
        });
        let (tried, measured) = asked.split_at(trials);
        let are_short = tried.iter().all(|duration| *duration == seconds(0.1));
        assert!(are_short, "{asked:?}");
        assert!(!measured.is_empty(), "{asked:?}");
        let are_long = measured.iter().all(|duration| *duration == seconds(0.5));
        assert!(are_long, "{asked:?}");
    }
}

#[test]
fn slices_of_a_run_that_goes_on_are_as_long_as_those_it_has() {
    let study = free(60);
    let of = |length: f64| {
        move |slice: &PlannedSlice<'_>| Made {
            took: seconds(length),
            fails: slice.block == 3,
            ..noisy(slice)
        }
    };
    let begun = run(
        &Study {
            slice_s: Some(0.2),
            ..free(60)
        },
        &mut of(0.2),
    );
    let mut asked = Vec::new();
    resume(&study, begun.samples, &mut |slice| {
        asked.push(slice.duration);
        of(0.2)(slice)
    });
    let are_middling = !asked.is_empty() && asked.iter().all(|duration| *duration == seconds(0.2));
    assert!(are_middling, "{asked:?}");
}

#[test]
fn a_turn_of_short_slices_lasts_as_long_as_one_of_long_slices() {
    let study = Study {
        slice_s: None,
        ..study(60, &[("short", ""), ("long", "")])
    };
    let run = run(&study, &mut |slice| {
        let is_long = slice.cell.name == "long";
        let tail = if is_long { seconds(0.01) } else { Duration::ZERO };
        noisy(slice).taking(slice.duration + tail)
    });
    run.assert_complete();
    let turns = run.turns();
    // First come trials of three arms, and two of one that tells enough: an end of 10 ms is 3 % of no slice but the longest.
    let first: Vec<&str> = turns[5..].iter().copied().take(22).collect();
    let short = first.iter().filter(|cell| **cell == "short").count();
    assert_eq!(short, 20, "{first:?}");
}
