//! MySQL Router before MySQL, through the whole command: it is billed as a pooler, and proved but by the server.

use ciphertax_lab::catalogue::MYSQL;
use ciphertax_model::PoolerProgram;

use crate::common::*;
use crate::postgresql_pooler::CpuOfPoolers;

const STUDY: &str = r#"
name = "routed"
question = "What does a router cost, and save?"
server = "mysql"
time_s = 12
slice_s = 0.2
dataset = { table_size = 2000 }
arm = [
    { name = "direct", transport = "tls1.3" },
    { name = "session", transport = "tls1.3", pooler = { program = "mysqlrouter", pool_mode = "session" } },
    { name = "through", transport = "tls1.3", pooler = { program = "mysqlrouter", pool_mode = "transaction", server_transport = "tls" } },
]
cell = [
    { name = "queries", workload = "oltp_point_select", load = { connections = 4 } },
    { name = "connects", workload = "connect", load = { connections = 2 } },
]
"#;

const ROUTED: [&str; 2] = ["session", "through"];

#[test]
fn a_router_is_billed_beside_the_server_and_proved_by_client_and_wire() {
    let Some(_) = fetched(&MYSQL) else { return };
    if let Err(error) = ciphertax_lab::pooler::release(PoolerProgram::Mysqlrouter) {
        return not_tested(format_args!("there is no MySQL Router: {error}"));
    }
    let sandbox = Sandbox::new();
    let ((finished, truth), run) = sandbox.until_measured(3, |time| {
        let mut running = sandbox.start_study(STUDY, time);
        running.measures();
        let truth = CpuOfPoolers::watch(sandbox.temporary().as_path());
        let finished = running.finish_within(2 * PATIENCE);
        sandbox.expect_nothing_left();
        (finished, truth.seen())
    });
    finished.measured();
    finished.shows("pooler CPU … not proved by the server: MySQL Router ends TLS");
    no_slice_failed(&run);
    for arm in &run.head.arms {
        let is_routed = ROUTED.contains(&&*arm.name);
        assert_eq!(arm.sessions[0].unproved.is_some(), is_routed, "{:?}", arm.name);
    }
    let samples = samples(&sandbox.run());
    let mut said = 0;
    for sample in samples.iter().filter(|sample| sample.is_valid()) {
        let cpu = sample.server.pooler_cpu.map_or(0, |cpu| cpu.total_ns);
        assert_eq!(cpu > 0, ROUTED.contains(&&*sample.slice.arm), "{sample:?}");
        said += cpu;
    }
    let used: u64 = truth.values().sum();
    assert_eq!(truth.len(), 2, "{truth:?}");
    assert!(said <= used && said >= used / 2, "{said} of {used} ns");
    // A connect makes a connection of the server's, and hardly one where the router has some.
    let connects = |arm: &str| {
        let of = samples
            .iter()
            .filter(|sample| sample.is_valid() && sample.slice.cell == "connects" && sample.slice.arm == arm);
        let counts = of.map(|sample| {
            let opened = sample.server.server_counters["Connections"];
            [sample.load.operation_count().cast_signed(), opened]
        });
        counts.fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]])
    };
    let [made, opened] = connects("direct");
    assert!(made > 0 && opened * 2 > made, "{opened} of {made}");
    let [made, opened] = connects("session");
    assert!(made > 50 && opened * 10 < made, "{opened} of {made}");
}
