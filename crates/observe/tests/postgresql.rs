//! PostgreSQL, which forks for every connection, against what the kernel says of all its processes after their end.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::fs;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ciphertax_observe::{Meter, ProcessMeter, ProcessTree};
use ciphertax_testkit::{
    OrdinaryUser, PATIENCE, cache, copy_program, is_root, not_tested, temporary_folder, within,
};

const TICKS_NS: u64 = 20_000_000;

#[test]
fn postgresql_is_read_with_all_its_backends() {
    let temporary = temporary_folder();
    let folder = temporary.path();
    let Some(programs) = programs(folder) else {
        return not_tested(
            "there is no PostgreSQL with initdb, postgres and pgbench; scripts/setup.sh test unpacks one",
        );
    };
    let program = |name: &str| programs.as_user(name);
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
    assert!(
        used as f64 >= 0.97 * truth as f64 - TICKS_NS as f64,
        "{used} ns of {truth}"
    );
    assert!(alone < truth / 2, "{alone} ns of {truth}: it is not one process");
}

/// PostgreSQL's programs, and where libraries are that the system may lack.
struct Programs {
    folder: PathBuf,
    libraries: Option<PathBuf>,
}

/// Those of the system, or else what the set-up script has unpacked, which is copied to where an ordinary user may execute
/// it.
fn programs(copies: &Path) -> Option<Programs> {
    if let Some(folder) = on_path().or_else(|| newest(Path::new("/"))) {
        return Some(Programs {
            folder,
            libraries: None,
        });
    }
    let unpacked = cache().join("ciphertax/postgresql");
    newest(&unpacked)?;
    let copy = copies.join("postgresql");
    copy_program(&unpacked, &copy);
    let libraries = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    Some(Programs {
        folder: newest(&copy)?,
        libraries: Some(copy.join(libraries)),
    })
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter_map(|folder| {
        let postgres = fs::canonicalize(folder.join("postgres")).ok()?;
        postgres.parent().map(Path::to_owned)
    });
    folders.into_iter().find(|folder| has_all(folder))
}

/// Where packages of Debian and Ubuntu have them below `root`: a folder for each version.
fn newest(root: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(root.join("usr/lib/postgresql")).ok()?;
    let version = |folder: &PathBuf| folder.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .filter(|folder| has_all(folder))
        .max_by_key(version)
}

fn has_all(folder: &Path) -> bool {
    let all = ["initdb", "postgres", "pgbench", "pg_isready"];
    all.into_iter().all(|name| folder.join(name).exists())
}

impl Programs {
    /// PostgreSQL refuses to be root's.
    fn as_user(&self, name: &str) -> Command {
        let mut command = Command::new(self.folder.join(name));
        command.current_dir("/").stdin(Stdio::null());
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        if is_root() {
            OrdinaryUser::find().run(&mut command);
        }
        command
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
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
