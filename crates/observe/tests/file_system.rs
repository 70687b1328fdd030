//! What real file systems cost outside of the clock of who writes to them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use ciphertax_lab::file_system::{self, MountedFileSystem};
use ciphertax_model::FileSystem;
use ciphertax_observe::{FileSystemMeter, FileSystemUsed, Storage};
use ciphertax_supervise::guard::Guard;
use ciphertax_supervise::{GuardProgram, PrivateFolder};
use ciphertax_testkit::{PATIENCE, not_tested, says, within};

ciphertax_testkit::plays_roles!();

const MEGABYTE: usize = 1 << 20;

#[test]
fn a_daemon_pays_for_what_is_written_and_for_nothing_when_nothing_is() {
    let Some((mounted, _guard)) = mounted(FileSystem::Gocryptfs) else {
        return;
    };
    let meter = meter_of(&mounted);
    // Its clock stands still while nobody asks for anything, and for as long.
    let quiet = Duration::from_millis(300);
    assert!(meter.settle(quiet, PATIENCE).unwrap());
    let write = |name, megabytes| write_and_read_meter(&mounted, &meter, name, megabytes);
    // The first of all takes more than those after it, and whatever disturbs one takes more too.
    write("first", 2);
    let little = ["second", "third", "fourth"].map(|name| write(name, 2));
    let little = little.into_iter().min_by_key(|used| used.own.total_ns).unwrap();
    let much = write("much", 32);
    assert!(little.own.total_ns > 0, "{little:?}");
    assert!(much.own.total_ns > 4 * little.own.total_ns, "{little:?} {much:?}");
}

#[test]
fn what_is_read_is_what_the_kernel_says_of_each_that_works() {
    for kind in [FileSystem::Gocryptfs, FileSystem::Fscrypt] {
        let Some((mounted, _guard)) = mounted(kind) else {
            continue;
        };
        // The kernel ends workers when it likes; a reading over which one ended is no sum of all.
        if !(0..10).any(|_| meter_agrees_with_the_kernel(kind, &mounted)) {
            not_tested(format_args!(
                "{kind}: workers of the kernel are not seen here, or always ended meanwhile"
            ));
        }
    }
}

/// False if workers of the kernel are not seen, or one of them ended meanwhile.
fn meter_agrees_with_the_kernel(kind: FileSystem, mounted: &MountedFileSystem) -> bool {
    let pids = mounted.workers().pids();
    let meter = meter_of(mounted);
    mounted.flush().unwrap();
    assert!(meter.settle(Duration::from_millis(300), PATIENCE).unwrap());
    // The meter's readings lie between those of this test.
    let (own_before, outer_before) = (ticks_ns(&pids), workers_ns());
    let before = meter.read().unwrap();
    let inner_before = workers_ns();
    // Encrypted by the daemon, or by workers when it is written back.
    let mut file = File::create(mounted.folder().join("file")).unwrap();
    for _ in 0..40 {
        file.write_all(&[b'.'; MEGABYTE]).unwrap();
    }
    file.sync_all().unwrap();
    let inner = risen(&inner_before, &workers_ns());
    let used = meter.read().unwrap().since(&before);
    assert!(meter.settle(Duration::from_millis(300), PATIENCE).unwrap());
    let settled = meter.read().unwrap().since(&before);
    let (own, outer) = (ticks_ns(&pids) - own_before, risen(&outer_before, &workers_ns()));
    // The kernel says it in ticks, rounded down for each of them.
    let rounding = TICK_NS * (pids.len() as u64 + 1);
    let is_near = settled.own.total_ns.abs_diff(own) <= rounding;
    assert!(is_near, "{kind}: {settled:?} {own}");
    let Some(shared) = used.shared.filter(|shared| shared.ended == 0) else {
        return false;
    };
    let said = (shared.cpu_ns + TICK_NS, outer + TICK_NS);
    let is_between = said.0 >= inner && shared.cpu_ns <= said.1;
    assert!(is_between, "{kind}: {inner} {shared:?} {outer}");
    true
}

#[test]
fn what_is_written_through_a_file_system_over_a_folder_is_written_to_the_device_beneath() {
    for kind in [FileSystem::Gocryptfs, FileSystem::Fscrypt] {
        let Some((mounted, _guard)) = mounted(kind) else {
            continue;
        };
        // Both lie in a folder of their own beside it.
        let beside = Storage::under(mounted.folder().parent().unwrap());
        assert_eq!(Storage::under(mounted.folder()), beside, "{kind}");
        let Some(device) = beside.device() else {
            not_tested(format_args!("{kind}: private folders lie on no device here"));
            continue;
        };
        let before = device.read().unwrap();
        let mut file = File::create(mounted.folder().join("file")).unwrap();
        for _ in 0..8 {
            file.write_all(&[b'.'; MEGABYTE]).unwrap();
        }
        file.sync_all().unwrap();
        let used = device.read().unwrap().since(&before);
        assert!(used.written_bytes >= 8 * MEGABYTE as u64, "{kind}: {used:?}");
    }
}

#[test]
fn the_journal_pays_for_itself_and_workers_are_told_apart() {
    let Some((mounted, _guard)) = mounted(FileSystem::Fscrypt) else {
        return;
    };
    let workers = mounted.workers();
    if workers.own.is_empty() {
        return not_tested("threads of the kernel are not seen in a container");
    }
    assert!(workers.own[0].name.starts_with("jbd2/loop"), "{workers:?}");
    let shared = workers.shared.join("; ");
    says(&shared, "loop device … encrypted by the kworkers");
    let meter = meter_of(&mounted);
    mounted.flush().unwrap();
    assert!(meter.settle(Duration::from_millis(300), PATIENCE).unwrap());
    let before = meter.read().unwrap();
    // Every flush of a new file is a transaction of the journal.
    for file in 0..50 {
        let mut file = File::create(mounted.folder().join(file.to_string())).unwrap();
        file.write_all(&[b'.'; 4096]).unwrap();
        file.sync_all().unwrap();
    }
    let used = meter.read().unwrap().since(&before);
    assert!(used.own.total_ns > 0, "{used:?}");
    assert!(used.shared.unwrap().cpu_ns > 0, "{used:?}");
}

#[test]
fn a_folder_has_nobody_of_its_own_and_says_who_else_works_for_it() {
    let (mounted, _guard) = mounted(FileSystem::Bind).unwrap();
    let workers = mounted.workers();
    assert!(workers.own.is_empty());
    assert!(!workers.shared.is_empty());
    let meter = meter_of(&mounted);
    let used = write_and_read_meter(&mounted, &meter, "file", 2);
    assert_eq!(used.own.total_ns, 0);
}

#[test]
fn a_daemon_that_has_ended_cannot_be_read() {
    let Some((mounted, mut guard)) = mounted(FileSystem::Gocryptfs) else {
        return;
    };
    let meter = meter_of(&mounted);
    mounted.lock(&mut guard).unwrap();
    assert!(within(PATIENCE, || meter.read().is_err()));
}

const TICK_NS: u64 = 10_000_000;

/// What `/proc/PID/stat` says of processes: the 14th and the 15th number, in hundredths of a second.
fn ticks_ns(pids: &[u32]) -> u64 {
    let ticks = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, behind_name) = stat.rsplit_once(") ").unwrap();
        let fields: Vec<&str> = behind_name.split(' ').collect();
        [11, 12]
            .map(|field: usize| fields[field].parse::<u64>().unwrap())
            .iter()
            .sum::<u64>()
    };
    pids.iter().map(ticks).sum::<u64>() * TICK_NS
}

/// What `/proc/PID/schedstat` says of each of the kernel's workers, in nanoseconds.
fn workers_ns() -> BTreeMap<u32, u64> {
    let pids = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let worker = |pid: u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        let said = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
        let ns = said.split(' ').next()?.parse().ok()?;
        name.starts_with("kworker/").then_some((pid, ns))
    };
    pids.filter_map(worker).collect()
}

fn risen(before: &BTreeMap<u32, u64>, now: &BTreeMap<u32, u64>) -> u64 {
    now.iter()
        .map(|(pid, ns)| ns.saturating_sub(before.get(pid).copied().unwrap_or(0)))
        .sum()
}

fn meter_of(mounted: &MountedFileSystem) -> FileSystemMeter {
    FileSystemMeter::open(&mounted.workers().pids()).unwrap()
}

fn write_and_read_meter(
    mounted: &MountedFileSystem,
    meter: &FileSystemMeter,
    name: &str,
    megabytes: usize,
) -> FileSystemUsed {
    let before = meter.read().unwrap();
    let mut file = File::create(mounted.folder().join(name)).unwrap();
    for _ in 0..megabytes {
        file.write_all(&[b'.'; MEGABYTE]).unwrap();
    }
    file.sync_all().unwrap();
    meter.read().unwrap().since(&before)
}

/// A file system that lives as long as its guard; `None` where there can be none of this kind.
#[track_caller]
fn mounted(kind: FileSystem) -> Option<(MountedFileSystem, Guard)> {
    if let Err(error) = file_system::check(kind) {
        not_tested(format_args!("{kind}: {error}"));
        return None;
    }
    let folder = PrivateFolder::create(64).unwrap();
    let mut guard = Guard::start(&GuardProgram::this_program(), folder).unwrap();
    let folder = guard.folder().join("data");
    fs::create_dir(&folder).unwrap();
    let mounted = file_system::mount(kind, &folder, 64, &mut guard).unwrap();
    Some((mounted, guard))
}
