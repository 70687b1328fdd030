//! Whoever kills the owner of a private server, however hard: neither process nor folder nor port stays.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use ciphertax_lab::catalogue::{MARIADB, MONGODB, POSTGRESQL};
use ciphertax_testkit::{
    OrdinaryUser, PATIENCE, cache, command_lines_with, copy_program, example, fetched, folders_in,
    has_shared_memory, is_root, not_tested, owner_command, parent_of, processes_with, temporary_folder,
    within,
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

#[test]
fn an_owner_that_ends_by_itself() {
    let mut owner = Owner::start();
    drop(owner.stdin.take());
    owner.expect_nothing_left();
}

#[test]
fn a_relay_that_encrypts_columns_goes_with_its_guard() {
    let mut owner = Owner::of("column_relay", temporary_folder());
    kill_process(owner.guard(), Signal::KILL).unwrap();
    assert!(within(PATIENCE, || !owner.server_runs()));
    // Who lives removes what is left.
    drop(owner.stdin.take());
    owner.expect_nothing_left();
}

#[test]
fn an_owner_killed_by_sigkill() {
    for (program, entry) in [
        ("private_server", &MARIADB),
        ("column_relay", &MARIADB),
        ("private_mongodb", &MONGODB),
        ("private_postgresql", &POSTGRESQL),
    ] {
        if fetched(entry).is_none() {
            continue;
        }
        let owner = Owner::of(program, temporary_folder());
        let pid = owner.server.as_raw_nonzero().get().unsigned_abs();
        let name = name_of(&owner.folder);
        owner.process_ends_and_nothing_is_left();
        assert!(within(PATIENCE, || command_lines_with(&name).is_empty()));
        assert!(within(PATIENCE, || !has_shared_memory(pid)));
    }
}

#[test]
fn a_postgresql_works_for_an_ordinary_user() {
    if !is_root() {
        return not_tested("whoever is not root cannot become another user; the other tests have shown it");
    }
    let Some(installation) = fetched(&POSTGRESQL) else {
        return;
    };
    let (user, parent, home) = (OrdinaryUser::find(), temporary_folder(), temporary_folder());
    let program = parent.path().join("owner");
    copy_program(&example("private_postgresql"), &program);
    for folder in [parent.path(), home.path()] {
        user.give(folder);
    }
    let mut command = match installation.program().starts_with(cache()) {
        false => {
            let mut command = owner_command(&program, parent.path());
            // Its own templates, not root's.
            command.env("XDG_CACHE_HOME", home.path());
            user.run(&mut command);
            command
        }
        true => with_a_cache_of_its_own(user, &program, parent.path()),
    };
    command.current_dir("/");
    let owner = Owner::start_in(program, command, parent);
    assert!(user.has(owner.server.as_raw_nonzero().get().unsigned_abs()));
    owner.process_ends_and_nothing_is_left();
}

/// An owner that finds the PostgreSQL that root has fetched where it is, and beside it nothing of root's: it names its
/// libraries by that place, where no other user comes.
fn with_a_cache_of_its_own(user: OrdinaryUser, program: &Path, temporary: &Path) -> Command {
    let servers = cache().join("ciphertax/servers");
    // What only root may enter is covered, where nobody else sees it.
    let top: PathBuf = servers.components().take(2).collect();
    let line = "mkdir \"$1/kept\" && mount --bind \"$2/postgresql\" \"$1/kept\" && mount -t tmpfs none \"$3\" && \
        mkdir -p \"$2/postgresql\" && chown -R \"$4:$5\" \"$2/..\" && \
        mount --bind \"$1/kept\" \"$2/postgresql\" && umount \"$1/kept\" && rmdir \"$1/kept\" && shift 3 && \
        exec setpriv --clear-groups --reuid=\"$1\" --regid=\"$2\" \"$3\"";
    let mut command = owner_command(Path::new("unshare"), temporary);
    command
        .args(["--mount", "sh", "-c", line, "sh"])
        .args([temporary, &servers, &top])
        .args([user.user.to_string(), user.group.to_string()])
        .arg(program)
        .env("XDG_CACHE_HOME", cache());
    command
}

#[test]
fn an_owner_ended_by_sigterm() {
    let owner = Owner::start();
    kill_process(owner.pid(), Signal::TERM).unwrap();
    owner.expect_nothing_left();
}

#[test]
fn ctrl_c_at_the_terminal_reaches_the_owner_alone() {
    let parent = temporary_folder();
    let mut command = owner_command(&owner_program(), parent.path());
    // An owner that decides for itself when to end; what ignores a signal does so in the next program too.
    // SAFETY: a system call that touches no memory.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            Ok(())
        });
    }
    let owner = Owner::start_in(owner_program(), command, parent);
    // The terminal signals the whole foreground group.
    kill_process_group(owner.pid(), Signal::INT).unwrap();
    thread::sleep(Duration::from_millis(300));
    assert!(owner.server_runs());
    assert!(TcpStream::connect(owner.address).is_ok());
    owner.process_ends_and_nothing_is_left();
}

#[test]
fn an_owner_killed_at_any_moment_of_the_start() {
    let parent = temporary_folder();
    for delay in [0, 2, 5, 10, 20, 50, 100, 150, 200, 250, 300, 400] {
        let mut process = owner_command(&owner_program(), parent.path()).spawn().unwrap();
        thread::sleep(Duration::from_millis(delay));
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert!(
        within(PATIENCE, || processes_with(parent.path()).is_empty()),
        "{:?}",
        processes_with(parent.path())
    );
    // A folder made just before there was a guard is left to the next start.
    let owner = Owner::of("private_server", parent);
    assert!(within(PATIENCE, || folders_in(owner.parent.path(), "")
        == [owner.folder.clone()]));
    owner.process_ends_and_nothing_is_left();
}

#[test]
fn a_guard_ignores_the_signals_that_end_an_owner() {
    let owner = Owner::start();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(owner.guard(), signal).unwrap();
    }
    thread::sleep(Duration::from_millis(300));
    assert!(owner.server_runs());
    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.expect_nothing_left();
}

#[test]
fn a_guard_that_is_killed_takes_the_server_with_it_and_the_next_start_sweeps() {
    for (program, entry) in [("private_server", &MARIADB), ("private_postgresql", &POSTGRESQL)] {
        if fetched(entry).is_none() {
            continue;
        }
        let owner = Owner::of(program, temporary_folder());
        let pid = owner.server.as_raw_nonzero().get().unsigned_abs();
        let name = name_of(&owner.folder);
        // First the owner is stopped, so that it cannot clean up.
        kill_process(owner.pid(), Signal::STOP).unwrap();
        kill_process(owner.guard(), Signal::KILL).unwrap();
        assert!(within(PATIENCE, || !owner.server_runs()));
        kill_process(owner.pid(), Signal::KILL).unwrap();
        let Owner {
            mut process,
            parent,
            folder,
            ..
        } = owner;
        process.wait().unwrap();
        assert!(folder.exists());
        let next = Owner::of(program, parent);
        assert!(!folder.exists());
        assert!(within(PATIENCE, || command_lines_with(&name).is_empty()));
        assert!(within(PATIENCE, || !has_shared_memory(pid)));
        next.process_ends_and_nothing_is_left();
    }
}

#[test]
fn a_guard_started_by_hand_says_what_it_is_for() {
    let output = Command::new(owner_program())
        .arg("guard")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("started by ciphertax itself"));
}

#[test]
fn it_works_for_an_ordinary_user() {
    if !is_root() {
        return not_tested("whoever is not root cannot become another user; the other tests have shown it");
    }
    let (user, parent) = (OrdinaryUser::find(), temporary_folder());
    user.give(parent.path());
    let program = parent.path().join("owner");
    copy_program(&owner_program(), &program);
    let mut command = owner_command(&program, parent.path());
    user.run(&mut command);
    let owner = Owner::start_in(program, command, parent);
    assert!(user.has(owner.server.as_raw_nonzero().get().unsigned_abs()));
    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.expect_nothing_left();
}

/// A process that owns a private server among temporary files of its own.
struct Owner {
    process: Child,
    stdin: Option<ChildStdin>,
    parent: tempfile::TempDir,
    server: Pid,
    address: SocketAddr,
    folder: PathBuf,
}

impl Owner {
    fn start() -> Self {
        Self::of("private_server", temporary_folder())
    }

    /// One that is an example of this crate.
    fn of(program: &str, parent: tempfile::TempDir) -> Self {
        let program = example(program);
        Self::start_in(program.clone(), owner_command(&program, parent.path()), parent)
    }

    fn start_in(program: PathBuf, mut command: Command, parent: tempfile::TempDir) -> Self {
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let [pid, address, folder] = words[..] else {
            panic!("{} said {line:?}", program.display())
        };
        let owner = Self {
            stdin: process.stdin.take(),
            process,
            parent,
            server: Pid::from_raw(pid.parse().unwrap()).unwrap(),
            address: address.parse().unwrap(),
            folder: folder.into(),
        };
        assert!(owner.server_runs());
        assert!(owner.folder.starts_with(owner.parent.path()));
        owner
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// The guard is the server's parent.
    fn guard(&self) -> Pid {
        let server = self.server.as_raw_nonzero().get().unsigned_abs();
        Pid::from_raw(parent_of(server).unwrap().cast_signed()).unwrap()
    }

    /// True while the server's process exists and is not just waiting to be reaped.
    fn server_runs(&self) -> bool {
        fs::read_link(format!("/proc/{}/exe", self.server.as_raw_nonzero())).is_ok()
    }

    fn process_ends_and_nothing_is_left(self) {
        kill_process(self.pid(), Signal::KILL).unwrap();
        self.expect_nothing_left();
    }

    fn expect_nothing_left(mut self) {
        self.process.wait().unwrap();
        assert!(within(PATIENCE, || !self.server_runs()), "the server still runs");
        assert!(
            within(PATIENCE, || !self.folder.exists()),
            "the folder is still there"
        );
        assert!(
            within(PATIENCE, || processes_with(self.parent.path()).is_empty()),
            "a process still runs"
        );
        assert_eq!(folders_in(self.parent.path(), ""), Vec::<PathBuf>::new());
        assert!(TcpStream::connect(self.address).is_err());
    }
}

fn owner_program() -> PathBuf {
    example("private_server")
}

/// By which the processes of a PostgreSQL name themselves.
fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap().to_str().unwrap().to_owned()
}
