//! What the tests share: somebody who looks, and clients that can be left waiting.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{fs, mem};

use ciphertax_lab::{PrivateServer, postgresql};
use ciphertax_profile::{Stacks, WaitSampler, Watched};
use ciphertax_records::SliceId;
use ciphertax_records::why::{Blocked, SymbolTable, Waits};
use ciphertax_testkit::{PATIENCE, plain, run};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError};

/// The rate that runs look with.
pub(crate) const HZ: u32 = 92;

/// Who looks at a server.
pub(crate) struct Looker {
    pub(crate) sampler: WaitSampler,
    pub(crate) stacks: Stacks,
    pub(crate) symbols: SymbolTable,
    pub(crate) watched: Watched,
}

impl Looker {
    pub(crate) fn at(server: Vec<u32>, with_children: bool) -> Self {
        Self {
            sampler: WaitSampler::open(HZ).unwrap(),
            stacks: Stacks::default(),
            symbols: SymbolTable::default(),
            watched: Watched {
                server,
                with_children,
                client: Vec::new(),
            },
        }
    }

    pub(crate) fn begin(&mut self) {
        self.sampler.begin(&self.watched, &mut self.stacks).unwrap();
    }

    pub(crate) fn end(&mut self) -> Waits {
        self.sampler.stop();
        let slice = SliceId::default();
        self.sampler
            .waits(slice, &mut self.stacks, &mut self.symbols)
            .unwrap()
    }

    /// Looks for so long.
    pub(crate) fn look(&mut self, time: Duration) -> Waits {
        self.begin();
        thread::sleep(time);
        self.end()
    }

    /// Looks for a second, and again, up to five times, where the machine left too little time for looking.
    pub(crate) fn look_often(&mut self) -> Waits {
        let mut waits = self.look(Duration::from_secs(1));
        for _ in 1..5 {
            if is_often(&waits) {
                break;
            }
            waits = self.look(Duration::from_secs(1));
        }
        waits
    }

    /// Waits until so many sessions are idle and all others wait. Another sampler looks meanwhile: this one learns nothing by it.
    pub(crate) fn await_idle(&mut self, sessions: u64) {
        let own = mem::replace(&mut self.sampler, WaitSampler::open(HZ).unwrap());
        let deadline = Instant::now() + PATIENCE;
        while !self.are_idle(sessions) {
            assert!(Instant::now() < deadline, "not {sessions} sessions are idle");
        }
        self.sampler = own;
    }

    fn are_idle(&mut self, sessions: u64) -> bool {
        let waits = self.look(Duration::from_millis(50));
        waits.rounds > 0 && waits.idle == sessions * waits.rounds && waits.running == 0
    }

    /// Looks that found a thread in one of the calls and with all of the names on its stack, as threads of sessions or not.
    pub(crate) fn seen(&self, waits: &Waits, background: bool, calls: &[&str], names: &[&str]) -> u64 {
        let is_so = |blocked: &&Blocked| {
            let has = |wanted: &&str| {
                self.symbols
                    .names(blocked.stack)
                    .any(|(name, _)| name.contains(*wanted))
            };
            blocked.background == background
                && (calls.is_empty() || calls.contains(&blocked.call.as_str()))
                && names.iter().all(has)
        };
        waits
            .blocked
            .iter()
            .filter(is_so)
            .map(|blocked| blocked.seen)
            .sum()
    }

    /// Everything, for who reads a test's output.
    pub(crate) fn print(&self, waits: &Waits) {
        let Waits {
            rounds,
            running,
            background_running,
            idle,
            inconsistent,
            unreadable,
            ..
        } = waits;
        println!(
            "{rounds} rounds: {running} running, {background_running} in the background, {idle} idle, {inconsistent} inconsistent, \
             {unreadable} unreadable"
        );
        for blocked in &waits.blocked {
            let names: Vec<&str> = self.symbols.names(blocked.stack).map(|(name, _)| name).collect();
            println!(
                "{}{} {:?}: {} looks, {} complete: {}",
                if blocked.background { "background " } else { "" },
                blocked.call,
                blocked.object,
                blocked.seen,
                blocked.complete,
                names.join(" < ")
            );
        }
    }
}

/// True if there were a quarter of the rounds that a second should have.
pub(crate) fn is_often(waits: &Waits) -> bool {
    waits.rounds > u64::from(HZ) / 4
}

/// All looks at threads that serve sessions.
pub(crate) fn of_sessions(waits: &Waits) -> u64 {
    let blocked = waits.blocked.iter().filter(|blocked| !blocked.background);
    let blocked: u64 = blocked.map(|blocked| blocked.seen).sum();
    waits.running + waits.idle + waits.inconsistent + waits.unreadable + blocked
}

/// Share of the stacks of sessions that wait which were unwound to their end.
pub(crate) fn complete(waits: &Waits) -> f64 {
    let of_sessions = || waits.blocked.iter().filter(|blocked| !blocked.background);
    let seen: u64 = of_sessions().map(|blocked| blocked.seen).sum();
    let complete: u64 = of_sessions().map(|blocked| blocked.complete).sum();
    complete as f64 / seen as f64
}

/// Holds a count to what it should be, within a share of it.
#[track_caller]
pub(crate) fn assert_near(count: u64, expected: f64, share: f64) {
    assert!(is_near(count, expected, share), "{count}, not {expected}");
}

/// Whether a count is what it should be, within a share of it.
pub(crate) fn is_near(count: u64, expected: f64, share: f64) -> bool {
    println!("{count} of {expected}");
    (count as f64 - expected).abs() <= share * expected
}

/// CPU time that each thread of a process of this name has used, and how long it waited for a CPU, in nanoseconds, by its number.
fn cpu_and_delays(pid: u32, has_name: impl Fn(&str) -> bool) -> HashMap<OsString, (u64, u64)> {
    let mut threads = HashMap::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        let read = |file| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        if has_name(read("comm").trim()) {
            let numbers = read("schedstat");
            let mut numbers = numbers
                .split_whitespace()
                .map(|word| word.parse::<u64>().unwrap());
            let mut next = || numbers.next().unwrap_or(0);
            threads.insert(task.file_name(), (next(), next()));
        }
    }
    threads
}

/// CPU time that the threads of a process have used, and how long they waited for a CPU, in nanoseconds.
pub(crate) fn cpu_and_delay(pid: u32) -> (u64, u64) {
    let threads = cpu_and_delays(pid, |_| true);
    threads
        .values()
        .fold((0, 0), |sum, thread| (sum.0 + thread.0, sum.1 + thread.1))
}

/// CPU time that looking takes this process.
pub(crate) struct CpuOfLooking(HashMap<OsString, (u64, u64)>);

impl CpuOfLooking {
    pub(crate) fn now() -> Self {
        Self(cpu_and_delays(std::process::id(), |name| name == "waits"))
    }

    /// What looking has taken since then, in nanoseconds: that of the thread with most of it, since other tests look too.
    pub(crate) fn since(&self) -> u64 {
        let now = Self::now().0;
        let used = now
            .iter()
            .filter_map(|(thread, (ran, _))| ran.checked_sub(self.0.get(thread)?.0));
        used.max().unwrap()
    }
}

/// A session that does as it is told, in a thread of its own, so that it can be left waiting.
pub(crate) struct Client {
    orders: Option<Sender<String>>,
    answers: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Client {
    pub(crate) fn mysql(server: &PrivateServer) -> Self {
        use ciphertax_wire::mysql::Session;
        let options = plain(server);
        Self::new(move |orders, answers| {
            run(async |reactor| {
                let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
                answers.send(()).unwrap();
                while let Ok(order) = orders.recv() {
                    // Of a server that was killed there is no answer.
                    let _ = session.query(&order).await;
                    let _ = answers.send(());
                }
                let _ = session.close().await;
            });
        })
    }

    pub(crate) fn postgresql(server: &PrivateServer) -> Self {
        use ciphertax_wire::postgresql::{ConnectOptions, Session};
        let (address, account) = (server.address(), server.default_account());
        let options = ConnectOptions {
            database: Some(postgresql::DATABASE.into()),
            ..ConnectOptions::new(
                address.ip().to_string(),
                address.port(),
                account.user.clone(),
                account.password.clone(),
            )
        };
        Self::new(move |orders, answers| {
            run(async |reactor| {
                let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
                answers.send(()).unwrap();
                while let Ok(order) = orders.recv() {
                    if let Err(error) = session.query(&order).await {
                        assert!(is_cancelled(&error), "{error}");
                    }
                    let _ = answers.send(());
                }
                session.close().await.unwrap();
            });
        })
    }

    /// One that only stays.
    pub(crate) fn mongodb(server: &PrivateServer) -> Self {
        use ciphertax_wire::mongodb::{ConnectOptions, Login, Session};
        let address = server.address();
        let options = ConnectOptions::new(address.ip().to_string(), address.port(), Login::None);
        Self::new(move |orders, answers| {
            run(async |reactor| {
                let _session = Session::connect(reactor, &options).await.unwrap();
                answers.send(()).unwrap();
                let _ = orders.recv();
            });
        })
    }

    fn new(work: impl FnOnce(Receiver<String>, Sender<()>) + Send + 'static) -> Self {
        let (orders, of_orders) = channel();
        let (to_answers, answers) = channel();
        let thread = thread::spawn(move || work(of_orders, to_answers));
        answers.recv().unwrap();
        Self {
            orders: Some(orders),
            answers,
            thread: Some(thread),
        }
    }

    /// Asks, and does not wait for the answer.
    pub(crate) fn begin(&self, sql: &str) {
        self.orders.as_ref().unwrap().send(sql.into()).unwrap();
    }

    /// Waits for an answer.
    pub(crate) fn end(&self) {
        self.answers.recv().unwrap();
    }

    pub(crate) fn ask(&self, sql: &str) {
        self.begin(sql);
        self.end();
    }
}

/// `query_canceled`: of a statement that was to last until it is told to end.
fn is_cancelled(error: &WireError) -> bool {
    matches!(error, WireError::PostgreSql { sql_state, .. } if sql_state == "57014")
}

/// Ends what sleeps in a PostgreSQL.
pub(crate) const WAKE: &str =
    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'";

impl Drop for Client {
    fn drop(&mut self) {
        self.orders = None;
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_none_or(|ended| ended.is_ok()));
    }
}
