//! When it is enough.

use super::*;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

#[test]
fn what_is_said_of_a_cell_after_its_block_is_what_all_samples_say() {
    let study = study(3_600, &[("one", ""), ("other", "")]);
    let begun = run(&study, &mut |slice| Made {
        fails: (slice.block, slice.position) == (5, 1),
        ..quiet(slice)
    });
    for run in [run(&study, &mut quiet), resume(&study, begun.samples, &mut quiet)] {
        run.assert_complete();
        let said = run.heard.blocks.last().unwrap();
        let cell = study.cells.iter().find(|cell| cell.name == said.cell).unwrap();
        let log = run.samples.into();
        let all = ciphertax_explain::precision(&study, cell, &log).unwrap();
        assert!(all.precise && all.blocks == said.blocks);
        assert_eq!(
            (said.cpu.0, said.throughput.0),
            (all.cpu_half_width, all.throughput_half_width)
        );
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
    let run = run(&batch, &mut |slice| Made {
        took: seconds(9.0),
        ..noisy(slice)
    });
    run.assert_complete();
    // The first is begun whatever it takes, the third would end after 81 s.
    assert_eq!((run.blocks(), run.took), (2, seconds(54.0)));
}

#[test]
fn a_server_that_clears_a_backlog_is_given_the_time() {
    let open = study(60, &[("open", ", rate = 100")]);
    let slow = run(&open, &mut |slice| Made {
        took: seconds(4.0),
        ..noisy(slice)
    });
    slow.assert_complete();
    assert_eq!(slow.blocks(), 5);
    // A block is never thought to be shorter than its slices.
    let fast = run(&open, &mut |slice| Made {
        took: seconds(0.4),
        ..noisy(slice)
    });
    assert!(
        fast.took > seconds(58.0) && fast.took <= seconds(60.0),
        "{:?}",
        fast.took
    );
}

#[test]
fn what_a_user_interrupts_is_void_and_all_else_is_kept() {
    let mut slices = 0;
    let run = run(&study(60, &[("one", ""), ("other", "")]), &mut |slice| {
        slices += 1;
        match slices {
            // Whatever a slice that is cut short looks like.
            8 => Made {
                stops: true,
                ..void(slice, failed())
            },
            _ => noisy(slice),
        }
    });
    assert_eq!(run.partial(), "stopped by the user");
    assert_eq!((run.log.len(), run.written), (8, 8), "no other slice begins");
    let (last, others) = run.samples.split_last().unwrap();
    assert_eq!(last.void, Some(VoidReason::Interrupted));
    assert!(others.iter().all(Sample::is_valid));
    assert_eq!(run.heard.void.len(), 1);
    assert!(
        run.heard.void[0].ends_with("interrupted by the user"),
        "{:?}",
        run.heard.void
    );
    assert_eq!(run.heard.blocks.len(), 2, "its block did not end");
}

#[test]
fn a_slice_that_was_whole_when_a_user_stopped_counts() {
    let mut slices = 0;
    let run = run(&study(60, &[("select", "")]), &mut |slice| {
        slices += 1;
        Made {
            stops: slices == 2,
            ..noisy(slice)
        }
    });
    assert_eq!(run.partial(), "stopped by the user");
    assert_eq!(run.samples.len(), 2);
    assert!(run.samples.iter().all(Sample::is_valid));
}

#[test]
fn an_error_ends_the_run_and_loses_nothing() {
    let mut slices = 0;
    let run = run(&study(60, &[("select", "")]), &mut |slice| {
        slices += 1;
        Made {
            fails: slices == 5,
            ..noisy(slice)
        }
    });
    assert!(run.status.is_err());
    assert_eq!((run.samples.len(), run.written), (4, 4));
}

#[test]
fn a_run_that_goes_on_has_the_time_that_is_left() {
    let study = study(60, &[("select", "")]);
    let first = run(&study, &mut |slice| Made {
        stops: slice.block == 9 && slice.position == 2,
        ..noisy(slice)
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
