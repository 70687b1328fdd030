//! What PostgreSQL itself says that its sessions wait for, beside what is seen of its processes.

use ciphertax_records::why::StateRow;

use crate::common::*;

/// Eight sessions change one row, which one of them has at a time: the others wait.
const STUDY: &str = r#"
name = "one-row"
question = "What do they wait for?"
time_s = 300
slice_s = 0.25
precision = { cpu = 0.001, throughput = 0.001 }
profile = "waits"
server = "postgresql"
dataset = { table_size = 1 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [{ name = "update", workload = "oltp_update_non_index", load = { connections = 8 } }]
"#;

#[test]
fn the_servers_own_wait_events_are_those_that_were_seen() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.work().join("study.toml"), STUDY).unwrap();
    let mut running = sandbox.start(&["run", "study.toml", "--out", "run"]);
    running.measures();
    is_looked_into(&sandbox.run(), "plain");
    running.interrupt();
    let run = record(&sandbox.run());
    let why = &run.results.why;
    let said = share(&run, &why.wait_events, &["Lock"]);
    let seen = share(&run, &why.states, &["row locks", "table locks"]);
    let runnable = share(&run, &why.states, &["runnable"]);
    assert!(said > 0.4, "{said} of {:?}", why.wait_events);
    // Whoever has the lock by now and no CPU yet still waits, by the server's word.
    let agrees = (seen - 0.1..seen + runnable + 0.1).contains(&said);
    assert!(agrees, "{said} by its own word; {seen} seen, {runnable} runnable");
    sandbox.expect_nothing_left();
}

/// The part of the time of the plain arm's operations.
fn share(run: &Run, rows: &[StateRow], states: &[&str]) -> f64 {
    let all = run.results.why.states.iter().filter(|row| row.arm == "plain");
    let all: f64 = all.map(|row| row.us).sum();
    let of_states = rows
        .iter()
        .filter(|row| row.arm == "plain" && states.contains(&row.state.as_str()));
    of_states.map(|row| row.us).sum::<f64>() / all
}
