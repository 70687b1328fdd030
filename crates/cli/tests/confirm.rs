//! `--confirm`: what bounds a cell is taken away to try it.

use ciphertax_records::why::Confirmation;

use crate::common::*;
use crate::preloaded::Preloaded;

const DURABLE: &str = r#"
name = "durable"
question = "What bounds durable writes?"
time_s = 30
slice_s = 0.25
precision = { cpu = 0.001, throughput = 0.001 }
storage = { flush_log_at_trx_commit = 1, binary_log = true, sync_binlog = 1 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [{ name = "update", workload = "oltp_update_non_index", load = { connections = 4 } }]
"#;

#[test]
#[ignore = "wants a quiet machine: where the CPUs are busy, flushes are not the only bound"]
fn a_server_that_waits_for_its_flushes_is_faster_without_them_and_the_report_says_so() {
    let slow = Preloaded::build("slow_flush.c");
    let sandbox = Sandbox::new();
    let mut command = sandbox.study(DURABLE, &["--confirm"]);
    command
        .env("LD_PRELOAD", slow.library())
        .env("SLOW_FLUSH_NS", "4000000");
    let finished = Running::start(command).finish_within(3 * PATIENCE);
    let shown = finished.measured();
    let run = record(&sandbox.run());
    if let Some(reason) = &run.head.not_explained {
        return not_tested(reason);
    }
    let bounds = &run.results.why.bounds;
    let plain = bounds.iter().find(|row| row.arm == "plain").unwrap();
    assert_eq!(plain.bound, Bound::LogFlush, "{plain:?}");
    assert_eq!(plain.confirmation, Confirmation::Confirmed, "{plain:?}");
    says(shown, "(confirmed: without it the arm is faster)");

    // Half of the flushes are gone, and they were nearly all of the time.
    let tried = record(&sandbox.run().join("confirm"));
    let faster = tried
        .results
        .estimate("update", "plain, sync_binlog = 0", Metric::Throughput)
        .unwrap();
    assert!(faster.low < 1.0 && faster.high > 0.6, "{faster:?}");

    // A report that is made again says the same.
    let again = sandbox.command(&["report", "run"]);
    let again = Running::start(again).finish();
    says(again.measured(), "(confirmed: without it the arm is faster)");
    sandbox.expect_nothing_left();
}
