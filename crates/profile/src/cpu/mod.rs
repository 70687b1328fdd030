//! CPU profiles: the code that uses CPU time.

mod event;
mod events;
mod permission;
mod ring;
mod samples;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ciphertax_records::SliceId;
use ciphertax_records::why::{Complete, Profile, SymbolTable};

use self::events::Events;
pub use self::permission::affordable_hz;
use self::samples::{Collector, Draining, lock};
use self::watch::Watch;
use crate::stacks::Stacks;
use crate::{ProfileError, Watched, exists};

/// Has the kernel take samples of what runs, of one slice after the other.
///
/// Where the kernel allows it, there is one event for each CPU, whoever runs there, and samples of others are passed over. An
/// ordinary user has events for each thread, which cost these far more, and which comprise the program's part alone. The memory
/// is bounded, whatever the length of a slice: rings that become half full are read while it runs, and of more samples than can be
/// kept every second is.
#[derive(Debug)]
pub struct CpuProfiler {
    hz: u32,
    comprises: Complete,
    events: Events,
    collector: Arc<Mutex<Collector>>,
    draining: Option<Draining>,
    /// Why the server is not sampled although it was to be.
    passed_over: Option<ProfileError>,
    /// Processes that the server began and that were looked at.
    children: HashSet<u32>,
}

impl CpuProfiler {
    /// Gets ready to take `hz` samples a second of CPU time in slices of up to this length. Longer ones cost the machine more.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn open(hz: u32, slice: Duration) -> crate::Result<Self> {
        let (events, rings) = Events::open(hz, slice)?;
        Ok(Self {
            hz,
            comprises: events.comprises(),
            events,
            collector: Arc::new(Mutex::new(Collector::new(rings))),
            draining: None,
            passed_over: None,
            children: HashSet::new(),
        })
    }

    /// What its samples comprise, which follows from what the kernel allows.
    pub fn comprises(&self) -> Complete {
        self.comprises
    }

    /// Why the server is not sampled in this slice, though the load threads are: it may be another user's.
    pub fn passed_over(&self) -> Option<&ProfileError> {
        self.passed_over.as_ref()
    }

    /// Begins to sample. What was seen before is given up. A server that this user may not look into is passed over if there are
    /// load threads.
    ///
    /// # Errors
    /// If the kernel refuses, or a process has ended.
    pub fn begin(&mut self, watched: &Watched, stacks: &mut Stacks) -> crate::Result<()> {
        self.stop();
        self.draining = None;
        self.events.close_threads();
        lock(&self.collector).clear();
        if watched.with_children {
            // Before the children are looked for, or one that begins meanwhile would be missed.
            self.events.follow_processes()?;
        }
        let begun = self.begin_with(Watch::new(watched), watched, stacks);
        if begun.is_err() {
            self.stop();
        }
        begun
    }

    fn begin_with(&mut self, mut watch: Watch, watched: &Watched, stacks: &mut Stacks) -> crate::Result<()> {
        if let Some(pid) = watched.server.iter().find(|pid| !exists(**pid)) {
            return Err(ProfileError::ProcessEnded(*pid));
        }
        self.forget_ended_children(stacks);
        if !watched.client.is_empty() {
            stacks.refresh(std::process::id())?;
        }
        self.passed_over = match self.know_server(&watch, watched, stacks) {
            Err(error @ ProfileError::Refused { .. }) if !watched.client.is_empty() => {
                watch.without_server();
                Some(error)
            }
            outcome => outcome.map(|()| None)?,
        };
        if let Some(error) = self.events.enable(&mut watch)? {
            self.passed_over = Some(error);
        }
        lock(&self.collector).watch = watch;
        self.draining = Some(
            Draining::start(&self.collector).map_err(|cause| ProfileError::Read {
                what: "samples of CPU time".to_owned(),
                cause,
            })?,
        );
        Ok(())
    }

    /// Ends the sampling at once.
    pub fn stop(&mut self) {
        self.events.disable();
    }

    /// What was seen since it began, after it was stopped.
    ///
    /// # Errors
    /// If nothing of it can be read.
    pub fn profile(
        &mut self,
        slice: SliceId,
        stacks: &mut Stacks,
        symbols: &mut SymbolTable,
    ) -> crate::Result<Profile> {
        if self.draining.take().is_none() {
            return Err(ProfileError::Read {
                what: "samples of a slice that has not begun".to_owned(),
                cause: io::ErrorKind::InvalidInput.into(),
            });
        }
        self.stop();
        self.events.close_threads();
        let collected = lock(&self.collector).end();
        self.children.extend(collected.watch.began());
        let sides = samples::fold(collected, self.hz, self.comprises, stacks, symbols);
        Ok(Profile { slice, sides })
    }

    fn know_server(&mut self, watch: &Watch, watched: &Watched, stacks: &mut Stacks) -> crate::Result<()> {
        for pid in watch.server() {
            let refreshed = stacks.refresh(pid);
            if watched.server.contains(&pid) {
                refreshed?;
            } else {
                // A child may have ended meanwhile.
                self.children.insert(pid);
            }
        }
        Ok(())
    }

    fn forget_ended_children(&mut self, stacks: &mut Stacks) {
        self.children.retain(|pid| {
            let lives = exists(*pid);
            if !lives {
                stacks.forget(*pid);
            }
            lives
        });
    }
}
