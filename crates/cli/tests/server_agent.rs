//! A server whose clocks are read by a ciphertax on its machine: through a private sshd, whose other end is this machine.

use std::sync::mpsc::channel;

use ciphertax_base::SeenByServer;
use ciphertax_model::Profiling;
use ciphertax_records::{AgentRecord, VoidReason};
use ciphertax_runner::ServedBy;
use ciphertax_runner::agent::{AgentMeter, AgentOptions, Reach};

use crate::common::*;

const NO_SSHD: &str = "there is no sshd; `scripts/setup.sh tunnels` gets one";

#[test]
fn a_slice_without_its_agent_is_void_and_the_run_goes_on_with_another() {
    let Some(sshd) = OwnSshd::start() else {
        return not_tested(NO_SSHD);
    };
    let server = OwnServer::start();
    let sandbox = Sandbox::new();
    let running = measuring(&sandbox, &server, &sshd, "--time=60");
    kill_agent(&sshd);
    let came_back = within(PATIENCE, || {
        let samples = samples_so_far(&sandbox.run());
        let mut later = samples
            .iter()
            .skip_while(|sample| !matches!(sample.void, Some(VoidReason::AgentLost { .. })));
        let lost = later.next();
        lost.is_some() && later.any(|sample| sample.is_valid() && sample.server.server_cpu.is_some())
    });
    running.signal(Signal::INT);
    let finished = running.finish_within(2 * PATIENCE);
    assert!(came_back, "{}", finished.stderr);
    let void = record(&sandbox.run()).results.void;
    let lost = void
        .iter()
        .filter(|row| matches!(row.reason, VoidReason::AgentLost { .. }));
    assert_eq!(lost.count(), 1, "{void:?}");
    assert!(within(PATIENCE, || sshd.agents().is_empty()));
    sandbox.expect_nothing_left();
}

#[test]
fn an_agent_that_cannot_be_reached_for_seconds_is_waited_for() {
    let Some(sshd) = OwnSshd::start() else {
        return not_tested(NO_SSHD);
    };
    let server = OwnServer::start();
    let sandbox = Sandbox::new();
    let running = measuring(&sandbox, &server, &sshd, "--time=60");
    install(
        &sshd.client(),
        "ssh",
        "echo 'ssh: connect to host db port 22: No route to host' >&2; exit 255",
    );
    kill_agent(&sshd);
    let is_lost = |sample: &Sample| matches!(sample.void, Some(VoidReason::AgentLost { .. }));
    let lost = || samples_so_far(&sandbox.run()).into_iter().filter(is_lost).count();
    // More than three blocks of three slices.
    assert!(within(PATIENCE, || lost() > 9));
    sshd.write_client(sshd.listens());
    let came_back = within(PATIENCE, || {
        let samples = samples_so_far(&sandbox.run());
        let last = samples.iter().rposition(is_lost);
        let mut later = samples.iter().skip(last.unwrap_or(samples.len()));
        later.any(|sample| sample.is_valid() && sample.server.server_cpu.is_some())
    });
    running.signal(Signal::INT);
    let finished = running.finish_within(2 * PATIENCE);
    assert!(came_back, "{}", finished.stderr);
    let run = record(&sandbox.run());
    let RunStatus::Partial { reason } = &run.head.status else {
        panic!("{:?}", run.head.status)
    };
    assert_eq!(reason, "stopped by the user");
    let void = run.results.void.iter();
    let lost = void.filter(|row| matches!(row.reason, VoidReason::AgentLost { .. }));
    assert!(lost.count() > 9, "{:?}", run.results.void);
    assert!(within(PATIENCE, || sshd.agents().is_empty()));
    sandbox.expect_nothing_left();
}

#[test]
fn an_agent_that_cannot_be_had_ends_the_run_before_it_measures() {
    let Some(sshd) = OwnSshd::start() else {
        return not_tested(NO_SSHD);
    };
    let server = OwnServer::start();
    let url = server.url_with(server.password());
    let refused = |agent: &str, words: &str| {
        let sandbox = Sandbox::new();
        start(&sandbox, &url, &sshd, agent, "--time=2")
            .finish()
            .refuses(words);
        assert!(!sandbox.run().exists());
        sandbox.expect_nothing_left();
    };
    let missing = sshd.agent().replace("/ciphertax", "/nowhere");
    refused(&missing, "no agent at ssh:// … install ciphertax there");
    refused("ssh://db;id@x", "agent … letters, digits");
    refused("db.example", "give ssh://user@host");
    // As a release that is not this one says it.
    install(
        &sshd.client(),
        "ssh",
        "echo '{\"ciphertax_agent\":1,\"version\":\"0.0.7\"}'; cat >/dev/null",
    );
    refused(
        &sshd.agent(),
        "is ciphertax 0.0.7, and this is … install the same",
    );
    sshd.write_client(sshd.listens());
    let known = sshd.client().join("known-hosts");
    let line = fs::read_to_string(&known).unwrap();
    fs::write(&known, "").unwrap();
    refused(
        &sshd.agent(),
        "Host key verification failed … confirm the host's key: `ssh -p ",
    );
    // The other key stands for one that the host had before.
    let [own, other] = ["host-key.pub", "user-key.pub"].map(|name| sshd.client().with_file_name(name));
    let key = |file| fs::read_to_string(file).unwrap();
    fs::write(
        &known,
        format!(
            "# of the test\n{}",
            line.replace(key(&own).trim(), key(&other).trim())
        ),
    )
    .unwrap();
    let [own, other] = [own, other].map(|file| {
        let listed = Command::new("ssh-keygen")
            .arg("-lf")
            .arg(file)
            .output()
            .unwrap()
            .stdout;
        String::from_utf8(listed)
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .to_owned()
    });
    refused(
        &sshd.agent(),
        &format!(
            "the host's key is {own}, not the one that {}:2 has ({other}); somebody may … \
             only if it is the new one remove that line",
            known.display()
        ),
    );

    let sandbox = Sandbox::new();
    let finished = sandbox.finish(&["quick", "--time=2", "--out=run", "--server-agent", "ssh://db"]);
    finished.refuses("an agent reads the CPU of a server of your own … add its URL");
}

/// Reads the server's clock at this distance and beside it.
///
/// # Errors
/// If they tell different times.
fn read_from_afar(
    sshd: &OwnSshd,
    server: &OwnServer,
    local: &ProcessMeter,
    rtt_ms: f64,
) -> Result<(), String> {
    let far = far_from(sshd.listens(), Duration::from_secs_f64(rtt_ms / 2e3));
    sshd.write_client(far);
    let agent = AgentMeter::open(AgentOptions {
        reach: Reach::Ssh {
            program: sshd.client().join("ssh").into(),
            address: sshd.agent_at(far).parse().unwrap(),
        },
        host: "127.0.0.1".into(),
        port: server.port(),
        served_by: ServedBy::Threads,
        seen: SeenByServer::default(),
        profile: Profiling::Off,
        slice: Duration::from_millis(200),
    })
    .unwrap();
    let (here, there) = cpu_of_slices(server, local, &agent);
    let record = agent.record();
    drop(agent);
    let error = there as f64 / here as f64 - 1.0;
    eprintln!(
        "{rtt_ms} ms: {:+.3} %, {:.1} ms away, a quiet server uses {:.3} % of a CPU",
        error * 100.0,
        record.round_trip_us / 1_000.0,
        record.quiet_cpu_share * 100.0
    );
    assert!(record.round_trip_us >= rtt_ms * 1_000.0, "{record:?}");
    match error.abs() <= 0.01 {
        true => Ok(()),
        false => Err(format!("{rtt_ms} ms: {error}, {record:?}")),
    }
}

/// An address from which every byte of a connection travels for so long to this one, and back.
fn far_from(target: SocketAddr, one_way: Duration) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map(Result::unwrap) {
            let server = TcpStream::connect(target).unwrap();
            for stream in [&client, &server] {
                stream.set_nodelay(true).unwrap();
            }
            carry(client.try_clone().unwrap(), server.try_clone().unwrap(), one_way);
            carry(server, client, one_way);
        }
    });
    address
}

/// Carries what is read to its receiver, each piece as long after it was read.
fn carry(mut from: TcpStream, mut to: TcpStream, one_way: Duration) {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let _ = sender.send((Instant::now() + one_way, buffer[..length].to_vec()));
        }
    });
    thread::spawn(move || {
        for (due, bytes) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let _ = to.write_all(&bytes);
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// The nanoseconds of CPU time that ten slices took, as they are read here and by the agent.
fn cpu_of_slices(server: &OwnServer, local: &ProcessMeter, agent: &AgentMeter) -> (u64, u64) {
    let (mut here, mut there) = (0, 0);
    server.session(|query| {
        for _ in 0..10 {
            // The local reading is nearer to the slice, as if there were no distance.
            let agent_before = read(agent);
            let before = read(local);
            let slice = Instant::now();
            while slice.elapsed() < Duration::from_millis(200) {
                query("SELECT BENCHMARK(20000, MD5('x'))");
            }
            let after = read(local);
            let agent_after = read(agent);
            here += after.since(&before).cpu.unwrap().total_ns;
            there += agent_after.since(&agent_before).cpu.unwrap().total_ns;
        }
    });
    (here, there)
}

/// A run that measures with the agent there.
fn measuring(sandbox: &Sandbox, server: &OwnServer, sshd: &OwnSshd, time: &str) -> Running {
    let url = server.url_with(server.password());
    let mut running = start(sandbox, &url, sshd, &sshd.agent(), time);
    running.measures();
    running
}

fn start(sandbox: &Sandbox, url: &str, sshd: &OwnSshd, agent: &str, time: &str) -> Running {
    let mut command = sandbox.command(&["quick", url, time, "--out=run", "--server-agent", agent]);
    command.env("PATH", sshd.path());
    Running::start(command)
}

fn kill_agent(sshd: &OwnSshd) {
    let first = sshd.agents();
    kill_process(Pid::from_raw(first[0].cast_signed()).unwrap(), Signal::KILL).unwrap();
}

fn read(meter: &dyn Meter) -> ciphertax_observe::Usage {
    meter
        .read_when_quiet(Duration::from_millis(1), Duration::from_millis(50))
        .unwrap()
}

fn agent_of(source: &Option<CpuSource>) -> &AgentRecord {
    match source {
        Some(CpuSource::Agent(agent)) => agent,
        other => panic!("{other:?}"),
    }
}

mod test_all {
    use super::*;

    #[test]
    fn an_agent_tells_the_servers_cpu_and_nothing_of_it_is_left() {
        let Some(sshd) = OwnSshd::start() else {
            return not_tested(NO_SSHD);
        };
        let server = OwnServer::start();
        let sandbox = Sandbox::new();
        let running = measuring(&sandbox, &server, &sshd, "--time=300");
        assert_eq!(sshd.agents().len(), 1);
        for arm in ["plain", "tls1.3"] {
            is_looked_into(&sandbox.run(), arm);
        }
        running.interrupt();
        let mut run = record(&sandbox.run());
        // That of the moment.
        run.results
            .void
            .retain(|row| row.reason != VoidReason::Interrupted);
        no_slice_failed(&run);
        let measured = run.results.measurements.iter();
        assert!(measured.clone().any(|row| row.metric == Metric::ServerCpuPerOp));
        let own = &run.head.servers[0];
        let agent = agent_of(&own.cpu_from);
        assert_eq!((&own.cpu_unread, own.same_host), (&None, true));
        assert_eq!(agent.address, sshd.agent());
        assert_eq!(agent.host, run.head.host);
        assert!(agent.program.starts_with("m"), "mariadbd or mysqld: {agent:?}");
        assert!(agent.readings >= 20, "{agent:?}");
        // It looks into the server there.
        let why = &run.results.why;
        assert_eq!((&run.head.not_explained, &agent.not_looked_into), (&None, &None));
        for side in [ProfiledSide::Server, ProfiledSide::Client] {
            assert!(why.categories.iter().any(|row| row.side == side), "{side:?}");
        }
        let of_server = why
            .differences
            .iter()
            .filter(|row| row.side == ProfiledSide::Server);
        for row in of_server {
            assert!(row.complete > 0.95 && row.classified > 0.9, "{row:?}");
        }
        assert!(why.states.iter().any(|row| row.arm == "plain"));
        // The report says how exact it was, and the command that repeats it who read.
        let read = "Server CPU is that of m … , read on the server's machine ( … idle server used";
        sandbox
            .finish(&["report", "run", "--full"])
            .shows(&format!("{read} … {}", sshd.agent()));
        says(&run.head.command, "--server-agent");
        assert!(within(PATIENCE, || sshd.agents().is_empty()));
        sandbox.expect_nothing_left();
    }

    #[test]
    fn at_any_distance_an_agent_reads_what_is_read_beside_the_server() {
        let Some(sshd) = OwnSshd::start() else {
            return not_tested(NO_SSHD);
        };
        let server = OwnServer::start();
        let listens = format!("127.0.0.1:{}", server.port());
        let pid = match ciphertax_observe::listener(listens.parse().unwrap()) {
            ciphertax_observe::SocketOwner::One(pid) => pid,
            other => panic!("{other:?}"),
        };
        let local = ProcessMeter::open(pid).unwrap();
        for rtt_ms in [0.0, 1.0, 45.0] {
            // Others who use the machine may come between two readings, but not three times.
            let is_exact = (0..3).any(|_| {
                let read = read_from_afar(&sshd, &server, &local, rtt_ms);
                read.inspect_err(|problem| eprintln!("{problem}")).is_ok()
            });
            assert!(is_exact, "{rtt_ms} ms");
        }
    }
}
