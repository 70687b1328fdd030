//! Several load generators that MPI starts.

use crate::common::*;
use crate::tpcc::consistency;

/// Three databases, closed and open loops, connections that stay and that do not, records that each inserts.
const THREE_DATABASES: &str = r#"
    name = "three"
    question = "What does TLS cost?"
    time_s = 90
    dataset = { table_size = 1000 }
    ycsb = { record_count = 1000 }
    arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
    cell = [
        { name = "mariadb", workload = "oltp_point_select", load = { connections = 7 } },
        { name = "scheduled", workload = "oltp_point_select", load = { connections = 8, rate = 2000 } },
        { name = "postgresql", server = "postgresql", workload = "connect", load = { connections = 4 } },
        { name = "mongodb", server = "mongodb", workload = "ycsb_d", load = { connections = 4 } },
        { name = "inserts", workload = "ycsb_d", load = { connections = 4 } },
        { name = "scans", workload = "ycsb_e", load = { connections = 4 } },
    ]
"#;

/// One cell, for as long as nobody stops it.
const LONG: &str = r#"
    name = "long"
    question = "What does TLS cost?"
    time_s = 300
    precision = { cpu = 0.0005, throughput = 0.0005 }
    dataset = { table_size = 1000 }
    arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
    cell = [{ name = "queries", workload = "oltp_point_select", load = { connections = 6 } }]
"#;

/// TPC-C, whose tables are checked afterwards against what everybody has heard.
const TPCC: &str = r#"
    name = "tpcc"
    question = "What does TLS cost?"
    time_s = 10
    tpcc = { warehouses = 1 }
    arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
    cell = [{ name = "mix", workload = "tpcc", load = { connections = 6 } }]
"#;

const RUN: [&str; 4] = ["run", "study.toml", "--out", "run"];

/// The program that MPI starts, beside the command, where `make test-all` puts it; `None` where there is no MPI.
fn ciphertax_mpi() -> Option<PathBuf> {
    if Command::new("mpirun").arg("--version").output().is_err() {
        not_tested(
            "load from several load generators: mpirun is missing (openmpi-bin libopenmpi-dev libclang-dev)",
        );
        return None;
    }
    let program = Path::new(env!("CARGO_BIN_EXE_ciphertax")).with_file_name("ciphertax-mpi");
    assert!(program.exists(), "make test-all builds {}", program.display());
    Some(program)
}

/// So many load generators with these arguments; `None` where there is no MPI.
fn start(sandbox: &Sandbox, ranks: u32, arguments: &[&str]) -> Option<Running> {
    let program = ciphertax_mpi()?;
    let free = ["--oversubscribe", "--bind-to", "none", "-np"];
    let mut command = sandbox.command_of(Path::new("mpirun"), &free);
    command
        .arg(ranks.to_string())
        .arg(program)
        .args(arguments)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        // Servers that were fetched before.
        .env("XDG_CACHE_HOME", cache());
    Some(Running::start(command))
}

fn with_study(study: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.work().join("study.toml"), study).unwrap();
    sandbox
}

/// The process of a load generator, or of what carries its messages.
fn process_of(sandbox: &Sandbox, rank: u32, program: &str) -> Pid {
    let is_it = |pid: &i32| {
        let of = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&of("environ")).into_owned();
        let rank = match program {
            "ciphertax" => format!("CIPHERTAX_RANK={rank}/"),
            _ => format!("OMPI_COMM_WORLD_RANK={rank}\0"),
        };
        of("comm") == format!("{program}\n").into_bytes()
            && environment.contains(&rank)
            && environment.contains(sandbox.root().to_str().unwrap())
            && of("cmdline").windows(4).any(|word| word == b"\0run")
    };
    let all = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let found: Vec<i32> = all.filter(is_it).collect();
    assert_eq!(found.len(), 1, "{program} {rank}: {found:?}");
    Pid::from_raw(found[0]).unwrap()
}

/// Waits until so many slices are measured.
fn measures(sandbox: &Sandbox, slices: usize) {
    let file = sandbox.run().join("samples.jsonl");
    let count = || fs::read_to_string(&file).unwrap_or_default().lines().count();
    assert!(within(PATIENCE, || count() >= slices), "{} slices", count());
}

/// Three load generators that measure, for as long as nobody stops them; `None` where there is no MPI.
fn three_measure() -> Option<(Sandbox, Running)> {
    let sandbox = with_study(LONG);
    let running = start(&sandbox, 3, &RUN)?;
    measures(&sandbox, 16);
    Some((sandbox, running))
}

/// Waits until a run has been written down as ended early, and tells why.
fn partial(sandbox: &Sandbox, patience: Duration) -> String {
    let file = sandbox.run().join("run.json");
    let reason = || {
        let text = fs::read_to_string(&file).ok()?;
        match Run::from_json(&text).ok()?.head.status {
            RunStatus::Partial { reason } => Some(reason),
            _ => None,
        }
    };
    assert!(within(patience, || reason().is_some()), "{file:?}");
    reason().unwrap()
}

fn no_slice_is_lost(run: &Run, samples: &[Sample], ranks: u32) {
    assert_eq!(run.head.ranks.len(), ranks as usize);
    for sample in samples.iter().filter(|sample| sample.void.is_none()) {
        let shares = &sample.load.ranks;
        assert_eq!(shares.len(), ranks as usize, "{:?}", sample.slice);
        let operations: u64 = shares.iter().map(|share| share.operations).sum();
        assert_eq!(operations, sample.load.operation_count(), "{:?}", sample.slice);
        let cpu: u64 = shares.iter().map(|share| share.client_cpu.total_ns).sum();
        assert_eq!(cpu, sample.load.client_cpu.total_ns, "{:?}", sample.slice);
        let last = shares.iter().map(|share| share.ended_after_ns).max().unwrap();
        assert_eq!(last, sample.load.duration_ns, "{:?}", sample.slice);
    }
    for rank in 0..ranks {
        let shares = samples.iter().flat_map(|sample| &sample.load.ranks);
        let operations: u64 = shares
            .filter(|share| share.rank == rank)
            .map(|share| share.operations)
            .sum();
        assert!(operations > 0, "rank {rank}");
    }
}

#[test]
fn four_load_generators_measure_three_databases_together_and_leave_nothing() {
    if fetched(&MONGODB).is_none() || fetched(&POSTGRESQL).is_none() {
        return;
    }
    let sandbox = with_study(THREE_DATABASES);
    let Some(running) = start(&sandbox, 4, &RUN) else {
        return;
    };
    let finished = running.finish_within(2 * PATIENCE);
    finished.measured();
    let (run, samples) = (record(&sandbox.run()), samples(&sandbox.run()));
    no_slice_is_lost(&run, &samples, 4);
    let cells = THREE_DATABASES
        .lines()
        .filter_map(|line| line.trim().strip_prefix("{ name = \"")?.split('"').next());
    for cell in cells {
        let valid = samples
            .iter()
            .filter(|sample| sample.slice.cell == cell && sample.is_valid());
        assert!(valid.count() >= 3, "{cell}: {:?}", run.results.void);
    }
    // The schedule of all of them has the rate of the study, and not that of each.
    let scheduled = samples
        .iter()
        .filter_map(|sample| Some((sample, sample.load.open_loop.as_ref()?)));
    for (sample, open_loop) in scheduled.filter(|(sample, _)| sample.is_valid()) {
        let seconds = sample.load.duration_ns as f64 / 1e9;
        let rate = open_loop.planned as f64 / seconds;
        assert!((1_500.0..2_100.0).contains(&rate), "{rate} in {seconds} s");
        let planned = open_loop.planned;
        assert_eq!(planned, sample.load.operation_count() + open_loop.not_begun);
    }
    sandbox
        .finish(&["report", "run", "--full"])
        .shows("4 load generators on one machine made the load.");
    sandbox.expect_nothing_left();
}

#[test]
fn load_generators_measure_a_server_of_the_users_own_and_its_password_is_in_no_message() {
    let server = OwnServer::start();
    // Twenty statements, and four sessions each to write them.
    let study = LONG.replace("table_size = 1000", "table_size = 20000").replace(
        "cell = [",
        "cell = [{ name = \"accounts\", workload = \"pgbench_select_only\", load = { connections = 6 } }, ",
    );
    let sandbox = with_study(&study);
    server.query("SET GLOBAL log_output = 'TABLE'");
    server.query("SET GLOBAL general_log = ON");
    let url = server.url();
    let Some(program) = ciphertax_mpi() else { return };
    let free = ["--oversubscribe", "--bind-to", "none", "-np", "3"];
    let mut command = sandbox.command_of(Path::new("mpirun"), &free);
    command
        .args(["-x", "CIPHERTAX_PASSWORD"])
        .arg(program)
        .args(["run", "study.toml", &url, "--time", "8", "--out", "run"])
        .env("CIPHERTAX_PASSWORD", server.password())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let finished = Running::start(command).finish_within(2 * PATIENCE);
    finished.measured();
    let (run, samples) = (record(&sandbox.run()), samples(&sandbox.run()));
    no_slice_is_lost(&run, &samples, 3);
    for (statement, sessions) in [
        ("REPLACE INTO sbtest1", "12"),
        ("REPLACE INTO pgbench_accounts", "10"),
    ] {
        let wrote = format!(
            "SELECT COUNT(DISTINCT thread_id) FROM mysql.general_log WHERE argument LIKE '{statement}%'"
        );
        let written = server.query(&wrote);
        assert_eq!(written, [sessions], "all three wrote the table: {statement}");
    }
    assert!(
        !fs::read_to_string(sandbox.run().join("run.json"))
            .unwrap()
            .contains(server.password())
    );
    sandbox.expect_nothing_left();
}

#[test]
fn tpccs_tables_are_what_the_transactions_of_all_load_generators_made_of_them() {
    let server = OwnServer::start();
    let sandbox = with_study(TPCC);
    server.query("SET GLOBAL log_output = 'TABLE'");
    server.query("SET GLOBAL general_log = ON");
    let url = server.url_with(server.password());
    let Some(running) = start(&sandbox, 3, &["run", "study.toml", &url, "--out", "run"]) else {
        return;
    };
    let finished = running.finish_within(2 * PATIENCE);
    finished.measured();
    let (run, samples) = (record(&sandbox.run()), samples(&sandbox.run()));
    no_slice_is_lost(&run, &samples, 3);
    let asked: u64 = samples.iter().map(|sample| sample.load.operation_count()).sum();
    for arm in &run.head.arms {
        let tables = consistency(&run, &arm.name);
        assert!(tables.claim.starts_with("12 of 12 "), "{tables:?}");
        // Of both arms, with what did not count. Orders, payments and deliveries are as many as all three say that they were.
        let after: String = tables.claim[9..].chars().filter(char::is_ascii_digit).collect();
        assert!(after.parse::<u64>().unwrap() >= asked, "{tables:?}, {asked}");
        assert!(!tables.evidence.contains("not asked"), "{tables:?}");
    }
    let loaded = "SELECT COUNT(DISTINCT thread_id) FROM mysql.general_log WHERE argument LIKE 'LOAD DATA%'";
    // Nine tables of one warehouse, three each, by a session each.
    assert_eq!(server.query(loaded), ["9"], "all three loaded the tables");
    sandbox.expect_nothing_left();
}

#[test]
fn a_load_generator_beside_the_server_reads_its_cpu_and_makes_no_load() {
    let server = OwnServer::start();
    let sandbox = with_study(LONG);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let url = server.url_with(server.password());
    let arguments = ["run", "study.toml", &url, "--out", "run", "--agent-rank", &host];
    let Some(running) = start(&sandbox, 3, &arguments) else {
        return;
    };
    let listens = format!("127.0.0.1:{}", server.port()).parse().unwrap();
    let SocketOwner::One(pid) = listener(listens) else {
        panic!("no server listens at {listens}");
    };
    let local = ProcessMeter::open(pid).unwrap();
    let (first, last) = (16, 66);
    measures(&sandbox, first);
    let before = local.read().unwrap();
    measures(&sandbox, last);
    let here = local.read().unwrap().since(&before).cpu.unwrap().total_ns;
    running.signal(Signal::INT);
    partial(&sandbox, PATIENCE);
    let finished = running.finish_within(PATIENCE);

    let (run, samples) = (record(&sandbox.run()), samples(&sandbox.run()));
    let ranks: Vec<u32> = run.head.ranks.iter().map(|record| record.rank).collect();
    assert_eq!(ranks, [0, 2], "{}", finished.stderr);
    let is_by_these = |sample: &Sample| {
        sample
            .load
            .ranks
            .iter()
            .map(|share| share.rank)
            .eq(ranks.iter().copied())
    };
    assert!(samples.iter().filter(|sample| sample.is_valid()).all(is_by_these));
    // What is measured around its ends is that of two slices of fifty.
    let of = |sample: &Sample| sample.server.server_cpu.unwrap().total_ns;
    let there: u64 = samples[first..last].iter().map(of).sum();
    let is_alike = (0.9..1.1).contains(&(there as f64 / here as f64));
    assert!(is_alike, "{there} of {here} ns");
    let Some(CpuSource::Agent(agent)) = &run.head.servers[0].cpu_from else {
        panic!("{:?}", run.head.servers[0]);
    };
    assert_eq!(agent.address, format!("rank://{host}"));
    let is_told = run.head.command.contains(&format!("--agent-rank {host}"));
    assert!(is_told, "{}", run.head.command);
    // mpirun is gone before all is said.
    let shown = sandbox.finish(&["report", "run"]).stdout;
    assert!(shown.contains("2 load generators"), "{shown}");
    sandbox.expect_nothing_left();
}

/// On this machine and on a server of the test's own.
#[test]
fn the_examples_of_the_documents_run_as_they_are() {
    let server = OwnServer::start();
    let url = server.url_with(server.password());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/many-machines.md"))
        .unwrap();
    let examples = text.lines().filter_map(|line| line.strip_prefix("$ mpirun -np "));
    let mut count = 0;
    for example in examples {
        let (mpirun, arguments) = example.split_once(" ciphertax-mpi ").unwrap();
        let ranks: u32 = mpirun.split(' ').next().unwrap().parse().unwrap();
        let words = arguments.split(" #").next().unwrap().split_whitespace();
        let mut arguments: Vec<&str> = words
            .map(|word| match word {
                "db" => host.as_str(),
                word if word.starts_with("mysql://") => url.as_str(),
                word => word,
            })
            .collect();
        arguments.extend(["--time=30", "--out=run"]);
        let sandbox = Sandbox::new();
        let Some(running) = start(&sandbox, ranks, &arguments) else {
            return;
        };
        let finished = running.finish_within(4 * PATIENCE);
        finished.measured();
        let run = record(&sandbox.run());
        assert!(samples(&sandbox.run()).iter().any(Sample::is_valid), "{example}");
        let cells = run.head.study.cells.iter();
        assert!(
            cells
                .map(|cell| cell.load.connections)
                .all(|connections| connections >= run.head.ranks.len() as u32),
            "{example}"
        );
        sandbox
            .finish(&["report", "run", "--full"])
            .shows("none was kept on the server's CPU");
        sandbox.expect_nothing_left();
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn an_agent_where_no_load_generator_is_is_refused_with_the_hosts_there_are() {
    let server = OwnServer::start();
    let sandbox = with_study(LONG);
    let url = server.url_with(server.password());
    let arguments = [&RUN[..], &[&url, "--agent-rank", "nowhere"]].concat();
    let Some(running) = start(&sandbox, 2, &arguments) else {
        return;
    };
    let finished = running.finish_within(PATIENCE);
    finished.fails(
        2,
        "no load generator on nowhere can be the agent: rank 0 on  … and there is rank 1 on ",
    );
    let alone = sandbox.finish(&arguments);
    alone.refuses("rank://nowhere is one of several load generators, and this one is alone");
    sandbox.expect_nothing_left();
}

#[test]
fn what_one_process_alone_knows_is_refused_before_anything_starts() {
    let sandbox = with_study(&LONG.replace("oltp_point_select", "ycsb_load"));
    let Some(running) = start(&sandbox, 2, &RUN) else {
        return;
    };
    let finished = running.finish_within(PATIENCE);
    finished.fails(
        2,
        "cell \"queries\": one process empties its table before every slice",
    );
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
}

#[test]
fn a_load_generator_that_dies_ends_the_run_with_what_was_measured() {
    let Some((sandbox, running)) = three_measure() else {
        return;
    };
    kill_process(process_of(&sandbox, 2, "ciphertax"), Signal::KILL).unwrap();
    let finished = running.finish_within(PATIENCE);
    finished.fails(4, "");
    let reason = partial(&sandbox, Duration::ZERO);
    says(&reason, "rank 2 on  … is gone");
    assert!(record(&sandbox.run()).results.cells[0].blocks >= 1);
    sandbox
        .finish(&["run", "--resume", "run"])
        .refuses("came from 3 load generators");
    sandbox.expect_nothing_left();
}

#[test]
fn what_a_load_generator_did_that_dies_is_not_asked_of_tpccs_tables() {
    let sandbox = with_study(&TPCC.replace("time_s = 10", "time_s = 300"));
    let Some(running) = start(&sandbox, 3, &RUN) else {
        return;
    };
    measures(&sandbox, 7);
    kill_process(process_of(&sandbox, 1, "ciphertax"), Signal::KILL).unwrap();
    // The tables are checked too.
    let finished = running.finish_within(PATIENCE);
    finished.fails(4, "");
    let reason = partial(&sandbox, Duration::ZERO);
    says(&reason, "rank 1 on  … is gone");
    let run = record(&sandbox.run());
    assert_eq!(run.head.inconsistent, None);
    let tables = consistency(&run, "plain");
    assert!(tables.evidence.contains("not asked"), "{tables:?}");
    sandbox.expect_nothing_left();
}

#[test]
fn a_load_generator_that_hangs_ends_the_run_with_what_was_measured() {
    let Some((sandbox, running)) = three_measure() else {
        return;
    };
    kill_process(process_of(&sandbox, 1, "ciphertax"), Signal::STOP).unwrap();
    let finished = running.finish_within(PATIENCE);
    finished.fails(4, "");
    let reason = partial(&sandbox, Duration::ZERO);
    says(&reason, "rank 1 on  … does not answer");
    sandbox.expect_nothing_left();
}

#[test]
fn the_report_is_written_also_where_mpi_kills_all_that_it_started() {
    for whom in [1, 0] {
        let Some((sandbox, running)) = three_measure() else {
            return;
        };
        kill_process(process_of(&sandbox, whom, "ciphertax-mpi"), Signal::KILL).unwrap();
        let reason = partial(&sandbox, PATIENCE);
        let is_told = reason.contains("gone") || reason.contains("stopped");
        assert!(is_told, "{whom}: {reason}");
        assert_ne!(running.finish_within(PATIENCE).code, Some(0));
        assert!(record(&sandbox.run()).results.cells[0].blocks >= 1);
        sandbox.expect_nothing_left();
    }
}

#[test]
fn ctrl_c_is_heard_by_all() {
    let Some((sandbox, running)) = three_measure() else {
        return;
    };
    running.signal(Signal::INT);
    let reason = partial(&sandbox, PATIENCE);
    assert!(reason.contains("stopped"), "{reason}");
    let _ = running.finish_within(CLEANED_UP);
    sandbox.expect_nothing_left();
}

#[test]
fn ctrl_c_is_heard_while_all_write_the_data() {
    let server = OwnServer::start();
    let before = server.schemas();
    let sandbox = with_study(&LONG.replace("table_size = 1000", "table_size = 9000000"));
    let url = server.url_with(server.password());
    let Some(running) = start(&sandbox, 3, &["run", "study.toml", &url, "--out", "run"]) else {
        return;
    };
    let rows = "SELECT SUM(table_rows) FROM information_schema.tables WHERE table_schema = 'ciphertax'";
    let are_written = || server.query(rows)[0].parse().is_ok_and(|rows: u64| rows > 20_000);
    assert!(within(PATIENCE, are_written), "nothing was loaded");
    running.signal(Signal::INT);
    let _ = running.finish_within(CLEANED_UP);
    let in_time = within(PATIENCE, || server.schemas() == before);
    assert!(in_time, "{:?}", server.schemas());
    // It is removed last, and mpirun may have ended before.
    let in_time = within(PATIENCE, || !sandbox.run().exists());
    assert!(in_time, "a run without a slice is kept");
    sandbox.expect_nothing_left();
}

#[test]
fn what_mpirun_says_twice_is_one_order() {
    let Some((sandbox, running)) = three_measure() else {
        return;
    };
    let carrier = process_of(&sandbox, 0, "ciphertax-mpi");
    for _ in 0..2 {
        kill_process(carrier, Signal::TERM).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    let reason = partial(&sandbox, PATIENCE);
    assert!(reason.contains("stopped"), "{reason}");
    let _ = running.finish_within(CLEANED_UP);
    sandbox.expect_nothing_left();
}

#[test]
fn what_carries_messages_sleeps_while_the_load_generators_of_one_machine_work() {
    let sandbox = with_study(&LONG.replace("time_s = 300", "time_s = 300\nslice_s = 1"));
    let Some(running) = start(&sandbox, 3, &RUN) else {
        return;
    };
    measures(&sandbox, 2);
    let carriers = [0, 1, 2].map(|rank| process_of(&sandbox, rank, "ciphertax-mpi"));
    let wake_ups = || carriers.map(wake_ups);
    let (before, began) = (wake_ups(), Instant::now());
    thread::sleep(Duration::from_secs(4));
    let took = began.elapsed().as_secs_f64();
    for (after, before) in wake_ups().iter().zip(before) {
        // They look every 20 ms, and at what rings.
        let per_second = (after - before) as f64 / took;
        let is_rare = (1.0..150.0).contains(&per_second);
        assert!(is_rare, "{per_second} wake-ups a second");
    }
    running.signal(Signal::INT);
    partial(&sandbox, PATIENCE);
    let _ = running.finish_within(CLEANED_UP);
    sandbox.expect_nothing_left();
}

/// How often the first thread of a process has waited so far.
fn wake_ups(pid: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn a_slice_that_one_began_late_does_not_count() {
    let sandbox = with_study(LONG);
    let Some(running) = start(&sandbox, 3, &["run", "study.toml", "--time=24", "--out", "run"]) else {
        return;
    };
    measures(&sandbox, 6);
    let late = process_of(&sandbox, 2, "ciphertax");
    for _ in 0..5 {
        kill_process(late, Signal::STOP).unwrap();
        thread::sleep(Duration::from_millis(400));
        kill_process(late, Signal::CONT).unwrap();
        thread::sleep(Duration::from_millis(400));
    }
    let finished = running.finish_within(2 * PATIENCE);
    finished.measured();
    let (run, samples) = (record(&sandbox.run()), samples(&sandbox.run()));
    no_slice_is_lost(&run, &samples, 3);
    let apart = |sample: &&Sample| matches!(sample.void, Some(VoidReason::RanksApart { .. }));
    let apart: Vec<&Sample> = samples.iter().filter(apart).collect();
    assert!(!apart.is_empty(), "{:?}", run.results.void);
    // Those that count began together.
    let worst = samples.iter().filter(|sample| sample.is_valid()).map(|sample| {
        let last = sample
            .load
            .ranks
            .iter()
            .map(|share| share.began_after_ns)
            .max()
            .unwrap();
        last as f64 / sample.load.duration_ns as f64
    });
    assert!(worst.fold(0.0, f64::max) <= 0.02);
    sandbox.expect_nothing_left();
}
