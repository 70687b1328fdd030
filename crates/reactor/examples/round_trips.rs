//! Client CPU per round trip by event loop, beside an io_uring loop that does nothing else: how far are they apart?
//!
//! `cargo run --release -p ciphertax-reactor --example round_trips [connections [bytes]]`
//!
//! A thread echoes; another is the client, and its CPU time alone counts. All take turns, so ratios hold on a busy machine
//! too where the figures themselves do not.

use std::env;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::{EventLoop, PollDelay, Reactor, Socket};
use io_uring::squeue::{Entry, Flags};
use io_uring::types::Fixed;
use io_uring::{IoUring, opcode};
use rustix::time::{ClockId, clock_gettime};

const SLICE: Duration = Duration::from_millis(250);
const REPEATS: usize = 15;
const ROOM: usize = 64 * 1024;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A client with its connections.
trait Client {
    fn label(&self) -> String;
    /// Keeps all connections busy for a slice, and returns the round trips.
    fn run(&mut self) -> Outcome<u64>;
}

fn main() -> Outcome<()> {
    let mut arguments = env::args().skip(1);
    let connections = arguments.next().map_or(Ok(64), |number| number.parse())?;
    let bytes = arguments.next().map_or(Ok(200), |number| number.parse())?;
    let server = echo()?;
    let reactor = |event_loop, delay| OfReactor::connect(server, connections, bytes, event_loop, delay);
    let mut clients: Vec<Box<dyn Client>> = vec![
        Box::new(reactor(EventLoop::Epoll, 0)?),
        Box::new(reactor(EventLoop::Epoll, 100)?),
        Box::new(reactor(EventLoop::IoUring, 0)?),
        Box::new(reactor(EventLoop::IoUring, 100)?),
        Box::new(Bare::connect(server, connections, bytes)?),
    ];
    let mut costs = vec![Vec::new(); clients.len()];
    for repeat in 0..REPEATS {
        for turn in 0..clients.len() {
            let place = (turn + repeat) % clients.len();
            let before = cpu();
            let round_trips = clients[place].run()?;
            costs[place].push((cpu() - before).as_secs_f64() * 1e6 / round_trips as f64);
        }
    }
    println!("{connections} connections, {bytes} bytes");
    for (client, own) in clients.iter().zip(&costs) {
        let against = |base: &[f64]| median(own.iter().zip(base).map(|(cost, base)| cost / base));
        let (epoll, bare) = (against(&costs[0]), against(&costs[costs.len() - 1]));
        let (label, cost) = (client.label(), median(own.iter().copied()));
        println!("{label:27} {cost:6.2} µs, {epoll:.2} of epoll, {bare:.2} of the bare loop");
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A server that sends back what it gets, with a thread for each connection as most databases have.
fn echo() -> Outcome<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || -> io::Result<()> {
                let (mut stream, mut bytes) = (stream?, vec![0; ROOM]);
                stream.set_nodelay(true)?;
                loop {
                    let count = stream.read(&mut bytes)?;
                    stream.write_all(&bytes[..count])?;
                }
            });
        }
    });
    Ok(address)
}

/// The event loop of ciphertax.
struct OfReactor {
    reactor: Rc<Reactor>,
    sockets: Vec<Socket>,
    bytes: usize,
    delay: u32,
}

impl OfReactor {
    fn connect(
        server: SocketAddr,
        connections: usize,
        bytes: usize,
        event_loop: EventLoop,
        delay: u32,
    ) -> Outcome<Self> {
        let reactor = Reactor::with(event_loop)?;
        reactor.set_poll_delay(PollDelay::micros(delay));
        let connect = (0..connections).map(|_| Socket::connect(&reactor, server));
        let sockets = reactor.run(connect, Instant::now() + 40 * SLICE)?;
        let sockets = sockets
            .into_iter()
            .map(|socket| Ok(socket.ok_or("no connection")??));
        Ok(Self {
            sockets: sockets.collect::<Outcome<_>>()?,
            reactor,
            bytes,
            delay,
        })
    }
}

impl Client for OfReactor {
    fn label(&self) -> String {
        format!("{}, poll delay {} µs", self.reactor.event_loop(), self.delay)
    }

    fn run(&mut self) -> Outcome<u64> {
        let deadline = Instant::now() + SLICE;
        let bytes = vec![7; self.bytes];
        let work = async |socket: &Socket| -> io::Result<u64> {
            let (mut buffer, mut round_trips) = (vec![0; ROOM], 0);
            while Instant::now() < deadline {
                socket.send_all(&bytes).await?;
                let mut missing = bytes.len();
                while missing > 0 {
                    missing -= socket.receive(&mut buffer).await?;
                }
                round_trips += 1;
            }
            Ok(round_trips)
        };
        let tasks = self.sockets.iter().map(work);
        let outcomes = self.reactor.run(tasks, deadline + Duration::from_secs(5))?;
        outcomes
            .into_iter()
            .map(|outcome| Ok(outcome.ok_or("unfinished")??))
            .sum()
    }
}

/// An io_uring loop that does nothing else: registered files, one issuer, deferred task work, no tasks, no deadlines.
struct Bare {
    ring: IoUring,
    request: Vec<u8>,
    missing: Vec<usize>,
    buffers: Vec<Vec<u8>>,
    /// Keeps the registered sockets open.
    _sockets: Vec<TcpStream>,
}

impl Bare {
    fn connect(server: SocketAddr, connections: usize, bytes: usize) -> Outcome<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(4096)?;
        let connect = |_| -> io::Result<TcpStream> {
            let socket = TcpStream::connect(server)?;
            socket.set_nodelay(true)?;
            Ok(socket)
        };
        let sockets: Vec<_> = (0..connections).map(connect).collect::<Result<_, _>>()?;
        let files: Vec<RawFd> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&files)?;
        Ok(Self {
            ring,
            request: vec![7; bytes],
            missing: vec![0; connections],
            buffers: vec![vec![0; ROOM]; connections],
            _sockets: sockets,
        })
    }

    fn push(&mut self, entry: &Entry) -> Outcome<()> {
        // SAFETY: the request and the buffers are on the heap, owned by `self`, and not touched before they are answered.
        unsafe { self.ring.submission().push(entry) }.map_err(|_| "the queue is full".into())
    }

    fn send(&mut self, index: usize) -> Outcome<()> {
        self.missing[index] = self.request.len();
        let entry = opcode::Send::new(
            Fixed(index as u32),
            self.request.as_ptr(),
            self.request.len() as u32,
        )
        .build()
        .flags(Flags::SKIP_SUCCESS)
        .user_data(index as u64);
        self.push(&entry)?;
        self.receive(index)
    }

    fn receive(&mut self, index: usize) -> Outcome<()> {
        let entry = opcode::Recv::new(Fixed(index as u32), self.buffers[index].as_mut_ptr(), ROOM as u32)
            .build()
            .user_data(index as u64);
        self.push(&entry)
    }
}

impl Client for Bare {
    fn label(&self) -> String {
        "bare loop".to_owned()
    }

    fn run(&mut self) -> Outcome<u64> {
        let deadline = Instant::now() + SLICE;
        let (mut working, mut round_trips) = (self.missing.len(), 0);
        (0..working).try_for_each(|index| self.send(index))?;
        let mut answers = Vec::new();
        while working > 0 {
            self.ring.submit_and_wait(1)?;
            let completed = self.ring.completion();
            answers.extend(completed.map(|answer| (answer.user_data() as usize, answer.result())));
            for (index, result) in answers.drain(..) {
                self.missing[index] -= usize::try_from(result)?;
                if self.missing[index] > 0 {
                    self.receive(index)?;
                    continue;
                }
                round_trips += 1;
                match Instant::now() < deadline {
                    true => self.send(index)?,
                    false => working -= 1,
                }
            }
        }
        Ok(round_trips)
    }
}
