//! The relay's thread between real sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ciphertax_supervise::Conversation;

use super::super::process::{Answer, Counts, Encryption, EventLoop, Request};
use super::super::rows::Policy;
use super::super::rows::tests::definition;
use super::{GREETING, OK, Packets, login, stub, text_row};
use crate::helper_process::Answered;

const PATIENCE: Duration = Duration::from_secs(20);

/// A relay in a thread, and its owner's end.
struct Running {
    address: SocketAddr,
    owner: Option<Conversation>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Running {
    fn before(server: SocketAddr, encrypts: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (owner, theirs) = Conversation::pair().unwrap();
        let thread = thread::spawn(move || {
            let encryption = encrypts.then(|| Encryption {
                policy: Rc::new(Policy::new(&["customer.c_id".into()])),
                cells: Box::new(|| Ok(stub())),
            });
            EventLoop::new(listener, Conversation::over(theirs.into())?, server, encryption)?.run()
        });
        Self {
            address,
            owner: Some(owner),
            thread: Some(thread),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn counts(&mut self) -> Counts {
        let owner = self.owner.as_mut().unwrap();
        owner.send(&Request::Count).unwrap();
        match owner.receive_within(PATIENCE).unwrap() {
            Some(Answered::Ok(Answer::Counted(counts))) => counts,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.owner.take());
        let ended = self.thread.take().unwrap().join();
        assert!(matches!(ended, Ok(Ok(()))) || thread::panicking(), "{ended:?}");
    }
}

/// A server that does the same with each connection.
fn server(serve: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Greets, lets in, and answers every command with so many rows of one value. What was sent of them is counted.
fn mysql(rows: usize, value: &'static str, sent: &Arc<AtomicUsize>) -> SocketAddr {
    let sent = Arc::clone(sent);
    server(move |mut stream| {
        let mut buffer = [0; 4096];
        stream.write_all(&Packets::new(0).add(GREETING).bytes).unwrap();
        let _ = stream.read(&mut buffer).unwrap();
        stream.write_all(&Packets::new(2).add(OK).bytes).unwrap();
        let head = Packets::new(1)
            .add(&[1])
            .add(&definition("customer", "c_id", 3, false));
        let row = Packets::new(3).add(&text_row(&[Some(value)])).bytes;
        let end = Packets::new(4).add(&[0xFE, 0, 0, 2, 0, 0, 0]).bytes;
        let answer = |stream: &mut TcpStream| {
            stream.write_all(&head.bytes)?;
            for _ in 0..rows {
                stream.write_all(&row)?;
                sent.fetch_add(row.len(), Ordering::Relaxed);
            }
            stream.write_all(&end)
        };
        while stream.read(&mut buffer).is_ok_and(|count| count > 0) && answer(&mut stream).is_ok() {}
    })
}

/// Logs in at a [`mysql`].
fn log_in(stream: &mut TcpStream) {
    let mut greeting = vec![0; Packets::new(0).add(GREETING).bytes.len()];
    stream.read_exact(&mut greeting).unwrap();
    stream
        .write_all(&Packets::new(1).add(&login(1 << 24, 0)).bytes)
        .unwrap();
    stream.read_exact(&mut [0; 4 + OK.len()]).unwrap();
}

fn ask(stream: &mut TcpStream) {
    stream
        .write_all(&Packets::new(0).add(b"\x03SELECT").bytes)
        .unwrap();
}

/// The length of what comes for a question.
fn answer_length(rows: usize, cell: &str) -> usize {
    let head = Packets::new(1)
        .add(&[1])
        .add(&definition("customer", "c_id", 3, false));
    head.bytes.len() + rows * (4 + text_row(&[Some(cell)]).len()) + 11
}

#[test]
fn many_connections_at_a_time_get_their_own_cells() {
    let mut relay = Running::before(mysql(3, "17", &Arc::default()), true);
    let mut clients: Vec<TcpStream> = (0..200).map(|_| relay.connect()).collect();
    clients.iter_mut().for_each(log_in);
    for _ in 0..3 {
        clients.iter_mut().for_each(ask);
        for client in &mut clients {
            let mut answer = vec![0; answer_length(3, "<3:17>")];
            client.read_exact(&mut answer).unwrap();
            assert!(answer.windows(6).any(|part| part == b"<3:17>"));
        }
    }
    let counts = relay.counts();
    let counted = (counts.cells, counts.connections, counts.broken);
    assert_eq!(counted, (200 * 9, 200, 0));
}

#[test]
fn what_is_passed_on_is_what_was_sent_both_ways() {
    // It answers what it was asked, so every byte goes both ways.
    let echo = server(|mut stream| {
        let mut other = stream.try_clone().unwrap();
        let _ = std::io::copy(&mut other, &mut stream);
        let _ = stream.shutdown(std::net::Shutdown::Both);
    });
    let relay = Running::before(echo, false);
    let mut client = relay.connect();
    let sent: Vec<u8> = (0..20_u32 << 20)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let mut writer = client.try_clone().unwrap();
    let to_send = sent.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&to_send).unwrap();
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    writing.join().unwrap();
    assert!(received == sent);
}

#[test]
fn what_a_server_sent_before_it_closed_reaches_a_client_that_reads_late() {
    // From what fits into the client's socket to what fits nowhere, so that some of them end while the relay holds their last bytes.
    let sizes = (1..=80).map(|step| step * (64 << 10));
    let server = server(|mut stream| {
        let mut asked = Vec::new();
        stream.read_to_end(&mut asked).unwrap();
        let size: usize = String::from_utf8(asked).unwrap().parse().unwrap();
        stream.write_all(&vec![b'x'; size]).unwrap();
    });
    let relay = Running::before(server, false);
    let clients: Vec<(usize, TcpStream)> = sizes
        .map(|size| {
            let mut client = relay.connect();
            client.write_all(size.to_string().as_bytes()).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            (size, client)
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    for (size, mut client) in clients {
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        assert_eq!(received.len(), size);
    }
}

#[test]
fn a_client_that_does_not_read_holds_up_its_own_server_and_nobody_else() {
    let value: &'static str = Box::leak("x".repeat(100_000).into_boxed_str());
    let cell = format!("<3:{value}>");
    for (encrypts, cell) in [(true, cell.as_str()), (false, value)] {
        let sent: Arc<AtomicUsize> = Arc::default();
        let relay = Running::before(mysql(2_000, value, &sent), encrypts);
        let mut slow = relay.connect();
        log_in(&mut slow);
        ask(&mut slow);
        let mut before = usize::MAX;
        while before != sent.load(Ordering::Relaxed) {
            before = sent.load(Ordering::Relaxed);
            thread::sleep(Duration::from_millis(500));
        }
        // Of 200 MB, what sockets hold and the relay has read of the last.
        assert!(before < 60_000_000, "{before}");
        let mut quick = relay.connect();
        log_in(&mut quick);
        ask(&mut quick);
        for client in [&mut quick, &mut slow] {
            let mut buffer = vec![0; 1 << 20];
            let mut left = answer_length(2_000, cell);
            while left > 0 {
                let most = left.min(buffer.len());
                client.read_exact(&mut buffer[..most]).unwrap();
                left -= most;
            }
        }
    }
}

#[test]
fn a_server_that_is_gone_or_refuses_is_a_connection_that_is_closed() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for encrypts in [false, true] {
        let relay = Running::before(closed, encrypts);
        match relay.connect().read_to_end(&mut Vec::new()) {
            Ok(count) => assert_eq!(count, 0),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
        // It closes in the middle of a packet.
        let relay = Running::before(
            server(|mut stream| stream.write_all(b"\x10\0\0\0half").unwrap()),
            encrypts,
        );
        let mut received = Vec::new();
        let _ = relay.connect().read_to_end(&mut received);
        assert!(b"\x10\0\0\0half".starts_with(&received[..]));
    }
}

#[test]
fn a_client_that_is_gone_is_gone_for_the_server_too() {
    let (sender, ended) = std::sync::mpsc::channel();
    let address = server(move |mut stream| {
        while stream.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        sender.send(()).unwrap();
    });
    for encrypts in [false, true] {
        let relay = Running::before(address, encrypts);
        let client = relay.connect();
        drop(client);
        ended.recv_timeout(PATIENCE).unwrap();
    }
}

#[test]
fn who_breaks_the_protocol_is_told_and_loses_the_connection_alone() {
    let mut relay = Running::before(mysql(1, "17", &Arc::default()), true);
    let mut other = relay.connect();
    log_in(&mut other);
    for (can, word) in [(1 << 11, "TLS"), (1 << 5, "compression")] {
        let mut client = relay.connect();
        let mut greeting = vec![0; Packets::new(0).add(GREETING).bytes.len()];
        client.read_exact(&mut greeting).unwrap();
        client
            .write_all(&Packets::new(1).add(&login(can, 0)).bytes)
            .unwrap();
        let mut said = Vec::new();
        let _ = client.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains(&format!("it does not follow {word}")), "{said}");
    }
    let mut client = relay.connect();
    log_in(&mut client);
    client
        .write_all(&Packets::new(0).add(b"\x1c\x01\0\0\0").bytes)
        .unwrap();
    let mut said = Vec::new();
    let _ = client.read_to_end(&mut said);
    assert!(String::from_utf8_lossy(&said).contains("COM_STMT_FETCH"));
    assert_eq!(relay.counts().broken, 3);
    ask(&mut other);
    other
        .read_exact(&mut vec![0; answer_length(1, "<3:17>")])
        .unwrap();
}

#[test]
fn noise_from_either_end_ends_that_connection_alone() {
    let noise: Vec<u8> = (0..100_000_u32)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let sent = noise.clone();
    let noisy = server(move |mut stream| {
        let _ = stream.write_all(&sent);
        let _ = stream.read(&mut [0; 64]);
    });
    let mut relay = Running::before(noisy, true);
    for _ in 0..20 {
        let mut client = relay.connect();
        let _ = client.write_all(&noise);
        let _ = client.shutdown(std::net::Shutdown::Write);
        let _ = client.read_to_end(&mut Vec::new());
    }
    assert_eq!(relay.counts().connections, 20);
}
