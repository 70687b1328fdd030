//! Peers that flood, are silent, leave or break off, and what sockets owe them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::{Reactor, Socket};
use rustix::net::sockopt::set_socket_linger;

use crate::common::{PATIENCE, connected, echo, exchange, receive_all, round_trips, serve, soon};

const SHORT: Duration = Duration::from_millis(20);

fn short() -> Instant {
    Instant::now() + SHORT
}

/// More than a ring has buffers for.
const MANY: usize = 300;

#[test]
fn peers_that_flood_leave_the_others_their_turn() {
    let reactor = &Reactor::new().unwrap();
    let flood = |mut stream: TcpStream| while stream.write_all(&[1; 65536]).is_ok() {};
    let polite = connected(reactor, echo(1));
    let flooding: Vec<Socket> = (0..MANY).map(|_| connected(reactor, serve(flood).0)).collect();
    let is_done = std::cell::Cell::new(false);
    let tasks = (0..=MANY).map(async |index| {
        let Some(socket) = flooding.get(index) else {
            assert_eq!(exchange(&polite, 50).await, 50);
            is_done.set(true);
            return;
        };
        let mut bytes = [0; 6000];
        while !is_done.get() {
            assert!(socket.receive(&mut bytes).await.unwrap() > 0);
            reactor
                .sleep_until(Instant::now() + Duration::from_millis(1))
                .await;
        }
    });
    let outcomes = reactor.run(tasks, soon()).unwrap();
    assert!(outcomes.iter().all(Option::is_some));
}

#[test]
fn sockets_that_nobody_reads_leave_the_others_their_turn() {
    let reactor = &Reactor::new().unwrap();
    let gate = Arc::new(RwLock::new(()));
    let late = |mut stream: TcpStream, gate: Arc<RwLock<()>>| {
        drop(gate.read());
        stream.write_all(b"too late").unwrap();
        stream
    };
    let shut = gate.write().unwrap();
    let peer = |_| {
        let gate = Arc::clone(&gate);
        serve(move |stream| late(stream, gate))
    };
    let (addresses, peers): (Vec<_>, Vec<_>) = (0..MANY).map(peer).unzip();
    let sockets: Vec<Socket> = addresses
        .iter()
        .map(|address| connected(reactor, *address))
        .collect();
    let give_up = sockets
        .iter()
        .map(async |socket| socket.receive(&mut [0; 8]).await.unwrap());
    reactor.run(give_up, short()).unwrap();
    drop(shut);
    let _open: Vec<_> = peers.into_iter().map(|peer| peer.join().unwrap()).collect();
    let polite = round_trips(reactor, echo(1), 50);
    assert_eq!(reactor.run_one(polite, soon()).unwrap(), Some(50));
    let read = sockets.iter().map(async |socket| receive_all(socket, 8, 3).await);
    for bytes in reactor.run(read, soon()).unwrap() {
        assert_eq!(bytes.unwrap(), b"too late");
    }
}

#[test]
fn what_arrives_when_nobody_waits_is_there_for_the_next() {
    let reactor = &Reactor::new().unwrap();
    let (tell, told) = channel();
    let (address, _peer) = serve(move |mut stream| {
        told.recv().unwrap();
        stream.write_all(&[7; 10_000]).unwrap();
        stream
    });
    let task = async {
        let socket = Socket::connect(reactor, address).await.unwrap();
        let mut bytes = [0; 64];
        assert!(reactor.until(short(), socket.receive(&mut bytes)).await.is_none());
        tell.send(()).unwrap();
        reactor
            .sleep_until(Instant::now() + Duration::from_millis(100))
            .await;
        assert_eq!(bytes, [0; 64]);
        receive_all(&socket, 10_000, 64).await
    };
    assert_eq!(reactor.run_one(task, soon()).unwrap().unwrap(), [7; 10_000]);
}

#[test]
fn a_socket_that_is_given_up_while_it_waits_tells_its_peer_at_once() {
    let reactor = &Reactor::new().unwrap();
    let (address, peer) = serve(|mut stream| {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap()
    });
    let socket = connected(reactor, address);
    let waits = wait_for_anything(reactor, &socket);
    assert!(reactor.run_one(waits, short() + SHORT).unwrap().is_none());
    drop(socket);
    // The event loop is not run again.
    assert_eq!(peer.join().unwrap(), 0);
}

/// Waits for all there is to wait for.
async fn wait_for_anything(reactor: &Rc<Reactor>, socket: &Socket) {
    let mut bytes = [0; 8];
    assert!(reactor.until(short(), socket.receive(&mut bytes)).await.is_none());
    socket.closed().await;
}

#[test]
fn a_farewell_arrives_before_the_end() {
    let reactor = &Reactor::new().unwrap();
    // The first sends of a connection and later ones take different ways.
    for round_trips in [0, 40] {
        for is_kept in [false, true] {
            let (address, peer) = serve(|mut stream| {
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                let (mut all, mut bytes) = (Vec::new(), [0; 64]);
                while !all.ends_with(b"goodbye") {
                    let count = match stream.read(&mut bytes) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        count => count.unwrap(),
                    };
                    assert!(count > 0, "the end came before the farewell");
                    all.extend_from_slice(&bytes[..count]);
                    let _ = stream.write_all(&bytes[..count]);
                }
            });
            let task = async {
                let socket = Socket::connect(reactor, address).await.unwrap();
                exchange(&socket, round_trips).await;
                socket.send_all(b"goodbye").await.unwrap();
                is_kept.then_some(socket)
            };
            let _kept = reactor.run_one(task, soon()).unwrap().unwrap();
            peer.join().unwrap();
        }
    }
}

#[test]
fn a_socket_that_was_closed_by_its_peer_is_not_read() {
    let reactor = &Reactor::new().unwrap();
    let (address, peer) = serve(|mut stream| {
        thread::sleep(Duration::from_millis(30));
        stream.write_all(b"last words").unwrap();
    });
    let task = async {
        let socket = Socket::connect(reactor, address).await.unwrap();
        socket.closed().await;
        socket.closed().await;
        let words = receive_all(&socket, 10, 64).await;
        let end = socket.receive(&mut [0; 8]).await.unwrap();
        assert_eq!(socket.receive(&mut [0; 8]).await.unwrap(), 0);
        (words, end)
    };
    let (words, end) = reactor.run_one(task, soon()).unwrap().unwrap();
    assert_eq!((&words[..], end), (&b"last words"[..], 0));
    peer.join().unwrap();
}

#[test]
fn a_connection_that_breaks_is_an_error() {
    let reactor = &Reactor::new().unwrap();
    let (address, _) = serve(|stream| {
        thread::sleep(Duration::from_millis(30));
        set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    });
    let task = async {
        let socket = Socket::connect(reactor, address).await.unwrap();
        socket.receive(&mut [0; 8]).await.unwrap_err().kind()
    };
    let kind = reactor.run_one(task, soon()).unwrap();
    assert_eq!(kind, Some(io::ErrorKind::ConnectionReset));
}

#[test]
fn sending_to_a_peer_that_is_gone_is_an_error() {
    let reactor = &Reactor::new().unwrap();
    for round_trips in [0, 40] {
        let (address, peer) = serve(move |mut stream| {
            let mut bytes = [0; 4];
            for _ in 0..round_trips {
                stream.read_exact(&mut bytes).unwrap();
                stream.write_all(&bytes).unwrap();
            }
            stream.shutdown(Shutdown::Both).unwrap();
        });
        let task = async {
            let socket = Socket::connect(reactor, address).await.unwrap();
            exchange(&socket, round_trips).await;
            peer.join().unwrap();
            loop {
                if let Err(error) = socket.send_all(b"anybody there?").await {
                    return error.kind();
                }
                reactor
                    .sleep_until(Instant::now() + Duration::from_millis(1))
                    .await;
            }
        };
        let kind = reactor.run_one(task, soon()).unwrap().unwrap();
        let expected = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
        assert!(expected.contains(&kind), "{kind:?}");
    }
}

#[test]
fn thousands_of_sockets_given_up_leave_nothing_open() {
    let reactor = &Reactor::new().unwrap();
    let address = echo(3000);
    for _ in 0..300 {
        let tasks = (0..10).map(async |_| {
            let socket = Socket::connect(reactor, address).await.unwrap();
            // Once as it waits, once when it has just asked.
            let moment = Instant::now() + Duration::from_micros(200);
            let _ = reactor.until(moment, socket.receive(&mut [0; 8])).await;
            socket.send_all(b"x").await.unwrap();
        });
        assert_eq!(reactor.run(tasks, soon()).unwrap(), [Some(()); 10]);
    }
}
