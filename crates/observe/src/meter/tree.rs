//! A process and all that it starts.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::time::Duration;

use ciphertax_base::{CpuTime, PageFaults};
use procfs::FromRead;
use procfs::process::Stat;

use super::{Io, Meter, Part, Usage};
use crate::cpu_time::{self, faults_in_stat};
use crate::thread_status::{Memory, RunQueueWaits, ThreadStatus, children, children_of_thread};
use crate::{Error, Result, tick_ns};

/// A process with all that it starts, and what those start: a server that forks for every connection, a tunnel with its
/// sessions. Members come and go; those that ended between two readings are counted, those that came and went too.
///
/// Living members are read by their own clocks, to the nanosecond of the scheduler's. Those that ended are in the account
/// that the kernel keeps for whoever waited for them (`cutime` and `cstime` in `/proc/PID/stat`): the kernel sums it to the
/// nanosecond and shows it in ticks. So between any two readings, however many members ended, the figure is wrong by
/// two ticks (20 ms) at most for each process that waits for children, and no error adds up over many readings.
///
/// A member whose parent has ended stays one, whoever adopts it. If nobody of the tree waits for it, or its parent
/// ignores its death, then what it used after the last reading is lost, and what it used before is counted. One that
/// began and lost its parent between two readings is never seen, unless a subreaper of the tree adopts it.
///
/// A reading takes about 25 µs for each member that has one thread, and 50 µs where there are 200; as long as one of
/// a process with as many threads. To find the members is a quarter of that.
#[derive(Debug)]
pub struct ProcessTree {
    /// Whom it began with.
    roots: Vec<Key>,
    seen: RefCell<Seen>,
}

/// A process: its number, which others have later, and when it began.
type Key = (u32, u64);

#[derive(Debug, Default)]
struct Seen {
    members: BTreeMap<Key, Account>,
    /// CPU time of all members that ended.
    ended: Ended,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    /// Of those that somebody in the tree waited for: never less than what [`Account::waited_for`] of the living says.
    waited_for: CpuTime,
    /// Of those that nobody in the tree waited for.
    lost: CpuTime,
}

/// What the kernel says of a process.
#[derive(Debug, Clone, Copy)]
struct Account {
    parent: u32,
    /// True of one for whom nobody has waited yet.
    has_ended: bool,
    threads: i64,
    clock: libc::clockid_t,
    own: CpuTime,
    /// CPU time of the children that it waited for, and of those whom they waited for; in ticks.
    waited_for: CpuTime,
    /// Page faults, also those of the children that it waited for.
    faults: PageFaults,
}

impl Seen {
    /// Page faults of all members, and of those that ended and were waited for.
    fn faults(&self) -> PageFaults {
        let mut sum = PageFaults::default();
        for account in self.members.values() {
            sum += account.faults;
        }
        sum
    }
}

impl ProcessTree {
    /// The tree below these processes, which may belong to any user. Those whose parent is another of them are members
    /// that may end; the others end the tree.
    ///
    /// # Errors
    /// If one of them has ended, or the kernel does not say whose children are whose.
    pub fn open(pids: &[u32]) -> Result<Self> {
        fs::metadata("/proc/thread-self/children").map_err(Error::read("the children of a process"))?;
        let mut roots = Vec::new();
        for &pid in pids {
            let (key, account) = Account::of(pid).ok_or(Error::ProcessEnded(pid))?;
            if !pids.contains(&account.parent) {
                roots.push(key);
            }
        }
        let tree = Self {
            roots,
            seen: RefCell::default(),
        };
        tree.look()?;
        Ok(tree)
    }

    /// Whom it began with, but for those whose parent is another of them.
    pub fn roots(&self) -> Vec<u32> {
        self.roots.iter().map(|(pid, _)| *pid).collect()
    }

    /// Who belongs to it now.
    ///
    /// # Errors
    /// If one of the roots has ended.
    pub fn members(&self) -> Result<Vec<u32>> {
        self.look()?;
        Ok(self.seen.borrow().members.keys().map(|(pid, _)| *pid).collect())
    }

    /// Finds out who belongs to it now, and what each has used.
    fn look(&self) -> Result<()> {
        let mut seen = self.seen.borrow_mut();
        let members = members(&self.roots, &seen.members);
        for root in &self.roots {
            if members.get(root).is_none_or(|account| account.has_ended) {
                return Err(Error::ProcessEnded(root.0));
            }
        }
        seen.ended = seen.ended.after(&seen.members, &members);
        seen.members = members;
        Ok(())
    }

    /// What the clocks of all living members show together, without looking for others.
    fn total_ns(&self) -> u64 {
        let seen = self.seen.borrow();
        seen.members
            .values()
            .filter_map(|account| cpu_time::read_clock(account.clock))
            .sum()
    }
}

impl Meter for ProcessTree {
    fn read(&self) -> Result<Usage> {
        self.look()?;
        let seen = self.seen.borrow();
        let living = seen.members.values().map(|account| account.own);
        let ended: CpuTime = [seen.ended.waited_for, seen.ended.lost].into_iter().sum();
        let pids = || seen.members.keys().map(|(pid, _)| *pid);
        let threads: Vec<ThreadStatus> = pids().filter_map(ThreadStatus::of).collect();
        Ok(Usage::of(Part {
            cpu: living.chain([ended]).sum(),
            context_switches: Some(threads.iter().map(|threads| threads.context_switches).sum()),
            faults: Some(seen.faults()),
            peak_memory_bytes: Memory::peak_of(threads.iter().filter_map(|threads| threads.memory)),
            waits: RunQueueWaits::of_all(pids()),
            ended_ns: ended.total_ns,
            io: Io::of_all(pids()),
            hardware: None,
        }))
    }

    fn settle(&self, quiet_for: Duration, at_most: Duration) -> Result<bool> {
        self.look()?;
        let mut before = self.total_ns();
        cpu_time::settle(quiet_for, at_most, || {
            let now = self.total_ns();
            // A new member does not begin without a move of its parent's clock.
            if now != before {
                self.look()?;
                before = self.total_ns();
            }
            Ok(now)
        })
    }
}

impl Ended {
    /// The account after a reading: members that are no longer there have ended.
    fn after(self, before: &BTreeMap<Key, Account>, now: &BTreeMap<Key, Account>) -> Self {
        let Self {
            mut waited_for,
            mut lost,
        } = self;
        let pids: BTreeSet<u32> = before.keys().map(|(pid, _)| *pid).collect();
        for (_, account) in before.iter().filter(|(key, _)| !now.contains_key(key)) {
            if pids.contains(&account.parent) {
                waited_for += account.own;
            } else {
                lost += account.own;
                lost += account.waited_for;
                waited_for = waited_for.since(&account.waited_for);
            }
        }
        // What they used after the last reading, and those that were never seen.
        let shown: CpuTime = now.values().map(|account| account.waited_for).sum();
        Self {
            waited_for: CpuTime {
                total_ns: waited_for.total_ns.max(shown.total_ns),
                system_ns: waited_for.system_ns.max(shown.system_ns),
            },
            lost,
        }
    }
}

impl Account {
    /// `None` if nobody has this number. One that has ended has it until somebody waits for it.
    fn of(pid: u32) -> Option<(Key, Self)> {
        let mut text = Vec::new();
        File::open(format!("/proc/{pid}/stat"))
            .ok()?
            .read_to_end(&mut text)
            .ok()?;
        let stat = Stat::from_read(&text[..]).ok()?;
        let clock = cpu_time::clock_of_process(pid)?;
        let tick_ns = tick_ns();
        let ticks = |ticks: i64| ticks.unsigned_abs() * tick_ns;
        let account = Self {
            parent: stat.ppid.try_into().ok()?,
            has_ended: matches!(stat.state, 'Z' | 'X'),
            threads: stat.num_threads,
            clock,
            own: CpuTime {
                total_ns: cpu_time::read_clock(clock)?,
                system_ns: stat.stime * tick_ns,
            },
            waited_for: CpuTime {
                total_ns: ticks(stat.cutime) + ticks(stat.cstime),
                system_ns: ticks(stat.cstime),
            },
            faults: faults_in_stat(&stat),
        };
        Some(((pid, stat.starttime), account))
    }
}

/// Those who belong to the tree now: the roots, those known from before, and their children. Each is read before its
/// children are: then one that ends meanwhile is not read twice, by its own clock and in its parent's account.
fn members(roots: &[Key], before: &BTreeMap<Key, Account>) -> BTreeMap<Key, Account> {
    let mut members = BTreeMap::new();
    for key in roots {
        add_below(key, &mut members);
    }
    // Those that lost their parents.
    for key in before.keys() {
        if !members.contains_key(key) {
            add_below(key, &mut members);
        }
    }
    members
}

fn add_below(top: &Key, members: &mut BTreeMap<Key, Account>) {
    let mut next = vec![(top.0, None)];
    while let Some((pid, parent)) = next.pop() {
        let Some((key, account)) = Account::of(pid) else {
            continue;
        };
        // The number may be another's by now.
        let is_meant = parent.map_or(key == *top, |parent| account.parent == parent);
        if is_meant && !members.contains_key(&key) {
            members.insert(key, account);
            let children = match account.threads {
                // One that ended has none, and no children.
                0 | 1 => children_of_thread(pid, pid),
                _ => children(pid),
            };
            next.extend(children.into_iter().map(|child| (child, Some(pid))));
        }
    }
}
