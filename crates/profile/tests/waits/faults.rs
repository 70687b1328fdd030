//! Servers that end, threads that come and go, and processes that may not be looked at.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_profile::ProfileError;
use ciphertax_records::SliceId;
use ciphertax_testkit::{OrdinaryUser, is_root, not_tested};

use crate::common::{Client, Looker, of_sessions};
use crate::process::Threads;

#[test]
fn of_a_server_that_is_killed_in_a_slice_remains_what_was_seen() {
    let mut threads = Threads::start([3, 0, 0, 2]);
    let pid = threads.0.id();
    let mut looker = Looker::at(vec![pid], false);
    looker.begin();
    thread::sleep(Duration::from_millis(300));
    threads.0.kill().unwrap();
    threads.0.wait().unwrap();
    thread::sleep(Duration::from_millis(200));
    let waits = looker.end();
    looker.print(&waits);
    assert!(waits.idle > 0 && !waits.blocked.is_empty());
    // It ended in the midst of a round at most.
    assert!((2 * waits.rounds).abs_diff(waits.idle) <= 2);
    let refused = looker
        .sampler
        .begin(&looker.watched, &mut looker.stacks)
        .unwrap_err();
    assert!(matches!(refused, ProfileError::ProcessEnded(_)), "{refused}");
    // And the next server is looked at as if nothing had been.
    let next = Threads::start([1, 0, 0, 1]);
    looker.watched.server = vec![next.0.id()];
    let waits = looker.look(Duration::from_millis(300));
    assert_eq!(waits.idle, waits.rounds);
}

#[test]
fn threads_that_come_and_go_are_sessions_while_they_are_there() {
    let server = PrivateServer::builder(&MARIADB)
        .option("--thread-cache-size=0")
        .start()
        .unwrap();
    let mut looker = Looker::at(server.pids(), false);
    looker.begin();
    let began = Instant::now();
    let mut connections = 0;
    while connections < 200 || began.elapsed() < Duration::from_secs(1) {
        drop(Client::mysql(&server));
        connections += 1;
    }
    let waits = looker.end();
    println!("{connections} connections");
    looker.print(&waits);
    // One connection after the other: at most one at a time, and the last may still end.
    let sessions = of_sessions(&waits);
    assert!(sessions > 0 && sessions <= 2 * waits.rounds, "{sessions}");
}

#[test]
fn slices_without_an_end_or_a_begin_leave_nothing_behind() {
    let threads = Threads::start([1, 1, 0, 1]);
    let mut looker = Looker::at(vec![threads.0.id()], false);
    let (stacks, symbols) = (&mut looker.stacks, &mut looker.symbols);
    assert!(looker.sampler.waits(SliceId::default(), stacks, symbols).is_err());
    looker.begin();
    looker.begin();
    looker.sampler.stop();
    looker.sampler.stop();
    let waits = looker.end();
    assert_eq!(waits.idle, waits.rounds);
    looker.begin();
    drop(looker);
}

#[test]
fn a_process_of_another_user_is_refused_with_a_remedy_and_ones_own_is_not() {
    if !is_root() {
        return not_tested("only root can be somebody else");
    }
    let user = OrdinaryUser::find();
    let of_root = Threads::start([1, 0, 0, 0]);
    let mut own = user.run(Command::new("sleep").arg("100")).spawn().unwrap();
    let (root, pid) = (of_root.0.id(), own.id());
    let looked = thread::spawn(move || {
        become_user(user);
        let mut looker = Looker::at(vec![root], false);
        let refused = looker
            .sampler
            .begin(&looker.watched, &mut looker.stacks)
            .unwrap_err();
        looker.watched.server = vec![pid];
        (refused, looker.look(Duration::from_millis(300)))
    });
    let (refused, waits) = looked.join().unwrap();
    own.kill().unwrap();
    own.wait().unwrap();
    assert!(matches!(refused, ProfileError::Refused { .. }), "{refused:?}");
    assert!(refused.to_string().contains("as root"), "{refused}");
    assert_eq!((waits.blocked[0].seen, waits.unreadable), (waits.rounds, 0));
}

/// Makes the calling thread, and no other, an ordinary user's.
fn become_user(user: OrdinaryUser) {
    // SAFETY: system calls that take numbers; that only one thread becomes another's is what they are called for.
    unsafe {
        let group = libc::syscall(libc::SYS_setresgid, user.group, user.group, user.group);
        assert_eq!(group, 0);
        let user = libc::syscall(libc::SYS_setresuid, user.user, user.user, user.user);
        assert_eq!(user, 0);
    }
}
