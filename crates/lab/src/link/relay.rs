//! Delaying the bytes of TCP connections: what can be done without root.
//!
//! Two threads serve each direction of a connection, as this is for few connections; the fallback is to be simple.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_model::LinkKind;
use ciphertax_supervise::Conversation;

use super::answer::answer;
use super::delay_line::DelayLine;
use super::report::Tally;
use super::settings::Settings;

/// Most bytes that are read, and delayed, as one piece.
const PIECE: usize = 16 << 10;

/// Pieces that may be on the way in one direction of a connection before its sender must wait: 8 MiB, about what
/// Linux lets a TCP window grow to.
const MOST_ON_THE_WAY: usize = 512;

/// How long the target may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// How often it is looked whether a limited bandwidth has room again, or whether there are descriptors again.
const RETRY: Duration = Duration::from_millis(1);

/// Relays connections to `target` until the owner is gone; the process must end then.
pub(super) fn relay(
    listener: TcpListener,
    target: SocketAddr,
    settings: Settings,
    mut owner: Conversation,
) -> io::Result<()> {
    let now = Instant::now();
    let shared = Arc::new(Shared {
        target,
        there: Mutex::new(DelayLine::new(settings, now)),
        back: Mutex::new(DelayLine::new(settings, now)),
        tally: Mutex::new(Tally::new()),
    });
    let acceptor = Arc::clone(&shared);
    spawn(move || acceptor.accept(&listener))?;
    while let Some(request) = owner.receive()? {
        let answer = answer(request, LinkKind::Relay, &lock(&shared.tally), |settings| {
            for line in [&shared.there, &shared.back] {
                lock(line).set(settings.to_servers, Instant::now());
            }
        });
        owner.send(&answer)?;
    }
    Ok(())
}

struct Shared {
    target: SocketAddr,
    there: Mutex<DelayLine>,
    back: Mutex<DelayLine>,
    tally: Mutex<Tally>,
}

/// One direction.
#[derive(Clone, Copy)]
enum Way {
    There,
    Back,
}

/// Bytes on their way; none at the end of the direction.
struct Piece {
    due: Instant,
    bytes: Vec<u8>,
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            let Ok(client) = client else {
                thread::sleep(RETRY);
                continue;
            };
            let shared = Arc::clone(self);
            // A connection that cannot be served is closed, as when the target refuses it.
            let _ = spawn(move || shared.connect(client));
        }
    }

    /// The target is connected to when the client's word would have arrived there.
    fn connect(self: &Arc<Self>, client: TcpStream) -> io::Result<()> {
        sleep_until(self.enter(Way::There, 0));
        let server = TcpStream::connect_timeout(&self.target, CONNECT)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        self.pump(Way::There, client.try_clone()?, server.try_clone()?)?;
        self.pump(Way::Back, server, client)
    }

    fn pump(self: &Arc<Self>, way: Way, from: TcpStream, to: TcpStream) -> io::Result<()> {
        let (sender, receiver) = sync_channel(MOST_ON_THE_WAY);
        let (reader, writer) = (Arc::clone(self), Arc::clone(self));
        let source = from.try_clone()?;
        spawn(move || reader.take_in(way, source, &sender))?;
        spawn(move || {
            let _ = writer.deliver(&to, &receiver);
            let _ = to.shutdown(Shutdown::Write);
            let _ = from.shutdown(Shutdown::Read);
        })
    }

    fn take_in(&self, way: Way, mut from: TcpStream, sender: &SyncSender<Piece>) {
        let mut buffer = vec![0; PIECE];
        loop {
            let length = match from.read(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // To the other side a broken connection ends like any other.
                Err(_) => 0,
            };
            let piece = Piece {
                due: self.enter(way, length),
                bytes: buffer[..length].to_vec(),
            };
            if sender.send(piece).is_err() || length == 0 {
                return;
            }
        }
    }

    fn deliver(&self, mut to: &TcpStream, receiver: &Receiver<Piece>) -> io::Result<()> {
        for Piece { due, bytes } in receiver {
            sleep_until(due);
            if bytes.is_empty() {
                break;
            }
            // Before they are sent, so that who has received them finds them counted.
            lock(&self.tally).delivered(due.elapsed());
            to.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Waits until bytes fit into the queue before the line and says when they leave it.
    fn enter(&self, way: Way, bytes: usize) -> Instant {
        let line = match way {
            Way::There => &self.there,
            Way::Back => &self.back,
        };
        loop {
            let mut line = lock(line);
            let now = Instant::now();
            if line.has_room(bytes, now) {
                return line.enter(bytes, now);
            }
            drop(line);
            thread::sleep(RETRY);
        }
    }
}

fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name("relay".into())
        .stack_size(128 << 10)
        .spawn(work)
        .map(drop)
}

fn sleep_until(due: Instant) {
    thread::sleep(due.saturating_duration_since(Instant::now()));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
