//! What a server says costs no more memory and no more time than it should.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ciphertax_wire::mysql::Session;
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError};

use common::packets::{one_column, packet, welcome};
use common::{Ending, FakeServer, run, run_within};

const MIB: usize = 1 << 20;

#[global_allocator]
static MEMORY: Memory = Memory {
    used: AtomicUsize::new(0),
    most: AtomicUsize::new(0),
};

#[test]
fn a_packet_that_is_claimed_and_never_comes_costs_next_to_nothing() {
    let memory = Watch::begin();
    let claimed = [0xFE, 0xFF, 0xFF, 1, 1];
    let server = FakeServer::start([welcome().as_slice(), &claimed].concat(), Ending::Silence);
    let options = server.options();
    let outcome = run_within(Duration::from_millis(300), async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
        session.query("SELECT 1").await.map(|_| ())
    });
    assert!(outcome.is_none(), "{outcome:?}");
    assert!(memory.most() < 2 * MIB, "{} bytes", memory.most());
}

#[test]
fn rows_without_end_end_at_the_deadline_and_are_not_kept() {
    let memory = Watch::begin();
    let server = endless_rows();
    let options = server.options();
    let outcome = run_within(Duration::from_millis(300), async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
        session.query_raw("SELECT 1", |_| Ok(())).await
    });
    assert!(outcome.is_none(), "{outcome:?}");
    assert!(memory.most() < 4 * MIB, "{} bytes", memory.most());
}

#[test]
fn rows_without_end_are_not_collected() {
    let memory = Watch::begin();
    let server = endless_rows();
    let options = server.options();
    let problem = run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
        session.query("SELECT 1").await.map(|_| ()).unwrap_err()
    });
    assert!(matches!(problem, WireError::Protocol(_)), "{problem}");
    assert!(memory.most() < 256 * MIB, "{} bytes", memory.most());
}

#[test]
fn a_server_that_does_not_stop_talking_is_left_at_the_deadline() {
    let server = FakeServer::start(welcome(), Ending::Repeat(vec![0; 256 << 10]));
    let options = server.options();
    let outcome = run_within(Duration::from_millis(300), async |reactor| {
        let (session, _) = Session::connect(reactor, &options).await.unwrap();
        session.close().await
    });
    assert!(outcome.is_none(), "{outcome:?}");
}

/// Rows of a hundred bytes, faster than they can be read.
fn endless_rows() -> FakeServer {
    let row = [b"\x63".as_slice(), &[b'x'; 99]].concat();
    // Sequence numbers count on from those of the definitions and wrap, so that 256 rows can be said again.
    let rows = (0..256_u16).flat_map(|number| packet((number + 3) as u8, &row));
    let bytes: Vec<u8> = rows.collect();
    FakeServer::start(
        [welcome(), one_column()].concat(),
        Ending::Repeat(bytes.repeat(10)),
    )
}

/// Counts memory from the beginning of a test; the tests of this program run one at a time.
struct Watch {
    before: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Watch {
    fn begin() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = MEMORY.used.load(Relaxed);
        MEMORY.most.store(before, Relaxed);
        Self {
            before,
            _alone: alone,
        }
    }

    /// The most memory that was in use at a time since, in bytes.
    fn most(&self) -> usize {
        MEMORY.most.load(Relaxed) - self.before
    }
}

/// The system's allocator, counted.
struct Memory {
    used: AtomicUsize,
    most: AtomicUsize,
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = self.used.fetch_add(layout.size(), Relaxed) + layout.size();
        self.most.fetch_max(used, Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.used.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
