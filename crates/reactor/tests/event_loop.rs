//! The event loop against real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::{PollDelay, Reactor, Socket, Together, stop};

use crate::common::{connected, echo, round_trips, serve, soon};

#[test]
fn many_tasks_share_one_thread() {
    let reactor = &Reactor::new().unwrap();
    for poll_delay in [PollDelay::NONE, PollDelay::micros(50)] {
        reactor.set_poll_delay(poll_delay);
        let address = echo(20);
        let outputs = reactor
            .run((0..20).map(|_| round_trips(reactor, address, 50)), soon())
            .unwrap();
        assert_eq!(outputs, vec![Some(50); 20]);
    }
}

#[test]
fn transfers_larger_than_the_send_buffer_arrive_whole() {
    let reactor = &Reactor::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent: Vec<u8> = (0..8_000_000_u32).map(|byte| byte as u8).collect();
    let reader = thread::spawn(move || {
        let mut received = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
        received
    });
    let task = async {
        let socket = Socket::connect(reactor, address).await.unwrap();
        socket.send_all(&sent).await.unwrap();
    };
    assert_eq!(reactor.run_one(task, soon()).unwrap(), Some(()));
    assert_eq!(reader.join().unwrap(), sent);
}

#[test]
fn data_followed_by_a_close_is_read_and_then_the_end() {
    let reactor = &Reactor::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.accept().unwrap().0.write_all(b"goodbye").unwrap());
    let task = async {
        let socket = Socket::connect(reactor, address).await.unwrap();
        // Lets the close arrive together with the data.
        thread::sleep(Duration::from_millis(50));
        let mut bytes = [0; 64];
        let first = socket.receive(&mut bytes).await.unwrap();
        let second = socket.receive(&mut bytes).await.unwrap();
        (first, second)
    };
    assert_eq!(reactor.run_one(task, soon()).unwrap(), Some((7, 0)));
}

#[test]
fn a_task_that_never_ends_is_dropped_at_the_deadline_and_its_socket_can_be_used_again() {
    let reactor = &Reactor::new().unwrap();
    let address = echo(1);
    let socket = reactor
        .run_one(Socket::connect(reactor, address), soon())
        .unwrap()
        .unwrap()
        .unwrap();
    let mut bytes = [0; 8];
    let deadline = Instant::now() + Duration::from_millis(30);
    assert!(
        reactor
            .run_one(socket.receive(&mut bytes), deadline)
            .unwrap()
            .is_none()
    );
    assert!(Instant::now() >= deadline);
    let again = async {
        socket.send_all(b"again").await.unwrap();
        socket.receive(&mut bytes).await.unwrap()
    };
    assert_eq!(reactor.run_one(again, soon()).unwrap(), Some(5));
}

#[test]
fn a_peer_that_never_stops_sending_does_not_move_the_deadline() {
    let reactor = &Reactor::new().unwrap();
    for pause in [Duration::ZERO, Duration::from_millis(1)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let bytes = vec![0; if pause.is_zero() { 1 << 20 } else { 1 }];
            while stream.write_all(&bytes).is_ok() {
                thread::sleep(pause);
            }
        });
        let task = async {
            let socket = Socket::connect(reactor, address).await.unwrap();
            let mut bytes = [0; 512];
            while socket.receive(&mut bytes).await.unwrap() > 0 {}
        };
        let deadline = Instant::now() + Duration::from_millis(100);
        assert_eq!(reactor.run_one(task, deadline).unwrap(), None);
        assert!(Instant::now() >= deadline);
    }
}

#[test]
fn of_several_that_are_asked_together_those_that_answer_are_heard() {
    let reactor = &Reactor::new().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let places = [silent.local_addr().unwrap(), echo(2), closed];
    let ask = async |address: &SocketAddr| -> std::io::Result<usize> {
        let socket = Socket::connect(reactor, *address).await?;
        socket.send_all(b"anybody there?").await?;
        socket.receive(&mut [0; 64]).await
    };
    let task = async {
        let first = Together::new(places.iter().map(ask)).first_ok().await;
        assert_eq!(first.unwrap().unwrap(), 14);

        let mut all = Together::new(places.iter().map(ask));
        let mut heard = Vec::new();
        let listen = async {
            while let Some((place, outcome)) = all.next().await {
                heard.push((place, outcome.is_ok()));
            }
        };
        let deadline = Instant::now() + Duration::from_millis(300);
        assert_eq!(reactor.until(deadline, listen).await, None);
        assert!(Instant::now() >= deadline);
        heard.sort_unstable();
        assert_eq!(heard, [(1, true), (2, false)]);

        let refused = Together::new([ask(&closed)]).first_ok().await;
        assert!(refused.unwrap().is_err());
        assert_eq!(reactor.until(soon(), async { 5 }).await, Some(5));
    };
    assert_eq!(reactor.run_one(task, soon()).unwrap(), Some(()));
}

#[test]
fn a_refused_connection_is_an_error() {
    let reactor = &Reactor::new().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = reactor
        .run_one(Socket::connect(reactor, closed), soon())
        .unwrap()
        .unwrap();
    let kind = outcome.err().map(|error| error.kind());
    assert_eq!(kind, Some(std::io::ErrorKind::ConnectionRefused));
}

/// How long what is answered may go on after somebody wanted to stop.
const LAST_MOMENT: Duration = Duration::from_millis(500);

#[test]
fn a_wish_to_stop_ends_what_nobody_answers_and_lets_what_is_answered_end() {
    let reactor = &Reactor::new().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap();
    let far = Instant::now() + Duration::from_secs(3600);
    let (address, peer) = serve(|mut peer| {
        peer.write_all(&[7; 10]).unwrap();
        peer
    });
    let answered = connected(reactor, address);
    let _peer = peer.join().unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    stop::with_flag(&flag, || {
        let later = Arc::clone(&flag);
        let stopper = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            later.store(true, Ordering::Relaxed);
        });
        let waits = async {
            let socket = Socket::connect(reactor, silent).await.unwrap();
            socket.receive(&mut [0; 8]).await.unwrap()
        };
        assert_eq!(reactor.run_one(waits, far).unwrap(), None);
        stopper.join().unwrap();
        let began = Instant::now();
        let trips = reactor.run_one(round_trips(reactor, echo(1), 10), far).unwrap();
        // A machine that stands still for the last moment has had it.
        assert!(trips == Some(10) || began.elapsed() >= LAST_MOMENT, "{trips:?}");
        let there = async {
            let mut answers = [0; 10];
            answered.receive(&mut answers).await.unwrap()
        };
        assert_eq!(reactor.run_one(there, far).unwrap(), Some(10));
    });
}
