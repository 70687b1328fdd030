//! The textbook loop: level-triggered epoll.

use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Instant;

use ciphertax_bench::bare::exchange::{ANSWER_ROOM, Exchange};
use ciphertax_bench::bare::login;
use ciphertax_bench::{Login, Result};
use rustix::event::epoll;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::Driver;

const EVENTS_PER_WAIT: usize = 256;

/// Level-triggered epoll.
pub(crate) struct LevelTriggered {
    epoll: OwnedFd,
    connections: Vec<(TcpStream, Exchange)>,
}

impl LevelTriggered {
    pub(crate) fn connect(login: &Login, connections: u32) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let connections = (0..connections)
            .map(|index| {
                let (socket, exchange) = login::blocking(login, index.into())?;
                let data = epoll::EventData::new_u64(index.into());
                epoll::add(&epoll, &socket, data, epoll::EventFlags::IN)?;
                Ok((socket, exchange))
            })
            .collect::<Result<_>>()?;
        Ok(Self { epoll, connections })
    }
}

impl Driver for LevelTriggered {
    fn label(&self) -> String {
        "epoll".to_owned()
    }

    fn run(&mut self, deadline: Instant) -> Result<u64> {
        let mut buffer = [0; ANSWER_ROOM];
        let mut events = Vec::with_capacity(EVENTS_PER_WAIT);
        let mut working = self.connections.len();
        let mut operations = 0;
        for (socket, exchange) in &mut self.connections {
            ask(socket, exchange)?;
        }
        while working > 0 {
            events.clear();
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None)?;
            for event in &events {
                let (socket, exchange) = &mut self.connections[event.data.u64() as usize];
                let (_, count) = recv(&*socket, &mut buffer[..], RecvFlags::empty())?;
                if !exchange.received(&buffer[..count])? {
                    continue;
                }
                operations += 1;
                if Instant::now() < deadline {
                    ask(socket, exchange)?;
                } else {
                    working -= 1;
                }
            }
        }
        Ok(operations)
    }
}

/// Sends a request, which always fits in an empty send buffer.
fn ask(socket: &TcpStream, exchange: &mut Exchange) -> Result<()> {
    let request = exchange.request();
    let expected = request.len();
    if send(socket, request, SendFlags::NOSIGNAL)? != expected {
        return Err("a request did not fit in the send buffer".into());
    }
    Ok(())
}
