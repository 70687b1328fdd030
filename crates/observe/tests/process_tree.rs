//! The CPU time of processes that come and go, where the truth is made: each that works reads its own clock.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod forking_server;

use std::thread;
use std::time::Duration;

use ciphertax_observe::{
    Error, Meter, OwnThreads, ProcessMeter, ProcessTree, ThreadUsage, Unmetered, Usage, Used,
};
use ciphertax_testkit::{PATIENCE, within};
use forking_server::{Answered, ForkingServer, Worker};

const TICK_NS: u64 = 10_000_000;
const QUIET: Duration = Duration::from_millis(1);
const AT_MOST: Duration = Duration::from_secs(2);

/// Reads a tree once it is quiet.
fn read(tree: &ProcessTree) -> Usage {
    tree.settle(QUIET, AT_MOST).unwrap();
    tree.read().unwrap()
}

/// Holds what a tree is said to have used to the truth: 2 %, and two ticks for each of `waiting`, the processes that waited
/// for others.
#[track_caller]
fn assert_used(used: Used, truth_ns: u64, waiting: u64) {
    let total_ns = used.cpu.unwrap().total_ns;
    let allowed = truth_ns / 50 + waiting * 2 * TICK_NS;
    println!("{total_ns} ns against {truth_ns}");
    assert!(
        total_ns.abs_diff(truth_ns) <= allowed,
        "{total_ns} ns against {truth_ns}, which may differ by {allowed}"
    );
}

/// What the tree says of `work`, and what the server says that it used for it with all that it waited for. That is no less
/// than what those say who did the work.
fn measure(server: &ForkingServer, work: impl FnOnce() -> u64) -> (Used, u64) {
    let tree = ProcessTree::open(&[server.pid]).unwrap();
    let (before_ns, before) = (server.cpu_ns(), read(&tree));
    let worked_ns = work();
    wait_until(|| children(server.pid).is_empty());
    let (truth_ns, after) = (server.cpu_ns() - before_ns, read(&tree));
    assert!(truth_ns >= worked_ns, "{truth_ns} is less than {worked_ns}");
    (after.since(&before), truth_ns)
}

/// `count` connections one after the other, each of which burns so much and ends.
fn connections(server: &ForkingServer, worker: Worker, count: u32, burn: Duration) -> u64 {
    (0..count).map(|_| server.ask(worker, burn).end()).sum()
}

fn children(pid: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

fn wait_until(is_so: impl Fn() -> bool) {
    assert!(within(PATIENCE, is_so));
}

#[test]
fn children_that_come_and_go_between_two_readings_are_counted() {
    let server = ForkingServer::start("come-and-go", false);
    let (used, truth) = measure(&server, || {
        connections(&server, Worker::Child, 100, Duration::from_millis(10))
    });
    assert_used(used, truth, 1);
    // Nobody knows theirs.
    assert_eq!((used.context_switches, used.run_queue_wait_ns), (None, None));
}

#[test]
fn the_error_does_not_grow_with_the_number_of_children() {
    let server = ForkingServer::start("many", false);
    // Each burns less than a tick.
    let (used, truth) = measure(&server, || {
        connections(&server, Worker::Child, 400, Duration::from_millis(4))
    });
    assert_used(used, truth, 1);
}

#[test]
fn readings_one_after_the_other_add_up() {
    let server = ForkingServer::start("adding-up", false);
    let tree = ProcessTree::open(&[server.pid]).unwrap();
    let (before_ns, mut before) = (server.cpu_ns(), read(&tree));
    let mut sum_ns = 0;
    for _ in 0..20 {
        connections(&server, Worker::Child, 5, Duration::from_millis(7));
        wait_until(|| children(server.pid).is_empty());
        let after = read(&tree);
        sum_ns += after.since(&before).cpu.unwrap().total_ns;
        before = after;
    }
    let truth_ns = server.cpu_ns() - before_ns;
    let allowed = truth_ns / 50 + 2 * TICK_NS;
    let is_near = sum_ns.abs_diff(truth_ns) <= allowed;
    assert!(is_near, "{sum_ns} against {truth_ns}");
}

#[test]
fn children_that_live_are_read_to_the_nanosecond_and_stay_counted_when_they_end() {
    let server = ForkingServer::start("living", false);
    let tree = ProcessTree::open(&[server.pid]).unwrap();
    let (before_ns, before) = (server.cpu_ns(), read(&tree));
    let burn = Duration::from_millis(40);
    let living: Vec<Answered> = (0..5).map(|_| server.ask(Worker::Child, burn)).collect();
    let worked_ns: u64 = living.iter().map(|answered| answered.cpu_ns).sum();
    let truth_ns = worked_ns + server.cpu_ns() - before_ns;
    let used = read(&tree).since(&before);
    assert_used(used, truth_ns, 0);
    assert!(used.context_switches.is_some() && used.run_queue_wait_ns.is_some());

    living.into_iter().map(Answered::end).for_each(drop);
    wait_until(|| children(server.pid).is_empty());
    // What is known of them is not counted again.
    assert_used(read(&tree).since(&before), server.cpu_ns() - before_ns, 1);
}

#[test]
fn grandchildren_are_counted_with_those_that_wait_for_them() {
    let server = ForkingServer::start("grandchildren", false);
    let (used, truth) = measure(&server, || {
        connections(&server, Worker::ChildAndGrandchild, 40, Duration::from_millis(20))
    });
    assert_used(used, truth, 1);
}

#[test]
fn orphans_that_a_subreaper_adopts_are_counted() {
    let server = ForkingServer::start("subreaper", true);
    let (used, truth) = measure(&server, || {
        connections(&server, Worker::Orphan, 50, Duration::from_millis(20))
    });
    assert_used(used, truth, 1);
}

#[test]
fn an_orphan_that_somebody_else_adopts_stays_a_member() {
    let server = ForkingServer::start("orphan", false);
    let tree = ProcessTree::open(&[server.pid]).unwrap();
    let (before_ns, before) = (server.cpu_ns(), read(&tree));
    let mut orphan = server.ask(Worker::LaterOrphan, Duration::from_millis(200));
    let truth = orphan.cpu_ns + server.cpu_ns() - before_ns;
    assert_used(read(&tree).since(&before), truth, 0);
    orphan.orphan();
    wait_until(|| children(server.pid).is_empty());
    assert_used(read(&tree).since(&before), truth, 1);
    // What was seen of it is counted.
    orphan.end();
    assert_used(read(&tree).since(&before), truth, 1);
}

#[test]
fn what_belongs_to_others_is_not_counted() {
    let server = ForkingServer::start("one", false);
    let other = ForkingServer::start("another", false);
    let (used, truth) = measure(&server, || {
        connections(&other, Worker::Child, 10, Duration::from_millis(20));
        0
    });
    assert_used(used, truth, 1);
}

#[test]
fn a_tree_whose_root_ended_is_no_tree() {
    let server = ForkingServer::start("root", false);
    let tree = ProcessTree::open(&[server.pid]).unwrap();
    // Its guard does not wait for it before the end.
    server.kill_without_waiting();
    let has_ended = || matches!(tree.read(), Err(Error::ProcessEnded(pid)) if pid == server.pid);
    wait_until(has_ended);
    server.kill();
    assert!(has_ended());
    assert!(ProcessTree::open(&[server.pid]).is_err());
    // Of several that are paid for together it makes the sum unknown.
    let other = ForkingServer::start("root-2", false);
    let both = vec![
        ProcessTree::open(&[other.pid]).unwrap(),
        ProcessTree::open(&[std::process::id()]).unwrap(),
    ];
    let before = both.read().unwrap();
    assert!(both.read().unwrap().since(&before).cpu.is_some());
    other.kill();
    assert_eq!(both.read().unwrap().since(&before), Used::default());
}

#[test]
fn a_member_that_is_named_beside_its_parent_may_end() {
    let server = ForkingServer::start("named", false);
    let answered = server.ask(Worker::Child, Duration::from_millis(1));
    let child = children(server.pid)[0];
    let tree = ProcessTree::open(&[child, server.pid]).unwrap();
    answered.end();
    wait_until(|| children(server.pid).is_empty());
    tree.read().unwrap();
}

#[test]
fn a_tree_that_works_is_not_quiet() {
    let server = ForkingServer::start("busy", false);
    let tree = ProcessTree::open(&[server.pid]).unwrap();
    let is_quiet = thread::scope(|scope| {
        let busy = scope.spawn(|| server.ask(Worker::Child, Duration::from_millis(600)).end());
        thread::sleep(Duration::from_millis(50));
        let settled = tree.settle(Duration::from_millis(20), Duration::from_millis(100));
        busy.join().unwrap();
        settled.unwrap()
    });
    assert!(!is_quiet);
    assert!(tree.settle(QUIET, AT_MOST).unwrap());
}

#[test]
fn one_process_is_read_without_what_it_starts() {
    let server = ForkingServer::start("alone", false);
    let meter = ProcessMeter::open(server.pid).unwrap();
    assert!(meter.settle(QUIET, AT_MOST).unwrap());
    let (with_children, before) = (server.cpu_ns(), meter.read().unwrap());
    let worked_ns = connections(&server, Worker::Child, 5, Duration::from_millis(20));
    let burnt = server.ask(Worker::Server, Duration::from_millis(50));
    assert!(meter.settle(QUIET, AT_MOST).unwrap());
    let used = meter.read().unwrap().since(&before);
    let total_ns = used.cpu.unwrap().total_ns;
    assert!(total_ns >= 50_000_000, "{total_ns}");
    wait_until(|| children(server.pid).is_empty());
    let with_children = server.cpu_ns() - with_children;
    let is_whole = total_ns + worked_ns / 2 < with_children;
    assert!(is_whole, "{total_ns} and {worked_ns} of {with_children} ns");
    // Threads that ended meanwhile may have done too much of the work for their waiting to be known.
    assert!(used.context_switches.is_some());
    let before = meter.read().unwrap();
    let burnt_again = server.ask(Worker::Server, Duration::from_millis(50));
    let used = meter.read().unwrap().since(&before);
    assert!(used.context_switches.is_some() && used.run_queue_wait_ns.is_some());
    drop([burnt, burnt_again]);
    assert!(meter.is_alive());
    server.kill();
    assert!(!meter.is_alive());
    assert!(matches!(meter.read(), Err(Error::ProcessEnded(_))));
}

#[test]
fn this_process_is_read_with_all_its_threads() {
    let before = OwnThreads.read().unwrap();
    let spin = || {
        let start = ThreadUsage::now();
        while ThreadUsage::now().since(&start).cpu.total_ns < 100_000_000 {
            std::hint::spin_loop();
        }
    };
    thread::spawn(spin).join().unwrap();
    let used = OwnThreads.read().unwrap().since(&before);
    // Other tests run beside this one.
    assert!(used.cpu.unwrap().total_ns >= 100_000_000, "{used:?}");
    assert!(used.context_switches.unwrap() > 0);
}

#[test]
fn who_cannot_be_read_has_no_figures() {
    let nobody = Unmetered {
        reason: "it runs elsewhere".into(),
    };
    assert_eq!(nobody.read().unwrap_err().to_string(), "it runs elsewhere");
}
