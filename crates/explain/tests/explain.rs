//! From made-up samples of known cost to what is said about them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::collections::BTreeMap;

use ciphertax_explain::{explain, precision};
use ciphertax_model::{Link, LinkKind, Metric, Study};
use ciphertax_records::{
    ArmRecord, ArmRole, CpuTime, Head, Host, LinkRecord, OpenLoopSample, OperationSample, Phase, PhaseSample,
    Rated, Results, RunStatus, Sample, ServerPlacement, ServerRecord, ServerSide, Severity, Side, SliceId,
    Tool, VoidReason, Yield,
};
use ciphertax_stats::histogram;
use ciphertax_stats::{FEWEST_BLOCKS, Rule, Verdict};

const STUDY: &str = r#"
name = "made-up"
question = "Does it add up?"
time_s = 60

[[arm]]
name = "plain"
transport = "plain"

[[arm]]
name = "tls"
transport = "tls1.3"

[[cell]]
name = "select"
workload = "oltp_point_select"
load = { connections = 8 }

[[cell]]
name = "connect"
workload = "connect"
load = { connections = 2 }
"#;

const ARMS: [&str; 3] = ["plain", "baseline again", "tls"];
const OPERATIONS: u64 = 1_000;

/// CPU per operation in µs, client then server, of a cell's plain and TLS arm.
struct Costs {
    plain: [f64; 2],
    tls: [f64; 2],
}

const SELECT: Costs = Costs {
    plain: [10.0, 20.0],
    tls: [12.0, 20.0],
};
const CONNECT: Costs = Costs {
    plain: [60.0, 80.0],
    tls: [700.0, 640.0],
};

#[test]
fn costs_are_found_where_they_are_and_nowhere_else() {
    let run = explained(&samples(30));
    let verdict = |cell: &str, metric| {
        run.estimates
            .iter()
            .find(|row| row.cell == cell && row.metric == metric)
            .unwrap()
            .verdict
    };
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
    let row = run
        .estimates
        .iter()
        .find(|row| row.cell == "select" && row.metric == Metric::ClientCpuPerOp)
        .unwrap();
    assert!(
        (row.change - 0.2).abs() < 0.005 && row.low <= row.change && row.change <= row.high,
        "{row:?}"
    );
    assert!((row.variant / row.baseline - 1.0 - row.change).abs() < 1e-9);
    assert_eq!(row.blocks, 30);
}

#[test]
fn capacity_and_churn_follow_from_the_costs() {
    let run = explained(&samples(30));
    // 100 connections/s × (640 − 80) µs = 0.056 cores.
    let row = run
        .capacity
        .iter()
        .find(|row| row.of == Rated::Connections && row.side == Side::Server)
        .unwrap();
    assert!((row.extra_cores.value - 0.056).abs() < 0.001, "{row:?}");
    let churn = run.churn.iter().find(|row| row.side == Side::Server).unwrap();
    assert!((churn.points[0].overhead.value - 7.0).abs() < 0.1);
    // (640 + (n−1)·20) / (80 + (n−1)·20) = 1.05  ⇒  n = 557
    let five_percent = churn.break_even[1].queries.unwrap();
    assert!((five_percent / 557.0 - 1.0).abs() < 0.05, "{five_percent}");
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
    for sample in samples
        .iter_mut()
        .filter(|sample| sample.slice.cell == "select" && sample.slice.arm == "tls")
    {
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
    assert_eq!(
        run.churn.iter().map(|row| row.side).collect::<Vec<_>>(),
        [Side::Client]
    );
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

/// Twenty blocks, and in one more the operations of the TLS arm are few and take 3 ms.
fn with_one_bad_block() -> Vec<Sample> {
    let mut samples = samples(21);
    let bad = samples
        .iter_mut()
        .find(|sample| sample.slice.cell == "select" && sample.slice.arm == "tls" && sample.slice.block == 20)
        .unwrap();
    let operations = 27;
    bad.load.operations[0].count = operations;
    bad.load.operations[0].latency_sum_ns = operations * 3_000_000;
    bad.server.server_cpu = Some(CpuTime {
        total_ns: operations * 3_000_000,
        system_ns: 0,
    });
    samples
}

#[test]
fn one_bad_block_does_not_ruin_capacity_which_says_what_the_table_says() {
    let run = explained(&with_one_bad_block());
    for row in &run.capacity {
        let metric = match row.side {
            Side::Server => Metric::ServerCpuPerOp,
            _ => Metric::ClientCpuPerOp,
        };
        let estimate = run.estimate(&row.cell, "tls", metric).unwrap();
        let by_table = (estimate.variant - estimate.baseline) * row.rate / 1e6;
        assert!((row.extra_cores.value - by_table).abs() < 1e-9, "{row:?}");
        let excludes_zero = row.extra_cores.low > 0.0 || row.extra_cores.high < 0.0;
        assert_eq!(
            excludes_zero,
            estimate.low > 0.0 || estimate.high < 0.0,
            "{row:?}"
        );
    }
    let mut of_queries = run.capacity.iter();
    let of_queries = of_queries
        .find(|row| row.of == Rated::Queries && row.side == Side::Server)
        .unwrap();
    // The mean of the differences would say 142 µs more per query, 1.42 cores per 10,000.
    assert!(of_queries.extra_cores.value < 0.1, "{of_queries:?}");
    assert_eq!(of_queries.verdict, Verdict::CannotTell);
}

#[test]
fn what_a_query_costs_is_said_with_the_tables_own_interval_and_undecided_costs_are_no_advice() {
    let run = explained(&with_one_bad_block());
    let estimate = run.estimate("select", "tls", Metric::ServerCpuPerOp).unwrap();
    let churn = run.churn.iter().find(|row| row.side == Side::Server).unwrap();
    let query = churn.query_overhead.unwrap();
    assert_eq!((query.low, query.high), (estimate.low, estimate.high));
    assert!((churn.query_variant_us - estimate.variant).abs() < 1e-9);
    let advice = run
        .findings
        .iter()
        .find(|finding| finding.id == "keep-connections")
        .unwrap();
    assert!(advice.summary.contains("cannot be told"), "{advice:?}");
}

#[test]
fn the_headline_names_what_its_table_calls_a_cost() {
    let run = explained(&samples(30));
    assert_eq!(
        run.verdict,
        "Against plain, tls costs the client 2.0 µs more CPU per query (+20 % [20, 21]) and costs the server 560 µs more CPU \
         per new connection (+700 % [696, 703])."
    );
    let two_alike = STUDY.replace("workload = \"connect\"", "workload = \"oltp_point_select\"");
    let alike = |mut sample: Sample| {
        if sample.slice.arm == "tls" {
            sample.server.server_cpu = sample.server.server_cpu.map(|cpu| CpuTime {
                total_ns: cpu.total_ns / if sample.slice.cell == "connect" { 8 } else { 1 },
                system_ns: 0,
            });
        }
        sample
    };
    let samples: Vec<Sample> = samples(30).into_iter().map(alike).collect();
    let run = explain(&head(Study::from_toml(&two_alike).unwrap()), samples.as_slice()).unwrap();
    assert!(run.verdict.contains("costs the client"), "{}", run.verdict);
}

#[test]
fn phases_without_cryptography_that_take_longer_are_named_as_waiting_where_they_wait() {
    let phase = |phase, wall_us: u64| PhaseSample {
        phase,
        client_cpu_sum_ns: None,
        ..handshake(wall_us * 1_000)
    };
    let samples = |queue_us: u64| -> Vec<Sample> {
        let mut samples = samples(12);
        for sample in samples.iter_mut().filter(|sample| sample.slice.cell == "connect") {
            let (tls, query) = if sample.slice.arm == "tls" {
                (840, 500)
            } else {
                (0, 140)
            };
            sample.load.phases = vec![phase(Phase::Tls, tls), phase(Phase::FirstOperation, query)];
            let waited = if sample.slice.arm == "tls" { queue_us } else { 10 };
            sample.server.server_run_queue_wait_ns = Some(waited * 1_000 * OPERATIONS);
            // A machine with much to spare.
            sample.load.duration_ns *= 2;
        }
        samples
    };
    let waits = |queue_us| {
        let run = explained(&samples(queue_us));
        let mut findings = run.findings.into_iter();
        findings.find(|finding| finding.id == "waits-for-cpu")
    };
    let found = waits(350).unwrap();
    assert!(found.summary.contains("2 connects at a time share"), "{found:?}");
    assert!(
        found.evidence.contains("350 µs per connect instead of 10 µs"),
        "{found:?}"
    );
    assert_eq!(waits(20), None, "nobody waited");
}

#[test]
fn the_same_samples_give_the_same_run() {
    let samples = samples(12);
    assert_eq!(explained(&samples), explained(&samples));
}

#[test]
fn precision_counts_blocks_and_ends_when_narrow() {
    let study = study();
    let few = precision(&study, &study.cells[0], &samples(5)).unwrap();
    assert!(
        !few.precise && few.blocks == 5 && few.more_time_s.unwrap() > 0.0,
        "{few:?}"
    );
    let many = precision(&study, &study.cells[0], &samples(30)).unwrap();
    assert!(many.precise && many.cpu_half_width.unwrap() < 0.01, "{many:?}");
}

#[test]
fn phases_are_per_connect_and_name_the_cause() {
    let run = explained(&samples(12));
    let row = run
        .connect_phases
        .iter()
        .find(|row| row.arm == "tls" && row.phase == Phase::Tls)
        .unwrap();
    assert!(
        (row.mean_us - 1_340.0).abs() < 3.0 && (row.client_cpu_us.unwrap() - 550.0).abs() < 2.0,
        "{row:?}"
    );
    let latency = run
        .measurements
        .iter()
        .find(|row| row.cell == "connect" && row.arm == "tls" && row.metric == Metric::LatencyMean);
    assert!((row.mean_us - latency.unwrap().value).abs() < 1e-9);
    assert!(
        run.findings
            .iter()
            .any(|finding| finding.summary.contains("TLS handshake")),
        "{:#?}",
        run.findings
    );
}

#[test]
fn a_tunnel_that_is_open_already_saves_round_trips_and_anything_else_that_gains_is_suspected() {
    let text = STUDY
        .replace(
            "transport = \"tls1.3\"",
            "transport = \"plain\"\ntunnel = { ssh = \"aes256-ctr\" }",
        )
        .replace(
            "workload = \"connect\"",
            "workload = \"connect\"\nlink = { rtt_ms = 45 }",
        );
    let mut head = head(study());
    head.study = Study::from_toml(&text).unwrap();
    let faster = |mut sample: Sample| {
        if sample.slice.arm == "tls" {
            sample.load.duration_ns /= 100;
        }
        sample
    };
    let samples: Vec<Sample> = samples(30).into_iter().map(faster).collect();
    let findings = explain(&head, samples.as_slice()).unwrap().findings;
    let of = |cell: &str| {
        let mut of_cell = findings
            .iter()
            .filter(|finding| finding.summary.starts_with(cell) && finding.summary.contains("throughput"));
        of_cell
            .next()
            .unwrap_or_else(|| panic!("{cell}: {findings:?}"))
            .clone()
    };
    let connect = of("connect");
    assert_eq!(connect.severity, Severity::Cause);
    assert!(connect.summary.contains("a round trip of 45 ms"), "{connect:?}");
    assert_eq!(of("select").severity, Severity::Suspicion);
}

#[test]
fn a_link_that_is_late_is_a_suspicion_and_a_punctual_one_is_not() {
    let findings = |median_us| {
        let mut head = head(study());
        head.servers[0].link = Some(LinkRecord {
            by: LinkKind::Tun,
            distances: vec![Link::NONE],
            packets: 1_000,
            lateness_median_us: median_us,
            lateness_p99_us: 900.0,
            lateness_max_us: 2_000.0,
            dropped: 0,
        });
        let findings = explain(&head, [].as_slice()).unwrap().findings;
        findings
            .into_iter()
            .filter(|finding| finding.summary.contains("link"))
            .collect::<Vec<_>>()
    };
    assert_eq!(findings(99.0), []);
    let late = findings(150.0);
    assert_eq!(late.len(), 1);
    assert_eq!(late[0].severity, Severity::Suspicion);
    assert!(late[0].summary.contains("150 µs"), "{late:?}");
}

#[test]
fn a_verdict_over_many_cells_describes_the_sure_costs_and_counts_the_others() {
    let two_alike = STUDY.replace("workload = \"connect\"", "workload = \"oltp_point_select\"");
    let run = explain(
        &head(Study::from_toml(&two_alike).unwrap()),
        samples(30).as_slice(),
    )
    .unwrap();
    // The server pays in one of them, the client in the other.
    assert_eq!(
        run.verdict,
        "Against plain, tls costs something in 2 of 2 cells: it costs the server 560 µs more CPU per operation (+700 % \
         [696, 703]) in connect, and costs the client 2.0 µs more CPU per operation (+20 % [20, 21]) in select."
    );
}

/// The study with this load in the cell `connect`.
fn study_with(load: &str) -> Study {
    Study::from_toml(&STUDY.replace("load = { connections = 2 }", load)).unwrap()
}

fn study() -> Study {
    Study::from_toml(STUDY).unwrap()
}

fn explained(samples: &[Sample]) -> Results {
    explain(&head(study()), samples).unwrap()
}

#[test]
fn in_open_loop_response_times_are_compared_and_neither_throughput_nor_latency() {
    let study = study_with("load = { connections = 2, rate = 200 }");
    // Waiting doubles what the baseline takes, and makes five times of what TLS takes.
    let mut samples = samples(20);
    for sample in samples.iter_mut().filter(|sample| sample.slice.cell == "connect") {
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
    let change = |metric| {
        let row = run
            .estimates
            .iter()
            .find(|row| row.cell == "connect" && row.metric == metric);
        row.unwrap().change
    };
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
            .any(|finding| finding.summary.contains("load generator's own lateness")),
        "{:#?}",
        run.findings
    );
    let reached = precision(&study, &study.cells[1], &samples).unwrap();
    assert!(reached.throughput_half_width.is_some());
}

#[test]
fn batches_have_a_mean_and_a_standard_deviation_over_the_batches() {
    let study = study_with("load = { connections = 2, batch = 1000 }");
    let mut samples = samples(6);
    let mut rates = [90.0, 100.0, 110.0].into_iter().cycle();
    for sample in samples
        .iter_mut()
        .filter(|sample| sample.slice.cell == "connect" && sample.slice.arm == "tls")
    {
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

/// Samples with a deterministic noise of about one percent.
fn samples(blocks: u32) -> Vec<Sample> {
    let mut samples = Vec::new();
    for block in 0..blocks {
        for (cell, costs) in [("select", SELECT), ("connect", CONNECT)] {
            for (position, arm) in ARMS.into_iter().enumerate() {
                let cpu = if arm == "tls" { costs.tls } else { costs.plain };
                let step = block * 7 + position as u32 * 3 + u32::from(cell == "select") * 5;
                let noise = 1.0 + 0.01 * (f64::from(step % 11) / 5.0 - 1.0);
                samples.push(sample(
                    cell,
                    block,
                    position as u32,
                    arm,
                    cpu.map(|us| us * noise),
                ));
            }
        }
    }
    samples
}

fn sample(cell: &str, block: u32, position: u32, arm: &str, [client_us, server_us]: [f64; 2]) -> Sample {
    let cpu = |us: f64| CpuTime {
        total_ns: (us * 1e3 * OPERATIONS as f64) as u64,
        system_ns: 0,
    };
    let mean_ns = ((client_us + server_us) * 1e3) as u64;
    let mut latency = histogram::empty();
    for step in 0..OPERATIONS {
        latency.saturating_record(mean_ns * (900 + step % 200) / 1_000);
    }
    Sample {
        slice: SliceId {
            cell: cell.into(),
            block,
            position,
            arm: arm.into(),
        },
        start_ns: u64::from(block * 6 + position) * 100_000_000,
        load: Yield {
            duration_ns: OPERATIONS * mean_ns,
            operations: vec![OperationSample {
                kind: cell.into(),
                count: OPERATIONS,
                errors: 0,
                latency_sum_ns: OPERATIONS * mean_ns,
                latency: histogram::encode(&latency),
            }],
            client_cpu: cpu(client_us),
            bytes_sent: OPERATIONS * 30,
            bytes_received: OPERATIONS * if arm == "tls" { 230 } else { 190 },
            workers: 2,
            phases: if cell == "connect" && arm == "tls" {
                vec![handshake(mean_ns)]
            } else {
                Vec::new()
            },
            ..Yield::default()
        },
        server: ServerSide {
            server_cpu: Some(cpu(server_us)),
            ..ServerSide::default()
        },
        void: None,
    }
}

/// All of a connect is its handshake.
fn handshake(mean_ns: u64) -> PhaseSample {
    let mut wall = histogram::empty();
    wall.saturating_record_n(mean_ns, OPERATIONS);
    PhaseSample {
        phase: Phase::Tls,
        count: OPERATIONS,
        wall_sum_ns: OPERATIONS * mean_ns,
        client_cpu_sum_ns: Some(OPERATIONS * 550_000),
        bytes_sent: OPERATIONS * 1_500,
        bytes_received: OPERATIONS * 1_300,
        flights: OPERATIONS,
        wall: histogram::encode(&wall),
    }
}

fn head(study: Study) -> Head {
    let role = [ArmRole::Baseline, ArmRole::BaselineAgain, ArmRole::Variant];
    let arms = study
        .measured_arms()
        .into_iter()
        .zip(role)
        .map(|(arm, role)| ArmRecord {
            name: arm.name,
            role,
            sessions: Vec::new(),
        })
        .collect();
    let tool = Tool {
        name: "ciphertax".into(),
        version: "0".into(),
        commit: "unknown".into(),
    };
    let host = Host {
        os: String::new(),
        kernel: String::new(),
        cpu: String::new(),
        cpus: 2,
        memory_bytes: 0,
        virtualization: "none".into(),
    };
    Head {
        status: RunStatus::Complete,
        arms,
        servers: vec![ServerRecord {
            id: Default::default(),
            cells: Vec::new(),
            name: "mariadb".into(),
            product: "MariaDB".into(),
            version: String::new(),
            tls_library: String::new(),
            placement: ServerPlacement::Private,
            address: String::new(),
            same_host: true,
            settings: BTreeMap::new(),
            cpu_unread: None,
            link: None,
        }],
        ..Head::begin(tool, host, study, String::new(), 1)
    }
}

#[test]
fn kinds_of_operations_are_compared_by_themselves_where_there_are_several() {
    // Reads cost what they cost, inserts a quarter more over TLS.
    let mut samples = samples(20);
    for sample in samples.iter_mut().filter(|sample| sample.slice.cell == "select") {
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
    for sample in samples.iter_mut().filter(|sample| sample.slice.cell == "select") {
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
