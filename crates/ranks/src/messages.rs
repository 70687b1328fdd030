//! Messages by MPI. Nothing here waits busily: MPI only works while it is asked, so it is asked now and then.

use std::thread;
use std::time::{Duration, Instant};

use mpi::Tag;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::request;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};

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
}

/// A message that has arrived.
pub(crate) struct Arrived {
    pub(crate) from: u32,
    pub(crate) kind: Kind,
    pub(crate) bytes: Vec<u8>,
}

impl<'a> Messages<'a> {
    pub(crate) fn new(world: &'a SimpleCommunicator) -> Self {
        Self { world }
    }

    pub(crate) fn rank(&self) -> u32 {
        self.world.rank() as u32
    }

    /// All but this one.
    pub(crate) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (rank, of) = (self.rank(), self.world.size() as u32);
        (0..of).filter(move |other| *other != rank)
    }

    /// Sends a message. Whoever does not take it hangs, and all that MPI started are ended then: a message on its way cannot be
    /// taken back.
    pub(crate) fn send(&self, to: u32, kind: Kind, bytes: &[u8]) {
        let to = self.world.process_at_rank(to as i32);
        let deadline = Instant::now() + TRANSFER;
        request::scope(|scope| {
            let mut sending = to.immediate_send_with_tag(scope, bytes, kind as Tag);
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

    /// The next message that has arrived; `None` if there is none now.
    pub(crate) fn receive(&self) -> Option<Arrived> {
        let probed = self.world.any_process().immediate_matched_probe()?;
        let (bytes, status) = probed.matched_receive_vec::<u8>();
        Some(Arrived {
            from: status.source_rank() as u32,
            kind: KINDS[usize::try_from(status.tag()).ok()?.min(KINDS.len() - 1)],
            bytes,
        })
    }
}
