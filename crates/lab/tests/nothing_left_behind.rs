//! Whoever kills the owner of a private server, however hard: neither process nor folder nor port stays.

use ciphertax_testkit::*;

use crate::owner::Owner;
use crate::prelude::*;

const MARIADB_SERVER: &[&str] = &["server", "mariadb"];
const POSTGRESQL_SERVER: &[&str] = &["server", "postgresql"];
const COLUMN_RELAY: &[&str] = &["column-relay"];

#[test]
fn an_owner_that_ends_by_itself() {
    let mut owner = start();
    drop(owner.stdin.take());
    owner.expect_nothing_left();
}

#[test]
fn a_relay_that_encrypts_columns_goes_with_its_guard() {
    let mut owner = owner_of(COLUMN_RELAY, temporary_folder());
    kill_process(owner.guard(), Signal::KILL).unwrap();
    assert!(within(PATIENCE, || !owner.runs()));
    // Who lives removes what is left.
    drop(owner.stdin.take());
    owner.expect_nothing_left();
}

#[test]
fn an_owner_killed_by_sigkill() {
    for (owned, entry) in [
        (MARIADB_SERVER, &MARIADB),
        (COLUMN_RELAY, &MARIADB),
        (&["server", "mongodb"], &MONGODB),
        (POSTGRESQL_SERVER, &POSTGRESQL),
    ] {
        let Some(_) = fetched(entry) else { continue };
        let owner = owner_of(owned, temporary_folder());
        let pid = owner.pids[0];
        let name = owner.name();
        owner.killed_leaves_nothing();
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
    copy_program(&example("owner"), &program);
    for folder in [parent.path(), home.path()] {
        user.give(folder);
    }
    let mut command = match installation.program.starts_with(cache()) {
        false => {
            let mut command = command(&program, POSTGRESQL_SERVER, parent.path());
            // Its own templates, not root's.
            command.env("XDG_CACHE_HOME", home.path());
            user.run(&mut command);
            command
        }
        true => with_a_cache_of_its_own(user, &program, parent.path()),
    };
    command.current_dir("/");
    let owner = Owner::start(command, parent);
    assert!(user.has(owner.pids[0]));
    owner.killed_leaves_nothing();
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
        exec setpriv --clear-groups --reuid=\"$1\" --regid=\"$2\" \"$3\" server postgresql";
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
    let owner = start();
    kill_process(owner.pid(), Signal::TERM).unwrap();
    owner.expect_nothing_left();
}

#[test]
fn ctrl_c_at_the_terminal_reaches_the_owner_alone() {
    let parent = temporary_folder();
    let mut command = command(&example("owner"), MARIADB_SERVER, parent.path());
    // An owner that decides for itself when to end; what ignores a signal does so in the next program too.
    // SAFETY: a system call that touches no memory.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            Ok(())
        });
    }
    let owner = Owner::start(command, parent);
    // The terminal signals the whole foreground group.
    kill_process_group(owner.pid(), Signal::INT).unwrap();
    thread::sleep(Duration::from_millis(300));
    assert!(owner.runs());
    assert!(TcpStream::connect(owner.address).is_ok());
    owner.killed_leaves_nothing();
}

#[test]
fn an_owner_killed_at_any_moment_of_the_start() {
    let parent = temporary_folder();
    for delay in [0, 2, 5, 10, 20, 50, 100, 150, 200, 250, 300, 400] {
        let mut process = command(&example("owner"), MARIADB_SERVER, parent.path())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(delay));
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let in_time = within(PATIENCE, || processes_with(parent.path()).is_empty());
    assert!(in_time, "{:?}", processes_with(parent.path()));
    // A folder made just before there was a guard is left to the next start.
    let owner = owner_of(MARIADB_SERVER, parent);
    assert!(within(PATIENCE, || folders_in(owner.parent.path(), "")
        == [owner.folder.clone()]));
    owner.killed_leaves_nothing();
}

#[test]
fn a_guard_ignores_the_signals_that_end_an_owner() {
    let owner = start();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(owner.guard(), signal).unwrap();
    }
    thread::sleep(Duration::from_millis(300));
    assert!(owner.runs());
    owner.killed_leaves_nothing();
}

#[test]
fn a_guard_that_is_killed_takes_the_server_with_it_and_the_next_start_sweeps() {
    for (owned, entry) in [(MARIADB_SERVER, &MARIADB), (POSTGRESQL_SERVER, &POSTGRESQL)] {
        let Some(_) = fetched(entry) else { continue };
        let owner = owner_of(owned, temporary_folder());
        let pid = owner.pids[0];
        let name = owner.name();
        let (parent, folder) = owner.kill_with_guard();
        let next = owner_of(owned, parent);
        assert!(!folder.exists());
        assert!(within(PATIENCE, || command_lines_with(&name).is_empty()));
        assert!(within(PATIENCE, || !has_shared_memory(pid)));
        next.killed_leaves_nothing();
    }
}

#[test]
fn a_guard_started_by_hand_says_what_it_is_for() {
    let output = Command::new("/proc/self/exe")
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
    copy_program(&example("owner"), &program);
    let mut command = command(&program, MARIADB_SERVER, parent.path());
    user.run(&mut command);
    let owner = Owner::start(command, parent);
    assert!(user.has(owner.pids[0]));
    owner.killed_leaves_nothing();
}

fn start() -> Owner {
    owner_of(MARIADB_SERVER, temporary_folder())
}

fn owner_of(owned: &[&str], parent: tempfile::TempDir) -> Owner {
    Owner::start(command(&example("owner"), owned, parent.path()), parent)
}

fn command(program: &Path, owned: &[&str], temporary: &Path) -> Command {
    let mut command = owner_command(program, temporary);
    command.args(owned);
    command
}
