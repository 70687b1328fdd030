//! Whole rounds: the clocks of servers that are read at all times, since what a server does between its slices is its own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ciphertax_base::CpuTime;
use ciphertax_observe::{FileSystemMeter, FileSystemUsage, Usage, Used};
use ciphertax_reactor::stop;
use ciphertax_records::{QuietPhase, Round, RoundOfArm};

use super::reading::{counters_since, used};
use super::still::{STILL_FOR, STILL_FOR_AFTER_READS, STILL_FOR_LONGER, Stillness};
use crate::server::Server;
use crate::servers::ServersByArm;

/// How long quiet is waited for between slices; a server whose flushing is slow may never be.
const QUIET_AT_MOST: Duration = Duration::from_secs(5);
/// The same before the first round, when data sets were written.
const FIRST_QUIET_AT_MOST: Duration = Duration::from_secs(30);
/// How often servers are looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The clocks of the servers of some cells, each the server of one arm.
pub(super) struct RoundClocks {
    arms: BTreeMap<String, OfArm>,
    /// When the last round ended.
    last: Option<Instant>,
    /// `None` where they cannot be read.
    workers: Option<FileSystemMeter>,
    turn: Option<Turn>,
    /// How long servers have to stand still after a slice that writes.
    still_for: Duration,
    /// The same after one that only reads.
    still_for_after_reads: Duration,
}

/// The time from the begin of an arm's slice to the end of the quiet phase after it.
struct Turn {
    arm: String,
    /// What the kernel's workers had used before.
    workers: Option<FileSystemUsage>,
    /// Those whose turn it is not.
    others: Vec<(String, Stillness)>,
}

/// What is known of the server of one arm.
struct OfArm {
    still: Stillness,
    /// At the end of the last round.
    clocks: Clocks,
    /// CPU time of the kernel's workers in its turns since then, in nanoseconds.
    workers_ns: Option<u64>,
    /// What its file system's daemon was asked since then by who drops what is in memory of its files.
    asked: Vec<Used>,
}

/// A reading of a server.
struct Clocks {
    /// `None` where it cannot be read.
    server: Option<Usage>,
    /// `None` where there is none.
    daemon: Option<Usage>,
    file_system: Option<CpuTime>,
    /// Empty if it did not answer.
    counters: BTreeMap<String, i64>,
}

impl RoundClocks {
    pub(super) fn new() -> Self {
        Self {
            arms: BTreeMap::new(),
            last: None,
            // It has nobody of its own to read.
            workers: FileSystemMeter::open(&[]).ok(),
            turn: None,
            still_for: STILL_FOR,
            still_for_after_reads: STILL_FOR_AFTER_READS,
        }
    }

    /// Begins the first round with these arms, and tells how long it took them to come to rest after their data sets were
    /// written, which is no part of the measuring. Every other round begins where the one before it ended.
    pub(super) fn begin(&mut self, servers: &mut dyn ServersByArm, arms: &[impl AsRef<str>]) -> Duration {
        let new = arms.iter().map(AsRef::as_ref);
        let new: Vec<&str> = new.filter(|arm| !self.arms.contains_key(*arm)).collect();
        if new.is_empty() {
            return Duration::ZERO;
        }
        let before = Instant::now();
        for arm in &new {
            self.watch(servers, arm);
        }
        self.wait(servers, arms, FIRST_QUIET_AT_MOST);
        for arm in new {
            let clocks = Clocks::read(servers.server(arm));
            self.watch(servers, arm).clocks = clocks;
        }
        let now = Instant::now();
        self.last.get_or_insert(now);
        now - before
    }

    /// Waits until the servers of these arms stand still, after slices of a workload that writes or does not. It ends the turn
    /// of the arm that was measured last.
    pub(super) fn quiet(
        &mut self,
        servers: &mut dyn ServersByArm,
        arms: &[impl AsRef<str>],
        writes: bool,
    ) -> QuietPhase {
        let still_for = match writes {
            true => self.still_for,
            false => self.still_for_after_reads,
        };
        let quiet = self.wait_for(still_for, servers, arms, QUIET_AT_MOST);
        if let Some(turn) = self.turn.take() {
            let workers = self.workers().zip(turn.workers);
            let workers = workers.and_then(|(now, before)| now.since(&before).shared);
            if let Some((of_arm, workers)) = self.arms.get_mut(&turn.arm).zip(workers) {
                *of_arm.workers_ns.get_or_insert_default() += workers.cpu_ns;
            }
        }
        quiet
    }

    /// Begins the turn of one of these arms: its slice, and the quiet phase that follows.
    pub(super) fn begin_turn(&mut self, servers: &mut dyn ServersByArm, arms: &[impl AsRef<str>], arm: &str) {
        let others = arms.iter().map(AsRef::as_ref).filter(|other| *other != arm);
        self.turn = Some(Turn {
            arm: arm.to_owned(),
            workers: self.workers(),
            others: others
                .map(|other| (other.to_owned(), Stillness::begin(servers.server(other))))
                .collect(),
        });
    }

    /// Has the kernel forget what it keeps of the files of the server whose turn it is, and says how many bytes stay; `None`
    /// for a server of the user's own, and for one that lost its files, which the slice will notice. Writing what is dirty
    /// is what the kernel's workers would have done for it; what is asked of a file system's daemon for it is nobody's.
    pub(super) fn drop_cached(&mut self, servers: &mut dyn ServersByArm, arm: &str) -> Option<u64> {
        let server = servers.server(arm);
        let before = daemon(server);
        let dropped = server.drop_cached().ok()??;
        let asked = before.map(|before| used(Some(&before), daemon(server).as_ref()));
        let are_seen = self.workers().is_some();
        let of_arm = self.watch(servers, arm);
        of_arm.asked.extend(asked);
        if are_seen {
            *of_arm.workers_ns.get_or_insert_default() += dropped.writing.as_nanos() as u64;
        }
        Some(dropped.left.bytes)
    }

    /// True if the server of another arm has worked since the turn began. Then quiet is waited for longer from now on.
    pub(super) fn others_worked(&mut self, servers: &mut dyn ServersByArm) -> bool {
        let Some(turn) = &self.turn else {
            return false;
        };
        let mut others = turn.others.iter();
        let worked = others.any(|(arm, still)| !still.holds(servers.server(arm)));
        if worked {
            self.still_for = STILL_FOR_LONGER;
            self.still_for_after_reads = STILL_FOR_LONGER;
        }
        worked
    }

    /// Ends a round with these arms: what each of their servers has used since it was read last. `began` is when the run began.
    pub(super) fn end(
        &mut self,
        servers: &mut dyn ServersByArm,
        arms: &[impl AsRef<str>],
        (cell, block): (&str, u32),
        began: Instant,
        quiet: QuietPhase,
    ) -> Round {
        let arms = arms
            .iter()
            .map(AsRef::as_ref)
            .map(|arm| {
                let clocks = Clocks::read(servers.server(arm));
                let of_arm = self.watch(servers, arm);
                let round = RoundOfArm {
                    arm: arm.to_owned(),
                    kernel_workers_cpu_ns: of_arm.workers_ns.take(),
                    ..clocks.since(&of_arm.clocks, &std::mem::take(&mut of_arm.asked))
                };
                of_arm.clocks = clocks;
                round
            })
            .collect();
        let now = Instant::now();
        let before = self.last.replace(now).unwrap_or(now);
        Round {
            cell: cell.to_owned(),
            block,
            start_ns: (before - began).as_nanos() as u64,
            duration_ns: (now - before).as_nanos() as u64,
            quiet,
            arms,
        }
    }

    /// Waits until they stand still, as after slices that write, but no longer than this.
    pub(super) fn wait(
        &mut self,
        servers: &mut dyn ServersByArm,
        arms: &[impl AsRef<str>],
        at_most: Duration,
    ) -> QuietPhase {
        self.wait_for(self.still_for, servers, arms, at_most)
    }

    fn wait_for(
        &mut self,
        still_for: Duration,
        servers: &mut dyn ServersByArm,
        arms: &[impl AsRef<str>],
        at_most: Duration,
    ) -> QuietPhase {
        let began = Instant::now();
        loop {
            let mut is_still = true;
            for arm in arms.iter().map(AsRef::as_ref) {
                let still = &mut self.watch(servers, arm).still;
                is_still &= still.is_reached(servers.server(arm), still_for);
            }
            let waited = began.elapsed();
            if is_still || waited >= at_most || stop::is_requested() {
                return QuietPhase {
                    waited_ns: waited.as_nanos() as u64,
                    is_still,
                };
            }
            stop::sleep(LOOK_EVERY);
        }
    }

    /// What is known of an arm's server, from now on if it was not watched before.
    fn watch(&mut self, servers: &mut dyn ServersByArm, arm: &str) -> &mut OfArm {
        self.arms.entry(arm.to_owned()).or_insert_with(|| OfArm {
            still: Stillness::begin(servers.server(arm)),
            clocks: Clocks::read(servers.server(arm)),
            workers_ns: None,
            asked: Vec::new(),
        })
    }

    fn workers(&self) -> Option<FileSystemUsage> {
        self.workers.as_ref()?.read().ok()
    }
}

impl Clocks {
    /// Asking for counters is work of the server's, and so before its clocks are read: at the same point of every round.
    fn read(server: &mut dyn Server) -> Self {
        // One that does not answer is noticed by the next slice.
        let counters = server.counters().unwrap_or_default();
        Self {
            server: server.meter().read().ok(),
            daemon: daemon(server),
            file_system: server.file_system_cpu(),
            counters,
        }
    }

    /// But for what a daemon was `asked` meanwhile that its server did not ask.
    fn since(&self, before: &Self, asked: &[Used]) -> RoundOfArm {
        let server = used(before.server.as_ref(), self.server.as_ref());
        // It reads and writes the disk in the server's place. Some kernels have the same bytes in the server's account too.
        let storage = match &self.daemon {
            Some(daemon) => used(before.daemon.as_ref(), Some(daemon)),
            None => server,
        };
        let but_for = |all: Option<u64>, of: &dyn Fn(&Used) -> Option<u64>| {
            Some(asked.iter().filter_map(of).fold(all?, u64::saturating_sub))
        };
        let file_system = self.file_system.zip(before.file_system);
        RoundOfArm {
            server_cpu: server.cpu,
            file_system_cpu: file_system.map(|(now, before)| {
                let cpu = asked.iter().filter_map(|asked| asked.cpu);
                cpu.fold(now.since(&before), |left, asked| left.since(&asked))
            }),
            bytes_read: but_for(storage.bytes_read, &|asked| asked.bytes_read),
            bytes_written: but_for(storage.bytes_written, &|asked| asked.bytes_written),
            server_counters: counters_since(&before.counters, &self.counters),
            ..RoundOfArm::default()
        }
    }
}

/// What the daemon of a server's file system used so far; `None` where there is none.
fn daemon(server: &dyn Server) -> Option<Usage> {
    server.daemon()?.read().ok()
}
