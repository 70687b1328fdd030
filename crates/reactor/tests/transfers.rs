//! Bytes arrive whole and in order, whatever their number.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::{PollDelay, Reactor, Socket};

use crate::common::{echo, pattern, receive_all, serve, soon};

/// Around the sizes of buffers.
const SIZES: [usize; 12] = [
    1, 8, 4095, 4096, 4097, 100, 8192, 16_384, 65_536, 3, 1_000_000, 5000,
];

#[test]
fn requests_of_all_sizes_come_back_as_they_were() {
    let reactor = &Reactor::new().unwrap();
    for delay in [PollDelay::NONE, PollDelay::micros(100)] {
        reactor.set_poll_delay(delay);
        let address = echo(10);
        let tasks = (0..10).map(async |number| {
            let socket = Socket::connect(reactor, address).await.unwrap();
            for (round, size) in SIZES.iter().cycle().take(36).enumerate() {
                // The peer answers while it reads, so what is large must not fill both directions.
                for part in pattern(*size, number + round).chunks(50_000) {
                    socket.send_all(part).await.unwrap();
                    assert!(receive_all(&socket, part.len(), 4096 + number).await == part);
                }
            }
        });
        assert_eq!(reactor.run(tasks, soon()).unwrap(), [Some(()); 10]);
    }
}

#[test]
fn sends_without_answers_arrive_in_order() {
    let reactor = &Reactor::new().unwrap();
    let (address, peer) = serve(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all
    });
    let sent = pattern(3_000_000, 5);
    let task = async {
        let socket = Socket::connect(reactor, address).await.unwrap();
        let mut rest = &sent[..];
        for size in SIZES.iter().cycle() {
            let (part, others) = rest.split_at((*size).min(rest.len()));
            socket.send_all(part).await.unwrap();
            rest = others;
            if rest.is_empty() {
                break;
            }
        }
    };
    assert_eq!(reactor.run_one(task, soon()).unwrap(), Some(()));
    assert!(peer.join().unwrap() == sent);
}

#[test]
fn a_small_buffer_takes_what_came_piece_by_piece() {
    let reactor = &Reactor::new().unwrap();
    let sent = pattern(20_000, 1);
    let expected = sent.clone();
    let (address, _peer) = serve(move |mut stream| stream.write_all(&sent).unwrap());
    let task = async {
        let socket = Socket::connect(reactor, address).await.unwrap();
        let all = receive_all(&socket, expected.len(), 7).await;
        (all, socket.receive(&mut [0; 7]).await.unwrap())
    };
    let (all, end) = reactor.run_one(task, soon()).unwrap().unwrap();
    assert!(all == expected && end == 0);
}

/// Bytes that a peer gets which for long only talks.
const UNREAD: usize = 4000 * 4096;

/// Says a word for each 4 KiB, and begins to read late.
fn talkative<S: Read + Send + 'static>(mut reads: S, mut writes: impl Write) -> Vec<u8> {
    let reader = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        let mut all = Vec::new();
        reads.read_to_end(&mut all).unwrap();
        all
    });
    for _ in 0..UNREAD / 4096 {
        writes.write_all(b".").unwrap();
        thread::sleep(Duration::from_micros(20));
    }
    reader.join().unwrap()
}

async fn talk(socket: Socket, sent: &[u8]) {
    for part in sent.chunks(4096) {
        assert_eq!(socket.receive(&mut [0]).await.unwrap(), 1);
        socket.send_all(part).await.unwrap();
    }
    socket.finish().unwrap();
    assert_eq!(socket.receive(&mut [0]).await.unwrap(), 0);
}

#[test]
fn a_peer_that_answers_without_reading_gets_all_once_it_reads() {
    let reactor = &Reactor::new().unwrap();
    let sent = pattern(UNREAD, 3);
    let (address, peer) = serve(|stream| talkative(stream.try_clone().unwrap(), stream));
    let task = async { talk(Socket::connect(reactor, address).await.unwrap(), &sent).await };
    assert_eq!(reactor.run_one(task, soon()).unwrap(), Some(()));
    assert!(peer.join().unwrap() == sent);
}

#[test]
fn unix_sockets_do_the_same() {
    let reactor = &Reactor::new().unwrap();
    let name = format!("ciphertax-reactor-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let listener = UnixListener::bind(&path).unwrap();
    let peer = thread::spawn(move || {
        let stream = listener.accept().unwrap().0;
        talkative(stream.try_clone().unwrap(), stream)
    });
    let sent = pattern(UNREAD, 4);
    let task = async { talk(Socket::connect_unix(reactor, &path).await.unwrap(), &sent).await };
    let outcome = reactor.run_one(task, soon());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(outcome.unwrap(), Some(()));
    assert!(peer.join().unwrap() == sent);
}

#[test]
fn a_finished_connection_still_receives() {
    let reactor = &Reactor::new().unwrap();
    let (address, _peer) = serve(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(&all).unwrap();
    });
    let task = async {
        let socket = Socket::connect(reactor, address).await.unwrap();
        for _ in 0..30 {
            socket.send_all(b"question").await.unwrap();
        }
        socket.finish().unwrap();
        let error = socket.send_all(b"one more").await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        let answer = receive_all(&socket, 30 * 8, 1000).await;
        (answer, socket.receive(&mut [0; 8]).await.unwrap())
    };
    let (answer, end) = reactor.run_one(task, soon()).unwrap().unwrap();
    assert_eq!((answer, end), (b"question".repeat(30), 0));
}

#[test]
fn sleepers_wake_in_time_and_not_early() {
    let reactor = &Reactor::new().unwrap();
    // By the millisecond, in which epoll counts, it would be far more.
    let is_in_time = || lateness_of_tasks(reactor) < 3 * lateness_of_threads();
    assert!((0..50).any(|_| is_in_time()));
}

/// Half of twenty tasks wake that late, or later.
fn lateness_of_tasks(reactor: &Rc<Reactor>) -> Duration {
    let begin = Instant::now();
    let tasks = (0..20).map(async |number| {
        let due = begin + Duration::from_micros(300 * (1 + number % 7));
        let woken = reactor.sleep_until(due).await;
        assert!(woken >= due);
        woken - due
    });
    let late = reactor.run(tasks, soon()).unwrap().into_iter();
    median(late.map(Option::unwrap).collect())
}

/// The same of a thread whom the kernel wakes.
fn lateness_of_threads() -> Duration {
    let sleep = Duration::from_micros(300);
    let late = (0..20).map(|_| {
        let begin = Instant::now();
        thread::sleep(sleep);
        begin.elapsed() - sleep
    });
    median(late.collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
