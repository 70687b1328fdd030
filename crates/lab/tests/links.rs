//! Links with real packets: they are as long as they say, real servers answer over them, and nothing of them stays.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::process::ChildStdout;
use std::rc::Rc;
use std::sync::mpsc::{TryRecvError, channel};

use ciphertax_testkit::*;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::prelude::*;

const MS: Duration = Duration::from_millis(1);

#[test]
fn opening_a_connection_takes_one_round_trip_more_than_directly() {
    let Some(link) = link_of(rtt(40.0)) else { return };
    let port = echo_inside(&link);
    let connect = |address| fastest((0..15).map(|_| time(|| drop(tcp((address, port))))));
    let (delayed, direct) = (connect(link.endpoints.delayed), connect(link.endpoints.direct));
    assert!(delayed >= 40 * MS, "{delayed:?}");
    assert!(direct < delayed, "{delayed:?}, directly {direct:?}");
    is_no_longer_than_it_says(
        |rtt_ms| link.set(&rtt(rtt_ms).into()).unwrap(),
        || connect(link.endpoints.delayed),
    );
    let report = link.report().unwrap();
    assert_eq!(report.drops, 0);
    // SYN, SYN-ACK, ACK and the end of each of the connections.
    assert!(report.packets >= 15 * 4, "{report:?}");
    let late = [
        report.lateness_median_us,
        report.lateness_p99_us,
        report.lateness_max_us,
    ];
    assert!(late[0] > 0.0 && late.is_sorted(), "{report:?}");
    link.process.stop().unwrap();
}

/// One round trip, which `take` measures, is as long as `set` makes it, and not twice as long.
fn is_no_longer_than_it_says(set: impl Fn(f64), mut take: impl FnMut() -> Duration) {
    let mut seen = Vec::new();
    let is_kept = (0..5).any(|_| {
        let [far, farther] = [60_u32, 120].map(|rtt_ms| {
            set(f64::from(rtt_ms));
            let taken = take();
            assert!(taken >= rtt_ms * MS, "{rtt_ms}: {taken:?}");
            taken
        });
        seen.push((far, farther));
        far < farther && farther - far < 2 * 60 * MS
    });
    assert!(is_kept, "{seen:?}");
}

#[test]
fn a_new_distance_holds_for_connections_that_are_open() {
    let Some(link) = link_of(rtt(5.0)) else { return };
    let mut stream = tcp((link.endpoints.delayed, echo_inside(&link)));
    assert!(ask(&mut stream) >= 5 * MS);
    let before = link.report().unwrap().packets;
    let mut answer = || fastest((0..15).map(|_| ask(&mut stream)));
    is_no_longer_than_it_says(|rtt_ms| link.set(&rtt(rtt_ms).into()).unwrap(), &mut answer);
    let far = answer();
    link.set(&rtt(0.0).into()).unwrap();
    let near = answer();
    assert!(near < far, "{near:?}, {far:?}");
    assert!(link.set(&rtt(-1.0).into()).is_err());
    assert!(link.report().unwrap().packets >= before + 20);
}

#[test]
fn jitter_spreads_packets_and_keeps_their_order() {
    const JITTER_MS: f64 = 8.0;
    let Some(link) = link_of(Link {
        jitter_ms: JITTER_MS,
        ..rtt(40.0)
    }) else {
        return;
    };
    // Half the variance is in each way.
    let expected = JITTER_MS / 2_f64.sqrt();
    let mut seen = Vec::new();
    let is_kept = (0..5).any(|_| {
        let (mean, sigma) = mean_and_sigma(&delays_in_order(&link));
        seen.push((mean, sigma));
        assert!(sigma >= 0.5 * expected && mean >= 17.0, "{seen:?}");
        // A busy machine adds to both.
        sigma < 4.0 * expected && mean < 60.0
    });
    assert!(is_kept, "{seen:?}");
}

/// How long packets take into a link, in milliseconds. They come in the order in which they were sent.
fn delays_in_order(link: &RunningLink) -> Vec<f64> {
    const PACKETS: u32 = 1_000;
    let (socket, port) = inside(link, || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let port = socket.local_addr().unwrap().port();
        (socket, port)
    });
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let receiver = thread::spawn(move || {
        let mut number = [0; 4];
        let next = |_| {
            receive(&socket, &mut number);
            (u32::from_le_bytes(number), Instant::now())
        };
        (0..PACKETS).map(next).collect::<Vec<_>>()
    });
    let sender = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    sender.connect((link.endpoints.delayed, port)).unwrap();
    let mut sent = Vec::new();
    for number in 0..PACKETS {
        sent.push(Instant::now());
        sender.send(&number.to_le_bytes()).unwrap();
        thread::sleep(2 * MS);
    }
    let received = receiver.join().unwrap();
    let numbers: Vec<u32> = received.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (0..PACKETS).collect::<Vec<_>>());
    sent.iter()
        .zip(&received)
        .map(|(sent, (_, received))| (*received - *sent).as_secs_f64() * 1e3)
        .collect()
}

fn mean_and_sigma(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

#[test]
fn bandwidth_is_kept_within_a_tenth_in_both_directions() {
    const MEGABITS: f64 = 8.0;
    /// Of 1500 bytes on the line, TCP with time stamps carries 1448.
    const PAYLOAD: f64 = 1448.0 / 1500.0;
    let Some(link) = link_of(Link {
        bandwidth_mbit: Some(MEGABITS),
        ..rtt(10.0)
    }) else {
        return;
    };
    let (listener, port) = listen_inside(&link);
    let client = tcp((link.endpoints.delayed, port));
    let server = listener.accept().unwrap().0;
    for (from, to) in [(&client, &server), (&server, &client)] {
        let mut seen = Vec::new();
        let is_kept = (0..5).any(|_| {
            let throughput = throughput(from.try_clone().unwrap(), to.try_clone().unwrap());
            let [from_the_start, later] = throughput.map(|megabits| megabits / PAYLOAD / MEGABITS);
            seen.push((from_the_start, later));
            assert!(from_the_start < 1.1, "{seen:?}");
            // A test that stands still loses time; what came meanwhile is read all at once.
            (later - 1.0).abs() < 0.1
        });
        assert!(is_kept, "{seen:?}");
    }
}

#[test]
fn a_burst_that_the_queue_does_not_hold_loses_its_end() {
    const PACKETS: u64 = 400;
    const BYTES: usize = 1_000;
    let slow = Link {
        bandwidth_mbit: Some(1.0),
        ..rtt(2.0)
    };
    let Some(link) = link_of(slow) else { return };
    let socket = inside(&link, || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let sender = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    sender
        .connect((link.endpoints.delayed, socket.local_addr().unwrap().port()))
        .unwrap();
    for number in 0..PACKETS {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        sender.send(&bytes).unwrap();
    }
    // The queue holds 150 kB, and a megabit per second empties it no faster than by one of these in 8 ms.
    let mut bytes = [0; BYTES];
    for number in 0..100_u64 {
        assert_eq!(receive(&socket, &mut bytes), BYTES);
        assert_eq!(bytes[..8], number.to_le_bytes());
    }
    let report = link.report().unwrap();
    assert!((100..300).contains(&report.drops), "{report:?}");
}

#[test]
fn a_server_inside_answers_at_both_addresses() {
    let Some(link) = link_of(rtt(30.0)) else { return };
    let server = PrivateServer::builder(&MARIADB).inside(&link).start().unwrap();
    let direct = server.address();
    assert_eq!(direct.ip(), link.endpoints.direct);
    let greet = |address: SocketAddr| {
        let start = Instant::now();
        let mut greeting = [0; 64];
        let mut stream = tcp(address);
        let length = uninterrupted(|| stream.read(&mut greeting)).unwrap();
        assert!(String::from_utf8_lossy(&greeting[..length]).contains("MariaDB"));
        start.elapsed()
    };
    greet(direct);
    // One round trip to connect; the greeting comes half a round trip after the server got the last word of that.
    assert!(greet((link.endpoints.delayed, direct.port()).into()) >= 60 * MS);
    let is_outside = TcpStream::connect((Ipv4Addr::LOCALHOST, direct.port())).is_err();
    assert!(is_outside, "it is outside");
    server.stop().unwrap();
    assert!(link.process.is_alive());
    link.process.stop().unwrap();
}

#[test]
fn links_live_side_by_side() {
    let (Some(one), Some(other)) = (link_of(rtt(1.0)), link_of(rtt(30.0))) else {
        return;
    };
    assert_ne!(one.endpoints.delayed, other.endpoints.delayed);
    assert_ne!(one.process.pid, other.process.pid);
    for link in [&one, &other] {
        ask(&mut tcp((link.endpoints.delayed, echo_inside(link))));
    }
}

#[test]
fn nothing_is_left_of_a_link_that_was_dropped() {
    let Some(link) = link_of(rtt(1.0)) else { return };
    // A socket inside holds the namespace.
    let held = listen_inside(&link);
    let (addresses, pid) = (Addresses::of(&link), link.process.pid);
    assert!(addresses.exist());
    drop(link);
    assert!(!addresses.exist());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    drop(held);
}

#[test]
fn an_owner_leaves_nothing_however_it_ends() {
    type End = fn(&mut Owner);
    let killed: End = |owner| kill_process(owner.pid(), Signal::KILL).unwrap();
    let ended: End = |owner| kill_process(owner.pid(), Signal::TERM).unwrap();
    // At the terminal.
    let ctrl_c: End = |owner| kill_process_group(owner.pid(), Signal::INT).unwrap();
    let by_itself: End = |owner| drop(owner.stdin.take());
    for (with_server, end) in [(true, killed), (false, ended), (false, ctrl_c), (true, by_itself)] {
        let Some(mut owner) = Owner::start(with_server) else {
            return;
        };
        end(&mut owner);
        owner.expect_nothing_left();
    }
}

#[test]
fn an_owner_killed_at_any_moment_of_the_start_leaves_nothing() {
    if !may_link() {
        return;
    }
    // This thread, and all that it starts, has no other devices than those it looks for.
    // SAFETY: a network namespace changes nothing that other threads rely on.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
    let folder = temporary_folder();
    for delay in [0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200] {
        let mut owner = Command::new(example("owner"))
            .arg("link")
            .env("TMPDIR", folder.path())
            .stdout(Stdio::null())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        thread::sleep(delay * MS);
        owner.kill().unwrap();
        owner.wait().unwrap();
    }
    let in_time = within(PATIENCE, || devices_here() == ["lo"]);
    assert!(in_time, "{:?}", devices_here());
    assert!(within(PATIENCE, || processes_with(folder.path()).is_empty()));
    // A folder made just before there was a guard is left to the next start.
    let folder = Rc::new(folder);
    let mut next = Owner::start_in(&folder, false);
    assert!(within(PATIENCE, || next.folders() == 1));
    drop(next.stdin.take());
    next.expect_nothing_left();
    assert!(within(PATIENCE, || devices_here() == ["lo"]));
}

#[test]
fn a_killed_guard_takes_the_link_with_it_and_the_next_start_sweeps() {
    if !may_link() {
        return;
    }
    let folder = Rc::new(temporary_folder());
    let mut owner = Owner::start_in(&folder, false);
    // First the owner is stopped, so that it cannot clean up.
    kill_process(owner.pid(), Signal::STOP).unwrap();
    kill_process(owner.guard(), Signal::KILL).unwrap();
    assert!(within(PATIENCE, || !is_running(owner.helpers[0])));
    assert!(within(PATIENCE, || !owner.addresses.exist()));
    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.process.wait().unwrap();
    assert_eq!(owner.folders(), 1);
    let mut next = Owner::start_in(&folder, false);
    assert_eq!(owner.folders(), 1);
    drop(next.stdin.take());
    next.expect_nothing_left();
    owner.expect_nothing_left();
}

#[test]
fn the_next_link_removes_a_device_that_a_killed_one_left() {
    let Some(link) = link_of(rtt(1.0)) else { return };
    // A socket inside holds the namespace.
    let held = listen_inside(&link);
    let addresses = Addresses::of(&link);
    kill(&link);
    drop(link);
    assert!(addresses.exist());
    let next = link_of(rtt(1.0)).unwrap();
    assert!(!addresses.exist());
    assert!(Addresses::of(&next).exist());
    drop(held);
}

#[test]
fn a_killed_link_process_is_known_to_be_gone() {
    let Some(link) = link_of(rtt(1.0)) else { return };
    let addresses = Addresses::of(&link);
    kill(&link);
    assert!(within(PATIENCE, || !addresses.exist()));
    let error = link.report().unwrap_err().to_string();
    assert!(error.contains("is gone"), "{error}");
}

#[test]
fn impossible_settings_are_refused_before_anything_starts() {
    let guard = GuardProgram::new("/nowhere");
    let link = Link {
        jitter_ms: 30.0,
        ..rtt(40.0)
    };
    let error = RunningLink::start(&link.into(), &guard).unwrap_err();
    assert!(error.to_string().contains("jitter_ms"), "{error}");
}

#[test]
fn a_link_process_started_by_hand_says_what_it_is_for() {
    let output = Command::new("/proc/self/exe").arg("link").output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("started by ciphertax itself"), "{words}");
}

fn rtt(rtt_ms: f64) -> Link {
    Link {
        rtt_ms,
        jitter_ms: 0.0,
        bandwidth_mbit: None,
    }
}

/// Kills a link's process.
fn kill(link: &RunningLink) {
    let pid = Pid::from_raw(link.process.pid.try_into().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    assert!(within(PATIENCE, || !link.process.is_alive()));
}

/// `None` where there can be no link.
fn link_of(link: Link) -> Option<RunningLink> {
    may_link().then(|| RunningLink::start(&link.into(), &GuardProgram::this_program()).unwrap())
}

/// False where there can be no link, which is said: root in a container often has neither the rights nor the device.
fn may_link() -> bool {
    RunningLink::check().map_err(not_tested).is_ok()
}

/// The length of the next packet.
fn receive(socket: &UdpSocket, bytes: &mut [u8]) -> usize {
    uninterrupted(|| socket.recv(bytes)).unwrap()
}

fn tcp(address: impl std::net::ToSocketAddrs) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Runs `work` in the link's namespace. What it opens there may be used elsewhere.
fn inside<T: Send>(link: &RunningLink, work: impl FnOnce() -> T + Send) -> T {
    let namespace = File::open(&link.endpoints.namespace).unwrap();
    thread::scope(|scope| {
        scope
            .spawn(|| {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
                work()
            })
            .join()
            .unwrap()
    })
}

fn listen_inside(link: &RunningLink) -> (TcpListener, u16) {
    let listener = inside(link, || TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// A server in the link's namespace that sends back what it gets.
fn echo_inside(link: &RunningLink) -> u16 {
    let (listener, port) = listen_inside(link);
    echo(listener);
    port
}

fn echo(listener: TcpListener) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || {
                let mut byte = [0];
                while stream.read_exact(&mut byte).is_ok() {
                    let _ = stream.write_all(&byte);
                }
            });
        }
    });
}

/// How long an echo takes to answer.
fn ask(stream: &mut TcpStream) -> Duration {
    time(|| {
        stream.write_all(b"?").unwrap();
        stream.read_exact(&mut [0]).unwrap();
    })
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The one of several that a busy machine disturbed least; early none must be.
fn fastest(times: impl Iterator<Item = Duration>) -> Duration {
    times.min().unwrap()
}

/// Megabits per second over four seconds, and over those after the first.
fn throughput(mut from: TcpStream, mut to: TcpStream) -> [f64; 2] {
    // An earlier measurement leaves another.
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    let (stop, stopped) = channel::<()>();
    let sender = thread::spawn(move || {
        let bytes = vec![7; 64 << 10];
        while stopped.try_recv() == Err(TryRecvError::Empty) {
            from.write_all(&bytes).unwrap();
        }
    });
    let start = Instant::now();
    let mut buffer = vec![0; 64 << 10];
    let mut bytes = 0;
    let mut until = |end: Duration| {
        while start.elapsed() < end {
            bytes += uninterrupted(|| to.read(&mut buffer)).unwrap();
        }
        (bytes as f64 * 8.0 / 1e6, start.elapsed().as_secs_f64())
    };
    let (first, all) = (until(1000 * MS), until(4000 * MS));
    drop(stop);
    to.set_read_timeout(Some(500 * MS)).unwrap();
    // The sender may be waiting for room.
    while uninterrupted(|| to.read(&mut buffer)).is_ok() || !sender.is_finished() {}
    sender.join().unwrap();
    [all.0 / all.1, (all.0 - first.0) / (all.1 - first.1)]
}

/// Addresses that lead to devices of a link as long as these exist.
#[derive(Clone)]
struct Addresses(Vec<IpAddr>);

impl Addresses {
    fn of(link: &RunningLink) -> Self {
        Self(vec![link.endpoints.delayed.into(), link.endpoints.direct.into()])
    }

    fn exist(&self) -> bool {
        self.0.iter().any(|address| {
            let route = Command::new("ip")
                .args(["route", "get", &address.to_string()])
                .output()
                .unwrap();
            String::from_utf8_lossy(&route.stdout).contains("dev ct")
        })
    }
}

/// A process that owns a link.
struct Owner {
    process: Child,
    stdin: Option<ChildStdin>,
    _stdout: BufReader<ChildStdout>,
    /// Where its private folders are.
    folder: Rc<TempDir>,
    addresses: Addresses,
    /// The link's process, and those of the server and the tunnel if there are any.
    helpers: Vec<u32>,
}

impl Owner {
    /// `None` where there can be no link.
    fn start(with_server: bool) -> Option<Self> {
        may_link().then(|| Self::start_in(&Rc::new(temporary_folder()), with_server))
    }

    fn start_in(folder: &Rc<TempDir>, with_server: bool) -> Self {
        let mut command = Command::new(example("owner"));
        command
            .arg("link")
            .env("TMPDIR", folder.path())
            // As a shell would start it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if with_server {
            command.arg("server");
        }
        // Whoever starts the tests in the background makes them, and all they start, ignore Ctrl-C.
        // SAFETY: a system call that touches no memory, so it may be called between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        let mut process = command.spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let line = stdout
            .by_ref()
            .lines()
            .map(Result::unwrap)
            .find(|line| line.starts_with("owns "))
            .unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, addresses, helpers] = words[..] else {
            panic!("it said {line:?}")
        };
        let owner = Self {
            stdin: process.stdin.take(),
            _stdout: stdout,
            process,
            folder: Rc::clone(folder),
            addresses: Addresses(addresses.split(',').map(|word| word.parse().unwrap()).collect()),
            helpers: helpers.split(',').map(|pid| pid.parse().unwrap()).collect(),
        };
        assert!(owner.addresses.exist());
        // The link; the server, and ssh and sshd with its session.
        assert!(owner.helpers.len() >= if with_server { 1 + 1 + 3 } else { 1 });
        assert!(owner.helpers.iter().all(|pid| is_running(*pid)));
        owner
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// The guard is the parent of the link's process.
    fn guard(&self) -> Pid {
        Pid::from_raw(parent_of(self.helpers[0]).unwrap().cast_signed()).unwrap()
    }

    fn folders(&self) -> usize {
        fs::read_dir(self.folder.path()).unwrap().count()
    }

    fn expect_nothing_left(mut self) {
        self.process.wait().unwrap();
        for pid in &self.helpers {
            assert!(within(PATIENCE, || !is_running(*pid)), "process {pid} still runs");
        }
        let are_gone = within(PATIENCE, || !self.addresses.exist());
        assert!(are_gone, "its devices are still there");
        let is_gone = within(PATIENCE, || self.folders() == 0);
        assert!(is_gone, "a folder is still there");
    }
}

/// The names of the network devices in the namespace of this thread.
fn devices_here() -> Vec<String> {
    let devices = Command::new("ip").args(["-o", "link"]).output().unwrap();
    String::from_utf8_lossy(&devices.stdout)
        .lines()
        .filter_map(|line| line.split(": ").nth(1))
        .map(|name| name.split('@').next().unwrap_or(name).to_owned())
        .collect()
}

mod test_all {
    use super::*;

    #[test]
    fn nodes_are_as_far_from_each_other_as_asked_and_no_farther_from_the_load() {
        if !may_link() {
            return;
        }
        for to_servers in [None, Some(rtt(0.0))] {
            let distances = |server: f64, nodes: f64| Distances {
                to_servers: to_servers.map(|_| rtt(server)),
                between_nodes: Some(rtt(nodes)),
            };
            let program = GuardProgram::this_program();
            let link = RunningLink::start(&distances(0.0, 40.0), &program).unwrap();
            let (nodes, port) = (link.endpoints.nodes.unwrap(), echo_inside(&link));
            let of_nodes = || {
                inside(&link, || {
                    fastest((0..15).map(|_| time(|| drop(tcp((nodes, port))))))
                })
            };
            let of_load = || fastest((0..15).map(|_| time(|| drop(tcp((nodes, port))))));
            let (apart, away) = (of_nodes(), of_load());
            assert!(apart >= 40 * MS && away < apart, "{apart:?}, {away:?}");

            // Much at a time arrives whole.
            let mut stream = inside(&link, || tcp((nodes, port)));
            let sent: Vec<u8> = (0..4_000_000_u32).map(|number| number as u8).collect();
            let mut received = vec![0; sent.len()];
            let mut writer = stream.try_clone().unwrap();
            thread::scope(|scope| {
                scope.spawn(|| writer.write_all(&sent).unwrap());
                stream.read_exact(&mut received).unwrap();
            });
            assert!(sent == received);

            is_no_longer_than_it_says(|rtt_ms| link.set(&distances(0.0, rtt_ms)).unwrap(), of_nodes);
            link.set(&distances(60.0, 0.0)).unwrap();
            let (beside, away) = (of_nodes(), of_load());
            assert!(beside < apart, "{beside:?}, {apart:?}");
            match to_servers {
                Some(_) => assert!(away >= 60 * MS, "{away:?}"),
                None => assert!(away < apart, "{away:?}, {apart:?}"),
            }
            link.process.stop().unwrap();
        }
    }
}
