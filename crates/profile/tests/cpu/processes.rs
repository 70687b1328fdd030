//! Processes that begin and end while they are watched.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ciphertax_profile::{ProfileError, Watched};
use ciphertax_records::why::{ProfiledSide, SideProfile};

use crate::common::{Bed, share, side};

const LONG: Duration = Duration::from_millis(400);

fn shell(script: &str) -> Child {
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    command.spawn().unwrap()
}

fn watched(server: &Child, with_children: bool) -> Watched {
    Watched {
        server: vec![server.id()],
        with_children,
        ..Watched::default()
    }
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_server_that_ends_in_a_slice_leaves_what_was_seen_of_it() {
    let Some(mut bed) = Bed::new() else { return };
    let server = shell("while :; do :; done");
    // Until it has loaded its libraries.
    thread::sleep(Duration::from_millis(100));
    let watched = watched(&server, false);
    let (profile, ()) = bed.profile(&watched, || {
        thread::sleep(LONG);
        end(server);
        thread::sleep(Duration::from_millis(50));
    });
    let server = side(&profile, ProfiledSide::Server);
    assert!(server.samples > 20, "{server:?}");
    assert!(share(server.complete, server.samples) >= 0.95, "{server:?}");
    let again = bed.profiler.begin(&watched, &mut bed.stacks);
    let is_refused = matches!(again, Err(ProfileError::ProcessEnded(_)));
    assert!(is_refused, "{again:?}");
}

#[test]
fn children_that_come_and_go_are_the_servers_where_it_is_said() {
    let Some(mut bed) = Bed::new() else { return };
    // Each of its children, which it forks anew, does a little more than it does itself.
    let server = shell("while :; do (i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done); done");
    let mut samples = |with_children| {
        let (profile, ()) = bed.profile(&watched(&server, with_children), || thread::sleep(LONG));
        let server = side(&profile, ProfiledSide::Server).clone();
        println!("{} samples, {} complete", server.samples, server.complete);
        server
    };
    let is_more =
        |(alone, all): &(SideProfile, SideProfile)| has_many(all) && all.samples > 2 * alone.samples;
    // A busy machine may give a slice to the server and the next to nobody.
    let mut pairs = vec![(samples(false), samples(true))];
    while pairs.len() < 5 && !pairs.last().is_some_and(is_more) {
        pairs.push((samples(false), samples(true)));
    }
    end(server);
    for (_, all) in pairs.iter().filter(|(_, all)| has_many(all)) {
        assert_children_are_known(&bed, all);
    }
    assert!(pairs.last().is_some_and(is_more), "{pairs:?}");
}

fn has_many(server: &SideProfile) -> bool {
    server.samples > 20
}

/// They have ended, and are named by whom they have their memory from.
fn assert_children_are_known(bed: &Bed, all: &SideProfile) {
    assert!(share(all.complete, all.samples) >= 0.95, "{all:?}");
    let functions = bed.functions(all);
    let in_shell: u64 = functions
        .iter()
        .filter(|((_, module), _)| module.contains("sh"))
        .map(|(_, count)| count)
        .sum();
    assert!(in_shell > all.samples / 2, "{functions:?}");
}

#[test]
fn children_that_were_there_before_are_seen_too() {
    let Some(mut bed) = Bed::new() else { return };
    let mut server = shell("(while :; do :; done) & read line; kill $!");
    thread::sleep(Duration::from_millis(100));
    let (profile, ()) = bed.profile(&watched(&server, true), || thread::sleep(LONG));
    drop(server.stdin.take());
    server.wait().unwrap();
    let server = side(&profile, ProfiledSide::Server);
    assert!(server.samples > 20, "{server:?}");
}
