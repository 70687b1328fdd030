//! Blocks that were looked into say why, and nothing else.

use ciphertax_records::why::Look;
use ciphertax_records::{Sample, VoidReason};

use crate::made_up::{explain, explained, head, samples, study};

/// Blocks that were looked into, whose slices cost anything.
fn looked_into(blocks: std::ops::Range<u32>) -> Vec<Sample> {
    let mut looked = samples(blocks.end);
    looked.retain(|sample| blocks.contains(&sample.slice.block));
    for sample in &mut looked {
        sample.look = Some(Look::Full);
        sample.load.client_cpu.total_ns *= 3 + u64::from(sample.slice.position);
        sample.load.duration_ns *= 7;
        sample.load.operations[0].kind = "another kind".into();
        sample.load.client_bound = true;
    }
    looked
}

#[test]
fn estimates_are_those_of_a_run_without_the_blocks_that_were_looked_into() {
    let without = samples(8);
    let with: Vec<Sample> = looked_into(0..1)
        .into_iter()
        .map(|mut sample| {
            sample.slice.block = 20;
            sample
        })
        .chain(without.clone())
        .chain(looked_into(8..10))
        .collect();
    let mut expected = explained(&without);
    let mut found = explained(&with);
    assert!(found.elapsed_s > expected.elapsed_s, "they take time");
    // What is said of looking itself and of the time that is still needed is no estimate.
    for results in [&mut expected, &mut found] {
        results.elapsed_s = 0.0;
        results.cells.iter_mut().for_each(|cell| cell.more_time_s = None);
        let rows = results.estimates.iter_mut().chain(&mut results.noise_floor);
        rows.for_each(|row| row.more_time_s = None);
        results.why = Default::default();
    }
    assert_eq!(found, expected);
}

#[test]
fn a_void_slice_that_was_looked_into_is_listed() {
    let mut all = samples(8);
    let mut looked = looked_into(8..9);
    looked[1].void = Some(VoidReason::Empty);
    all.extend(looked);
    let results = explained(&all);
    assert_eq!((results.void.len(), results.void[0].block), (1, 8));
    let void_slices: u32 = results.cells.iter().map(|cell| cell.void_slices).sum();
    assert_eq!(void_slices, 1);
}

#[test]
fn the_time_that_is_still_needed_counts_the_blocks_that_will_be_looked_into() {
    let mut study = study();
    study.precision.cpu = 0.001;
    let measured = samples(12);
    let forecast = |samples: &[Sample]| {
        let results = explain(&head(study.clone()), samples).unwrap();
        results.cells[0].more_time_s.unwrap()
    };
    let looked: Vec<Sample> = measured.iter().cloned().chain(looked_into(12..13)).collect();
    let ratio = forecast(&looked) / forecast(&measured);
    assert!((ratio - 4.0 / 3.0).abs() < 1e-9, "{ratio}");
}
