//! A pooler before PostgreSQL, through the whole command: what it costs and saves is told apart, it is proved, and it goes
//! with its run.

use ciphertax_lab::catalogue::POSTGRESQL_18;

use crate::common::*;

const STUDY: &str = r#"
name = "pooled"
question = "What does a pooler cost, and save?"
server = "postgresql-18"
time_s = 12
slice_s = 0.2
dataset = { table_size = 2000 }
arm = [
    { name = "direct", transport = "tls1.3" },
    { name = "session", transport = "tls1.3", pooler = { program = "pgbouncer", pool_mode = "session" } },
    { name = "through", transport = "tls1.3", pooler = { program = "pgbouncer", pool_mode = "transaction", server_transport = "tls1.3" } },
    { name = "odyssey", transport = "tls1.3", pooler = { program = "odyssey", pool_mode = "transaction" } },
]
cell = [
    { name = "queries", workload = "oltp_point_select", load = { connections = 4 } },
    { name = "connects", workload = "connect", load = { connections = 2 } },
]
"#;

const POOLED: [&str; 3] = ["session", "through", "odyssey"];

#[test]
fn what_a_pooler_costs_and_saves_are_told_apart() {
    let Some(_) = fetched(&POSTGRESQL_18) else { return };
    let sandbox = Sandbox::new();
    let ((finished, truth), run) = sandbox.until_measured(3, |time| {
        let mut running = sandbox.start_study(STUDY, time);
        // The proofs have poolers of their own.
        running.measures();
        let truth = CpuOfPoolers::watch(sandbox.temporary().as_path());
        let finished = running.finish_within(2 * PATIENCE);
        sandbox.expect_nothing_left();
        (finished, truth.seen())
    });
    finished.measured();
    sandbox.finish(&["report", "run", "--full"]).shows("pooler CPU");
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);

    let samples = samples(&sandbox.run());
    let valid = || samples.iter().filter(|sample| sample.is_valid());
    for sample in valid() {
        let cpu = sample.server.pooler_cpu.map_or(0, |cpu| cpu.total_ns);
        assert_eq!(cpu > 0, is_pooled(sample), "{sample:?}");
        assert_eq!(sample.server.tunnel_cpu, None);
    }
    for (arm, cell) in POOLED
        .iter()
        .flat_map(|arm| [(arm, "queries"), (arm, "connects")])
    {
        let mut rows = run.results.measurements.iter();
        let is_of = |metric| metric == Metric::PoolerCpuPerOp;
        assert!(
            rows.any(|row| is_of(row.metric) && row.arm == *arm && row.cell == cell && row.value > 0.0),
            "{arm}, {cell}"
        );
    }

    // What the slices say that the poolers used is what the kernel says that they used in all, but for what was between
    // the slices. Odyssey writes its title over its arguments, by which the others are found.
    let said: u64 = samples
        .iter()
        .filter(|sample| sample.slice.arm != "odyssey")
        .filter_map(|sample| Some(sample.server.pooler_cpu?.total_ns))
        .sum();
    assert_eq!(truth.len(), POOLED.len() - 1, "{truth:?}");
    let used: u64 = truth.values().sum();
    assert!(said <= used, "{said} of {used} ns");
    assert!(said >= used / 2, "{said} of {used} ns");

    // Each connect makes a process of the server, and none where a pooler has one.
    let connects = |pooled: bool| {
        let of = valid().filter(move |sample| sample.slice.cell == "connects" && is_pooled(sample) == pooled);
        let (mut connects, mut sessions) = (0, 0);
        for sample in of {
            connects += sample.load.operation_count().cast_signed();
            sessions += sample.server.server_counters[counter::CONNECTIONS];
        }
        (connects, sessions)
    };
    let (made, counted) = connects(false);
    let is_counted = made > 0 && counted >= made;
    assert!(is_counted, "{counted} sessions of {made} connects");
    let (made, counted) = connects(true);
    let are_kept = made > 100 && counted * 10 < made;
    assert!(are_kept, "{counted} sessions of {made} connects");
}

#[test]
fn each_side_of_a_pooler_is_proved() {
    let sandbox = Sandbox::new();
    let study = STUDY
        .replace("postgresql-18", "postgresql")
        .replace("time_s = 12", "time_s = 4")
        .replace("oltp_point_select", "connect_only");
    let study = without(&study, "odyssey");
    if !with_old_pgbouncer(&sandbox) {
        return;
    }
    // Without statements that are prepared, any release does.
    start(&sandbox, &study).finish_within(2 * PATIENCE).measured();
    let run = record(&sandbox.run());
    no_slice_failed(&run);
    sandbox.expect_nothing_left();
    let settings = &run.head.servers[0].settings;
    assert!(
        settings
            .iter()
            .any(|(name, value)| name.contains("pgbouncer, session pooling") && value == "session"),
        "{settings:?}"
    );
    for (arm, to_server, in_pooler) in [
        ("direct", "TLSv1.3", None),
        ("session", "no TLS", Some("no TLS")),
        ("through", "TLSv1.3", Some("TLSv1.3")),
    ] {
        let arm = arm_of(&run, arm);
        let proofs = &arm.sessions[0].proofs;
        let evidence = |witness| {
            let proof = proofs.iter().find(|proof| proof.witness == witness);
            proof.map(|proof| proof.evidence.as_str())
        };
        let is_tls = evidence(Witness::Client).unwrap().starts_with("TLSv1.3");
        assert!(is_tls, "{proofs:?}");
        let is_as_asked = evidence(Witness::Server).unwrap().starts_with(to_server);
        assert!(is_as_asked, "{proofs:?}");
        assert!(evidence(Witness::Authentication).is_some(), "{proofs:?}");
        let by_pooler = evidence(Witness::Pooler);
        assert_eq!(by_pooler.is_some(), in_pooler.is_some(), "{proofs:?}");
        if let (Some(evidence), Some(words)) = (by_pooler, in_pooler) {
            let words = format!("of the server says: {words} from 127.0.0.1:");
            assert!(evidence.contains(&words), "{evidence}");
            assert!(evidence.contains("which is a socket of pgbouncer"), "{evidence}");
            let canaries = proofs.iter().filter(|proof| proof.claim.contains("canary"));
            assert_eq!(canaries.count(), 2, "{proofs:?}");
        }
    }
}

#[test]
fn a_pooler_that_dies_ends_the_run_and_is_named() {
    let sandbox = Sandbox::new();
    if !with_old_pgbouncer(&sandbox) {
        return;
    }
    let mut running = start_for_a_minute(&sandbox);
    running.measures();
    for pooler in poolers_of(&sandbox.temporary()) {
        kill_process(pooler, Signal::KILL).unwrap();
    }
    let finished = running.finish_within(2 * PATIENCE);
    finished.fails(4, "the pooler died … pgbouncer, session pooling");
    let run = record(&sandbox.run());
    let is_its_death = |reason: &VoidReason| matches!(reason, VoidReason::PoolerDied { .. });
    let holds = run.results.void.iter().any(|row| is_its_death(&row.reason));
    assert!(holds, "{:?}", run.results.void);
    sandbox.expect_nothing_left();
}

#[test]
fn a_killed_run_leaves_no_pooler() {
    let sandbox = Sandbox::new();
    if !with_old_pgbouncer(&sandbox) {
        return;
    }
    let mut running = start_for_a_minute(&sandbox);
    running.measures();
    assert_eq!(poolers_of(&sandbox.temporary()).len(), 1);
    running.kill();
    sandbox.expect_nothing_left();
}

#[test]
fn an_old_release_is_refused_where_it_would_lose_prepared_statements() {
    let sandbox = Sandbox::new();
    if !with_old_pgbouncer(&sandbox) {
        return;
    }
    let study = without(&STUDY.replace("postgresql-18", "postgresql"), "odyssey");
    let finished = start(&sandbox, &study).finish();
    finished.fails(
        2,
        "arm \"through\": with pool_mode = \"transaction\" pgbouncer 1.18 loses the statements that oltp_point_select \
         prepares … `ciphertax servers install postgresql-18` … the cell \"queries\"",
    );
    assert!(!finished.stderr.contains("connects"), "{}", finished.stderr);
    assert!(!sandbox.run().exists());
}

#[test]
fn a_pooler_that_is_not_available_is_refused_before_anything_starts() {
    if is_in_system() {
        return not_tested("the system has pgbouncer");
    }
    for (server, program, words) in [
        ("postgresql", "pgbouncer", "install the package pgbouncer"),
        ("postgresql", "odyssey", "ciphertax servers install postgresql-18"),
        ("mariadb", "pgbouncer", "pooler"),
    ] {
        let sandbox = Sandbox::new();
        let study = of_sessions()
            .replace("\"postgresql\"", &format!("\"{server}\""))
            .replace("\"pgbouncer\"", &format!("\"{program}\""));
        let finished = start(&sandbox, &study).finish();
        finished.fails(2, words);
        assert!(!sandbox.run().exists());
    }
}

/// CPU time of poolers as the kernel counts it, read until they end.
pub(crate) struct CpuOfPoolers {
    is_over: Arc<AtomicBool>,
    /// Nanoseconds, by process.
    seen: Arc<Mutex<BTreeMap<i32, u64>>>,
    watch: thread::JoinHandle<()>,
}

impl CpuOfPoolers {
    pub(crate) fn watch(folder: &Path) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen: Arc<Mutex<BTreeMap<i32, u64>>> = Arc::default();
        let watch = {
            let (folder, is_over, seen) = (folder.to_owned(), Arc::clone(&is_over), Arc::clone(&seen));
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let cpu = poolers_of(&folder).into_iter().filter_map(|pid| {
                        let pid = pid.as_raw_nonzero().get();
                        let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
                        let of_thread = |thread: fs::DirEntry| {
                            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
                            text.split(' ').next()?.parse::<u64>().ok()
                        };
                        Some((pid, threads.filter_map(of_thread).sum()))
                    });
                    seen.lock().unwrap().extend(cpu);
                    thread::sleep(Duration::from_millis(20));
                }
            })
        };
        Self { is_over, seen, watch }
    }

    pub(crate) fn seen(self) -> BTreeMap<i32, u64> {
        self.is_over.store(true, Ordering::Relaxed);
        self.watch.join().unwrap();
        let seen = self.seen.lock().unwrap();
        seen.clone()
    }
}

fn is_pooled(sample: &Sample) -> bool {
    POOLED.contains(&sample.slice.arm.as_str())
}

/// The study without the arms that share connections between transactions.
fn of_sessions() -> String {
    let study = STUDY.replace("postgresql-18", "postgresql");
    without(&without(&study, "through"), "odyssey")
}

/// The study without an arm.
fn without(study: &str, arm: &str) -> String {
    let arm = format!("name = \"{arm}\"");
    let kept = study.lines().filter(|line| !line.contains(&arm));
    kept.collect::<Vec<_>>().join("\n")
}

/// Makes Debian 12's pgbouncer the only one that is found; false where that cannot be.
fn with_old_pgbouncer(sandbox: &Sandbox) -> bool {
    let unpacked = unpacked_tunnels().filter(|root| root.join("usr/sbin/pgbouncer").exists());
    match unpacked {
        Some(root) if !is_in_system() => {
            let kept = sandbox.work().join(".cache/ciphertax");
            fs::create_dir_all(&kept).unwrap();
            symlink(root, kept.join("tunnels")).unwrap();
            true
        }
        _ => {
            not_tested("Debian 12's pgbouncer is not unpacked, or the system has another");
            false
        }
    }
}

fn is_in_system() -> bool {
    Path::new("/usr/sbin/pgbouncer").exists()
}

fn start_for_a_minute(sandbox: &Sandbox) -> Running {
    let study = of_sessions().replace("time_s = 12", "time_s = 60");
    start(sandbox, &study)
}

fn start(sandbox: &Sandbox, study: &str) -> Running {
    fs::write(sandbox.work().join("study.toml"), study).unwrap();
    let mut command = sandbox.command(&["run", "study.toml", "--out", "run"]);
    command.env_remove("XDG_CACHE_HOME");
    Running::start(command)
}
