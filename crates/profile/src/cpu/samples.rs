//! Samples of a slice: taken out of the rings while it runs and after it, kept until it is over, then counted as stacks by name.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ciphertax_observe::perf_event::Event;
use ciphertax_records::why::{Complete, ProfiledSide, SideProfile, SymbolId, SymbolTable};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::event::{RECORD_BYTES, Record, Sample, parse};
use super::ring::Ring;
use super::watch::Watch;
use crate::stacks::{Registers, Stacks};

/// The rings of all CPUs, and what was taken out of them in one slice.
///
/// It takes out of the rings what belongs to those that are watched, while a slice runs and after it.
#[derive(Debug, Default)]
pub(super) struct Collector {
    rings: Vec<RingOfSlice>,
    /// Whose samples are taken from now on.
    pub(super) watch: Watch,
    samples: Samples,
    lost: u64,
}

#[derive(Debug)]
struct RingOfSlice {
    ring: Ring,
    /// True if the kernel has written anything else than that it lost something.
    has_begun: bool,
}

#[derive(Debug)]
pub(super) struct Collected {
    pub(super) watch: Watch,
    pub(super) samples: Samples,
    /// Records that the kernel could not write, of whomever.
    pub(super) lost: u64,
}

impl Collector {
    pub(super) fn new(rings: Vec<Ring>) -> Self {
        let rings = rings
            .into_iter()
            .map(|ring| RingOfSlice {
                ring,
                has_begun: false,
            })
            .collect();
        Self {
            rings,
            ..Self::default()
        }
    }

    /// Forgets what is in the rings and what was taken out of them.
    pub(super) fn clear(&mut self) {
        for RingOfSlice { ring, has_begun } in &mut self.rings {
            ring.clear();
            *has_begun = false;
        }
        self.samples = Samples::default();
        self.lost = 0;
    }

    /// What the slice left, when nothing more is written.
    pub(super) fn end(&mut self) -> Collected {
        // A full ring says nothing of what did not fit into it before it has room again.
        let full = self
            .rings
            .iter()
            .filter(|of| of.ring.free() < RECORD_BYTES)
            .count();
        self.drain();
        Collected {
            watch: std::mem::take(&mut self.watch),
            samples: std::mem::take(&mut self.samples),
            lost: std::mem::take(&mut self.lost) + full as u64,
        }
    }

    fn is_urgent(&self) -> bool {
        self.rings.iter().any(|of| of.ring.is_half_full())
    }

    fn drain(&mut self) {
        let Self {
            rings,
            watch,
            samples,
            lost,
        } = self;
        let heads: Vec<u64> = rings.iter().map(|of| of.ring.head()).collect();
        if watch.with_children {
            // Whoever has samples before these heads began before them, maybe on another CPU.
            for RingOfSlice { ring, .. } in &*rings {
                ring.look(ring.head(), |record| {
                    if let Some(record) = parse(record) {
                        watch.follow(&record);
                    }
                });
            }
        }
        for (RingOfSlice { ring, has_begun }, head) in rings.iter_mut().zip(heads) {
            let outcome = ring.read(head, |record| {
                let record = parse(record);
                // A loss that is told before anything else was one of the slice before, since the ring was empty.
                let was_lost = match &record {
                    Some(Record::Lost(count)) if *has_begun => *count,
                    Some(Record::Throttled) | None => 1,
                    _ => 0,
                };
                *lost = lost.saturating_add(was_lost);
                *has_begun |= !matches!(record, Some(Record::Lost(_)));
                if let Some(Record::Sample(sample)) = &record
                    && let Some(side) = watch.side(sample.pid, sample.tid)
                {
                    samples.take(side, sample);
                }
            });
            if outcome.is_err() {
                *lost = lost.saturating_add(1);
            }
        }
    }
}

/// A thread that takes samples out of rings before these are full; it ends with this.
#[derive(Debug)]
pub(super) struct Draining {
    end: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// How long nobody looks at a ring of which nothing is heard.
const AT_LEAST_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

impl Draining {
    pub(super) fn start(collector: &Arc<Mutex<Collector>>) -> io::Result<Self> {
        let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let thread = std::thread::Builder::new().name("profile".to_owned()).spawn({
            let (collector, end) = (Arc::clone(collector), Arc::clone(&end));
            move || drain_until(&end, &collector)
        })?;
        Ok(Self {
            end,
            thread: Some(thread),
        })
    }
}

impl Drop for Draining {
    fn drop(&mut self) {
        // It cannot fail: nothing was written to it yet.
        let _ = rustix::io::write(&*self.end, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Nobody leaves a collector in a state that would be wrong for the next.
pub(super) fn lock(collector: &Mutex<Collector>) -> MutexGuard<'_, Collector> {
    collector.lock().unwrap_or_else(PoisonError::into_inner)
}

fn drain_until(end: &OwnedFd, collector: &Mutex<Collector>) {
    let owners: Vec<Arc<Event>> = {
        let collector = lock(collector);
        let owners = collector.rings.iter().filter_map(|of| of.ring.owner.as_ref());
        owners.cloned().collect()
    };
    let mut files = vec![PollFd::new(end, PollFlags::IN)];
    files.extend(
        owners
            .iter()
            .map(|owner| PollFd::from_borrowed_fd(owner.as_fd(), PollFlags::IN)),
    );
    loop {
        match poll(&mut files, Some(&AT_LEAST_EVERY)) {
            Ok(_) if files[0].revents().is_empty() => {}
            Err(Errno::INTR) => continue,
            // It is to end, or there is nothing to wait with: the rings then hold what they can.
            Ok(_) | Err(_) => return,
        }
        let mut collector = lock(collector);
        if collector.is_urgent() {
            collector.drain();
        }
        drop(collector);
        // An event whose thread or CPU is gone would be heard of at once, again and again.
        files.retain(|file| !file.revents().intersects(PollFlags::HUP | PollFlags::ERR));
    }
}

/// Bytes of all samples of a slice. It is about 10,000 of a database server, whose stacks are some 14 KiB deep: the
/// shares of so many are off by half a percentage point.
const MOST_BYTES: usize = 128 << 20;

#[derive(Debug)]
pub(super) struct Taken {
    pub(super) side: ProfiledSide,
    pub(super) pid: u32,
    /// Addresses of the kernel's functions, innermost first.
    pub(super) kernel: Box<[u64]>,
    pub(super) user: User,
}

/// What a sample has of the program.
#[derive(Debug)]
pub(super) enum User {
    /// Nothing, since there is nothing: the thread was about to end.
    None,
    /// Nothing, although there is something: a program of 32 bits.
    Unreadable,
    /// Registers, and the stack from the stack pointer upwards.
    Stack(Registers, Box<[u8]>),
}

impl Taken {
    fn bytes(&self) -> usize {
        let stack = match &self.user {
            User::Stack(_, stack) => stack.len(),
            User::None | User::Unreadable => 0,
        };
        size_of::<Self>() + size_of_val(&*self.kernel) + stack
    }
}

/// The samples of a slice: all of them, or where that would be too much every second, fourth, …, so that those that stay are
/// spread over the slice as all were.
#[derive(Debug)]
pub(super) struct Samples {
    pub(super) taken: Vec<Taken>,
    bytes: usize,
    most_bytes: usize,
    seen: u64,
    /// Every how manieth is kept.
    one_in: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self::up_to(MOST_BYTES)
    }
}

impl Samples {
    fn up_to(most_bytes: usize) -> Self {
        Self {
            taken: Vec::new(),
            bytes: 0,
            most_bytes,
            seen: 0,
            one_in: 1,
        }
    }

    /// Takes a sample of one side, or passes it over.
    pub(super) fn take(&mut self, side: ProfiledSide, sample: &Sample<'_>) {
        let is_passed_over = !self.seen.is_multiple_of(self.one_in);
        self.seen += 1;
        if is_passed_over {
            return;
        }
        let user = match &sample.registers {
            Some(registers) => User::Stack(*registers, sample.stack.into()),
            None if sample.has_user_part => User::Unreadable,
            None => User::None,
        };
        let taken = Taken {
            side,
            pid: sample.pid,
            kernel: sample.kernel().collect(),
            user,
        };
        self.bytes += taken.bytes();
        self.taken.push(taken);
        while self.bytes > self.most_bytes && self.taken.len() > 1 {
            self.halve();
        }
    }

    fn halve(&mut self) {
        let mut is_kept = false;
        self.taken.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.bytes = self.taken.iter().map(Taken::bytes).sum();
        self.one_in *= 2;
    }
}

/// The profiles of the sides that were watched.
pub(super) fn fold(
    collected: Collected,
    hz: u32,
    comprises: Complete,
    stacks: &mut Stacks,
    symbols: &mut SymbolTable,
) -> BTreeMap<ProfiledSide, SideProfile> {
    let Collected { watch, samples, lost } = collected;
    let kept_hz = u64::from(hz) / samples.one_in;
    let empty = SideProfile {
        // No more than it was.
        hz: kept_hz.max(1) as u32,
        lost,
        comprises,
        ..SideProfile::default()
    };
    let mut sides: BTreeMap<_, _> = watch.sides().map(|side| (side, empty.clone())).collect();
    let mut naming = Naming {
        stacks,
        symbols,
        watch: &watch,
        memories: HashMap::new(),
        kernel: HashMap::new(),
        user: HashMap::new(),
        stack: Vec::new(),
    };
    for taken in samples.taken {
        let Some(side) = sides.get_mut(&taken.side) else {
            continue;
        };
        let is_complete = naming.name(&taken);
        side.samples += 1;
        side.complete += u64::from(is_complete);
        let stack = naming.symbols.stack(&naming.stack);
        *side.stacks.entry(stack).or_default() += 1;
    }
    sides
}

/// Names the functions of samples of one slice, each address once.
struct Naming<'a> {
    stacks: &'a mut Stacks,
    symbols: &'a mut SymbolTable,
    watch: &'a Watch,
    /// Whose files a process has mapped: its own, or those of whom it has its memory from.
    memories: HashMap<u32, u32>,
    kernel: HashMap<u64, SymbolId>,
    /// By process, address, and whether it is one to return to.
    user: HashMap<(u32, u64, bool), SymbolId>,
    /// The functions of the sample that was named last, innermost first.
    stack: Vec<SymbolId>,
}

impl Naming<'_> {
    /// Names a sample's functions; false if they are not all that there were.
    fn name(&mut self, taken: &Taken) -> bool {
        self.stack.clear();
        for (depth, address) in taken.kernel.iter().enumerate() {
            // A function returns to behind its call, which may be the next function already.
            let address = address.saturating_sub(u64::from(depth > 0));
            let symbol = *self
                .kernel
                .entry(address)
                .or_insert_with(|| self.stacks.kernel_symbol(address, self.symbols));
            self.stack.push(symbol);
        }
        let (registers, stack) = match &taken.user {
            User::Stack(registers, stack) => (registers, stack),
            User::None => return true,
            User::Unreadable => return false,
        };
        let pid = self.memory(taken.pid);
        let user = self.stacks.unwind(pid, registers, stack);
        for (depth, address) in user.addresses.iter().enumerate() {
            let is_return_address = depth > 0;
            let symbol = *self
                .user
                .entry((pid, *address, is_return_address))
                .or_insert_with(|| self.stacks.symbol(pid, *address, is_return_address, self.symbols));
            self.stack.push(symbol);
        }
        user.is_complete
    }

    /// The process by whose number the memory of another is known.
    fn memory(&mut self, pid: u32) -> u32 {
        if let Some(memory) = self.memories.get(&pid) {
            return *memory;
        }
        // It may have loaded a library meanwhile. Its number is another's if it has ended.
        let is_known = !self.watch.has_ended(pid) && self.stacks.refresh(pid).is_ok();
        let memory = match self.watch.parent(pid) {
            // Who has its memory from whom is a tree: each began after its parent.
            Some(parent) if !is_known => {
                self.memories.insert(pid, parent);
                self.memory(parent)
            }
            _ => pid,
        };
        self.memories.insert(pid, memory);
        memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::event::tests::{RecordedSample, sample_record};
    use crate::cpu::event::{Record, parse};

    #[test]
    fn what_would_be_too_much_is_thinned_evenly() {
        let mut samples = Samples::up_to(100_000);
        for number in 0..1000 {
            let record = sample_record(&RecordedSample {
                pid: number,
                stack: vec![0; 4000],
                ..RecordedSample::default()
            });
            let Some(Record::Sample(sample)) = parse(&record) else {
                panic!()
            };
            samples.take(ProfiledSide::Server, &sample);
        }
        assert_eq!(samples.one_in, 64);
        let kept: Vec<u32> = samples.taken.iter().map(|taken| taken.pid).collect();
        let expected: Vec<u32> = (0..1000).step_by(64).collect();
        assert_eq!(kept, expected);
    }
}
