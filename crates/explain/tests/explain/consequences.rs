//! What follows from figures: churn, capacity, findings and the headline.

use ciphertax_base::{CpuTime, Phase};
use ciphertax_model::{Answer, Link, Metric, Study};
use ciphertax_records::{ChurnRow, Finding, LinkRecord, PhaseSample, Rated, Sample, Severity, Side};
use ciphertax_stats::{Location, Verdict};

use crate::made_up::{
    OPERATIONS, STUDY, explain, explained, handshake, head, of_arm, sample, samples, says, study,
};

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
    assert!(of_queries.extra_cores.value < 0.01, "{of_queries:?}");
    assert_eq!(of_queries.verdict, Verdict::NoCost);
}

#[test]
fn slow_slices_of_one_arm_alone_are_told_and_counted_in_full() {
    let stalled = |mut sample: Sample| {
        let is_stalled = sample.slice.arm == "tls" && sample.slice.block.is_multiple_of(6);
        if sample.slice.cell == "select" && is_stalled {
            let cpu = sample.server.server_cpu.as_mut().unwrap();
            cpu.total_ns = cpu.total_ns * 3 / 2;
        }
        sample
    };
    let run = explained(&samples(30).into_iter().map(stalled).collect::<Vec<_>>());
    let estimate = run.estimate("select", "tls", Metric::ServerCpuPerOp).unwrap();
    assert_eq!(estimate.location, Some(Location::Mean));
    // Half as much again in 5 of 30 blocks: 1.5^(1/6).
    assert!((estimate.change - 0.07).abs() < 0.01, "{estimate:?}");
    let told: Vec<&Finding> = run
        .findings
        .iter()
        .filter(|finding| finding.id == "own-stalls")
        .collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    let beginning = "select: tls had more slow slices";
    assert!(told[0].summary.starts_with(beginning), "{told:#?}");
    says(&told[0].evidence, "5 of 30 slices of tls");
    // The client's CPU is not touched, and by the location that noise does not move.
    let client = run.estimate("select", "tls", Metric::ClientCpuPerOp).unwrap();
    assert_eq!(client.location, Some(Location::Robust));
}

#[test]
fn what_a_query_costs_is_said_with_the_tables_own_interval_and_undecided_costs_are_no_advice() {
    let unsteady = |mut sample: Sample| {
        if sample.slice.cell == "select" && sample.slice.arm == "tls" {
            let cpu = sample.server.server_cpu.as_mut().unwrap();
            cpu.total_ns = cpu.total_ns * u64::from(8 + sample.slice.block * 5 % 8) / 10;
        }
        sample
    };
    let run = explained(&samples(30).into_iter().map(unsteady).collect::<Vec<_>>());
    let estimate = run.estimate("select", "tls", Metric::ServerCpuPerOp).unwrap();
    let churn = run.churn.iter().find(|row| row.side == Side::Server).unwrap();
    let query = churn.query_overhead;
    assert_eq!((query.low, query.high), (estimate.low, estimate.high));
    assert!((churn.query_variant_us - estimate.variant).abs() < 1e-9);
    let advice = run
        .findings
        .iter()
        .find(|finding| finding.id == "keep-connections")
        .unwrap();
    says(&advice.summary, "cannot tell whether it ever falls below 5 %");
}

#[test]
fn the_headline_names_what_its_table_calls_a_cost() {
    let run = explained(&samples(30));
    assert_eq!(
        run.verdict,
        "Against plain, tls costs the client 2.0 µs more CPU per query (+20 % [20, 21]) and costs the server 560 µs more CPU \
         per new connection (+700 % [697, 702]). It costs the client 640 µs more CPU per new connection (×11.7 [11.6, 11.7])."
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
    says(&run.verdict, "costs the client");
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
        for sample in of_arm(&mut samples, "connect", "") {
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
    says(&found.summary, "2 concurrent connects share");
    says(&found.evidence, "350 µs per connect instead of 10 µs");
    assert_eq!(waits(20), None, "nobody waited");
}

#[test]
fn phases_are_per_connect_and_name_the_cause() {
    let run = explained(&samples(12));
    let row = run
        .connect_phases
        .iter()
        .find(|row| row.arm == "tls" && row.phase == Phase::Tls)
        .unwrap();
    let is_near = (row.mean_us - 1_340.0).abs() < 3.0 && (row.client_cpu_us.unwrap() - 550.0).abs() < 2.0;
    assert!(is_near, "{row:?}");
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
            "transport = \"plain\", tunnel = { ssh = \"aes256-ctr\" }",
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
    says(&connect.summary, "a round trip of 45 ms");
    assert_eq!(of("select").severity, Severity::Suspicion);
}

#[test]
fn a_link_that_is_late_is_a_suspicion_and_a_punctual_one_is_not() {
    let findings = |median_us| {
        let mut head = head(study());
        head.servers[0].link = Some(LinkRecord {
            distances: vec![Link::NONE],
            node_distances: Vec::new(),
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
    says(&late[0].summary, "150 µs");
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
        "Against plain, tls costs the client CPU in both cells, from +20 % [20, 21] in select to ×11.7 [11.6, 11.7] in connect."
    );
}

#[test]
fn of_two_cells_without_a_cost_it_is_said_of_both_above_what_there_is_none() {
    let two_alike = STUDY.replace("workload = \"connect\"", "workload = \"oltp_point_select\"");
    let alike = samples(30)
        .into_iter()
        .map(|sample| match sample.slice.arm.as_str() {
            "tls" => {
                let cpu = match sample.slice.cell.as_str() {
                    "select" => [10.0, 20.0],
                    _ => [60.0, 80.0],
                };
                let slice = sample.slice;
                let noise = 1.0 + 0.001 * f64::from(slice.block * 3 % 7) - 0.003;
                self::sample(
                    &slice.cell,
                    slice.block,
                    slice.position,
                    "tls",
                    cpu.map(|us| us * noise),
                )
            }
            _ => sample,
        });
    let head = head(Study::from_toml(&two_alike).unwrap());
    let run = explain(&head, alike.collect::<Vec<_>>().as_slice()).unwrap();
    assert_eq!(
        run.verdict,
        "Against plain, tls, the server CPU: in both cells no cost above 2.0 %."
    );
}

#[test]
fn what_a_pooler_takes_is_told_together_with_what_it_saves_the_server() {
    let text = STUDY
        .replace(
            "name = \"made-up\"",
            "name = \"made-up\"\nserver = \"postgresql\"",
        )
        .replace(
            "transport = \"tls1.3\"",
            "transport = \"tls1.3\", pooler = { program = \"pgbouncer\", pool_mode = \"session\" }",
        );
    let mut head = head(study());
    head.study = Study::from_toml(&text).unwrap();
    // The server's 80 µs of a connect become 8; of a query's 20 µs nothing changes.
    let pooled = |mut sample: Sample| {
        let of = |us: u64| CpuTime {
            total_ns: us * 1_000 * OPERATIONS,
            system_ns: 0,
        };
        if sample.slice.arm == "tls" {
            let is_connect = sample.slice.cell == "connect";
            sample.load.client_cpu = of(if is_connect { 60 } else { 10 });
            if is_connect {
                sample.server.server_cpu = Some(of(8));
            }
            sample.server.pooler_cpu = Some(of(if is_connect { 12 } else { 10 }));
        }
        sample
    };
    let samples: Vec<Sample> = samples(30).into_iter().map(pooled).collect();
    let results = explain(&head, samples.as_slice()).unwrap();
    let of = |cell: &str| {
        let mut found = results.findings.iter().filter(|finding| finding.id == "pooler");
        let found = found.find(|finding| finding.summary.starts_with(cell));
        found
            .unwrap_or_else(|| panic!("{:?}", results.findings))
            .summary
            .clone()
    };
    let connect = of("connect");
    for words in [
        "a connect costs 8.0 µs on the server (80 µs without a pooler)",
        "12 µs in the pooler",
        "75 % less in total",
    ] {
        assert!(connect.contains(words), "{words}: {connect}");
    }
    says(&of("select"), "50 % more in total");
    says(
        &results.verdict,
        "saves the server 72 µs of CPU per new connection …; the pooler takes 12 µs more)",
    );
    // A connection saves 72 less 12 µs, and each query after its first one takes the pooler 10 µs.
    head.study.answer = Answer::Saving;
    let verdict = explain(&head, samples.as_slice()).unwrap().verdict;
    says(
        &verdict,
        "tls saves the server 72 µs of CPU per new connection (−90 % …; the pooler takes 12 µs.",
    );
    says(
        &verdict,
        "A query costs the server no more than 2.0 %, plus 10 µs in the pooler.",
    );
    says(
        &verdict,
        "Server and pooler together save CPU below about 7 queries per connection [7, 7].",
    );
    head.study.answer = Answer::Ranking;
    says(
        &explain(&head, samples.as_slice()).unwrap().verdict,
        "server CPU per new connection, with what works beside it, falls with tls (−72 µs … the pooler takes 12 µs more)",
    );
    // 10 of the client, 20 of the server, 10 of the pooler.
    let both = results.churn.iter().find(|row| row.side == Side::Both).unwrap();
    assert!((both.query_variant_us - 40.0).abs() < 0.5, "{both:?}");
}

#[test]
fn of_both_sides_nothing_is_sure_where_one_is_undecided() {
    let unsteady = |mut sample: Sample| {
        if sample.slice.cell == "select" && sample.slice.arm == "tls" {
            let cpu = sample.server.server_cpu.as_mut().unwrap();
            cpu.total_ns = cpu.total_ns * u64::from(6 + sample.slice.block * 5 % 8) / 10;
        }
        sample
    };
    let churn = |samples: &[Sample]| {
        let churn = explained(samples).churn;
        churn.into_iter().find(|row| row.side == Side::Both).unwrap()
    };
    let steady = churn(&samples(30));
    assert_eq!(steady.query_verdict, Verdict::Costs);
    assert!(steady.query_floor.is_some_and(|floor| floor < 0.02), "{steady:?}");
    let one_percent = &steady.break_even[0];
    assert!(steady.is_never_within(one_percent));
    let below_the_floor = ChurnRow {
        query_floor: Some(0.9),
        ..steady.clone()
    };
    assert!(!below_the_floor.is_never_within(one_percent));
    let unsteady: Vec<Sample> = samples(30).into_iter().map(unsteady).collect();
    let unsteady = churn(&unsteady);
    assert_eq!(unsteady.query_verdict, Verdict::CannotTell);
    assert!(!unsteady.is_never_within(&unsteady.break_even[0]));
}
