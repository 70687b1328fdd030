//! Flame graphs of made-up stacks, of which it is known how long each took.

use std::collections::BTreeMap;

use ciphertax_estimate::flame::flames;
use ciphertax_records::why::{
    Blocked, Flame, FlameFrame, FlameOf, LookLog, ModuleRecord, Profile, ProfiledSide, SideProfile,
    SymbolRecord, SymbolTable, Waits,
};
use ciphertax_records::{Sample, VoidReason};

use crate::made_up::{OPERATIONS, head, sample, study};

const CELL: &str = "select";
const ARMS: [&str; 3] = ["plain", "baseline again", "tls"];

/// Samples and looks of as many blocks as were added.
#[derive(Default)]
struct Run {
    samples: Vec<Sample>,
    looks: LookLog,
}

impl Run {
    /// A slice with so much CPU time of the server, in µs of an operation, and so many samples of each stack, outermost function
    /// first.
    fn slice(&mut self, block: u32, arm: &str, server_us: f64, stacks: &[(&str, u64)]) {
        let slice = self.add_sample(block, arm, server_us);
        let numbered = stacks
            .iter()
            .map(|(stack, count)| (stack_of(&mut self.looks.symbols, stack), *count));
        let stacks: BTreeMap<u32, u64> = numbered.collect();
        let samples = stacks.values().sum();
        let side = SideProfile {
            hz: 997,
            samples,
            complete: samples,
            stacks,
            ..SideProfile::default()
        };
        self.looks.profiles.push(Profile {
            slice,
            sides: BTreeMap::from([(ProfiledSide::Server, side)]),
        });
    }

    fn add_sample(&mut self, block: u32, arm: &str, server_us: f64) -> ciphertax_records::SliceId {
        let mut made = sample(CELL, block, 0, arm, [10.0, server_us]);
        made.look = Some(ciphertax_records::why::Look::Full);
        let slice = made.slice.clone();
        self.samples.push(made);
        slice
    }

    fn flames(&self) -> Vec<Flame> {
        flames(&head(study()), &self.samples[..], &self.looks).unwrap()
    }

    fn server(&self) -> FlameFrame {
        let mut flames = self.flames();
        assert_eq!(flames.len(), 1, "{flames:?}");
        let flame = flames.remove(0);
        assert_eq!((flame.cell.as_str(), flame.arm.as_str()), (CELL, "tls"));
        assert_eq!(flame.of, FlameOf::Cpu(ProfiledSide::Server));
        flame.root
    }
}

fn stack_of(symbols: &mut SymbolTable, stack: &str) -> u32 {
    let module = symbols.module(ModuleRecord {
        name: "mariadbd".into(),
        build_id: None,
    });
    let functions = stack.split(';').rev();
    let ids: Vec<u32> = functions
        .map(|name| {
            symbols.symbol(SymbolRecord {
                module,
                name: name.into(),
            })
        })
        .collect();
    symbols.stack(&ids)
}

/// The function at the end of a path.
fn at<'a>(root: &'a FlameFrame, path: &str) -> &'a FlameFrame {
    path.split(';').fold(root, |frame, name| {
        let mut calls = frame.calls.iter();
        calls
            .find(|call| call.name == name)
            .unwrap_or_else(|| panic!("no {name} in {path}: {frame:?}"))
    })
}

fn count(frame: &FlameFrame, counts: &impl Fn(&FlameFrame) -> bool) -> usize {
    usize::from(counts(frame)) + frame.calls.iter().map(|call| count(call, counts)).sum::<usize>()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn a_function_has_its_share_of_what_the_meters_read_with_all_that_it_calls() {
    let mut run = Run::default();
    for block in 0..6 {
        // 20 µs by 200 samples, and 22 µs by 110.
        run.slice(block, "plain", 20.0, &[("main;query", 150), ("main;send", 50)]);
        run.slice(
            block,
            "tls",
            22.0,
            &[("main;query", 75), ("main;send", 25), ("main;send;cipher", 10)],
        );
    }
    let root = run.server();
    near(root.baseline_us, 20.0);
    near(root.variant_us, 22.0);
    for (path, baseline, variant) in [
        ("main", 20.0, 22.0),
        ("main;query", 15.0, 15.0),
        ("main;send", 5.0, 7.0),
        ("main;send;cipher", 0.0, 2.0),
    ] {
        let frame = at(&root, path);
        near(frame.baseline_us, baseline);
        near(frame.variant_us, variant);
        near(frame.difference.unwrap().value, variant - baseline);
        assert_eq!(frame.module, "mariadbd");
    }
    assert!(at(&root, "main;send;cipher").is_significant);
    assert!(!at(&root, "main;query").is_significant);
    // By counting alone: six blocks of ten samples are sixty, give or take eight.
    let interval = at(&root, "main;send;cipher").difference.unwrap();
    near(interval.high - 2.0, 1.96 * 2.0 / 60.0_f64.sqrt());
}

#[test]
fn void_slices_lost_samples_and_blocks_without_a_partner_are_passed_over() {
    let mut run = Run::default();
    for block in 0..8 {
        run.slice(block, "plain", 20.0, &[("main", 100)]);
        run.slice(block, "tls", 22.0, &[("main", 100)]);
    }
    // Each of these would pull the mean.
    run.slice(8, "plain", 900.0, &[("main", 100)]);
    run.slice(9, "plain", 900.0, &[("main", 100)]);
    run.slice(9, "tls", 22.0, &[("main", 100)]);
    run.looks
        .profiles
        .last_mut()
        .unwrap()
        .sides
        .get_mut(&ProfiledSide::Server)
        .unwrap()
        .lost = 1;
    run.slice(10, "plain", 900.0, &[("main", 100)]);
    run.slice(10, "tls", 22.0, &[("main", 100)]);
    run.samples.last_mut().unwrap().void = Some(VoidReason::Empty);
    run.slice(11, "plain", 900.0, &[]);
    run.slice(11, "tls", 22.0, &[("main", 100)]);
    // The same slice once more, as a damaged file may have it.
    run.looks.profiles.push(run.looks.profiles[0].clone());
    let root = run.server();
    near(root.baseline_us, 20.0);
    near(root.variant_us, 22.0);
}

#[test]
fn what_takes_less_than_a_thousandth_in_both_arms_is_left_out_and_stays_with_its_caller() {
    let mut run = Run::default();
    for block in 0..5 {
        run.slice(
            block,
            "plain",
            20.0,
            &[("main;query", 99_950), ("main;query;rare", 50)],
        );
        run.slice(
            block,
            "tls",
            20.0,
            &[("main;query", 9_980), ("main;query;new", 20)],
        );
    }
    let root = run.server();
    let query = at(&root, "main;query");
    let calls: Vec<&str> = query.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(calls, ["new"]);
    near(query.baseline_us, 20.0);
    near(query.calls[0].variant_us, 0.04);
}

#[test]
fn with_few_blocks_there_are_figures_but_no_difference() {
    let mut run = Run::default();
    for block in 0..4 {
        run.slice(block, "plain", 20.0, &[("main", 100)]);
        run.slice(block, "tls", 40.0, &[("main", 100)]);
    }
    let root = run.server();
    near(root.variant_us, 40.0);
    assert_eq!(
        count(&root, &|frame| frame.difference.is_some() || frame.is_significant),
        0
    );
}

#[test]
fn of_many_blocks_neighbours_become_one_value_and_the_means_stay() {
    let mut run = Run::default();
    for block in 0..200 {
        let us = 20.0 + f64::from(block % 7);
        run.slice(block, "plain", us, &[("main", 100)]);
        run.slice(block, "tls", us + 1.0, &[("main", 100)]);
    }
    let difference = run.server().difference.unwrap();
    near(difference.value, 1.0);
    assert!(difference.low > 0.5 && difference.high < 1.5, "{difference:?}");
}

#[test]
fn what_the_baseline_differs_from_itself_is_no_difference() {
    let mut run = Run::default();
    for block in 0..10 {
        run.slice(block, "plain", 20.0, &[("main", 10_000)]);
        run.slice(block, "baseline again", 23.0, &[("main", 10_000)]);
        run.slice(block, "tls", 22.0, &[("main", 10_000)]);
    }
    let root = run.server();
    assert!(root.difference.unwrap().low > 0.0);
    assert!(!root.is_significant);
}

#[test]
fn a_slice_with_few_operations_weighs_little_as_in_the_tables() {
    let mut run = Run::default();
    for block in 0..6 {
        for (arm, us) in [("plain", 20.0), ("tls", 30.0)] {
            run.slice(block, arm, us, &[("main", 100)]);
            // It stood still for most of the time.
            if (block, arm) == (5, "tls") {
                run.samples.last_mut().unwrap().load.operations[0].count /= 100;
            }
        }
    }
    let root = run.server();
    near(root.baseline_us, 20.0);
    near(root.variant_us, 6.0 * 30.0 / 5.01);
    near(root.difference.unwrap().value, root.variant_us - 20.0);
}

#[test]
fn an_operation_waits_as_long_as_sessions_do_by_the_throughput() {
    let mut run = Run::default();
    let mut slice_ns = [0; 2];
    for block in 0..6 {
        for (arm, seen) in [("plain", 30), ("tls", 60)] {
            let slice = run.add_sample(block, arm, 20.0);
            slice_ns[usize::from(arm == "tls")] = run.samples.last().unwrap().load.duration_ns;
            let stack = stack_of(&mut run.looks.symbols, "main;commit;wait");
            let blocked = |seen, background| Blocked {
                call: "futex".into(),
                object: Some("LOCK_log".into()),
                stack,
                seen,
                complete: seen,
                background,
            };
            run.looks.waits.push(Waits {
                rounds: 20,
                idle: 7,
                blocked: vec![blocked(seen, false), blocked(1_000, true)],
                ..Waits::unseen(slice)
            });
        }
    }
    let flames = run.flames();
    assert_eq!(flames.len(), 1);
    assert_eq!(flames[0].of, FlameOf::Waits);
    let frame = at(&flames[0].root, "main;commit;wait;futex LOCK_log");
    // One and a half sessions of the baseline wait all the time, and three of the variant.
    near(
        frame.baseline_us,
        1.5 * slice_ns[0] as f64 / 1e3 / OPERATIONS as f64,
    );
    near(
        frame.variant_us,
        3.0 * slice_ns[1] as f64 / 1e3 / OPERATIONS as f64,
    );
    assert!(frame.is_significant);
}

#[test]
fn endless_recursion_is_cut_off() {
    let mut run = Run::default();
    let deep = vec!["again"; 100_000].join(";");
    for block in 0..5 {
        run.slice(block, "plain", 20.0, &[(&deep, 10)]);
        run.slice(block, "tls", 20.0, &[(&deep, 10)]);
    }
    assert_eq!(count(&run.server(), &|frame| frame.name == "again"), 256);
}

#[test]
fn stacks_and_slices_that_nobody_knows_are_harmless() {
    let mut run = Run::default();
    for block in 0..5 {
        run.slice(block, "plain", 20.0, &[("main", 10)]);
        run.slice(block, "tls", 20.0, &[("main", 10)]);
    }
    for profile in &mut run.looks.profiles {
        profile
            .sides
            .get_mut(&ProfiledSide::Server)
            .unwrap()
            .stacks
            .insert(4_000_000_000, 10);
    }
    let mut unknown = run.looks.profiles[0].clone();
    unknown.slice.cell = "nowhere".into();
    run.looks.profiles.push(unknown);
    let root = run.server();
    near(root.baseline_us, 20.0);
    near(at(&root, "main").baseline_us, 10.0);
}

/// Numbers that look like chance, the same in every run (splitmix64).
struct Chance(u64);

impl Chance {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }
}

/// Two arms that do the same, but for `extra` of the variant's CPU time in a function of its own.
fn simulated(chance: &mut Chance, extra: f64) -> Run {
    let names: Vec<String> = (0..60)
        .map(|leaf| format!("main;group{};leaf{leaf}", leaf % 8))
        .collect();
    let weights: Vec<f64> = (1..=60).map(|rank| 1.0 / f64::from(rank)).collect();
    let all: f64 = weights.iter().sum();
    let mut run = Run::default();
    for block in 0..25 {
        for arm in ARMS {
            let us = 25.0 * (1.0 + 0.06 * (chance.uniform() - 0.5));
            let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
            for _ in 0..240 {
                let is_extra = arm == "tls" && chance.uniform() < extra;
                let mut left = chance.uniform() * all;
                let leaf = weights.iter().position(|weight| {
                    left -= weight;
                    left < 0.0
                });
                let name = if is_extra {
                    "main;extra"
                } else {
                    &names[leaf.unwrap_or(0)]
                };
                *counts.entry(name).or_default() += 1;
            }
            let counts: Vec<(&str, u64)> = counts.into_iter().collect();
            run.slice(block, arm, us, &counts);
        }
    }
    run
}

#[test]
fn arms_that_do_the_same_differ_significantly_in_few_functions() {
    let mut chance = Chance(14);
    let (mut boxes, mut significant, mut excluding_zero) = (0, 0, 0);
    for _ in 0..30 {
        let root = simulated(&mut chance, 0.0).server();
        boxes += count(&root, &|_| true);
        significant += count(&root, &|frame| frame.is_significant);
        excluding_zero += count(&root, &|frame| {
            frame.difference.is_some_and(|of| of.low > 0.0 || of.high < 0.0)
        });
    }
    assert!(boxes > 30 * 60, "{boxes}");
    assert!(significant * 100 <= boxes * 5, "{significant} of {boxes}");
    assert!(excluding_zero * 100 <= boxes * 6, "{excluding_zero} of {boxes}");
}

#[test]
fn a_function_that_only_one_arm_has_is_found_with_what_it_takes() {
    let mut chance = Chance(3);
    for _ in 0..10 {
        let root = simulated(&mut chance, 0.08).server();
        let extra = at(&root, "main;extra");
        assert!(extra.is_significant);
        let difference = extra.difference.unwrap();
        let truth = 25.0 * 0.08;
        assert!(
            difference.low < truth + 0.4 && difference.high > truth - 0.4,
            "{difference:?}"
        );
        assert!((difference.value - truth).abs() < 0.5, "{difference:?}");
    }
}
