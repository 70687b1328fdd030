//! MongoDB through the whole command, on real private servers: access control off and on, logins, YCSB, failover.

use std::cell::OnceCell;

use ciphertax_records::Finding;
use ciphertax_wire::Address;
use ciphertax_wire::mongodb::{ConnectOptions, Topology};

use crate::common::*;

pub(crate) const AUTHENTICATION: &str = r#"
name = "logins"
question = "What does authentication cost?"
server = "mongodb"
time_s = 36
slice_s = 0.2

ycsb = { record_count = 2000, verify = true }
arm = [
    { name = "open", transport = "plain", authentication = { method = "none" } },
    { name = "warm", transport = "plain", authentication = { method = "SCRAM-SHA-256" } },
    { name = "cold", transport = "plain", authentication = { method = "SCRAM-SHA-1", password_cache = "cold", speculative = false } },
    { name = "x509", transport = "tls1.3", tls = { client_certificate = "ecdsa-p256" }, authentication = { method = "MONGODB-X509" } },
]

[[cell]]
name = "connect"
workload = "connect"
load = { connections = 2 }
keep_operations = true

[[cell]]
name = "mix"
workload = "ycsb"
mix = { read = 0.6, update = 0.2, insert = 0.1, scan = 0.1 }
arms = ["open", "warm", "x509"]
load = { connections = 4 }

# Inserts into the same table as the cell before.
[[cell]]
name = "inserts"
workload = "ycsb_d"
arms = ["open", "warm"]
load = { connections = 4 }

[[cell]]
name = "load"
workload = "ycsb_load"
arms = ["open", "warm"]
load = { connections = 2 }
"#;

const REPLICA_SET: &str = r#"
name = "set"
question = "Does a failover end a run?"
server = "mongodb"
time_s = 25
slice_s = 0.2
replica_set = { members = 3, read_only_member = true }
precision = { cpu = 0.0005, throughput = 0.0005 }
ycsb = { record_count = 1000 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [
    { name = "writes", workload = "ycsb_a", read_preference = "secondary", load = { connections = 4 } },
    { name = "reads", workload = "ycsb_c", read_preference = "secondary", load = { connections = 4 } },
    { name = "connects", workload = "connect", read_preference = "nearest", load = { connections = 2 } },
]
"#;

/// Without a login a write is refused where there is access control, and succeeds where there is none.
fn expect_proofs(run: &Run) {
    let claims = |arm: &str| claims(run, arm);
    let words = "a write without a login succeeds";
    assert!(claims("open").contains(words), "{}", claims("open"));
    for arm in ["warm", "cold", "x509"] {
        let claims = claims(arm);
        let words = "a write without a login is refused";
        assert!(claims.contains(words), "{arm}: {claims}");
    }
}

fn expect_kinds(run: &Run) {
    let kinds: BTreeSet<&str> = run
        .results
        .by_kind
        .iter()
        .filter(|row| row.estimate.cell == "mix")
        .map(|row| row.kind.as_str())
        .collect();
    assert_eq!(kinds, ["insert", "read", "scan", "update"].into());
}

fn expect_every_operation_kept(sandbox: &Sandbox, run: &Run) {
    let text = fs::read_to_string(sandbox.run().join("operations.csv")).unwrap();
    let counted: u64 = samples(&sandbox.run())
        .iter()
        .filter(|sample| sample.slice.cell == "connect" && sample.is_valid())
        .map(|sample| sample.load.operation_count())
        .sum();
    assert!(counted > 0 && run.results.cells.iter().any(|cell| cell.name == "connect"));
    assert_eq!(text.lines().count() as u64, counted + 1);
    assert!(text.lines().skip(1).all(|line| line.starts_with("connect,")));
}

/// The primary, as the members that run in the sandbox see it.
fn primary_of(sandbox: &Sandbox) -> Option<Address> {
    let reactor = Reactor::new().unwrap();
    let ports = servers_of(&sandbox.temporary());
    let ports = ports.iter().filter_map(|pid| port_of(pid.as_raw_nonzero().get()));
    let seeds: Vec<Address> = ports
        .map(|port| Address {
            host: "127.0.0.1".into(),
            port,
        })
        .collect();
    let options = ConnectOptions::new("127.0.0.1", 1, Login::None);
    let look = Topology::discover(&reactor, &seeds, &options);
    let found = reactor
        .run_one(look, Instant::now() + Duration::from_secs(5))
        .unwrap()?;
    Some(found.ok()?.primary()?.address.clone())
}

/// The port that a server was started with.
fn port_of(pid: i32) -> Option<u16> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let arguments: Vec<String> = line
        .split(|byte| *byte == 0)
        .map(|part| String::from_utf8_lossy(part).into())
        .collect();
    let position = arguments.iter().position(|argument| argument == "--port");
    match position {
        Some(position) => arguments.get(position + 1)?.parse().ok(),
        None => arguments
            .iter()
            .find_map(|argument| argument.strip_prefix("--port=")?.parse().ok()),
    }
}

mod test_all {
    use super::*;

    #[test]
    fn logins_take_the_way_their_arm_says_and_servers_with_and_without_access_control_stand_side_by_side() {
        let sandbox = Sandbox::new();
        let (_, run) = sandbox.play(AUTHENTICATION, 1);
        no_slice_failed(&run);

        let connects = logins(&run, "connect");
        assert_eq!(connects["open"], ["none/single"]);
        assert_eq!(connects["warm"], ["SCRAM-SHA-256/cached"]);
        assert_eq!(connects["cold"], ["SCRAM-SHA-1/derived"]);
        assert_eq!(connects["x509"], ["MONGODB-X509/single"]);

        let servers: BTreeSet<&str> = run
            .head
            .servers
            .iter()
            .map(|server| server.name.as_str())
            .collect();
        assert_eq!(servers.len(), 3, "{servers:?}");
        for server in &run.head.servers {
            assert_eq!(
                run.head
                    .servers
                    .iter()
                    .filter(|other| other.id == server.id)
                    .count(),
                1
            );
            assert_eq!(server.cells, ["connect", "mix", "inserts", "load"]);
        }
        for cell in &run.results.cells {
            assert_eq!(run.server_of(cell), run.head.servers.first(), "{}", cell.name);
            let baseline = run.head.arms[0].sessions_in(cell).unwrap();
            assert_eq!(baseline.server_id, cell.server_id);
        }
        let of = |arm: &str| &arm_of(&run, arm).sessions[0].server;
        assert_eq!(of("warm"), of("cold"));
        let apart: BTreeSet<&String> = ["open", "baseline again", "warm"].map(of).into();
        assert_eq!(apart.len(), 3);
        let apart = |finding: &&Finding| finding.summary.contains("two processes are compared");
        let apart = run.results.findings.iter().find(apart).unwrap();
        let are_named = servers.iter().all(|server| apart.evidence.contains(server));
        assert!(are_named, "{apart:?}");

        expect_proofs(&run);
        expect_kinds(&run);
        expect_every_operation_kept(&sandbox, &run);
    }

    #[test]
    fn a_primary_that_steps_down_or_dies_voids_the_slices_it_touches_and_the_run_goes_on() {
        let sandbox = Sandbox::new();
        let mut running = sandbox.start_study(REPLICA_SET, &[]);
        running.measures();
        let members = servers_of(&sandbox.temporary());
        assert_eq!(members.len(), 4);
        let found = OnceCell::new();
        let finds = || primary_of(&sandbox).is_some_and(|primary| found.set(primary).is_ok());
        assert!(within(PATIENCE, finds), "no primary");
        let primary = found.into_inner().unwrap();
        let victim = members
            .iter()
            .find(|pid| port_of(pid.as_raw_nonzero().get()) == Some(primary.port));
        kill_process(*victim.unwrap(), Signal::KILL).unwrap();
        assert!(within(PATIENCE, || primary_of(&sandbox)
            .is_some_and(|now| now != primary)));
        let finished = running.finish_within(2 * PATIENCE);
        finished.measured();
        let run = record(&sandbox.run());
        assert_eq!(run.head.status, RunStatus::Complete);
        assert!(!run.results.void.is_empty(), "a failover that nobody noticed");
        let is_death = |reason: &VoidReason| matches!(reason, VoidReason::ServerDied { .. });
        let holds = !run.results.void.iter().any(|row| is_death(&row.reason));
        assert!(holds, "{:?}", run.results.void);
        let last = samples(&sandbox.run());
        let goes_on = last.iter().rev().take(6).any(|sample| sample.is_valid());
        assert!(goes_on, "nothing was measured afterwards");
        sandbox.expect_nothing_left();
    }
}
