//! Estimates, verdicts and what is missing for them.

use ciphertax_base::HardwareCounts;
use ciphertax_estimate::{CellProgress, precision};
use ciphertax_model::{Metric, Study};
use ciphertax_records::{Results, Run, Sample, ServerId, ServerRecord, Side, VoidReason};
use ciphertax_stats::{FEWEST_BLOCKS, Rule, Verdict};

use crate::made_up::{ARMS, OPERATIONS, STUDY, explain, explained, head, of_arm, sample, samples, study};

/// +62 % [34, 97] after five blocks was once "cannot tell", since it was one of a hundred comparisons of everything.
#[test]
fn five_blocks_decide_a_large_cost_among_some_tens_of_its_kind() {
    let cells: String = (0..12)
        .map(|cell| format!("[[cell]]\nname = \"{cell}\"\nworkload = \"oltp_point_select\"\nload = {{ connections = 2 }}\n"))
        .collect();
    let study = Study::from_toml(&format!(
        "name = \"s\"\nquestion = \"?\"\ntime_s = 60\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n[[arm]]\nname = \
         \"tls\"\ntransport = \"tls1.3\"\n{cells}"
    ))
    .unwrap();
    let mut made = Vec::new();
    for (block, noise) in [0.094, -0.073, 0.029, -0.094, 0.044_f64].into_iter().enumerate() {
        for cell in &study.cells {
            for (position, arm) in ARMS.into_iter().enumerate() {
                let us = 20.0 * (1.0 + 0.001 * block as f64 * position as f64);
                let cpu = if arm == "tls" { us * 1.62 * noise.exp() } else { us };
                made.push(sample(&cell.name, block as u32, position as u32, arm, [us, cpu]));
            }
        }
    }
    let results = explain(&head(study), made.as_slice()).unwrap();
    let row = results.estimate("7", "tls", Metric::ServerCpuPerOp).unwrap();
    assert!(
        (row.low - 0.34).abs() < 0.02 && (row.high - 0.97).abs() < 0.02,
        "{row:?}"
    );
    assert_eq!((row.blocks, row.verdict), (5, Verdict::Costs), "{row:?}");
    // Half of 24 are alike, and the client's half says nothing: p is doubled. Of all that was compared Holm would make a hundred of it.
    let p_value = row.log_ratio.p_value();
    assert!(
        (row.adjusted_p_value / (2.0 * p_value) - 1.0).abs() < 0.01,
        "{row:?}"
    );
    assert!(p_value * results.estimates.len() as f64 > 0.05);
}

#[test]
fn costs_are_found_where_they_are_and_nowhere_else() {
    let run = explained(&samples(30));
    let verdict = |cell, metric| run.estimate(cell, "tls", metric).unwrap().verdict;
    assert_eq!(verdict("select", Metric::ClientCpuPerOp), Verdict::Costs);
    assert_eq!(verdict("select", Metric::ServerCpuPerOp), Verdict::NoCost);
    assert_eq!(verdict("connect", Metric::ServerCpuPerOp), Verdict::Costs);
    assert!(
        run.noise_floor.iter().all(|row| row.verdict == Verdict::NoCost),
        "{:#?}",
        run.noise_floor
    );
}

#[test]
fn changes_are_the_ratios_that_were_put_in() {
    let run = explained(&samples(30));
    let row = run.estimate("select", "tls", Metric::ClientCpuPerOp).unwrap();
    let is_near = (row.change - 0.2).abs() < 0.005 && row.low <= row.change && row.change <= row.high;
    assert!(is_near, "{row:?}");
    assert!((row.variant / row.baseline - 1.0 - row.change).abs() < 1e-9);
    assert_eq!(row.blocks, 30);
}

#[test]
fn what_the_cpu_counted_is_compared_where_it_counted() {
    let counts = |per_operation: f64, sample: &Sample| {
        // As noisy as CPU time.
        let noise = 1.0 + f64::from((sample.slice.block * 7 + sample.slice.position * 3) % 11) / 1_000.0;
        let instructions = (per_operation * OPERATIONS as f64 * noise) as u64;
        Some(HardwareCounts {
            instructions,
            cycles: instructions * 3 / 2,
        })
    };
    let mut samples = samples(30);
    for sample in of_arm(&mut samples, "select", "") {
        let [client, server] = match sample.slice.arm.as_str() {
            "tls" => [44_000.0, 100_000.0],
            _ => [40_000.0, 100_000.0],
        };
        sample.load.client_hardware = counts(client, sample);
        sample.server.server_hardware = counts(server, sample);
        // It says nothing of whose work it is.
        sample.load.client_bound = true;
    }
    let uncounted = samples
        .iter_mut()
        .find(|sample| sample.slice.cell == "select")
        .unwrap();
    uncounted.server.server_hardware = None;
    let run = explained(&samples);
    let row = |metric| {
        let mut rows = run.estimates.iter().filter(|row| row.metric == metric);
        let row = rows.next().unwrap();
        assert!(rows.next().is_none(), "the other cell has no counts: {row:?}");
        row
    };
    for metric in [Metric::ClientInstructionsPerOp, Metric::ClientCyclesPerOp] {
        let row = row(metric);
        assert!((row.change - 0.1).abs() < 0.003, "{row:?}");
        assert_eq!((row.verdict, row.blocks), (Verdict::Costs, 30));
    }
    for metric in [Metric::ServerInstructionsPerOp, Metric::ServerCyclesPerOp] {
        let row = row(metric);
        assert!(row.change.abs() < 0.003, "{row:?}");
        assert_eq!((row.verdict, row.blocks), (Verdict::NoCost, 29));
    }
    for sample in &mut samples {
        (sample.load.client_hardware, sample.server.server_hardware) = (None, None);
    }
    let mut others = run.estimates.clone();
    others.retain(|row| !row.metric.is_of_hardware());
    assert_eq!(
        others,
        explained(&samples).estimates,
        "no other verdict depends on them"
    );
    let level = |metric| row(metric).baseline;
    assert!((level(Metric::ClientInstructionsPerOp) / 40_200.0 - 1.0).abs() < 0.01);
    assert!((level(Metric::ServerCyclesPerOp) / 150_750.0 - 1.0).abs() < 0.01);
}

#[test]
fn without_the_baseline_again_nothing_is_told_and_every_number_is_one() {
    let samples: Vec<Sample> = samples(20)
        .into_iter()
        .filter(|sample| sample.slice.arm != "baseline again")
        .collect();
    let run = explained(&samples);
    for row in &run.estimates {
        assert_eq!(
            (row.verdict, row.rule),
            (Verdict::CannotTell, Rule::NoFloor),
            "{row:?}"
        );
        assert!(row.floor.is_none() && row.margin.is_finite() && row.more_time_s.is_none());
    }
    // What is not finite is written as null, and then cannot be read.
    let text = serde_json::to_string(&run).unwrap();
    assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), run);
}

#[test]
fn a_void_slice_takes_its_pairs_out_and_is_listed() {
    let mut samples = samples(20);
    let victim = samples
        .iter_mut()
        .find(|sample| sample.slice.cell == "select" && sample.slice.arm == "tls")
        .unwrap();
    victim.void = Some(VoidReason::Errors {
        count: 3,
        first: "gone".into(),
    });
    let run = explained(&samples);
    let blocks = |rows: &[ciphertax_records::EstimateRow]| {
        rows.iter()
            .find(|row| row.cell == "select" && row.metric == Metric::Throughput)
            .unwrap()
            .blocks
    };
    assert_eq!((blocks(&run.estimates), blocks(&run.noise_floor)), (19, 20));
    assert_eq!((run.void.len(), run.cells[0].void_slices), (1, 1));
}

#[test]
fn a_saturated_client_gets_no_verdict_on_throughput_and_latency_but_on_cpu() {
    let mut samples = samples(20);
    for sample in of_arm(&mut samples, "select", "tls") {
        sample.load.client_bound = true;
    }
    let run = explained(&samples);
    for row in run.estimates.iter().filter(|row| row.cell == "select") {
        let concerns_server = matches!(
            row.metric,
            Metric::Throughput
                | Metric::LatencyMean
                | Metric::LatencyP50
                | Metric::LatencyP95
                | Metric::LatencyP99
        );
        assert_eq!(row.rule == Rule::ClientBound, concerns_server, "{row:?}");
        assert!(!concerns_server || row.verdict == Verdict::CannotTell);
    }
    assert!(run.cells[0].client_bound && !run.cells[1].client_bound);
}

#[test]
fn a_server_that_cannot_be_seen_has_no_cpu_rows_and_does_not_hold_up_the_rest() {
    let mut samples = samples(30);
    for sample in &mut samples {
        sample.server.server_cpu = None;
    }
    let run = explained(&samples);
    assert!(
        run.estimates
            .iter()
            .all(|row| row.metric != Metric::ServerCpuPerOp)
    );
    assert!(run.cells.iter().all(|cell| cell.precise));
    let sides = run.churn.iter().map(|row| row.side).collect::<Vec<_>>();
    assert_eq!(sides, [Side::Client]);
}

#[test]
fn too_few_samples_have_no_interval_and_the_verdict_says_what_is_missing() {
    for blocks in 0..FEWEST_BLOCKS {
        let run = explained(&samples(blocks));
        assert_eq!(run.cells[0].blocks, blocks);
        assert!(run.estimates.is_empty() && run.noise_floor.is_empty() && run.churn.is_empty());
        assert!(run.capacity.is_empty() && run.cells[0].more_time_s.is_none());
        assert!(run.verdict.starts_with("Nothing can be said"), "{}", run.verdict);
        assert_eq!(
            run.verdict.contains("needs 5 blocks"),
            blocks > 0,
            "{}",
            run.verdict
        );
    }
    assert!(!explained(&samples(FEWEST_BLOCKS)).estimates.is_empty());
}

#[test]
fn the_same_samples_give_the_same_run() {
    let samples = samples(12);
    assert_eq!(explained(&samples), explained(&samples));
}

#[test]
fn precision_counts_blocks_and_ends_when_narrow() {
    let study = study();
    let few = precision(&study, &study.cells[0], &samples(5).into()).unwrap();
    let is_wide = !few.precise && few.blocks == 5 && few.more_time_s.unwrap() > 0.0;
    assert!(is_wide, "{few:?}");
    let many = precision(&study, &study.cells[0], &samples(30).into()).unwrap();
    assert!(many.precise && many.cpu_half_width.unwrap() < 0.01, "{many:?}");
}

#[test]
fn a_cell_that_is_asked_again_knows_what_it_knows_from_all_samples_and_of_hundreds_of_blocks_almost() {
    let study = study();
    let cell = &study.cells[0];
    let mut progress = CellProgress::new(&study, cell);
    let all = samples(230);
    for blocks in (20..=230).step_by(3) {
        let log = all[..6 * blocks].to_vec().into();
        let (found, exact) = (
            progress.after(&log).unwrap(),
            precision(&study, cell, &log).unwrap(),
        );
        match blocks < 100 {
            true => assert_eq!(found, exact),
            false => assert!(
                exact.blocks - found.blocks <= exact.blocks / 100,
                "{found:?} {exact:?}"
            ),
        }
    }
}

#[test]
fn cells_are_of_the_servers_that_say_so_whatever_these_are_called() {
    let mut head = head(Study::from_toml(STUDY).unwrap());
    let one = head.servers[0].clone();
    head.servers = [(1, "select"), (2, "connect")]
        .map(|(number, cell)| ServerRecord {
            id: ServerId::numbered(number),
            cells: vec![cell.into()],
            ..one.clone()
        })
        .into();
    let results = explain(&head, samples(2).as_slice()).unwrap();
    let run = Run::new(head, results);
    let found = &run.results.cells;
    assert_eq!(found[0].server, found[1].server);
    assert!(!found[0].shares_server_with(&found[1]));
    for (cell, server) in found.iter().zip(&run.head.servers) {
        assert_eq!(run.server_of(cell), Some(server));
    }
}
