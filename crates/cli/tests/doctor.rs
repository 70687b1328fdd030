//! `ciphertax doctor` on this machine, whatever that is like.

use ciphertax_records::{CheckStatus, DoctorRecord};

use crate::common::*;

const IDS: [&str; 19] = [
    "other-load",
    "steal",
    "cpus",
    "placement",
    "timers",
    "wake-ups",
    "clock",
    "open-files",
    "ports",
    "memory",
    "disk",
    "cgroup",
    "instructions",
    "openssl-speed",
    "rustls-speed",
    "profiler",
    "hardware-counters",
    "links",
    "noise",
];

#[test]
fn every_check_says_what_was_found_what_it_means_and_what_to_do() {
    let sandbox = Sandbox::new();
    let finished = sandbox.finish(&["doctor", "--json", "--export", "machine.JSON"]);
    let kept = fs::read_to_string(sandbox.work().join("machine.JSON")).unwrap();
    assert_eq!(kept, finished.stdout);
    follows("doctor", &serde_json::from_str(&finished.stdout).unwrap());
    let record: DoctorRecord = serde_json::from_str(&finished.stdout).unwrap();
    // Other tests may use all of the machine meanwhile, of which it makes no sense to measure anything.
    let expected = if record.can_measure { 0 } else { 3 };
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(expected), ""));
    let ids: Vec<&str> = record.checks.iter().map(|check| check.id.as_str()).collect();
    assert_eq!(ids, IDS);
    for check in &record.checks {
        assert!(!check.found.is_empty() && !check.means.is_empty(), "{check:?}");
        let is_well = check.remedy.is_none();
        assert_eq!(is_well, check.status == CheckStatus::Good, "{check:?}");
    }
    let figure = |id: &str, name: &str| {
        let check = record.checks.iter().find(|check| check.id == id).unwrap();
        check.figures[name]
    };
    for library in ["openssl-speed", "rustls-speed"] {
        assert!(figure(library, "server_handshakes_per_s") > 100.0);
        assert!(figure(library, "encrypted_bytes_per_s") > 1e6);
    }
    let noise = record.checks.iter().find(|check| check.id == "noise").unwrap();
    // Where others leave it hardly any slice, it says so.
    match noise.figures.get("half_width_in_two_minutes") {
        Some(half_width) => assert!(*half_width > 0.0),
        None => assert_eq!(noise.status, CheckStatus::Bad),
    }
}

#[test]
fn a_reader_sees_the_summary_first_and_a_remedy_after_what_limits() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["doctor"]);
    command.env("COLUMNS", "80");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    println!("{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let summary = ["This machine can measure", "Fix before measuring: "];
    assert!(summary.iter().any(|words| text.starts_with(words)), "{text}");
    says(
        &text,
        "TLS by rustls … handshakes/s … noise (A/A) … AES … placement noise",
    );
}

#[test]
fn ctrl_c_is_heard_at_once() {
    let running = Sandbox::new().start(&["doctor"]);
    assert!(within(PATIENCE, || catches(running.pid(), Signal::INT)));
    // In the midst of its checks.
    std::thread::sleep(Duration::from_secs(2));
    running.signal(Signal::INT);
    let finished = running.finish();
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(130), ""));
}

/// True once a process does something of its own when it gets this signal.
fn catches(process: Pid, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
    caught & (1 << (signal.as_raw() - 1)) != 0
}
