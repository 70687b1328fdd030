//! Which slice follows which.

use super::*;

#[test]
fn every_arm_stands_equally_often_at_every_position_and_after_every_other() {
    // 24 blocks of three slices.
    let run = run(&study(36, &[("select", "")]), &mut noisy);
    run.assert_complete();
    assert_eq!(run.log.len(), 72);
    for block in run.log.chunks(3) {
        let mut arms: Vec<usize> = block.iter().map(|slot| slot.arm).collect();
        arms.sort_unstable();
        assert_eq!(arms, [0, 1, 2], "a block is one slice of every arm");
        let positions: Vec<u32> = block.iter().map(|slot| slot.position).collect();
        assert_eq!(positions, [0, 1, 2]);
    }
    for arm in 0..3 {
        for position in 0..3 {
            let stands = |slot: &&Slot| slot.arm == arm && slot.position == position;
            assert_eq!(run.log.iter().filter(stands).count(), 8, "{arm} at {position}");
        }
        for other in (0..3).filter(|other| *other != arm) {
            let follows = run.log.chunks(3).flat_map(|block| block.windows(2));
            let follows = follows.filter(|pair| (pair[0].arm, pair[1].arm) == (other, arm));
            assert_eq!(follows.count(), 8, "{arm} after {other}");
        }
    }
    let varies = run.log.chunks(3).any(|block| block[0].arm != 0);
    assert!(varies, "the baseline does not always come first");
}

#[test]
fn the_order_depends_on_the_seed_alone() {
    let study = study(36, &[("select", "")]);
    assert_eq!(run(&study, &mut noisy).log, run(&study, &mut noisy).log);
    let of_seed = |seed| {
        let mut course = Course::new(&study, &study.cells[0], seed, None, &SampleLog::default()).unwrap();
        let first: Vec<usize> = course.next_block().iter().map(|slice| slice.arm_index).collect();
        first
    };
    assert!((0..20).any(|seed| of_seed(seed) != of_seed(SEED)));
}

#[test]
fn cells_take_turns_until_each_is_precise() {
    let study = study(120, &[("noisy", ""), ("quiet", ""), ("noisy too", "")]);
    let run = run(&study, &mut |slice| match slice.cell.name.as_str() {
        "quiet" => quiet(slice),
        _ => noisy(slice),
    });
    run.assert_complete();
    let turns = run.turns();
    let (together, later) = turns.split_at(36);
    for round in together.chunks(3) {
        assert_eq!(round, ["noisy", "quiet", "noisy too"]);
    }
    assert!(later.len() > 20, "the others have its time");
    assert!(!later.contains(&"quiet"));
    for cell in ["noisy", "noisy too"] {
        let blocks = later.iter().filter(|turn| **turn == cell).count();
        let holds = 4 * blocks >= later.len();
        assert!(holds, "{cell} has {blocks} of {}", later.len());
    }
}

#[test]
fn a_run_that_goes_on_has_the_orders_that_it_would_have_had() {
    let study = study(60, &[("one", ""), ("other", "")]);
    let whole = run(&study, &mut noisy);
    for blocks in [1, 3, 8] {
        let first = run(&study, &mut stopping_at(blocks * 3));
        assert_eq!(first.partial(), "stopped by the user");
        let second = resume(&study, first.samples.clone(), &mut noisy);
        second.assert_complete();
        for cell in ["one", "other"] {
            let of = |log: &[Slot]| -> Vec<Slot> {
                log.iter().filter(|slot| slot.cell == cell).cloned().collect()
            };
            let both = [of(&first.log), of(&second.log)].concat();
            let whole = of(&whole.log);
            let length = both.len().min(whole.len());
            assert_eq!(both[..length], whole[..length], "{cell} after {blocks} blocks");
        }
        assert_eq!(second.samples.len(), whole.samples.len());
        assert_eq!(second.took, whole.took, "its time goes on too");
    }
}

#[test]
fn a_block_that_was_cut_off_is_not_measured_again() {
    let study = study(60, &[("select", "")]);
    let first = run(&study, &mut stopping_at(8));
    assert_eq!(first.samples.len(), 8);
    let second = resume(&study, first.samples, &mut noisy);
    assert_eq!((second.log[0].block, second.log[0].position), (3, 0));
}

#[test]
fn one_block_in_four_is_looked_into_and_the_others_keep_their_balance() {
    let study = study(90, &[("select", "")]);
    let run = look(&study, SampleLog::default(), &mut noisy);
    run.assert_complete();
    // 60 blocks of three slices.
    let blocks: Vec<&[Slot]> = run.log.chunks(3).collect();
    assert_eq!(blocks.len(), 60);
    assert!(
        blocks
            .iter()
            .all(|block| block.iter().all(|slot| slot.look == block[0].look))
    );
    let looked = |block: &&&[Slot]| block[0].look.is_some();
    let found = blocks[..5].iter().filter(looked).count();
    assert_eq!(found, 0, "the first are left alone");
    for group in blocks[5..].chunks_exact(4) {
        assert_eq!(group.iter().filter(looked).count(), 1);
    }
    let others: Vec<_> = blocks.iter().filter(|block| block[0].look.is_none()).collect();
    for arm in 0..3 {
        for position in 0..3 {
            // Whole pairs of squares.
            let stands = others[..42].iter().filter(|block| block[position].arm == arm);
            assert_eq!(stands.count(), 14, "{arm} at {position}");
        }
    }
}

#[test]
fn a_run_that_is_looked_into_and_goes_on_has_the_orders_that_it_would_have_had() {
    let study = study(60, &[("select", "")]);
    let whole = look(&study, SampleLog::default(), &mut noisy);
    let first = look(&study, SampleLog::default(), &mut stopping_at(12 * 3));
    let second = look(&study, first.samples.clone(), &mut noisy);
    let both = [first.log, second.log].concat();
    assert_eq!(both, whole.log);
}

#[test]
fn a_cell_that_is_precise_is_looked_into_until_it_can_say_why() {
    let study = study(600, &[("select", "")]);
    let run = look(&study, SampleLog::default(), &mut quiet);
    run.assert_complete();
    let blocks: Vec<bool> = run.log.chunks(3).map(|block| block[0].look.is_some()).collect();
    let looked = blocks.iter().filter(|looked| **looked).count();
    let unlooked = blocks.len() - looked;
    assert_eq!((looked, unlooked), (6, 12), "{blocks:?}");
    let are_looked_into = blocks[blocks.len() - 3..].iter().all(|looked| *looked);
    assert!(are_looked_into, "the rest comes at the end");
}

#[test]
fn a_cell_that_is_ahead_lets_the_others_go_before() {
    let study = study(1_200, &[("steady", ""), ("unsteady", "")]);
    // Neither is ever precise, and one is eight times as far from it.
    let run = run(&study, &mut |slice| {
        let far = noisy(slice);
        let noise = match slice.cell.name.as_str() {
            "steady" => 1.0 + (far.noise - 1.0) / 8.0,
            _ => far.noise,
        };
        Made { noise, ..far }
    });
    run.assert_complete();
    let turns = run.turns();
    let (equal, later) = turns.split_at(24);
    let take_turns = equal.chunks(2).all(|turn| turn == ["steady", "unsteady"]);
    assert!(take_turns, "{equal:?}");
    let steady = later.iter().filter(|cell| **cell == "steady").count();
    let holds = (later.len() / 5..=later.len() / 5 + 1).contains(&steady);
    assert!(holds, "{steady} of {}", later.len());
}
