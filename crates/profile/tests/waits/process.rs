//! A process whose threads do what is known.

use std::ffi::c_void;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fs, hint, process, thread};

use ciphertax_testkit::{PATIENCE, within};

use crate::common::{CpuOfLooking, Looker, complete, is_often, of_sessions};

/// What this program is started with to be such a process: how many threads are blocked by one mutex, sleep, run, and read from
/// a client.
const ROLE: &str = "threads-of-known-kinds";

/// The test harness has the program's `main`; what stands here is called before that.
#[used]
#[unsafe(link_section = ".init_array")]
static PLAYS: extern "C" fn() = play;

extern "C" fn play() {
    let arguments: Vec<String> = env::args().collect();
    let [_, role, counts @ ..] = &arguments[..] else {
        return;
    };
    if role == ROLE {
        let counts: Vec<usize> = counts.iter().map(|count| count.parse().unwrap()).collect();
        be_threads(counts.try_into().unwrap());
        process::exit(0);
    }
}

/// Each kind of thread begins in a function of its own, as those of servers do.
type Work = extern "C" fn(*mut c_void) -> *mut c_void;

static MUTEX: Mutex<()> = Mutex::new(());

extern "C" fn be_blocked(_: *mut c_void) -> *mut c_void {
    drop(MUTEX.lock());
    std::ptr::null_mut()
}

extern "C" fn be_asleep(_: *mut c_void) -> *mut c_void {
    thread::sleep(Duration::from_secs(100));
    std::ptr::null_mut()
}

extern "C" fn be_busy(_: *mut c_void) -> *mut c_void {
    loop {
        hint::spin_loop();
    }
}

extern "C" fn be_reading(descriptor: *mut c_void) -> *mut c_void {
    receive(descriptor);
    std::ptr::null_mut()
}

extern "C" fn be_receiving_datagrams(descriptor: *mut c_void) -> *mut c_void {
    receive(descriptor);
    std::ptr::null_mut()
}

extern "C" fn be_accepting(descriptor: *mut c_void) -> *mut c_void {
    // SAFETY: a system call that is given no memory.
    unsafe {
        libc::accept(
            descriptor.addr() as i32,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    std::ptr::null_mut()
}

fn receive(descriptor: *mut c_void) {
    let mut byte = 0_u8;
    // SAFETY: the memory is of that length and outlives the call.
    unsafe { libc::recv(descriptor.addr() as i32, (&raw mut byte).cast(), 1, 0) };
}

fn be_threads([blocked, asleep, busy, reading]: [usize; 4]) {
    let held = MUTEX.lock();
    for (work, count) in [
        (be_blocked as Work, blocked),
        (be_asleep, asleep),
        (be_busy, busy),
    ] {
        for _ in 0..count {
            begin(work, 0);
        }
    }
    let mut clients = Vec::new();
    for number in 0..reading {
        if number % 2 == 0 {
            let (near, far) = UnixStream::pair().unwrap();
            begin(be_reading, far.into_raw_fd());
            clients.push(OwnedFd::from(near));
            continue;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        clients.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap().into());
        begin(be_reading, listener.accept().unwrap().0.into_raw_fd());
    }
    // None of these serves a session.
    begin(
        be_accepting,
        TcpListener::bind("127.0.0.1:0").unwrap().into_raw_fd(),
    );
    begin(
        be_receiving_datagrams,
        UdpSocket::bind("127.0.0.1:0").unwrap().into_raw_fd(),
    );
    println!("ready");
    // It ends with its standard input.
    let _ = std::io::stdin().read(&mut [0]);
    drop((held, clients));
}

fn begin(work: Work, descriptor: i32) {
    let mut thread = 0;
    let argument = std::ptr::without_provenance_mut(descriptor as usize);
    // SAFETY: the function takes a number for its argument; nobody waits for the thread.
    let failed = unsafe { libc::pthread_create(&raw mut thread, std::ptr::null(), work, argument) };
    assert_eq!(failed, 0);
}

/// Such a process, which ends with this.
pub(crate) struct Threads(pub(crate) Child);

impl Threads {
    pub(crate) fn start(counts: [usize; 4]) -> Self {
        let mut command = Command::new("/proc/self/exe");
        command.arg(ROLE).args(counts.map(|count| count.to_string()));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        let threads = Self(child);
        // Until each is where it stays; twice, since the one is read after the other.
        let [_, _, busy, _] = counts;
        assert!(within(PATIENCE, || (0..2).all(|_| threads.running() == busy)));
        threads
    }

    /// How many of them run or could run.
    fn running(&self) -> usize {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        let calls = tasks
            .flatten()
            .map(|task| fs::read_to_string(task.path().join("syscall")));
        calls
            .filter(|call| call.as_ref().is_ok_and(|call| call == "running\n"))
            .count()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(mut input) = self.0.stdin.take() {
            let _ = input.write_all(b"\n");
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn every_thread_is_seen_in_every_round_doing_what_it_does() {
    let threads = Threads::start([5, 3, 2, 4]);
    let mut looker = Looker::at(vec![threads.0.id()], false);
    let waits = looker.look_often();
    looker.print(&waits);
    let rounds = waits.rounds;
    assert!(is_often(&waits), "{rounds}");
    let background = |calls: &[&str]| looker.seen(&waits, true, calls, &[]);
    assert_eq!(background(&["futex"]), 5 * rounds);
    assert_eq!(background(&["clock_nanosleep", "nanosleep"]), 3 * rounds);
    assert_eq!(background(&["accept4", "accept"]), rounds);
    let seen = background(&["recvfrom"]);
    assert_eq!(seen, rounds, "what UDP brings is no session's");
    assert_eq!(background(&["read"]), rounds, "the main thread reads from a pipe");
    assert_eq!((waits.running, waits.idle), (2 * rounds, 4 * rounds));
    assert_eq!(of_sessions(&waits), 6 * rounds);
    assert_eq!((waits.inconsistent, waits.unreadable), (0, 0));
}

#[test]
fn two_thousand_threads_take_bounded_memory_and_little_cpu_time() {
    let threads = Threads::start([1000, 900, 0, 100]);
    let mut looker = Looker::at(vec![threads.0.id()], false);
    // The longer a round takes, the later comes the next.
    let mut looks = [2, 4, 8]
        .into_iter()
        .map(|seconds| look_at_two_thousand(&mut looker, Duration::from_secs(seconds)));
    let used = looks.find_map(|(rounds, used)| (rounds >= 2).then_some(used));
    // One round of a few milliseconds may come on top.
    assert!(used.is_some_and(|used| used < 0.1), "{used:?}");
}

/// How many rounds there were, and the share of a CPU that they took; all threads must be seen in each.
fn look_at_two_thousand(looker: &mut Looker, time: Duration) -> (u64, f64) {
    looker.begin();
    let (began, cpu, memory) = (Instant::now(), CpuOfLooking::now(), resident());
    thread::sleep(time);
    looker.sampler.stop();
    let used = cpu.since() as f64 / began.elapsed().as_nanos() as f64;
    let grown = resident().saturating_sub(memory);
    let waits = looker.end();
    let rounds = waits.rounds;
    println!("{rounds} rounds, {used:.3} of a CPU, {} MiB more", grown >> 20);
    assert_eq!(waits.idle, 100 * rounds);
    let blocked: u64 = waits.blocked.iter().map(|blocked| blocked.seen).sum();
    // And the main thread, one that accepts, and one that receives datagrams.
    assert_eq!(blocked, 1903 * rounds);
    assert!(grown < 160 << 20, "{grown}");
    let _ = complete(&waits);
    (rounds, used)
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
