//! What the tests of the event loop share.

#![allow(dead_code, reason = "each program of tests uses some of it")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::{Reactor, Socket};

/// How long anything may take that is expected to end: generous, because the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server that answers each of `connections` with the bytes it gets until the client closes.
pub(crate) fn echo(connections: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    if stream.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

/// A server of one connection that does this with it.
pub(crate) fn serve<T: Send + 'static>(
    peer: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, thread::JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (address, thread::spawn(move || peer(listener.accept().unwrap().0)))
}

pub(crate) fn soon() -> Instant {
    Instant::now() + PATIENCE
}

pub(crate) async fn round_trips(reactor: &Rc<Reactor>, address: SocketAddr, count: u32) -> u32 {
    let socket = Socket::connect(reactor, address).await.unwrap();
    exchange(&socket, count).await
}

pub(crate) async fn exchange(socket: &Socket, count: u32) -> u32 {
    let mut answered = 0;
    for number in 0..count {
        socket.send_all(&number.to_le_bytes()).await.unwrap();
        let mut answer = [0; 64];
        let received = socket.receive(&mut answer).await.unwrap();
        assert_eq!(&answer[..received], number.to_le_bytes());
        answered += 1;
    }
    answered
}

/// A socket that is connected.
pub(crate) fn connected(reactor: &Rc<Reactor>, address: SocketAddr) -> Socket {
    let connect = Socket::connect(reactor, address);
    reactor.run_one(connect, soon()).unwrap().unwrap().unwrap()
}

/// As many bytes as these, received by buffers of `room`.
pub(crate) async fn receive_all(socket: &Socket, count: usize, room: usize) -> Vec<u8> {
    let (mut all, mut bytes) = (Vec::new(), vec![0; room]);
    while all.len() < count {
        let received = socket.receive(&mut bytes).await.unwrap();
        assert!(received > 0, "the end came after {} bytes", all.len());
        all.extend_from_slice(&bytes[..received]);
    }
    all
}

/// Bytes that are not alike at any two near places.
pub(crate) fn pattern(count: usize, seed: usize) -> Vec<u8> {
    (0..count)
        .map(|place| (place.wrapping_mul(31) ^ (place >> 8).wrapping_mul(17) ^ seed) as u8)
        .collect()
}
