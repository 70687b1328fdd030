//! Threads of this process, whose truth is their own clock.

use std::hint;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ciphertax_profile::Watched;
use ciphertax_records::why::{Complete, ProfiledSide};
use ciphertax_testkit::stolen_ns;

use crate::common::{Bed, HZ, cpu_time, share, side, this_thread};

#[inline(never)]
fn spin_in_one_function(until: Duration) {
    while cpu_time() < until {
        (0..500).for_each(|_| hint::spin_loop());
    }
    hint::black_box(());
}

#[inline(never)]
fn spin_in_another_function(until: Duration) {
    while cpu_time() < until {
        (0..500).for_each(|_| hint::spin_loop());
    }
    hint::black_box(0);
}

/// A quarter of the time in one, the rest in the other.
fn spin_by_turns(time: Duration) {
    let turn = Duration::from_millis(9);
    let end = cpu_time() + time;
    while cpu_time() < end {
        spin_in_one_function(cpu_time() + turn);
        spin_in_another_function(cpu_time() + 3 * turn);
    }
}

/// A thread that spins by turns when it is told, after it has said its number.
fn spinner() -> (u32, impl FnOnce(Duration) -> Duration) {
    let (say, hear) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || {
        say.send(this_thread()).unwrap();
        spin_by_turns(told.recv().unwrap());
        cpu_time()
    });
    (hear.recv().unwrap(), move |time| {
        tell.send(time).unwrap();
        thread.join().unwrap()
    })
}

#[test]
fn a_functions_share_is_its_share_of_the_time_and_samples_are_as_many_as_the_time_says() {
    let Some(mut bed) = Bed::new() else { return };
    // A hypervisor that takes CPUs away adds samples: one is due when the CPU comes back, and the time is none that was used. A
    // machine that is busy may have samples lost.
    let is_as_many = (0..5).any(|_| {
        let before = stolen_ns(None);
        let (samples, lost, expected) = spin_beside_another(&mut bed);
        let of_stolen = (stolen_ns(None) - before) as f64 / 1e9 * f64::from(HZ);
        lost == 0 && (0.95 * expected..1.05 * (expected + of_stolen)).contains(&(samples as f64))
    });
    assert!(is_as_many);
}

/// Samples of a thread that spins, those lost, and how many they should be; the shares of its functions must be right.
fn spin_beside_another(bed: &mut Bed) -> (u64, u64, f64) {
    let (watched, run) = spinner();
    let (_unwatched, run_other) = spinner();
    let watched = Watched {
        client: vec![watched],
        ..Watched::default()
    };
    let (profile, time) = bed.profile(&watched, || {
        let other = thread::spawn(move || run_other(Duration::from_millis(300)));
        let time = run(Duration::from_millis(1200));
        other.join().unwrap();
        time
    });
    assert_eq!(profile.sides.len(), 1);
    let client = side(&profile, ProfiledSide::Client);
    assert_eq!(client.hz, HZ);
    assert_eq!(client.comprises, bed.profiler.comprises());
    let expected = time.as_secs_f64() * f64::from(HZ);
    let one = share(bed.samples_in(client, "spin_in_one_function"), client.samples);
    let other = share(bed.samples_in(client, "spin_in_another_function"), client.samples);
    println!("{} samples of {expected:.0}; {one:.3} {other:.3}", client.samples);
    assert!((one - 0.25).abs() < 0.04, "{one}");
    assert!((other - 0.75).abs() < 0.04, "{other}");
    assert!(share(client.complete, client.samples) >= 0.99, "{client:?}");
    (client.samples, client.lost, expected)
}

#[test]
fn one_slice_has_nothing_of_another_and_one_that_was_given_up_leaves_nothing() {
    let Some(mut bed) = Bed::new() else { return };
    let ended = thread::spawn(this_thread).join().unwrap();
    let watched = Watched {
        client: vec![ended, this_thread()],
        ..Watched::default()
    };
    let spin = |milliseconds| spin_by_turns(Duration::from_millis(milliseconds));
    let (first, ()) = bed.profile(&watched, || spin(200));
    bed.profiler.begin(&watched, &mut bed.stacks).unwrap();
    spin(200);
    bed.profiler.stop();
    spin(100);
    let (second, ()) = bed.profile(&watched, || thread::sleep(Duration::from_millis(20)));
    let samples = |profile| side(profile, ProfiledSide::Client).samples;
    assert!(samples(&first) > 150, "{first:?}");
    // Hardly any of the milliseconds that were slept, and none of those that were spun before.
    assert!(5 * samples(&second) < samples(&first), "{second:?}");
    let slice = second.slice;
    let unbegun = bed.profiler.profile(slice, &mut bed.stacks, &mut bed.symbols);
    assert!(unbegun.is_err(), "{unbegun:?}");
}

#[test]
fn a_slice_longer_than_was_said_is_read_while_it_runs() {
    // The smallest rings, which hold seven samples and less than ten milliseconds.
    let Some(mut bed) = Bed::with(HZ, Duration::from_millis(1)) else {
        return;
    };
    let watched = Watched {
        client: vec![this_thread()],
        ..Watched::default()
    };
    let (profile, ()) = bed.profile(&watched, || spin_by_turns(Duration::from_millis(400)));
    let client = side(&profile, ProfiledSide::Client);
    // The thread that reads them may have to wait for a CPU: what is lost meanwhile is said.
    println!("{} samples, {} lost", client.samples, client.lost);
    assert!(client.samples > 40, "{client:?}");
    assert!(client.samples + client.lost > 300, "{client:?}");
}

#[test]
fn more_than_the_rings_can_hold_is_lost_and_said_and_what_is_kept_is_sound() {
    let Some(mut bed) = Bed::with(50_000, Duration::ZERO) else {
        return;
    };
    let watched = Watched {
        client: vec![this_thread()],
        ..Watched::default()
    };
    let (profile, ()) = bed.profile(&watched, || spin_by_turns(Duration::from_millis(200)));
    let client = side(&profile, ProfiledSide::Client);
    println!("{} samples, {} lost", client.samples, client.lost);
    assert!(client.lost > 0 && client.samples > 0, "{client:?}");
    if client.comprises != Complete::UserOnly {
        assert!(share(client.complete, client.samples) >= 0.99, "{client:?}");
    }
}
