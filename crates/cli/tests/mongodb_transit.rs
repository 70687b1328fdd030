//! MongoDB at a distance, behind tunnels, and under a program of the user's own.

use crate::common::*;
use crate::transit::expect_round_trips;

/// The driver that the program of these tests uses, fetched once.
const DRIVER: &str = "pymongo==4.10.1";

const DISTANCE: &str = r#"
name = "distance"
question = "What does a tunnel cost before MongoDB?"
server = "mongodb"
time_s = 20
slice_s = 0.4
link = { rtt_ms = 20 }
ycsb = { record_count = 500 }
arm = [
    { name = "plain", transport = "plain" },
    { name = "tls", transport = "tls1.3" },
    { name = "ssh", transport = "plain", tunnel = { ssh = "aes256-gcm@openssh.com" } },
    { name = "stunnel", transport = "plain", tunnel = "stunnel" },
    { name = "haproxy", transport = "plain", tunnel = "haproxy" },
]
cell = [{ name = "connect", workload = "connect", load = { connections = 2 } }]
"#;

const PROGRAM: &str = r#"
name = "own-program"
question = "What does TLS cost under a program of my own?"
server = "mongodb"
time_s = 30
precision = { cpu = 0.5, throughput = 0.5 }
ycsb = { record_count = 500 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
[[cell]]
name = "mine"
workload = "command"
"#;

#[test]
fn a_program_that_does_not_encrypt_or_log_in_as_its_arm_says_is_caught_by_mongodb() {
    let Some(driver) = driver() else { return };
    let plaintext = "\
        import os\n\
        from pymongo import MongoClient\n\
        of = lambda name: os.environ['CIPHERTAX_' + name]\n\
        with MongoClient(of('HOST'), int(of('PORT')), username=of('USER'), password=of('PASSWORD'),\n\
        \x20                serverMonitoringMode='poll') as client:\n\
        \x20   client[of('DATABASE')].usertable.find_one()\n";
    let nobody = "\
        import os\n\
        from pymongo import MongoClient\n\
        of = lambda name: os.environ['CIPHERTAX_' + name]\n\
        with MongoClient(of('HOST'), int(of('PORT')), serverMonitoringMode='poll') as client:\n\
        \x20   client.admin.command('ping')\n";
    for (program, words) in [
        (plaintext, "cell mine, arm tls … 0 were over TLS … CIPHERTAX_URL"),
        (nobody, "cell mine, arm plain … did not log in … SCRAM-SHA-256"),
    ] {
        let sandbox = Sandbox::new();
        let study = with_program(&sandbox, &driver, program);
        let finished = sandbox.start_study(&study, &[]).finish_within(2 * PATIENCE);
        finished.refuses(words);
        assert!(!sandbox.run().exists());
        sandbox.expect_nothing_left();
    }
}

/// The study, whose program is this one.
fn with_program(sandbox: &Sandbox, driver: &str, program: &str) -> String {
    let file = sandbox.work().join("program.py");
    fs::write(&file, program).unwrap();
    format!(
        "{PROGRAM}[cell.command]\ncounts = \"queries\"\nrun = [\"env\", \"PYTHONPATH={driver}\", \"python3\", \"{}\"]\n",
        file.display()
    )
}

/// Where the driver is. It is fetched by Python's own package client, as MongoDB itself is.
fn driver() -> Option<String> {
    let folder: PathBuf = cache().join("ciphertax").join(DRIVER.replace("==", "-"));
    if !folder.join("pymongo").is_dir() {
        let fetched = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--target"])
            .arg(&folder)
            .arg(DRIVER)
            .status();
        if !fetched.is_ok_and(|status| status.success()) {
            not_tested("pip cannot fetch PyMongo");
            return None;
        }
    }
    Some(folder.display().to_string())
}

mod test_all {
    use super::*;

    #[test]
    fn every_tunnel_and_every_phase_of_a_distant_connect() {
        if !is_root() {
            return not_tested("links are for root");
        }
        let sandbox = Sandbox::new();
        let (_, run) = sandbox.play(DISTANCE, 1);
        no_slice_failed(&run);
        // ssh, stunnel and HAProxy take connections on this machine.
        expect_round_trips(&run, |row| {
            ["ssh", "stunnel", "haproxy"].contains(&row.arm.as_str()) && row.phase == Phase::Tcp
        });
        let paid: BTreeSet<&str> = run
            .results
            .measurements
            .iter()
            .filter(|row| row.metric == Metric::TunnelCpuPerOp && row.value > 0.0)
            .map(|row| row.arm.as_str())
            .collect();
        assert_eq!(paid, ["haproxy", "ssh", "stunnel"].into());
        let link = run.head.servers[0].link.as_ref().unwrap();
        assert_eq!(link.distances[0].rtt_ms, 20.0);
        sandbox.expect_nothing_left();
    }

    #[test]
    fn the_built_in_study_runs_at_a_distance_also_on_a_replica_set() {
        if !is_root() {
            return not_tested("links are for root");
        }
        let sandbox = Sandbox::new();
        let study = ["run", "mongodb-tls-connection", "--out=run", "--time=16"];
        let far = ["--set=link.rtt_ms=10", "--set=placement=free"];
        let short = ["--set=ycsb.record_count=500", "--set=slice_s=0.2"];
        let mut command = sandbox.command(&[&study[..], &far, &short].concat());
        command.env("XDG_CACHE_HOME", cache());
        let finished = crate::common::Running::start(command).finish_within(2 * PATIENCE);
        finished.measured();
        let run = record(&sandbox.run());
        expect_round_trips(&run, |_| false);
        assert_eq!(run.head.servers.len(), 2);
        for server in &run.head.servers {
            assert!(server.link.as_ref().unwrap().packets > 0, "{}", server.name);
        }
        sandbox.expect_nothing_left();
    }

    #[test]
    fn a_program_asks_mongodb_and_its_operations_are_counted_by_the_server() {
        let Some(driver) = driver() else { return };
        let sandbox = Sandbox::new();
        let program = "\
            import os\n\
            from pymongo import MongoClient\n\
            with MongoClient(os.environ['CIPHERTAX_URL'], serverMonitoringMode='poll') as client:\n\
            \x20   table = client[os.environ['CIPHERTAX_DATABASE']].usertable\n\
            \x20   for _ in range(50):\n\
            \x20       assert table.find_one() is not None\n";
        let study = with_program(&sandbox, &driver, program);
        let (_, run) = sandbox.play(&study, 1);
        assert_eq!(run.head.status, RunStatus::Complete);
        let valid = samples(&sandbox.run())
            .into_iter()
            .filter(|sample| sample.is_valid());
        let counts: Vec<u64> = valid.map(|sample| sample.load.operation_count()).collect();
        assert!(!counts.is_empty());
        assert!(counts.iter().all(|count| *count == 50), "{counts:?}");
        sandbox.expect_nothing_left();
    }
}
