//! What wakes load generators of one machine: MPI wakes nobody, and whoever looks for messages now and then takes the CPU from those
//! that work. Who sends rings; a ring says nothing but that there is something to look for.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Root};

/// The doorbell of one load generator, and the way to those of the others that share its kernel and its network.
#[derive(Debug)]
pub(crate) struct Doorbell {
    socket: UnixDatagram,
    run: Run,
    rank: u32,
    /// Who has rung so far, by number.
    has_rung: Vec<bool>,
}

/// What tells this run's doorbells from others'.
#[derive(Debug, Clone, Copy, Default)]
struct Run([u8; 16]);

impl Doorbell {
    /// Of this load generator in `world`, all of which have to ask for theirs at the same time. Where the system allows no such socket
    /// nobody rings.
    ///
    /// # Errors
    /// If the system has no sockets or no random numbers.
    pub(crate) fn hang(world: &SimpleCommunicator) -> io::Result<Self> {
        let mut run = Run::default();
        if world.rank() == 0 {
            File::open("/dev/urandom")?.read_exact(&mut run.0)?;
        }
        world.process_at_rank(0).broadcast_into(&mut run.0);
        let rank = world.rank() as u32;
        let socket = run
            .address(rank)
            .and_then(|address| UnixDatagram::bind_addr(&address))
            .or_else(|_| UnixDatagram::unbound())?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            run,
            rank,
            has_rung: vec![false; world.size() as usize],
        })
    }

    /// Says that something is on its way to that one. It may be on another machine, or awake.
    pub(crate) fn ring(&self, other: u32) {
        if let Ok(address) = self.run.address(other) {
            let _ = self.socket.send_to_addr(&self.rank.to_ne_bytes(), &address);
        }
    }

    /// Whether somebody has rung since this was asked last.
    pub(crate) fn was_rung(&mut self) -> bool {
        let mut was_rung = false;
        let mut from = [0; 4];
        while let Ok(length) = self.socket.recv(&mut from) {
            was_rung = true;
            let rank = (length == from.len()).then(|| u32::from_ne_bytes(from) as usize);
            if let Some(rung) = rank.and_then(|rank| self.has_rung.get_mut(rank)) {
                *rung = true;
            }
        }
        was_rung
    }

    /// Whether all of them have rung before, and so will.
    pub(crate) fn is_rung_by(&self, others: impl IntoIterator<Item = u32>) -> bool {
        others.into_iter().all(|other| self.has_rung[other as usize])
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Run {
    /// A name that is in no folder: nothing is left of it.
    fn address(self, rank: u32) -> io::Result<SocketAddr> {
        let mut name = b"ciphertax-mpi".to_vec();
        name.extend(self.0);
        name.extend(rank.to_ne_bytes());
        SocketAddr::from_abstract_name(name)
    }
}
