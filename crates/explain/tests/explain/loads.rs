//! Open loops, batches, kinds of operations and connects.

use ciphertax_base::Phase;
use ciphertax_estimate::precision;
use ciphertax_model::{Metric, Study};
use ciphertax_records::{OpenLoopSample, OperationSample, VoidReason};
use ciphertax_stats::{Verdict, histogram};

use crate::made_up::{
    ARMS, OPERATIONS, STUDY, explain, explained, head, of_arm, samples, says, study, study_with,
};

#[test]
fn in_open_loop_response_times_are_compared_and_neither_throughput_nor_latency() {
    let study = study_with("load = { connections = 2, rate = 200 }");
    // Waiting doubles what the baseline takes, and makes five times of what TLS takes.
    let mut samples = samples(20);
    for sample in of_arm(&mut samples, "connect", "") {
        let mean_ns = sample.load.operations[0].latency_sum_ns / OPERATIONS;
        let response_ns = mean_ns * if sample.slice.arm == "tls" { 5 } else { 2 };
        let mut response = histogram::empty();
        response.saturating_record_n(response_ns, OPERATIONS);
        sample.load.open_loop = Some(OpenLoopSample {
            planned: OPERATIONS,
            not_begun: 0,
            late: 0,
            delay_sum_ns: if sample.slice.arm == "tls" {
                OPERATIONS * mean_ns
            } else {
                0
            },
            response_sum_ns: OPERATIONS * response_ns,
            response: histogram::encode(&response),
        });
    }
    let run = explain(&head(study.clone()), samples.as_slice()).unwrap();
    let compared: Vec<Metric> = run
        .estimates
        .iter()
        .filter(|row| row.cell == "connect")
        .map(|row| row.metric)
        .collect();
    assert_eq!(compared, Metric::COMPARED_IN_OPEN_LOOP);
    assert!(
        run.measurements
            .iter()
            .filter(|row| row.cell == "connect")
            .all(|row| compared.contains(&row.metric) || Metric::COMPARED_OF_CONNECTS.contains(&row.metric))
    );
    let change = |metric| run.estimate("connect", "tls", metric).unwrap().change;
    // (700 + 640) × 5 µs against (60 + 80) × 2 µs
    for metric in [Metric::ResponseMean, Metric::ResponseP50, Metric::ResponseP99] {
        let expected = 1_340.0 * 5.0 / (140.0 * 2.0) - 1.0;
        assert!(
            (change(metric) / expected - 1.0).abs() < 0.02,
            "{metric}: {}",
            change(metric)
        );
    }
    // A fifth of the response time is the load generator's own.
    assert!(
        run.findings
            .iter()
            .any(|finding| finding.summary.contains("load generator's own delay")),
        "{:#?}",
        run.findings
    );
    let reached = precision(&study, &study.cells[1], &samples.into()).unwrap();
    assert!(reached.throughput_half_width.is_some());
}

#[test]
fn operations_that_do_less_and_less_are_told() {
    let told = |skipped: fn(u32) -> u64| {
        let mut samples = samples(9);
        for sample in samples.iter_mut().filter(|sample| sample.slice.cell == "connect") {
            let count = skipped(sample.slice.block);
            sample.load.counts.insert("skipped_deliveries".to_owned(), count);
        }
        let run = explain(&head(study()), samples.as_slice()).unwrap();
        let found = run
            .findings
            .into_iter()
            .find(|finding| finding.id == "operations-change");
        found.map(|finding| finding.summary)
    };
    // As many in every block, and none at first.
    assert_eq!(told(|_| 10 * OPERATIONS), None);
    let summary = told(|block| if block < 4 { 0 } else { 10 * OPERATIONS }).unwrap();
    says(&summary, "connect: … had 0.00 things … and 10.00 in the last");
}

#[test]
fn more_time_helps_nobody_whose_slices_do_not_count() {
    let mut samples = samples(6);
    for sample in samples.iter_mut().filter(|sample| sample.slice.arm == "tls") {
        sample.void = Some(VoidReason::ServerDied {
            detail: "its process ended".to_owned(),
        });
    }
    let run = explain(&head(study()), samples.as_slice()).unwrap();
    says(
        &run.verdict,
        "slices did not count, the last since the server died: its process ended.",
    );
}

#[test]
fn batches_have_a_mean_and_a_standard_deviation_over_the_batches() {
    let study = study_with("load = { connections = 2, batch = 1000 }");
    let mut samples = samples(6);
    let mut rates = [90.0, 100.0, 110.0].into_iter().cycle();
    for sample in of_arm(&mut samples, "connect", "tls") {
        sample.load.duration_ns = (OPERATIONS as f64 / rates.next().unwrap() * 1e9) as u64;
    }
    let run = explain(&head(study), samples.as_slice()).unwrap();
    assert!(run.batches.iter().all(|row| row.cell == "connect"));
    assert_eq!(run.batches.len(), ARMS.len());
    let tls = &run.batches[2];
    assert_eq!((tls.arm.as_str(), tls.batches), ("tls", 6));
    // Of 90, 100 and 110, each twice: √(400 / 5).
    assert!(
        (tls.mean - 100.0).abs() < 1e-4 && (tls.standard_deviation.unwrap() - 80.0_f64.sqrt()).abs() < 1e-4
    );
    assert!(
        run.estimates
            .iter()
            .any(|row| row.cell == "connect" && row.metric == Metric::Throughput)
    );
}

#[test]
fn kinds_of_operations_are_compared_by_themselves_where_there_are_several() {
    // Reads cost what they cost, inserts a quarter more over TLS.
    let mut samples = samples(20);
    for sample in of_arm(&mut samples, "select", "") {
        let noise_ns = u64::from(sample.slice.block % 3);
        let of_kind = |kind: &str, mean_ns: u64| {
            let mut latency = histogram::empty();
            latency.saturating_record_n(mean_ns, 500);
            OperationSample {
                kind: kind.into(),
                count: 500,
                errors: 0,
                latency_sum_ns: 500 * mean_ns,
                latency: histogram::encode(&latency),
            }
        };
        let insert_ns = if sample.slice.arm == "tls" {
            250_000
        } else {
            200_000
        };
        sample.load.operations = vec![
            of_kind("read", 100_000 + noise_ns),
            of_kind("insert", insert_ns + noise_ns),
        ];
    }
    let run = explained(&samples);
    let row = |kind: &str, metric| {
        let mut of_kind = run.by_kind.iter().filter(|row| row.kind == kind);
        of_kind.find(|row| row.estimate.metric == metric).unwrap()
    };
    for metric in Metric::COMPARED_BY_KIND {
        let (read, insert) = (row("read", metric), row("insert", metric));
        assert_eq!(read.estimate.verdict, Verdict::NoCost, "{read:?}");
        assert_eq!(insert.estimate.verdict, Verdict::Costs, "{insert:?}");
        assert!((insert.estimate.change - 0.25).abs() < 0.01, "{insert:?}");
    }
    assert!(run.by_kind.iter().all(|row| row.estimate.cell == "select"));
}

#[test]
fn a_rare_kind_that_a_slice_lacks_is_no_damage() {
    let mut samples = samples(20);
    for sample in of_arm(&mut samples, "select", "") {
        let mut latency = histogram::empty();
        latency.saturating_record_n(1000, 10);
        let of_kind = |kind: &str, count| OperationSample {
            kind: kind.into(),
            count,
            errors: 0,
            latency_sum_ns: count * 1000,
            latency: histogram::encode(&if count == 0 {
                histogram::empty()
            } else {
                latency.clone()
            }),
        };
        let rare = if sample.slice.block == 3 && sample.slice.arm == "tls" {
            0
        } else {
            10
        };
        sample.load.operations = vec![of_kind("read", 10), of_kind("insert", rare)];
    }
    let run = explained(&samples);
    let blocks = |kind: &str| {
        let mut rows = run.by_kind.iter();
        let p95 = rows.find(|row| row.kind == kind && row.estimate.metric == Metric::LatencyP95);
        p95.unwrap().estimate.blocks
    };
    assert_eq!((blocks("read"), blocks("insert")), (20, 19));
}

#[test]
fn a_published_figure_of_one_kind_stands_beside_that_kind() {
    let text = format!(
        "{STUDY}\n[[published]]\nsource = \"elsewhere\"\ncell = \"select\"\narm = \"tls\"\nmetric = \"latency_mean\"\n\
         kind = \"insert\"\nchange = 0.25\n"
    );
    let study = Study::from_toml(&text).unwrap();
    let run = explain(&head(study), samples(20).as_slice()).unwrap();
    assert_eq!(run.published[0].kind.as_deref(), Some("insert"));
    assert_eq!(run.published[0].measured, None, "there was no such kind");
}

#[test]
fn the_time_of_a_new_connection_is_that_of_its_phases() {
    let run = explained(&samples(20));
    let measured = |metric| {
        let mut rows = run.measurements.iter();
        let row = rows.find(|row| row.cell == "connect" && row.arm == "tls" && row.metric == metric);
        row.map(|row| row.value)
    };
    let before = run
        .connect_phases
        .iter()
        .filter(|row| row.arm == "tls" && row.phase < Phase::FirstOperation);
    let sum: f64 = before.map(|row| row.mean_us).sum();
    let found = measured(Metric::ConnectMean).unwrap();
    assert!((found / sum - 1.0).abs() < 0.01, "{found} is not {sum}");
}

#[test]
fn of_several_servers_each_is_told_its_part_of_the_cpu_time() {
    let mut samples = samples(6);
    for sample in &mut samples {
        let all = sample.server.server_cpu.unwrap().total_ns;
        let each = match sample.slice.cell.as_str() {
            "select" => [all - all / 50, all / 100, all / 100],
            _ => [all / 2, all / 4, all / 4],
        };
        sample.server.server_cpu_of_each_ns = each.map(Some).to_vec();
    }
    // One that lost a server, and knows nothing of it then.
    samples[3].server.server_cpu_of_each_ns = vec![Some(1), None, Some(1)];
    let told: Vec<_> = explained(&samples)
        .findings
        .into_iter()
        .filter(|finding| finding.id == "whose-cpu")
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    says(
        &told[0].summary,
        "select: one of the servers uses almost all the CPU time.",
    );
    says(
        &told[1].summary,
        "connect: the servers share the CPU time: 50 %, 25 %, 25 %.",
    );
    says(&told[1].evidence, "40.0 µs, 20.0 µs, 20.0 µs per operation");
    let ending = "over 5 slices of plain";
    assert!(told[1].evidence.ends_with(ending), "{}", told[1].evidence);
}

#[test]
fn what_servers_tell_each_other_is_told_of_the_cells_where_it_costs_and_not_of_a_query() {
    let text = STUDY
        .replace(
            "transport = \"tls1.3\"",
            "transport = \"plain\", cluster_tls = true",
        )
        .replace("time_s", "nodes = 3\ntime_s");
    let run = explain(&head(Study::from_toml(&text).unwrap()), samples(20).as_slice()).unwrap();
    says(&run.verdict, "tls costs the client CPU in both cells, from +20 %");
    says(&run.verdict, " in connect");
}
