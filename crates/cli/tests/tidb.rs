//! A private TiDB, which is no server of MySQL's family and speaks as one.

use std::fs;

use ciphertax_lab::catalogue::TIDB;
use ciphertax_records::Sample;
use ciphertax_testkit::{cache, fetched};
use rustix::process::Signal;

use crate::common::{Running, Sandbox, no_slice_failed, record, samples, servers_of};

/// With transactions that meet each other's writes, which TiDB has begin anew.
const STUDY: &str = r#"
name = "tidb"
question = "What does TLS cost on TiDB?"
server = "tidb"
time_s = 10
slice_s = 0.2
dataset = { table_size = 1000 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [
    { name = "query", workload = "oltp_point_select", load = { connections = 2 } },
    { name = "connect", workload = "connect", load = { connections = 2 } },
    { name = "write", workload = "pgbench_tpcb_like", load = { connections = 2 } },
]
"#;

fn start(sandbox: &Sandbox) -> Running {
    fs::write(sandbox.work().join("tidb.toml"), STUDY).unwrap();
    let mut command = sandbox.command(&["run", "tidb.toml", "--out", "run"]);
    command.env("XDG_CACHE_HOME", cache());
    Running::start(command)
}

#[test]
fn a_private_tidb_is_proved_and_measured_by_every_kind_of_workload() {
    if fetched(&TIDB).is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let finished = start(&sandbox).finish();
    finished.measured();
    sandbox.expect_nothing_left();
    let run = record(&sandbox.run());
    no_slice_failed(&run);
    let [server] = &run.head.servers[..] else {
        panic!("one server answers all cells: {:?}", run.head.servers);
    };
    assert_eq!(server.product, "TiDB");
    assert_eq!(server.settings["store"], "unistore");
    let arm = run.head.arms.iter().find(|arm| arm.name == "tls").unwrap();
    let tls = arm.sessions[0].facts.tls.as_ref().unwrap();
    assert_eq!(tls.version, "TLSv1.3");
    let samples = samples(&sandbox.run());
    for cell in ["query", "connect", "write"] {
        let valid = |sample: &&Sample| sample.slice.cell == cell && sample.is_valid();
        let measured: Vec<&Sample> = samples.iter().filter(valid).collect();
        assert!(measured.len() > 8, "{cell}: {} slices", measured.len());
        let counted = |sample: &&Sample| sample.server.server_cpu.is_some_and(|cpu| cpu.total_ns > 0);
        assert!(measured.iter().all(counted), "{cell}");
    }
}

#[test]
fn of_a_run_that_is_killed_no_tidb_is_left() {
    if fetched(&TIDB).is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let mut running = start(&sandbox);
    running.measures();
    assert_eq!(servers_of(&sandbox.temporary()).len(), 1);
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    sandbox.expect_nothing_left();
}
