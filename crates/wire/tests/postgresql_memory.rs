//! What a PostgreSQL says costs no more memory than it should, and an operation none at all.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use ciphertax_wire::Session as _;
use ciphertax_wire::postgresql::{Parameter, Query, Session};
use ciphertax_wire::sql::{SqlSession as _, Statement as _};

use common::pg_messages::{one_column, row, welcome};
use common::postgres::postgres;
use common::{Ending, FakeServer, run, run_within};

const MIB: usize = 1 << 20;

#[global_allocator]
static MEMORY: Memory = Memory;

thread_local! {
    /// Bytes in use, the most of them, and how often this thread asked for some.
    static USED: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
    static TIMES: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn an_operation_takes_no_new_memory() {
    let Some(server) = postgres() else { return };
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &server.plain("trusted")).await.unwrap();
        session
            .query("CREATE TEMP TABLE t AS SELECT i, repeat('x', 100) AS text FROM generate_series(1, 1000) AS i")
            .await
            .unwrap();
        let select = "SELECT text FROM t WHERE i = $1 AND text <> $2";
        let parameters = [Parameter::Integer, Parameter::VariableText];
        let mut select = session.prepare(select, &parameters).await.unwrap();
        let mut query = Query::new("SELECT text FROM t WHERE i = ");
        let begin = query.length();
        let mut before = 0;
        for round in 0..300 {
            if round == 100 {
                before = TIMES.get();
            }
            select.set_integer(0, round);
            select.set_text(1, &b"0123456789"[..round as usize % 10]).unwrap();
            let mut bytes = 0;
            let read = |row: &[u8]| {
                bytes += row.len();
                Ok(())
            };
            session.execute_rows(&mut select, read).await.unwrap();
            assert_eq!(bytes, if round == 0 { 0 } else { 106 });
            query.truncate(begin);
            query.push(if round % 2 == 0 { b"12" } else { b"345" });
            assert_eq!(session.run(&mut query).await.unwrap().rows, 1);
        }
        assert_eq!(TIMES.get() - before, 0);
    });
}

#[test]
fn a_message_that_is_claimed_and_never_comes_costs_next_to_nothing() {
    let claimed = [b"D".as_slice(), &(15_u32 << 20).to_be_bytes(), b"\0\x01"].concat();
    let server = FakeServer::start([welcome(), one_column(), claimed].concat(), Ending::Silence);
    let options = server.postgresql_options();
    let most = most_used(|| {
        let outcome = run_within(Duration::from_millis(300), async |reactor| {
            let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
            session.query("SELECT 1").await.map(drop)
        });
        assert!(outcome.is_none(), "{outcome:?}");
    });
    assert!(most < 2 * MIB, "{most} bytes");
}

#[test]
fn rows_without_end_are_neither_kept_nor_collected() {
    for (collects, limit) in [(false, 4 * MIB), (true, 256 * MIB)] {
        let rows = row(&[b'x'; 99]).repeat(1000);
        let server = FakeServer::start([welcome(), one_column()].concat(), Ending::Repeat(rows));
        let options = server.postgresql_options();
        let most = most_used(|| {
            run_within(Duration::from_millis(300), async |reactor| {
                let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
                match collects {
                    true => session.query("SELECT 1").await.map(drop),
                    false => session.query_raw("SELECT 1", |_| Ok(())).await.map(drop),
                }
                .unwrap_err()
            });
        });
        assert!(most < limit, "{most} bytes");
    }
}

/// The most memory that this thread had in use at a time during a task, in bytes.
fn most_used(task: impl FnOnce()) -> usize {
    let before = USED.get();
    MOST.set(before);
    task();
    (MOST.get() - before).unsigned_abs()
}

/// The system's allocator, counted for each thread.
struct Memory;

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        USED.set(USED.get() + layout.size() as isize);
        MOST.set(MOST.get().max(USED.get()));
        TIMES.set(TIMES.get() + 1);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.set(USED.get() - layout.size() as isize);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
