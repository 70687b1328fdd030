//! What stays open, and what an error leaves.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use ciphertax_profile::{ProfileError, Watched};
use ciphertax_records::why::ProfiledSide;
use ciphertax_testkit::{PATIENCE, within};

use crate::common::{Bed, side, this_thread};

/// The variable that says that this is a process of the test's own.
const IN_ITS_OWN: &str = "CIPHERTAX_PROFILE_OWN_PROCESS";

#[test]
fn nothing_stays_open_or_mapped() {
    // In a process of its own, since other tests open files meanwhile.
    if std::env::var_os(IN_ITS_OWN).is_none() {
        let output = Command::new("/proc/self/exe")
            .args([
                "left_behind::nothing_stays_open_or_mapped",
                "--exact",
                "--nocapture",
            ])
            .env(IN_ITS_OWN, "")
            .output()
            .unwrap();
        let holds = output.status.success();
        assert!(holds, "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let open = || {
        let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let links = files.filter_map(|file| fs::read_link(file.path()).ok());
        let events = links
            .filter(|link| link.to_string_lossy().contains("perf_event"))
            .count();
        let mapped = fs::read_to_string("/proc/self/maps")
            .unwrap()
            .matches("perf_event")
            .count();
        (events, mapped, fs::read_dir("/proc/self/task").unwrap().count())
    };
    let before = open();
    let Some(mut bed) = Bed::new() else { return };
    assert!(open().0 > 0);
    let watched = Watched {
        server: vec![std::process::id()],
        with_children: true,
        client: vec![this_thread()],
    };
    let [_, _, during] = [(); 3].map(|()| {
        let during = bed.profile(&watched, open).1;
        // Whoever waits for a thread goes on a little before the kernel no longer shows it.
        let has_ended = within(PATIENCE, || open().2 == before.2);
        assert!(has_ended, "its thread ends with the slice");
        during
    });
    let is_opened = during.0 > before.0 && during.1 > before.1 && during.2 == before.2 + 1;
    assert!(is_opened, "{during:?}");
    bed.profiler.begin(&watched, &mut bed.stacks).unwrap();
    drop(bed);
    let in_time = within(PATIENCE, || open() == before);
    assert!(in_time, "{:?}, not {before:?}", open());
}

#[test]
fn a_process_that_never_was_is_an_error() {
    let Some(mut bed) = Bed::new() else { return };
    let watched = Watched {
        server: vec![i32::MAX as u32],
        ..Watched::default()
    };
    let begun = bed.profiler.begin(&watched, &mut bed.stacks);
    let is_refused = matches!(begun, Err(ProfileError::ProcessEnded(_)));
    assert!(is_refused, "{begun:?}");
    // And the profiler goes on.
    let watched = Watched {
        client: vec![this_thread()],
        ..Watched::default()
    };
    let (profile, ()) = bed.profile(&watched, || thread::sleep(Duration::from_millis(5)));
    let found = side(&profile, ProfiledSide::Client).comprises;
    assert_eq!(found, bed.profiler.comprises());
}
