//! What a run folder keeps of slices that were looked into: what is written is read, what a crash cut off is passed over, a run
//! that goes on numbers on, and what is damaged is an error that names file and line.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use ciphertax_records::why::*;
use ciphertax_records::{CutOff, Destination, Head, Recorded, Results, Run, RunFolder, SliceId, write_run};

#[test]
fn what_is_written_is_what_is_read_as_often_as_it_is_asked_for() {
    let written = Folder::new();
    let looks = written.looks();
    assert_eq!(looks.symbols(), &written.table);
    for _ in 0..2 {
        assert_eq!(profiles_of(&looks), written.profiles);
        let waits: Vec<_> = looks.waits().map(|waits| waits.unwrap().into_owned()).collect();
        assert_eq!(waits, written.waits);
    }
}

#[test]
fn a_run_that_was_not_looked_into_has_no_such_files_and_nothing_to_read() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("run");
    let folder = RunFolder::create(&path).unwrap();
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    let looks = folder.looks().unwrap();
    assert_eq!(looks.symbols(), &SymbolTable::default());
    assert_eq!(looks.profiles().count() + looks.waits().count(), 0);
    folder.discard();
    assert!(!path.exists());
}

#[test]
fn what_a_crash_cut_off_is_passed_over_wherever_it_was_cut() {
    let written = Folder::new();
    for (file, whole) in [("profiles.jsonl", [2, 2]), ("waits.jsonl", [2, 2])] {
        let text = fs::read(written.path.join(file)).unwrap();
        for length in 0..text.len() {
            fs::write(written.path.join(file), &text[..length]).unwrap();
            let looks = written.looks();
            let profiles = looks.profiles().map(Result::unwrap).count();
            let waits = looks.waits().map(Result::unwrap).count();
            let lines = text[..length].iter().filter(|byte| **byte == b'\n').count();
            let expected = match file {
                "profiles.jsonl" => [lines.saturating_sub(1), whole[1]],
                _ => [whole[0], lines.saturating_sub(1)],
            };
            assert_eq!([profiles, waits], expected, "{file} of {length} bytes");
        }
        fs::write(written.path.join(file), text).unwrap();
    }
}

#[test]
fn a_run_that_goes_on_numbers_on_and_its_cut_off_lines_are_gone() {
    let mut written = Folder::new();
    write_run(&written.path, &Run::new(head(), Results::default())).unwrap();
    for file in ["symbols.jsonl", "profiles.jsonl", "waits.jsonl"] {
        append(&written.path.join(file), "{\"cut");
    }
    let (mut folder, mut table) = resumed(&written.path);
    assert_eq!(table, written.table);
    let stack = stack(&mut table, &["ha_commit_trans", "do_command"]);
    let profile = profile(2, [(stack, 7)]);
    folder.look_writer.append_profile(&profile, &table).unwrap();
    written.profiles.push(profile);
    let looks = written.looks();
    assert_eq!(looks.symbols(), &table);
    assert_eq!(profiles_of(&looks), written.profiles);
    assert_eq!(looks.waits().map(Result::unwrap).count(), 2);
    let versions = fs::read_to_string(written.path.join("profiles.jsonl")).unwrap();
    assert_eq!(versions.matches("schema").count(), 1);
}

#[test]
fn a_run_goes_on_whatever_of_its_first_look_a_crash_left() {
    let whole = Folder::new();
    let files = ["symbols.jsonl", "profiles.jsonl"];
    let texts = files.map(|file| fs::read(whole.path.join(file)).unwrap());
    for (file, text) in files.iter().zip(&texts) {
        for length in (0..text.len()).step_by(7) {
            let temporary = tempfile::tempdir().unwrap();
            let path = temporary.path().join("run");
            RunFolder::create(&path).unwrap();
            write_run(&path, &Run::new(head(), Results::default())).unwrap();
            // A profile is written when its symbols are.
            if *file == "profiles.jsonl" {
                fs::write(path.join("symbols.jsonl"), &texts[0]).unwrap();
            }
            fs::write(path.join(file), &text[..length]).unwrap();
            let (mut folder, mut table) = resumed(&path);
            let stack = stack(&mut table, &["SSL_write", "do_command"]);
            let appended = profile(9, [(stack, 1)]);
            folder.look_writer.append_profile(&appended, &table).unwrap();
            let looks = folder.looks().unwrap();
            assert_eq!(looks.symbols(), &table);
            let last = looks.profiles().last().unwrap().unwrap().into_owned();
            assert_eq!(last, appended, "{file} of {length} bytes");
        }
    }
}

#[test]
fn damaged_lines_are_errors_that_name_the_file_and_the_line() {
    let cases = r#"
        symbols {"stacks":[[0,99]]} → names symbol 99, and only 3 are known
        symbols {"symbols":[{"module":7,"name":"f"}]} → names module 7
        symbols {"modules":[{"name":"mariadbd","build_id":"0123456789abcdef"}]} → gives number 0 a second time
        symbols {"stacks":[[0,-1]]} → cannot be read
        symbols {"stacks":[[0MANY]]} → has a stack of 5001 functions
        symbols DEEP → cannot be read
        profiles {SLICE,"sides":{"server":{"hz":997,"samples":1,"complete":1,"stacks":{"77":1}}}} → names stack 77
        profiles {SLICE,"sides":{"server":{"hz":0,"samples":1,"complete":1,"stacks":{"0":1}}}} → at no rate
        profiles {SLICE,"sides":{"server":{"hz":1,"samples":1,"complete":2,"stacks":{"0":1}}}} → complete stacks
        profiles {SLICE,"sides":{"server":{"hz":1,"samples":1,"complete":1,"stacks":{"0":2}}}} → in its stacks
        profiles {SLICE,"sides":{"server":{"hz":1,"samples":MAX,"complete":1,"stacks":{}}}} → MAX samples
        profiles {SLICE,"sides":{"server":{"hz":1,"samples":9,"complete":1,"stacks":{"0":MAX,"1":MAX}}}} → in its stacks
        profiles {} → cannot be read
        profiles NUL → cannot be read
        waits {SLICE,"rounds":1,"running":1,"idle":-1,"blocked":[]} → cannot be read
        waits {SLICE,"rounds":99999999999999,"running":1,"idle":1,"blocked":[]} → rounds
        waits {SLICE,"rounds":1,"running":1,"idle":1,"blocked":[{"call":"futex","stack":0,"seen":5,"complete":6}]} → complete
    "#;
    for case in cases.trim().lines().map(str::trim) {
        let written = Folder::new();
        let long = [
            (
                "SLICE",
                r#""cell":"c","block":0,"position":0,"arm":"tls""#.to_owned(),
            ),
            ("MAX", u64::MAX.to_string()),
            ("MANY", ",0".repeat(5000)),
            ("DEEP", "[".repeat(5000)),
            ("NUL", "\u{0}\u{0}".to_owned()),
        ];
        let case = long
            .iter()
            .fold(case.to_owned(), |case, (word, text)| case.replace(word, text));
        let (line, words) = case.split_once(" → ").unwrap();
        let (file, line) = line.split_once(' ').unwrap();
        let path = written.path.join(format!("{file}.jsonl"));
        append(&path, &format!("{line}\n"));
        let message = read_all(&written.path).unwrap_err();
        let lines = fs::read_to_string(path).unwrap().lines().count();
        for part in [&format!("{file}.jsonl: line {lines} "), words] {
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}

#[test]
fn another_format_is_refused_by_its_name_and_what_has_none_is_damaged() {
    for file in ["symbols.jsonl", "profiles.jsonl", "waits.jsonl"] {
        let written = Folder::new();
        fs::write(written.path.join(file), "{\"schema\":\"ciphertax.else/9\"}\n").unwrap();
        let message = read_all(&written.path).unwrap_err();
        let is_told = message.contains(file) && message.contains("ciphertax.else/9");
        assert!(is_told, "{message}");
        fs::write(written.path.join(file), "{\"x\":1}\n").unwrap();
        let message = read_all(&written.path).unwrap_err();
        let is_told = message.contains(file) && message.contains("does not say its version");
        assert!(is_told, "{message}");
    }
}

#[test]
fn nothing_comes_after_an_error() {
    let written = Folder::new();
    append(&written.path.join("profiles.jsonl"), "{}\n{}\n");
    assert_eq!(written.looks().profiles().filter(Result::is_err).count(), 1);
}

/// A second of samples at 997 Hz on two sides has hardly more than 700 stacks that differ, of which most were seen before.
#[test]
fn ten_minutes_take_less_than_a_hundred_megabytes_even_if_no_stack_is_seen_twice() {
    const SLICES: u32 = 300;
    const STACKS: u32 = 2 * 700;
    const FRAMES: u32 = 30;
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("run");
    let mut folder = RunFolder::create(&path).unwrap();
    let mut table = SymbolTable::default();
    let module = table.module(module("mariadbd"));
    let names = (0..5000).map(|n| format!("a_function_of_{n}(its arguments, and more of them)"));
    let symbols: Vec<u32> = names
        .map(|name| table.symbol(SymbolRecord { module, name }))
        .collect();
    for slice in 0..SLICES {
        let stacks = (0..STACKS).map(|n| {
            let number = slice * STACKS + n;
            let frames = (0..FRAMES).map(|depth| symbols[(number.wrapping_mul(depth + 1) % 5000) as usize]);
            let stack: Vec<u32> = frames.chain([symbols[(number / 5000) as usize]]).collect();
            (table.stack(&stack), 1)
        });
        let stacks: Vec<_> = stacks.collect();
        folder
            .look_writer
            .append_profile(&profile(slice, stacks), &table)
            .unwrap();
    }
    assert!(table.stacks().len() > 400_000);
    let sizes = fs::read_dir(&path)
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len());
    let megabytes = sizes.sum::<u64>() as f64 / 1e6;
    assert!(megabytes < 100.0, "{megabytes} MB");
    let looks = folder.looks().unwrap();
    assert_eq!(looks.symbols(), &table);
    assert_eq!(looks.profiles().map(Result::unwrap).count(), SLICES as usize);
}

/// A run folder with two profiles and two waits.
struct Folder {
    _temporary: tempfile::TempDir,
    path: PathBuf,
    table: SymbolTable,
    profiles: Vec<Profile>,
    waits: Vec<Waits>,
}

impl Folder {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("run");
        let mut folder = RunFolder::create(&path).unwrap();
        let mut table = SymbolTable::default();
        let (mut profiles, mut waits) = (Vec::new(), Vec::new());
        for block in 0..2 {
            let write = stack(&mut table, &["SSL_write", "do_command"]);
            let newer = stack(&mut table, &["do_command"]);
            profiles.push(profile(block, [(write, 3), (newer, 4)]));
            folder
                .look_writer
                .append_profile(&profiles[block as usize], &table)
                .unwrap();
            let waited = stack(&mut table, &["pthread_cond_wait", "do_command"]);
            waits.push(self::waits(block, waited));
            folder
                .look_writer
                .append_waits(&waits[block as usize], &table)
                .unwrap();
        }
        Self {
            _temporary: temporary,
            path,
            table,
            profiles,
            waits,
        }
    }

    fn looks(&self) -> LookFiles {
        write_run(&self.path, &Run::new(head(), Results::default())).unwrap();
        Recorded::open(&self.path).unwrap().looks().unwrap()
    }
}

fn profiles_of(looks: &LookFiles) -> Vec<Profile> {
    let profiles = looks.profiles();
    profiles.map(|profile| profile.unwrap().into_owned()).collect()
}

fn read_all(folder: &Path) -> Result<(), String> {
    write_run(folder, &Run::new(head(), Results::default())).unwrap();
    let looks = Recorded::open(folder)
        .unwrap()
        .looks()
        .map_err(|error| error.to_string())?;
    let profiles = looks.profiles().map(|profile| profile.map(drop));
    let all = profiles.chain(looks.waits().map(|waits| waits.map(drop)));
    all.collect::<Result<(), _>>().map_err(|error| error.to_string())
}

fn resumed(path: &Path) -> (RunFolder, SymbolTable) {
    let Head { tool, host, .. } = head();
    let cut_off = CutOff::open(path, &tool, &host).unwrap();
    let (folder, earlier) = Destination::Resumed(Box::new(cut_off)).open().unwrap();
    (folder, earlier.unwrap().symbols)
}

fn stack(table: &mut SymbolTable, names: &[&str]) -> u32 {
    let module = table.module(module("mariadbd"));
    let symbols: Vec<u32> = names
        .iter()
        .map(|name| {
            let name = (*name).to_owned();
            table.symbol(SymbolRecord { module, name })
        })
        .collect();
    table.stack(&symbols)
}

fn module(name: &str) -> ModuleRecord {
    ModuleRecord {
        name: name.into(),
        build_id: Some("0123456789abcdef".into()),
    }
}

fn profile(block: u32, stacks: impl IntoIterator<Item = (u32, u64)>) -> Profile {
    let stacks: BTreeMap<u32, u64> = stacks.into_iter().collect();
    let samples = stacks.values().sum();
    let side = SideProfile {
        hz: 997,
        samples,
        lost: 0,
        complete: samples,
        comprises: Complete::KernelUnnamed,
        stacks,
    };
    Profile {
        slice: slice(block),
        sides: BTreeMap::from([(ProfiledSide::Server, side)]),
    }
}

fn waits(block: u32, stack: u32) -> Waits {
    Waits {
        rounds: 46,
        running: 90,
        background_running: 1,
        idle: 20,
        inconsistent: 2,
        blocked: vec![Blocked {
            call: "futex".into(),
            object: Some("COND_manager+40".into()),
            stack,
            seen: 12,
            complete: 11,
            background: false,
        }],
        events: Some(WaitEvents {
            rounds: 9,
            sessions: BTreeMap::from([("LWLock:WALWrite".into(), 4)]),
        }),
        ..Waits::unseen(slice(block))
    }
}

fn slice(block: u32) -> SliceId {
    SliceId {
        cell: "point select".into(),
        block,
        position: 1,
        arm: "tls".into(),
    }
}

/// A head as it is before the first slice.
fn head() -> Head {
    let text = r#"{
      "tool": {"name": "ciphertax", "version": "0", "commit": "unknown"},
      "host": {"os": "", "kernel": "", "cpu": "", "cpus": 2, "memory_bytes": 0, "virtualization": "none"},
      "started": "2026-01-01T00:00:00Z", "status": {"state": "running"}, "command": "", "seed": 1,
      "study": {"name": "s", "question": "", "time_s": 10.0,
        "arm": [{"name": "plain", "transport": "plain"}, {"name": "tls", "transport": "tls1.3"}],
        "cell": [{"name": "c", "workload": "oltp_point_select", "load": {"connections": 8}}]},
      "servers": [], "arms": []
    }"#;
    serde_json::from_str(text).unwrap()
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}
