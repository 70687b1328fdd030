//! PostgreSQL, which forks for every connection, against what the kernel says of all its processes after their end.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::mem::MaybeUninit;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ciphertax_observe::{Meter, ProcessMeter, ProcessTree};
use ciphertax_testkit::{OrdinaryUser, PATIENCE, is_root, postgresql_programs, temporary_folder, within};

const TICKS_NS: u64 = 20_000_000;

#[test]
fn postgresql_is_read_with_all_its_backends() {
    let temporary = temporary_folder();
    let folder = temporary.path();
    let Some(programs) = postgresql_programs() else {
        return;
    };
    let program = |name: &str| as_user(&programs.join(name));
    if is_root() {
        OrdinaryUser::find().give(folder);
    }
    let data = folder.join("data");
    run(program("initdb")
        .arg("-D")
        .arg(&data)
        .args(["-A", "trust", "-U", "tester", "--no-sync"]));
    let server = program("postgres")
        .arg("-D")
        .arg(&data)
        .arg("-k")
        .arg(folder)
        .args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "jit=off"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let server = Server(server.unwrap());
    // From the beginning, as the kernel's account of it does.
    let tree = ProcessTree::open(&[server.0.id()]).unwrap();
    let postmaster = ProcessMeter::open(server.0.id()).unwrap();
    let (before, alone) = (tree.read().unwrap(), postmaster.read().unwrap());
    let client = |name: &str| {
        let mut command = program(name);
        command.arg("-h").arg(folder).args(["-U", "tester"]);
        command
    };
    assert!(within(PATIENCE, || {
        client("pg_isready")
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    }));
    run(client("pgbench").args(["-i", "-s", "1", "postgres"]));
    // A connection for each transaction, then connections that stay.
    run(client("pgbench").args(["-S", "-C", "-c", "2", "-t", "150", "postgres"]));
    run(client("pgbench").args(["-S", "-c", "2", "-t", "3000", "postgres"]));
    tree.settle(Duration::from_millis(1), Duration::from_secs(1))
        .unwrap();
    let used = tree.read().unwrap().since(&before).cpu.unwrap().total_ns;
    let alone = postmaster.read().unwrap().since(&alone).cpu.unwrap().total_ns;

    let truth = server.end();
    println!("{used} ns of {truth}, of which the postmaster alone used {alone}");
    // To end it, it works a little more.
    assert!(used <= truth + TICKS_NS, "{used} ns of {truth}");
    let is_near = used as f64 >= 0.97 * truth as f64 - TICKS_NS as f64;
    assert!(is_near, "{used} ns of {truth}");
    assert!(alone < truth / 2, "{alone} ns of {truth}: it is not one process");
}

/// A program of PostgreSQL, which refuses to be root's.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").stdin(Stdio::null());
    if is_root() {
        OrdinaryUser::find().run_as_reader(&mut command);
    }
    command
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let holds = output.status.success();
    assert!(holds, "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A server that ends with this.
struct Server(Child);

impl Server {
    /// Ends it at once, and returns the CPU time that all its processes used, in nanoseconds, from the kernel's account for
    /// their parent.
    fn end(self) -> u64 {
        let pid = self.0.id().cast_signed();
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the number is of a child that nobody else waits for, and the pointer to a value that outlives the call.
        let usage = unsafe {
            libc::kill(pid, libc::SIGQUIT);
            assert_eq!(libc::wait4(pid, std::ptr::null_mut(), 0, usage.as_mut_ptr()), pid);
            usage.assume_init()
        };
        std::mem::forget(self);
        [usage.ru_utime, usage.ru_stime]
            .iter()
            .map(|time| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000)
            .sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: the number is of a child that nobody has waited for.
        unsafe { libc::kill(self.0.id().cast_signed(), libc::SIGQUIT) };
        let _ = self.0.wait();
    }
}
