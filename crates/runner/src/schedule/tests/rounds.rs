//! Where arms differ at rest: quiet phases between slices, and clocks that are read once a round.

use super::*;

/// The arm `tls` has its tables encrypted too.
fn at_rest(time_s: u32, cells: &[(&str, &str)]) -> Study {
    let mut study = study(time_s, cells);
    study.arms[1].at_rest.tables = true;
    study
}

#[test]
fn every_slice_has_a_quiet_phase_before_it_and_every_block_a_reading_at_its_end() {
    let run = run(&at_rest(60, &[("one", ""), ("other", "")]), &mut noisy);
    run.assert_complete();
    for (number, round) in run.done.chunks(8).enumerate() {
        let [Done::Slice(a), Done::Slice(b), Done::Slice(c)] = [1, 3, 5].map(|at| round[at].clone()) else {
            panic!("{round:?}");
        };
        let quiet = |arm: usize| Done::Quiet(Some(arm));
        let expected = [
            quiet(a),
            Done::Slice(a),
            quiet(b),
            Done::Slice(b),
            quiet(c),
            Done::Slice(c),
            Done::Quiet(None),
            Done::Read(number as u32 / 2),
        ];
        assert_eq!(round, expected, "the cells take turns");
    }
    assert_eq!(run.rounds.len(), run.blocks());
    assert_eq!(run.written, run.samples.len() + run.rounds.len());
    assert!(run.heard.settling >= run.done.len() / 2, "it is shown");
    // A block takes 1.5 s of slices and 4 s of quiet: none begins that would end after the time.
    assert_eq!((run.blocks(), run.took), (10, Duration::from_secs(55)));
}

#[test]
fn a_slice_that_began_while_another_server_flushed_is_marked_and_counts() {
    let run = run(&at_rest(60, &[("one", "")]), &mut noisy);
    for sample in &run.samples {
        let quiet = sample.quiet.unwrap();
        assert_eq!(quiet.waited_ns, QUIET.as_nanos() as u64);
        assert_eq!(sample.is_disturbed(), sample.slice.position == 2);
        assert!(sample.is_valid());
    }
    assert!(run.rounds.iter().all(|round| round.quiet.is_still));
}

#[test]
fn a_void_slice_does_not_keep_a_round_from_its_end() {
    let run = run(&at_rest(30, &[("one", "")]), &mut |slice| {
        if slice.position == 1 {
            void(slice, stolen())
        } else {
            noisy(slice)
        }
    });
    assert_eq!(run.rounds.len(), run.blocks());
}

#[test]
fn a_round_that_was_cut_off_has_no_end_and_a_run_that_goes_on_has_the_others() {
    let study = at_rest(60, &[("one", "")]);
    let first = run(&study, &mut stopping_at(8));
    assert_eq!(first.partial(), "stopped by the user");
    assert_eq!((first.samples.len(), first.rounds.len()), (8, 2));
    let earlier = SampleLog {
        samples: first.samples,
        rounds: first.rounds,
    };
    let second = resume(&study, earlier, &mut noisy);
    second.assert_complete();
    let blocks: Vec<u32> = second.rounds.iter().map(|round| round.block).collect();
    assert_eq!(blocks[..4], [0, 1, 3, 4]);
}

#[test]
fn arms_that_are_alike_at_rest_have_neither() {
    let run = run(&study(20, &[("one", "")]), &mut noisy);
    assert!(run.rounds.is_empty() && run.heard.settling == 0);
    assert!(run.samples.iter().all(|sample| sample.quiet.is_none()));
    assert!(run.done.iter().all(|done| matches!(done, Done::Slice(_))));
}
