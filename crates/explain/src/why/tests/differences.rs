//! Differences by category.

use ciphertax_records::Results;
use ciphertax_records::why::{CategoryRow, Complete, ProfiledSide, Why};

use super::made_up::{ARMS, MadeUp, STUDY, Truth};

fn plain() -> Truth {
    Truth {
        server: vec![
            ("SQL", 9.0),
            ("parse", 3.0),
            ("locks", 1.2),
            ("copies", 0.8),
            ("allocation", 0.6),
            ("network", 4.0),
            ("futex", 1.5),
            ("poll", 0.7),
            ("rare", 0.03),
            ("?", 0.2),
        ],
        client_us: 12.0,
        runnable_us: 100.0,
        network_us: 30.0,
        ..Truth::default()
    }
}

/// What TLS adds.
const ADDED: [(&str, f64); 4] = [
    ("record", 3.2),
    ("cipher", 1.3),
    ("copies", 0.4),
    ("allocation", 0.2),
];

fn tls() -> Truth {
    ADDED
        .into_iter()
        .fold(plain(), |truth, (category, us)| truth.with(category, us))
}

fn of<'a>(why: &'a Why, arm: &'a str) -> impl Iterator<Item = &'a CategoryRow> {
    let rows = why.categories.iter();
    rows.filter(move |row| row.arm == arm && row.side == ProfiledSide::Server)
}

fn added(category: &str) -> f64 {
    ADDED
        .iter()
        .find(|(name, _)| *name == category)
        .map_or(0.0, |(_, us)| *us)
}

#[test]
fn nothing_is_found_where_nothing_differs_and_what_differs_lies_in_the_interval() {
    let (plain, tls) = (plain(), tls());
    let (mut against_itself, mut excluded) = (0.0, 0.0);
    let (mut against_tls, mut covered) = (0.0, 0.0);
    for seed in 0..150 {
        let why = MadeUp::run(STUDY, [&plain, &plain, &tls], 45, seed).why();
        for row in of(&why, ARMS[1]) {
            against_itself += 1.0;
            excluded += f64::from(u8::from(row.is_significant));
        }
        for row in of(&why, ARMS[2]) {
            let interval = row.difference.unwrap();
            let truth = added(&row.category);
            against_tls += 1.0;
            covered += f64::from(u8::from(interval.low <= truth && truth <= interval.high));
        }
    }
    assert!(against_itself > 1_400.0 && against_tls > 1_700.0);
    let is_rare = excluded / against_itself <= 0.05;
    assert!(is_rare, "{excluded} of {against_itself}");
    assert!(covered / against_tls >= 0.95, "{covered} of {against_tls}");
}

#[test]
fn what_tls_adds_is_found_first_and_everything_adds_up_to_what_the_meters_say() {
    let (plain, tls) = (plain(), tls());
    let why = MadeUp::run(STUDY, [&plain, &plain, &tls], 120, 7).why();
    let largest: Vec<&str> = of(&why, "tls").take(2).map(|row| row.category.as_str()).collect();
    assert_eq!(largest, ["record", "cipher"]);
    assert!(
        of(&why, "tls")
            .take(2)
            .all(|row| row.is_significant && row.floor_us == Some(0.0))
    );
    let copies = of(&why, "tls").find(|row| row.category == "copies").unwrap();
    assert!(copies.floor_us.unwrap() > 0.0, "{copies:?}");
    let side = why.differences.iter().find(|side| side.arm == "tls").unwrap();
    let measured = side.measured.unwrap();
    let is_near = (side.sum_us - measured.value).abs() < 1e-9 * measured.value;
    assert!(is_near, "{side:?}");
    assert!((measured.value - 5.1).abs() < 0.5, "{measured:?}");
    let of_blocks = (side.blocks, side.complete, side.comprises);
    assert_eq!(of_blocks, (29, 1.0, Complete::Whole));
    assert!(side.classified < 1.0 && side.classified > 0.98, "{side:?}");
    assert!(of(&why, "tls").any(|row| row.category == "unclassified"));
    for row in of(&why, "tls") {
        let value = row.difference.unwrap().value;
        assert!((row.variant_us - row.baseline_us - value).abs() < 1e-9);
    }
}

#[test]
fn profiles_of_user_code_alone_leave_the_rest_to_the_kernel() {
    let (plain, tls) = (plain(), tls());
    let mut made = MadeUp::run(STUDY, [&plain, &plain, &tls], 45, 3);
    for profile in &mut made.looks.profiles {
        profile
            .sides
            .values_mut()
            .for_each(|side| side.comprises = Complete::UserOnly);
    }
    let why = made.why();
    let side = why.differences.iter().find(|side| side.arm == "tls").unwrap();
    assert_eq!(side.comprises, Complete::UserOnly);
    let kernel = of(&why, "tls")
        .find(|row| row.category == "kernel: other")
        .unwrap();
    let is_near = (kernel.baseline_us - plain.cpu_us() / 4.0).abs() < 1.0;
    assert!(is_near, "{kernel:?}");
    assert!((side.sum_us - side.measured.unwrap().value).abs() < 1e-9);
}

#[test]
fn a_slice_that_lost_samples_or_is_void_takes_its_pair_out_and_four_pairs_have_no_interval() {
    let (plain, tls) = (plain(), tls());
    // Six blocks are looked into.
    let mut made = MadeUp::run(STUDY, [&plain, &plain, &tls], 26, 3);
    let first_of = |made: &MadeUp, arm: &str| {
        let mut profiles = made.looks.profiles.iter();
        profiles.position(|profile| profile.slice.arm == arm).unwrap()
    };
    let lossy = first_of(&made, "tls");
    made.looks.profiles[lossy]
        .sides
        .values_mut()
        .for_each(|side| side.lost = 1);
    let blocks = |why: &Why, arm: &str| {
        why.differences
            .iter()
            .find(|side| side.arm == arm)
            .unwrap()
            .blocks
    };
    let why = made.why();
    assert_eq!((blocks(&why, "tls"), blocks(&why, "baseline again")), (5, 6));
    let last = made
        .samples
        .iter_mut()
        .rfind(|sample| sample.look.is_some() && sample.slice.arm == "tls");
    last.unwrap().void = Some(ciphertax_records::VoidReason::Empty);
    let why = made.why();
    assert_eq!(blocks(&why, "tls"), 4);
    assert!(of(&why, "tls").all(|row| row.difference.is_none() && !row.is_significant));
    assert!(of(&why, "tls").any(|row| row.variant_us > row.baseline_us));
}

#[test]
fn without_looks_nothing_is_said_of_why() {
    let (plain, tls) = (plain(), tls());
    let mut made = MadeUp::run(STUDY, [&plain, &plain, &tls], 26, 3);
    made.looks = Default::default();
    assert!(made.why_beside(&Results::default()).is_empty());
}

#[test]
fn looking_that_takes_the_server_three_percent_more_is_found_to() {
    let (plain, tls) = (plain(), tls());
    let mut made = MadeUp::run(STUDY, [&plain, &plain, &tls], 200, 3);
    for sample in made.samples.iter_mut().filter(|sample| sample.look.is_some()) {
        let cpu = sample.server.server_cpu.as_mut().unwrap();
        cpu.total_ns += cpu.total_ns * 3 / 100;
    }
    let costs = made.why().costs;
    assert_eq!((costs.len(), costs[0].blocks), (1, 49));
    let found = costs[0].server_cpu.unwrap();
    let is_narrow = found.low < 0.03 && found.high > 0.03 && found.high - found.low < 0.06;
    assert!(is_narrow, "{found:?}");
}
