//! Batches and open loops, through the whole command on a real private server.

use ciphertax_observe::has_hardware_counters;

use crate::common::*;
use crate::server_counter::seconds_of;

const LOADS: &str = r#"
name = "loads"
question = "Is every kind of load what it says?"
time_s = 24
slice_s = 0.5
dataset = { table_size = 1000 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [
    { name = "batch", workload = "oltp_point_select", load = { connections = 4, workers = 2, batch = 1000 } },
    { name = "storm", workload = "connect", load = { connections = 64, rate = 40 } },
]
"#;

#[test]
fn ctrl_c_cuts_a_long_batch_short() {
    let sandbox = Sandbox::new();
    let endless = LOADS.replace("batch = 1000", "batch = 1000000");
    let endless = endless.replace("oltp_point_select", "connect_only");
    let mut running = sandbox.start_study(&endless, &[]);
    running.says("Opening connections");
    assert!(within(PATIENCE, || sandbox.run().join("run.json").exists()));
    // The batch has begun that is to be cut short.
    let pid = running.pid().as_raw_nonzero().get().cast_unsigned();
    let before = seconds_of(pid);
    assert!(within(PATIENCE, || seconds_of(pid) > before + 0.3));
    running.interrupt();
    let samples = samples(&sandbox);
    let last = samples.last().unwrap();
    let ended = (last.slice.cell.as_str(), &last.void);
    assert_eq!(ended, ("batch", &Some(VoidReason::Interrupted)));
    sandbox.expect_nothing_left();
}

fn samples(sandbox: &Sandbox) -> Vec<Sample> {
    crate::common::samples(&sandbox.run())
}

mod test_all {
    use super::*;

    #[test]
    fn batches_are_counted_and_storms_kept_to_their_schedule() {
        let sandbox = Sandbox::new();
        let finished = sandbox.start_study(LOADS, &[]).finish();
        finished.measured();
        let run = record(&sandbox.run());
        let samples = samples(&sandbox);
        let of = |cell: &'static str| samples.iter().filter(move |sample| sample.slice.cell == cell);

        assert!(of("batch").count() >= 6);
        for sample in of("batch").filter(|sample| sample.is_valid()) {
            let counted = (sample.load.operation_count(), &sample.load.open_loop);
            assert_eq!(counted, (1_000, &None));
        }
        let batches: Vec<&str> = run.results.batches.iter().map(|row| row.arm.as_str()).collect();
        assert_eq!(batches, ["plain", "baseline again", "tls"]);
        for row in &run.results.batches {
            let is_measured = row.cell == "batch" && row.batches >= 2 && row.mean > 0.0;
            assert!(is_measured, "{row:?}");
            let deviates = row.standard_deviation.is_some_and(|deviation| deviation > 0.0);
            assert!(deviates, "{row:?}");
        }
        let all = sandbox.finish(&["report", "run", "--full"]);
        all.shows("in batches of 1,000 … Operations per second, mean and standard");

        // A busy machine may be late, which it then says; nothing is left out all the same.
        assert!(of("storm").count() >= 6);
        for sample in of("storm") {
            let open_loop = sample.load.open_loop.as_ref().unwrap();
            let counts = (open_loop.planned, open_loop.not_begun);
            assert_eq!(counts, (20, 0), "{:?}", sample.void);
            assert_eq!(sample.load.operation_count(), 20);
            assert!(open_loop.response_sum_ns >= sample.load.operations[0].latency_sum_ns);
            // The last should begin after 475 ms.
            assert!(sample.load.duration_ns >= 475_000_000);
        }
        // In these seconds there may be too few blocks to compare them by.
        let measured: Vec<Metric> = run
            .results
            .measurements
            .iter()
            .filter(|row| row.cell == "storm" && row.arm == "tls")
            .map(|row| row.metric)
            .collect();
        let mut expected = Metric::COMPARED_IN_OPEN_LOOP.to_vec();
        expected.extend(Metric::COMPARED_OF_CONNECTS);
        if has_hardware_counters().unwrap_or(false) {
            expected.extend(Metric::COMPARED_OF_HARDWARE);
        }
        assert_eq!(measured, expected);
        assert!(
            run.results
                .connect_phases
                .iter()
                .any(|row| row.cell == "storm" && row.arm == "tls" && row.phase == Phase::Tls)
        );
        all.shows("40 begun per second");
        sandbox.expect_nothing_left();
    }
}
