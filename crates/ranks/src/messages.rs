//! Messages by MPI. Nothing here waits busily: MPI only works while it is asked, so it is asked now and then.

use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use mpi::Tag;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::request;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};

use crate::doorbell::Doorbell;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of one load generator to another.
    Message,
    /// That the load generator which sends it is gone; it says why.
    Lost,
    /// That all is over.
    End,
    /// The answer to that.
    Ended,
}

const KINDS: [Kind; 4] = [Kind::Message, Kind::Lost, Kind::End, Kind::Ended];

/// How often it is asked whether a message is on its way.
const GLANCE: Duration = Duration::from_micros(100);
/// How long a message may take.
const TRANSFER: Duration = Duration::from_secs(5);

/// How all ends where one hangs: what was measured is kept.
const PARTIAL: i32 = 4;

/// The way to all others.
pub(crate) struct Messages<'a> {
    world: &'a SimpleCommunicator,
    doorbell: Doorbell,
}

/// A message that has arrived.
pub(crate) struct Arrived {
    pub(crate) from: u32,
    pub(crate) kind: Kind,
    pub(crate) bytes: Vec<u8>,
}

impl<'a> Messages<'a> {
    /// # Errors
    /// If the system has nothing by which one could be woken.
    pub(crate) fn new(world: &'a SimpleCommunicator) -> io::Result<Self> {
        let doorbell = Doorbell::hang(world)?;
        Ok(Self { world, doorbell })
    }

    pub(crate) fn rank(&self) -> u32 {
        self.world.rank() as u32
    }

    /// All but this one.
    pub(crate) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (rank, of) = (self.rank(), self.world.size() as u32);
        (0..of).filter(move |other| *other != rank)
    }

    /// Whom this one hears of: a follower of the conductor alone.
    fn callers(&self) -> impl Iterator<Item = u32> + use<> {
        let conducts = self.rank() == 0;
        self.others().filter(move |other| conducts || *other == 0)
    }

    /// What becomes readable when a message is on its way to this one, from who is on the same machine.
    pub(crate) fn doorbell(&self) -> impl AsFd {
        &self.doorbell
    }

    /// Whether [`Self::doorbell`] has said since this was asked last that a message is on its way.
    pub(crate) fn are_announced(&mut self) -> bool {
        self.doorbell.was_rung()
    }

    /// Whether [`Self::doorbell`] says so of every message.
    pub(crate) fn are_all_announced(&self) -> bool {
        self.doorbell.is_rung_by(self.callers())
    }

    /// Sends a message. Whoever does not take it hangs, and all that MPI started are ended then: a message on its way cannot be
    /// taken back.
    pub(crate) fn send(&self, to: u32, kind: Kind, bytes: &[u8]) {
        let receiver = self.world.process_at_rank(to as i32);
        let deadline = Instant::now() + TRANSFER;
        request::scope(|scope| {
            let mut sending = receiver.immediate_send_with_tag(scope, bytes, kind as Tag);
            self.doorbell.ring(to);
            loop {
                sending = match sending.test() {
                    Ok(_) => return,
                    Err(sending) => sending,
                };
                if Instant::now() > deadline {
                    self.world.abort(PARTIAL);
                }
                thread::sleep(GLANCE);
            }
        })
    }

    /// The next message that has arrived; `None` if there is none now. Open MPI looks for what has arrived after it has found that there is
    /// none, so it is asked twice.
    pub(crate) fn receive(&self) -> Option<Arrived> {
        let probe = || self.world.any_process().immediate_matched_probe();
        let probed = probe().or_else(probe)?;
        let (bytes, status) = probed.matched_receive_vec::<u8>();
        Some(Arrived {
            from: status.source_rank() as u32,
            kind: KINDS[usize::try_from(status.tag()).ok()?.min(KINDS.len() - 1)],
            bytes,
        })
    }
}
