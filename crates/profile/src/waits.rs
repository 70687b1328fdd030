//! What threads wait for.
//!
//! A thread of this process, `waits`, looks at all threads of a server in rounds. The kernel says in `/proc/PID/task/TID/syscall`
//! whether a thread runs (or could run), or in which system call it waits and where its stack is. The stack of one that waits is
//! copied; if the thread still waits there afterwards, the copy is what it was. Nothing is stopped for that, and the server's
//! user needs no privilege. A thread that has not been given a CPU since (`schedstat` counts that) is not copied again.
//!
//! | found | is counted as |
//! |---|---|
//! | `running` | running, whether it had a CPU or waited for one |
//! | a call that receives from, or polls, a client's socket | idle: the session waits for its client |
//! | any other call, or a page that must be read | blocked, with its stack |
//! | a call, but another one after the copy | inconsistent |
//!
//! # Which threads serve sessions
//!
//! Where the server starts processes for its connections (PostgreSQL), those that begin with a connection do, and no others.
//! Elsewhere a thread does that
//!
//! 1. is not the one that the process began with, and
//! 2. was seen waiting for a client, in this slice or an earlier one (by its number and when it began), or
//! 3. is called as such a thread is, but for a number (`conn12`), while the server itself is called otherwise, or
//! 4. is called as the server is, and begins its work in the same functions as such a thread, which its stack tells, or
//! 5. never waited for anything so far: threads of the server's own mostly wait, so this one is busy for a client.
//!
//! All others are background. So are looks at a session's thread that waits for its next connection in a server's cache of
//! threads: there is no session then. A descriptor is a client's connection if it is a socket that neither listens nor is UDP's.

mod call;
mod copies;
mod memory;
mod process;
mod random;
mod roles;
mod round;
mod sampler;
mod sockets;
mod summary;
mod thread;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use ciphertax_records::SliceId;
use ciphertax_records::why::{SymbolTable, Waits};

use crate::error::ProfileError;
use crate::stacks::Stacks;
use crate::watched::Watched;
use roles::Roles;
use round::Seen;
use sampler::Sampler;

/// Looks at all threads of a server many times a second, in a thread of its own.
#[derive(Debug)]
pub struct WaitSampler {
    /// `None` once this goes.
    orders: Option<Sender<Watched>>,
    ready: Receiver<()>,
    seen: Receiver<Seen>,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    roles: Roles,
    /// True from the begin of a slice until what was seen is read.
    is_pending: bool,
}

impl WaitSampler {
    /// Gets ready to look so many times a second. It looks less often if that takes more than a twentieth of a CPU.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn open(hz: u32) -> crate::Result<Self> {
        let (orders, of_orders) = channel();
        let (to_ready, ready) = channel();
        let (to_seen, seen) = channel();
        let is_stopped = Arc::new(AtomicBool::new(true));
        let sampler = Sampler {
            period: Duration::from_secs(1) / hz.max(1),
            orders: of_orders,
            ready: to_ready,
            seen: to_seen,
            is_stopped: Arc::clone(&is_stopped),
        };
        let thread = Builder::new().name("waits".into()).spawn(move || sampler.work());
        let thread = thread.map_err(|cause| ProfileError::Read {
            what: "what threads wait for, without a thread for it".into(),
            cause,
        })?;
        Ok(Self {
            orders: Some(orders),
            ready,
            seen,
            is_stopped,
            thread: Some(thread),
            roles: Roles::default(),
            is_pending: false,
        })
    }

    /// Begins to look.
    ///
    /// # Errors
    /// If the processes cannot be read.
    pub fn begin(&mut self, watched: &Watched, stacks: &mut Stacks) -> crate::Result<()> {
        if self.is_pending {
            self.stop();
            self.seen()?;
        }
        for pid in &watched.server {
            sampler::may_look(*pid)?;
            stacks.refresh(*pid)?;
        }
        self.is_stopped.store(false, Ordering::Relaxed);
        let orders = self.orders.as_ref().ok_or_else(has_ended)?;
        orders.send(watched.clone()).map_err(|_| has_ended())?;
        self.ready.recv().map_err(|_| has_ended())?;
        self.is_pending = true;
        Ok(())
    }

    /// Ends the looking at once.
    pub fn stop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// What was seen since it began, after it was stopped. Of threads that serve no sessions it has what they waited for and how
    /// many ran.
    ///
    /// # Errors
    /// If nothing of it can be read.
    pub fn waits(
        &mut self,
        slice: SliceId,
        stacks: &mut Stacks,
        symbols: &mut SymbolTable,
    ) -> crate::Result<Waits> {
        self.stop();
        if !self.is_pending {
            return Err(has_ended());
        }
        let seen = self.seen()?;
        Ok(summary::waits(slice, seen, &mut self.roles, stacks, symbols))
    }

    fn seen(&mut self) -> crate::Result<Seen> {
        self.is_pending = false;
        self.seen.recv().map_err(|_| has_ended())
    }
}

impl Drop for WaitSampler {
    fn drop(&mut self) {
        self.stop();
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Without a slice, or without the thread that looks.
fn has_ended() -> ProfileError {
    ProfileError::Read {
        what: "what threads wait for".into(),
        cause: std::io::Error::other("nothing was begun"),
    }
}
