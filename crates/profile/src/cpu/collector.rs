//! Takes out of the rings what belongs to those that are watched, while a slice runs and after it.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ciphertax_observe::perf_event::Event;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::event::{RECORD_BYTES, Record, parse};
use super::ring::Ring;
use super::samples::Samples;
use super::watch::Watch;

/// The rings of all CPUs, and what was taken out of them in one slice.
#[derive(Debug, Default)]
pub(super) struct Collector {
    rings: Vec<RingOfSlice>,
    watch: Watch,
    samples: Samples,
    lost: u64,
}

#[derive(Debug)]
struct RingOfSlice {
    ring: Ring,
    /// True if the kernel has written anything else than that it lost something.
    has_begun: bool,
}

/// What was seen in a slice.
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

    /// Watches these from now on.
    pub(super) fn watch(&mut self, watch: Watch) {
        self.watch = watch;
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

    /// True if a ring may be full soon.
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
        if watch.is_growing() {
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
    /// # Errors
    /// If there is no thread for it.
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
        let owners = collector.rings.iter().filter_map(|of| of.ring.owner());
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
