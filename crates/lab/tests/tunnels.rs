//! Real tunnels to a real private MariaDB: what they carry, what proves them, who pays, and that nothing of them stays.

use ciphertax_wire::Session as _;
use ciphertax_wire::sql::SqlSession as _;
use std::sync::LazyLock;

use ciphertax_lab::mysql::select_canary;
use ciphertax_lab::tunnel::{Side, TunnelProcess};
use ciphertax_model::SshCipher;
use ciphertax_reactor::Reactor;
use ciphertax_testkit::*;
use ciphertax_wire::mysql::{ConnectOptions, Session};

use crate::owner::{Owner, said_by};
use crate::prelude::*;

#[test]
fn every_tunnel_carries_queries_is_proved_and_pays_for_what_flows() {
    let server = server();
    let wrong = ConnectOptions {
        user: "nobody".into(),
        ..plain(server)
    };
    for kind in EVERY_TUNNEL {
        let mut tunnel = start(kind, server.address());
        let facts = tunnel.facts().clone();
        let options = plain(server);
        let proofs = tunnel
            .prove(select_canary(&options))
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
        let witnesses: Vec<String> = proofs.iter().map(|proof| proof.witness.to_string()).collect();
        assert_eq!(witnesses, ["wire", "tunnel"]);
        // The word of the programs has the cipher that the record names.
        let cipher = facts["cipher"].split(' ').next_back().unwrap();
        assert!(proofs[1].evidence.contains(cipher), "{kind}: {proofs:?}");
        let known = |fact: &String| !fact.is_empty() && !fact.contains("unknown");
        assert!(facts.values().all(known), "{facts:?}");
        let has_version = facts["program"].contains(|letter: char| letter.is_ascii_digit());
        assert!(has_version, "{facts:?}");
        // Proved tunnels go on carrying, to the server itself.
        assert_eq!(ask(&options, tunnel.address(), "SELECT 6 * 7"), "42");
        assert_ne!(tunnel.address(), server.address());
        assert!(tunnel.is_alive());
        tunnel.prove(select_canary(&options)).unwrap();

        // A canary that does not come back is no proof.
        let error = tunnel.prove(select_canary(&wrong)).unwrap_err().to_string();
        let is_refused = error.contains(&kind.to_string()) && error.contains("Access denied");
        assert!(is_refused, "{error}");
        // What stood in the way has gone although the proof failed.
        assert_eq!(ask(&options, tunnel.address(), "SELECT 1"), "1");
        both_sides_pay(kind, &tunnel, &options);
    }
}

fn both_sides_pay(kind: Tunnel, tunnel: &RunningTunnel, options: &ConnectOptions) {
    const BYTES: usize = 8 << 20;
    let processes = tunnel.processes();
    let of_the_server = processes.iter().filter(|process| process.side == Side::Server);
    // With the sessions of sshd.
    let least = if matches!(kind, Tunnel::Ssh(_)) { 2 } else { 1 };
    assert!(of_the_server.count() >= least, "{processes:?}");
    let before: Vec<u64> = processes.iter().map(cpu_ns).collect();
    let sql = format!("SELECT REPEAT('x', {BYTES})");
    assert_eq!(ask(options, tunnel.address(), &sql).len(), BYTES);
    // Whoever carried bytes was there before and is there still.
    assert_eq!(tunnel.processes(), processes, "{kind}");
    for side in [Side::Client, Side::Server] {
        let of_side = processes
            .iter()
            .zip(&before)
            .filter(|(process, _)| process.side == side);
        let spent: u64 = of_side.map(|(process, before)| cpu_ns(process) - before).sum();
        // Nothing copies and encrypts ten bytes in a nanosecond.
        assert!(spent > BYTES as u64 / 10, "{kind}, {side:?}: {spent} ns");
    }
}

#[test]
fn the_connection_of_ssh_is_open_before_anybody_connects_through_it() {
    if !is_root() {
        return not_tested("links are for root");
    }
    let link = RunningLink::start(&rtt(0.0).into(), &GuardProgram::this_program()).unwrap();
    let server = server_inside(&link);
    let tunnel = start_over(Tunnel::Ssh(SshCipher::Aes256Gcm), &server, &link);
    link.set(&rtt(500.0).into()).unwrap();
    let greeted = |address: SocketAddr| {
        let start = Instant::now();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.read_exact(&mut [0]).unwrap();
        start.elapsed()
    };
    let fastest = |address: SocketAddr, at_least: Duration| {
        let times = [(); 3].map(|()| greeted(address));
        assert!(times.iter().all(|time| *time >= at_least), "{times:?}");
        times.into_iter().min().unwrap()
    };
    let delayed = (link.endpoints.delayed, server.address().port());
    let directly = fastest(delayed.into(), Duration::from_millis(1000));
    // TCP's own round trip is not taken again.
    let through_ssh = fastest(tunnel.address(), Duration::from_millis(500));
    assert!(through_ssh < directly, "{through_ssh:?}, directly {directly:?}");
}

#[test]
fn every_cipher_of_ssh_is_the_one_its_processes_use() {
    let server = server();
    for cipher in SshCipher::ALL {
        let mut tunnel = start(Tunnel::Ssh(cipher), server.address());
        let proofs = tunnel.prove(select_canary(&plain(server))).unwrap();
        let both_ways = proofs[1]
            .evidence
            .matches(&format!("cipher: {} ", cipher.name()))
            .count();
        assert_eq!(both_ways, 2, "{proofs:?}");
        assert_eq!(tunnel.facts()["cipher"], cipher.name());
    }
}

#[test]
fn many_connections_at_once_all_arrive() {
    const CONNECTIONS: usize = 200;
    let target = echo();
    for kind in EVERY_TUNNEL {
        let tunnel = start(kind, target);
        let mut streams: Vec<TcpStream> = (0..CONNECTIONS)
            .map(|_| TcpStream::connect(tunnel.address()).unwrap())
            .collect();
        for (number, stream) in streams.iter_mut().enumerate() {
            stream.write_all(format!("{number:08}").as_bytes()).unwrap();
        }
        for (number, stream) in streams.iter_mut().enumerate() {
            let mut answer = [0; 8];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer, format!("{number:08}").as_bytes(), "{kind}");
        }
    }
}

#[test]
fn a_tunnel_whose_program_was_killed_is_known_to_be_dead() {
    for kind in EVERY_TUNNEL {
        let mut tunnel = start(kind, echo());
        let victim = tunnel.processes()[0].pid;
        kill_process(Pid::from_raw(victim as i32).unwrap(), Signal::KILL).unwrap();
        assert!(within(PATIENCE, || !tunnel.is_alive()), "{kind}");
        assert!(tunnel.prove(|address, _| connect(address)).is_err());
        let (folder, address) = (tunnel.folder().to_owned(), tunnel.address());
        tunnel.stop().unwrap();
        assert!(!folder.exists());
        assert!(connect(address).is_err());
    }
}

#[test]
fn tunnels_stand_side_by_side_keep_their_secrets_and_leave_nothing_after_stop_and_after_drop() {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let first_ephemeral: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
    let tunnels: Vec<RunningTunnel> = EVERY_TUNNEL
        .into_iter()
        .chain(EVERY_TUNNEL)
        .map(|kind| start(kind, echo()))
        .collect();
    let addresses: BTreeSet<SocketAddr> = tunnels.iter().map(RunningTunnel::address).collect();
    assert_eq!(addresses.len(), tunnels.len());
    for (number, tunnel) in tunnels.into_iter().enumerate() {
        let (folder, address, processes) = (tunnel.folder().to_owned(), tunnel.address(), tunnel.processes());
        connect(address).unwrap();
        assert!(address.ip().is_loopback());
        assert!(address.port() < first_ephemeral, "{address}");
        keeps_its_secrets(&folder, &processes);
        if number < EVERY_TUNNEL.len() {
            tunnel.stop().unwrap();
        } else {
            drop(tunnel);
        }
        assert!(!folder.exists());
        assert_eq!(still_running(&processes), Vec::<u32>::new());
        assert!(connect(address).is_err());
    }
}

/// Only its user may read its keys, and no argument holds one.
fn keeps_its_secrets(folder: &Path, processes: &[TunnelProcess]) {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder), 0o700);
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let secret = fs::read_to_string(&path).unwrap().contains("PRIVATE KEY");
        assert!(!secret || mode(&path) == 0o600, "{}", path.display());
    }
    for process in processes {
        let arguments = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap();
        let arguments = String::from_utf8_lossy(&arguments).into_owned();
        assert!(!arguments.contains("PRIVATE"), "{arguments}");
    }
}

#[test]
fn an_owner_killed_at_any_moment_of_the_start_leaves_nothing() {
    let target = echo();
    for kind in EVERY_TUNNEL {
        let parent = temporary_folder();
        for delay in [5, 20, 50, 80, 120, 180, 250, 350] {
            let mut process = tunnel_command(&example("owner"), parent.path(), kind, target)
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_millis(delay));
            process.kill().unwrap();
            process.wait().unwrap();
        }
        let in_time = within(PATIENCE, || processes_with(parent.path()).is_empty());
        assert!(in_time, "{kind}: {:?}", processes_with(parent.path()));
        // A folder made just before there was a guard is left to the next start.
        let owner = owner(kind, target, parent);
        assert!(within(PATIENCE, || folders_in(
            owner.parent.path(),
            "ciphertax-server-"
        ) == [owner.folder.clone()]));
        owner.killed_leaves_nothing();
    }
}

#[test]
fn a_guard_that_is_killed_takes_the_tunnel_with_it() {
    for kind in EVERY_TUNNEL {
        let (parent, folder) = owner(kind, echo(), temporary_folder()).kill_with_guard();
        let next = owner(kind, echo(), parent);
        assert!(!folder.exists(), "{kind}");
        next.killed_leaves_nothing();
    }
}

#[test]
fn it_works_for_an_ordinary_user() {
    if !is_root() {
        return not_tested("whoever is not root cannot become another user; the other tests have shown it");
    }
    let (user, parent) = (OrdinaryUser::find(), temporary_folder());
    let program = parent.path().join("owner");
    copy_program(&example("owner"), &program);
    // As if the user had unpacked the programs himself.
    if let Some(unpacked) = unpacked_tunnels() {
        let cache = parent.path().join("cache/ciphertax");
        fs::create_dir_all(&cache).unwrap();
        copy_program(&unpacked, &cache);
    }
    user.give(parent.path());
    for kind in EVERY_TUNNEL {
        let mut command = tunnel_command(&program, parent.path(), kind, echo());
        command
            .env("HOME", parent.path())
            .env("XDG_CACHE_HOME", parent.path().join("cache"));
        user.run(&mut command);
        let mut process = command.spawn().unwrap();
        let (address, folder, pids) = said_by(&mut process);
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0]).unwrap();
        for pid in &pids {
            assert!(user.has(*pid), "process {pid} has other rights");
        }
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(within(PATIENCE, || !folder.exists()));
        assert!(within(PATIENCE, || processes_with(parent.path()).is_empty()));
    }
}

fn rtt(rtt_ms: f64) -> Link {
    Link { rtt_ms, ..Link::NONE }
}

fn server_inside(link: &RunningLink) -> PrivateServer {
    PrivateServer::builder(&MARIADB).inside(link).start().unwrap()
}

fn start_over(kind: Tunnel, server: &PrivateServer, link: &RunningLink) -> RunningTunnel {
    let guard = GuardProgram::this_program();
    tunnel::start(kind, server.address(), Some(link), &guard)
        .unwrap_or_else(|error| panic!("{kind}: {error}"))
}

/// How long it takes to log in, and then to be answered.
fn connect_and_query(options: &ConnectOptions, address: SocketAddr) -> [Duration; 2] {
    let options = ConnectOptions {
        host: address.ip().to_string(),
        port: address.port(),
        ..options.clone()
    };
    let reactor = Reactor::new().unwrap();
    let both = async {
        let begin = Instant::now();
        let (mut session, _) = Session::connect(&reactor, &options).await.unwrap();
        let connected = Instant::now();
        session.query("SELECT 1").await.unwrap();
        [connected - begin, connected.elapsed()]
    };
    reactor
        .run_one(both, Instant::now() + Duration::from_secs(60))
        .unwrap()
        .expect("an answer in time")
}

/// The network namespace of a process, by its number.
fn network_of(pid: u32) -> u64 {
    fs::metadata(format!("/proc/{pid}/ns/net")).unwrap().ino()
}

fn start(kind: Tunnel, target: SocketAddr) -> RunningTunnel {
    tunnel::start(kind, target, None, &GuardProgram::this_program())
        .unwrap_or_else(|error| panic!("{kind}: {error}"))
}

/// The server of all these tests; its guard ends it with the program.
fn server() -> &'static PrivateServer {
    static SERVER: LazyLock<PrivateServer> = LazyLock::new(|| {
        let builder = PrivateServer::builder(&MARIADB).option("--max-allowed-packet=64M");
        builder.start().unwrap()
    });
    &SERVER
}

/// The first field of the first row.
fn ask(options: &ConnectOptions, address: SocketAddr, sql: &str) -> String {
    let options = ConnectOptions {
        host: address.ip().to_string(),
        port: address.port(),
        ..options.clone()
    };
    let reactor = Reactor::new().unwrap();
    let question = async {
        let (mut session, _) = Session::connect(&reactor, &options).await.unwrap();
        session.query(sql).await.unwrap()[0].text(0)
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    reactor
        .run_one(question, deadline)
        .unwrap()
        .expect("an answer in time")
}

/// CPU time of a process in nanoseconds, with that of threads that have ended.
fn cpu_ns(process: &TunnelProcess) -> u64 {
    let (mut clock, mut time) = (
        0,
        libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
    );
    // SAFETY: both write to variables that outlive the calls.
    unsafe {
        assert_eq!(libc::clock_getcpuclockid(process.pid as i32, &raw mut clock), 0);
        assert_eq!(libc::clock_gettime(clock, &raw mut time), 0);
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// An owner of a tunnel that carries.
fn owner(kind: Tunnel, target: SocketAddr, parent: tempfile::TempDir) -> Owner {
    let command = tunnel_command(&example("owner"), parent.path(), kind, target);
    let owner = Owner::start(command, parent);
    connect(owner.address).unwrap();
    Owner {
        prefix: "ciphertax-server-",
        ..owner
    }
}

fn tunnel_command(program: &Path, temporary: &Path, kind: Tunnel, target: SocketAddr) -> Command {
    let kind = serde_json::to_string(&kind).unwrap();
    let mut command = owner_command(program, temporary);
    command.args(["tunnel".to_owned(), kind, target.to_string()]);
    command
}

/// A server that sends back what it gets, on each connection at once.
fn echo() -> SocketAddr {
    static ADDRESS: LazyLock<SocketAddr> = LazyLock::new(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut buffer = [0; 1024];
                    while let Ok(count @ 1..) = stream.read(&mut buffer) {
                        if stream.write_all(&buffer[..count]).is_err() {
                            break;
                        }
                    }
                });
            }
        });
        address
    });
    *ADDRESS
}

/// Sends a byte through the tunnel and waits for it to come back.
fn connect(address: SocketAddr) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2)).map_err(failed)?;
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .map_err(failed)?;
    stream.write_all(b"x").map_err(failed)?;
    stream.read_exact(&mut [0]).map_err(failed)
}

fn still_running(processes: &[TunnelProcess]) -> Vec<u32> {
    let pids = processes.iter().map(|process| process.pid);
    pids.filter(|pid| is_running(*pid)).collect()
}

mod test_all {
    use super::*;

    #[test]
    fn over_a_link_every_tunnel_is_proved_and_takes_its_round_trips() {
        if !is_root() {
            return not_tested("links are for root");
        }
        let link = RunningLink::start(&rtt(30.0).into(), &GuardProgram::this_program()).unwrap();
        let server = server_inside(&link);
        let options = plain(&server);
        for kind in EVERY_TUNNEL {
            let mut tunnel = start_over(kind, &server, &link);
            let proofs = tunnel
                .prove(select_canary(&options))
                .unwrap_or_else(|error| panic!("{kind}: {error}"));
            let witnesses: Vec<String> = proofs.iter().map(|proof| proof.witness.to_string()).collect();
            assert_eq!(witnesses, ["wire", "tunnel"]);
            for process in tunnel.processes() {
                let is_inside =
                    network_of(process.pid) == fs::metadata(&link.endpoints.namespace).unwrap().ino();
                assert_eq!(is_inside, process.side == Side::Server, "{kind}: {process:?}");
            }
            // What is carried crosses the link, where it is also after the link was set anew.
            link.set(&rtt(80.0).into()).unwrap();
            let before = link.report().unwrap().packets;
            let [login, query] = connect_and_query(&options, tunnel.address());
            assert!(query >= Duration::from_millis(80), "{kind}: {query:?}");
            assert!(login >= Duration::from_millis(160), "{kind}: {login:?}");
            assert!(link.report().unwrap().packets > before, "{kind}");
            link.set(&rtt(30.0).into()).unwrap();

            let (folder, address, processes) =
                (tunnel.folder().to_owned(), tunnel.address(), tunnel.processes());
            tunnel.stop().unwrap();
            assert!(!folder.exists());
            assert_eq!(still_running(&processes), Vec::<u32>::new(), "{kind}");
            assert!(connect(address).is_err());
        }
        server.stop().unwrap();
        link.process.stop().unwrap();
    }
}
