//! Runs beside each other, and a run beside budgets.

use ciphertax_explain::compare::{Named, compare};
use ciphertax_explain::gate::gate;
use ciphertax_model::{Budget, Metric, ReadPreference, SqlCipher, Study, TlsVersion};
use ciphertax_records::*;
use ciphertax_stats::{BoundVerdict, CostVerdict, Rule};

use crate::made_up::{ARMS, STUDY, explain, head, sample, says};
use crate::targets::{agent_on, counter, session};

/// CPU per operation of the arm `tls` in the cell `select`, client and server; the baseline takes 10 and 20 µs.
const TLS: [f64; 2] = [12.0, 26.0];

/// A run of so many blocks whose noise, of some 1 %, follows from the seed.
fn run(study: &str, tls: [f64; 2], blocks: u32, seed: u64) -> Run {
    scaled(study, tls, 1.0, blocks, seed)
}

/// The same on a machine that is slower by a factor.
fn scaled(study: &str, tls: [f64; 2], slower: f64, blocks: u32, seed: u64) -> Run {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        1.0 + 0.03 * ((state >> 40) as f64 / (1_u64 << 24) as f64 - 0.5)
    };
    let mut samples: Vec<Sample> = Vec::new();
    for block in 0..blocks {
        for cell in ["select", "connect"] {
            for (position, arm) in ARMS.into_iter().enumerate() {
                let cpu = match (arm, cell) {
                    ("tls", "select") => tls,
                    ("tls", _) => [700.0, 640.0],
                    (_, "select") => [10.0, 20.0],
                    _ => [60.0, 80.0],
                };
                let cpu = cpu.map(|us| us * slower * noise());
                samples.push(sample(cell, block, position as u32, arm, cpu));
            }
        }
    }
    let head = head(Study::from_toml(study).unwrap());
    let results = explain(&head, samples.as_slice()).unwrap();
    Run::new(head, results)
}

fn compared(one: &Run, other: &Run) -> Comparison {
    both(one, other, None).unwrap()
}

fn both(one: &Run, other: &Run, margin: Option<f64>) -> Result<Comparison, String> {
    let runs = [named("one", one), named("other", other)];
    compare(&runs, margin)
}

fn named<'a>(name: &'a str, run: &'a Run) -> Named<'a> {
    Named { name, run }
}

/// What differs, by its names.
fn differing(comparison: &Comparison) -> Vec<&str> {
    let rows = comparison.differences.iter();
    rows.map(|row| row.what.as_str()).collect()
}

fn change(comparison: &Comparison, cell: &str, metric: Metric) -> CostChange {
    let mut changes = comparison.changes.iter();
    changes
        .find(|change| change.cell == cell && change.metric == metric)
        .unwrap()
        .clone()
}

#[test]
fn a_cost_that_rose_is_dearer_by_the_ratio_of_the_ratios_and_what_stayed_is_the_same() {
    let comparison = compared(&run(STUDY, TLS, 30, 1), &run(STUDY, [12.0, 28.6], 30, 2));
    let server = change(&comparison, "select", Metric::ServerCpuPerOp);
    let found = (server.verdict, server.rule);
    assert_eq!(found, (CostVerdict::Dearer, Rule::BeyondFloor));
    let is_near = server.change.low < 0.1 && server.change.high > 0.1 && server.headline;
    assert!(is_near, "{server:?}");
    assert!((server.before.value - 0.3).abs() < 0.01 && (server.after.value - 0.43).abs() < 0.01);
    let client = change(&comparison, "select", Metric::ClientCpuPerOp);
    assert_eq!(client.verdict, CostVerdict::Same, "{client:?}");
    says(&comparison.verdict, "tls in select is dearer");
    assert!(comparison.differences.is_empty() && comparison.not_comparable.is_empty());
}

#[test]
fn the_other_way_round_it_is_cheaper_and_throughput_that_falls_is_dearer() {
    let (before, after) = (run(STUDY, TLS, 30, 1), run(STUDY, [16.0, 34.0], 30, 2));
    let back = change(&compared(&after, &before), "select", Metric::ServerCpuPerOp);
    assert_eq!(back.verdict, CostVerdict::Cheaper);
    let throughput = change(&compared(&before, &after), "select", Metric::Throughput);
    assert!(throughput.change.value < 0.0);
    assert_eq!(throughput.verdict, CostVerdict::Dearer);
}

#[test]
fn a_machine_that_is_twice_as_slow_changes_no_cost_and_is_named() {
    let (one, mut other) = (run(STUDY, TLS, 30, 1), scaled(STUDY, TLS, 2.0, 30, 2));
    other.head.host.cpu = "Slow CPU".into();
    other.head.servers[0].version = "11.8".into();
    let comparison = compared(&one, &other);
    assert!(
        comparison
            .changes
            .iter()
            .all(|change| change.verdict == CostVerdict::Same || !change.headline),
        "{comparison:?}"
    );
    assert!(
        comparison.verdict.starts_with("The cost did not change"),
        "{}",
        comparison.verdict
    );
    let what = differing(&comparison);
    assert_eq!(what, ["server", "processor"]);
    assert_eq!(comparison.differences[1].values, [None, Some("Slow CPU".into())]);
}

#[test]
fn what_changed_beside_the_costs_that_a_study_is_precise_about_is_said_with_them() {
    let (one, mut other) = (run(STUDY, TLS, 30, 1), run(STUDY, TLS, 30, 2));
    let bytes = other.results.estimates.iter_mut();
    let bytes = bytes.filter(|row| row.cell == "select" && row.metric == Metric::BytesPerOp);
    let mut rows = 0;
    for row in bytes {
        row.log_ratio.mean += 0.128;
        rows += 1;
    }
    assert_eq!(rows, 1);
    let verdict = compared(&one, &other).verdict;
    says(
        &verdict,
        "CPU and speed did not change … ; but tls in select is dearer, bytes per operation +13.7 %",
    );
}

#[test]
fn what_was_negotiated_is_among_the_differences() {
    let session = |cipher: &str| {
        let mut session = session("ca");
        session.facts.tls.as_mut().unwrap().cipher = cipher.into();
        SessionRecord {
            server: "mariadb".into(),
            ..session
        }
    };
    let (mut one, mut other) = (run(STUDY, TLS, 20, 1), run(STUDY, TLS, 20, 2));
    one.head.arms[2].sessions.push(session("TLS_AES_256_GCM_SHA384"));
    other.head.arms[2]
        .sessions
        .push(session("TLS_AES_128_GCM_SHA256"));
    for run in [&mut one, &mut other] {
        for cell in &mut run.results.cells {
            cell.server = "mariadb".into();
        }
    }
    let differences = compared(&one, &other).differences;
    assert_eq!(differences.len(), 1, "{differences:?}");
    assert_eq!(differences[0].what, "cipher of tls");
}

#[test]
fn what_was_asked_otherwise_is_refused_by_name_and_the_rest_compared() {
    let one = run(STUDY, TLS, 20, 1);
    let load = run(&STUDY.replace("connections = 8", "connections = 4"), TLS, 20, 2);
    let comparison = compared(&one, &load);
    assert_eq!(comparison.not_comparable.len(), 1);
    let refused = &comparison.not_comparable[0];
    assert_eq!(refused.what, "cell select");
    says(&refused.why, "load.connections is 4 in other and 8 in one");
    assert!(comparison.changes.iter().all(|change| change.cell == "connect"));

    let dataset = format!("{STUDY}\n[dataset]\ntable_size = 5\n");
    let error = both(&one, &run(&dataset, TLS, 20, 2), None).unwrap_err();
    says(&error, "dataset.table_size is 5 in other");

    let arm = STUDY.replace("transport = \"tls1.3\"", "transport = \"tls1.2\"");
    let error = both(&one, &run(&arm, TLS, 20, 2), None).unwrap_err();
    says(&error, "arm tls: transport is tls1.2 in other and tls1.3 in one");

    // What nobody has set is not named.
    let cipher = STUDY.replace(
        "\"tls1.3\"",
        "\"tls1.3\", tls = { cipher = \"TLS_AES_128_GCM_SHA256\" }",
    );
    let error = both(&one, &run(&cipher, TLS, 20, 2), None).unwrap_err();
    says(
        &error,
        "arm tls: tls.cipher is TLS_AES_128_GCM_SHA256 in other and not set in one",
    );
    assert!(!error.contains("tls.library"), "{error}");

    let baseline = STUDY.replace("transport = \"plain\"", "transport = \"tls1.2\"");
    let error = both(&one, &run(&baseline, TLS, 20, 2), None).unwrap_err();
    says(
        &error,
        "every arm: the baselines differ: transport is tls1.2 in other and plain in one",
    );

    let renamed = run(
        &STUDY.replace("name = \"connect\"", "name = \"logins\""),
        TLS,
        20,
        2,
    );
    let comparison = compared(&one, &renamed);
    assert_eq!(comparison.not_comparable[0].what, "cell connect");
    // Of a cell that one run alone has nothing can differ.
    let what = differing(&comparison);
    assert_eq!(what, ["cells"]);
}

#[test]
fn tables_that_no_workload_of_a_cell_reads_are_not_part_of_its_question() {
    let (one, mut other) = (run(STUDY, TLS, 20, 1), run(STUDY, TLS, 20, 2));
    other.head.study.pgbench.scale += 1;
    assert!(compared(&one, &other).not_comparable.is_empty());
    other.head.study.read_preference = ReadPreference::Secondary;
    let error = both(&one, &other, None).unwrap_err();
    says(&error, "read_preference is secondary in other");
}

/// It is for the whole process, so that only two runs tell what it costs.
#[test]
fn runs_with_and_without_memory_security_are_compared() {
    let [one, other] = [false, true].map(|memory_security| {
        let mut run = run(STUDY, TLS, 20, 1);
        for arm in &mut run.head.study.arms {
            arm.at_rest.sqlcipher = Some(SqlCipher {
                memory_security,
                ..SqlCipher::default()
            });
        }
        run
    });
    let comparison = compared(&one, &other);
    assert!(comparison.not_comparable.is_empty());
}

#[test]
fn another_database_is_refused_and_another_of_mysqls_family_is_the_first_that_differs() {
    let (one, mut other) = (run(STUDY, TLS, 20, 1), run(STUDY, TLS, 20, 2));
    other.head.servers[0].product = "PostgreSQL".into();
    let error = both(&one, &other, None).unwrap_err();
    says(
        &error,
        "every cell: the database is PostgreSQL in other and MariaDB in one",
    );
    let held = gate(named("other", &other), &[], &[named("one", &one)], None);
    says(&held.unwrap_err(), "the database is PostgreSQL in other");
    other.head.servers[0].product = "MySQL".into();
    other.head.host.cpu = "Slow CPU".into();
    assert_eq!(compared(&one, &other).differences[0].what, "server");
}

#[test]
fn the_absolute_cost_stands_beside_the_relative_one_which_may_fall_while_it_rises() {
    let (one, mut other) = (run(STUDY, TLS, 30, 1), run(STUDY, [12.0, 22.0], 30, 2));
    for row in &mut other.results.estimates {
        for bound in [
            &mut row.difference.value,
            &mut row.difference.low,
            &mut row.difference.high,
        ] {
            *bound *= 100.0;
        }
    }
    let comparison = compared(&one, &other);
    let server = change(&comparison, "select", Metric::ServerCpuPerOp);
    // In percent it is less, in time more: neither.
    assert_eq!(
        (server.verdict, server.rule),
        (CostVerdict::CannotTell, Rule::OnlyInPercent)
    );
    assert!(server.difference_before.value < server.difference_after.value);
    let absolute = server.absolute_in_words();
    assert!(
        absolute.starts_with('+') && absolute.contains(" µs → +"),
        "{absolute}"
    );
}

#[test]
fn runs_too_short_for_an_interval_cannot_be_compared() {
    let error = both(&run(STUDY, TLS, 3, 1), &run(STUDY, TLS, 3, 2), None).unwrap_err();
    says(&error, "measure longer");
}

#[test]
fn a_margin_of_the_users_own_decides_what_is_the_same() {
    let (one, other) = (run(STUDY, TLS, 30, 1), run(STUDY, TLS, 30, 2));
    let of = |margin| {
        let comparison = both(&one, &other, Some(margin)).unwrap();
        change(&comparison, "select", Metric::ServerCpuPerOp)
    };
    assert_eq!(of(0.06).verdict, CostVerdict::Same);
    assert!((of(0.06).margin - 0.06).abs() < 1e-12);
    assert_eq!(of(0.001).verdict, CostVerdict::CannotTell);
}

fn held(run: &Run, budgets: &[&str]) -> Gate {
    let budgets: Vec<Budget> = budgets
        .iter()
        .map(|text| Budget::parse(text, &run.head.study).unwrap())
        .collect();
    gate(named("run", run), &budgets, &[], None).unwrap()
}

#[test]
fn a_cost_is_within_over_or_neither() {
    let run = run(STUDY, TLS, 30, 1);
    for (budget, expected) in [
        ("select/tls: server_cpu_per_op <= 35%", BoundVerdict::Within),
        ("select/tls: server_cpu_per_op <= 25%", BoundVerdict::Over),
        ("select/tls: server_cpu_per_op <= 30%", BoundVerdict::CannotTell),
        ("select/tls: throughput >= -25%", BoundVerdict::Within),
        ("select/tls: throughput >= -10%", BoundVerdict::Over),
        ("*: client_cpu_per_op <= 2000%", BoundVerdict::Within),
        ("*: server_cpu_per_op <= 35%", BoundVerdict::Over),
    ] {
        let gate = held(&run, &[budget]);
        assert_eq!(gate.verdict, expected, "{budget}: {gate:?}");
    }
    let gate = held(&run, &["*: server_cpu_per_op <= 35%"]);
    let verdicts: Vec<BoundVerdict> = gate.rows.iter().map(|row| row.verdict).collect();
    assert_eq!(
        verdicts,
        [BoundVerdict::Within, BoundVerdict::Over],
        "of select and of connect"
    );
    let limit = held(&run, &["*: throughput >= -95%"]).rows[0].limit;
    assert!((limit + 0.95).abs() < 1e-12, "{limit}");
}

#[test]
fn what_cannot_be_told_says_which_precision_would_tell() {
    let run = run(STUDY, TLS, 30, 1);
    let within = held(&run, &["select/tls: server_cpu_per_op <= 35%"]);
    assert_eq!(within.rows[0].precision_needed, None);
    let measured = within.rows[0].measured.unwrap();
    // Half-way from the middle of the interval to its end.
    let budget = Budget {
        arm: Some("tls".into()),
        cell: Some("select".into()),
        metric: Metric::ServerCpuPerOp,
        at_most: (measured.value + measured.high) / 2.0,
    };
    let distance = ((1.0 + budget.at_most) / (1.0 + measured.value)).ln();
    let gate = gate(named("run", &run), &[budget], &[], None).unwrap();
    let row = &gate.rows[0];
    let found = (row.verdict, row.rule);
    assert_eq!(found, (BoundVerdict::CannotTell, Some(Rule::IntervalTooWide)));
    let needed = row.precision_needed.unwrap();
    assert!(needed < distance && needed > 0.5 * distance, "{row:?}");
}

/// The same with the load generator as the bottleneck of these metrics.
fn bound_by_client(mut run: Run, metrics: &[Metric]) -> Run {
    for row in &mut run.results.estimates {
        if metrics.contains(&row.metric) {
            row.rule = Rule::ClientBound;
        }
    }
    run
}

#[test]
fn what_the_load_generator_bounds_is_not_held_to_an_earlier_run_and_is_named() {
    let earlier = run(STUDY, TLS, 30, 1);
    let speed = [Metric::Throughput];
    let later = bound_by_client(run(STUDY, TLS, 30, 2), &speed);
    let found = gate(named("later", &later), &[], &[named("earlier", &earlier)], None).unwrap();
    assert_eq!((found.verdict, found.rows.len()), (BoundVerdict::Within, 4));
    assert_eq!(found.not_held.len(), 2, "{:?}", found.not_held);
    assert!(
        found.not_held[0].metric == Metric::Throughput && found.not_held[0].why.contains("in later"),
        "{:?}",
        found.not_held
    );
    let all = [Metric::Throughput, Metric::ServerCpuPerOp, Metric::ClientCpuPerOp];
    let later = bound_by_client(later.clone(), &all);
    let error = gate(named("later", &later), &[], &[named("earlier", &earlier)], None).unwrap_err();
    says(&error, "nothing can be compared with earlier");
    says(&error, "throughput of tls in select");
}

#[test]
fn of_runs_that_were_cut_off_both_are_named() {
    let (mut earlier, mut later) = (run(STUDY, TLS, 30, 1), run(STUDY, TLS, 30, 2));
    earlier.head.status = RunStatus::Partial {
        reason: "stopped by SIGINT".into(),
    };
    later.head.status = RunStatus::Running;
    let found = gate(named("later", &later), &[], &[named("earlier", &earlier)], None).unwrap();
    says(&found.cut_off.unwrap(), "was ended");
    assert_eq!(found.baseline_cut_off.as_deref(), Some("stopped by SIGINT"));
}

#[test]
fn who_reads_the_servers_cpu_differs_and_what_somebody_else_counts_is_refused() {
    let (one, mut other) = (run(STUDY, TLS, 20, 1), run(STUDY, TLS, 20, 2));
    other.head.servers[0].cpu_from = Some(agent_on("Fast CPU"));
    let comparison = compared(&one, &other);
    let what = differing(&comparison);
    let are_named = what.contains(&"server's CPU read by") && what.contains(&"server's processor");
    assert!(are_named, "{what:?}");
    assert!(comparison.not_comparable.is_empty());
    other.head.servers[0].cpu_from = Some(counter("the whole machine"));
    let comparison = compared(&one, &other);
    assert!(
        comparison.not_comparable.iter().any(|refused| refused
            .what
            .starts_with("server CPU per operation in select")
            && refused
                .why
                .contains("the whole machine in other and of its processes in one")),
        "{:?}",
        comparison.not_comparable
    );
    assert!(
        comparison
            .changes
            .iter()
            .all(|change| change.metric != Metric::ServerCpuPerOp)
    );
    says(&comparison.verdict, "cells, arms or costs were not compared");
}

#[test]
fn another_certificate_of_the_study_is_another_question_of_encrypted_arms() {
    let other = STUDY.replace("time_s = 60", "time_s = 60\ncertificate = \"rsa-4096\"");
    let error = both(&run(STUDY, TLS, 20, 1), &run(&other, TLS, 20, 2), None).unwrap_err();
    says(&error, "certificate.kind is rsa-4096 in other");
}

#[test]
fn of_several_runs_the_sentence_says_in_which_an_arm_is_dearer_and_names_it_once() {
    let runs = [
        run(STUDY, TLS, 30, 1),
        run(STUDY, TLS, 30, 2),
        run(STUDY, [16.0, 34.0], 30, 3),
    ];
    let named: Vec<Named<'_>> = runs
        .iter()
        .zip(["A", "B", "C"])
        .map(|(run, name)| Named { name, run })
        .collect();
    let verdict = compare(&named, None).unwrap().verdict;
    says(&verdict, "tls in select is dearer in C");
    says(&verdict, "; and 2 more costs");
    assert_eq!(verdict.matches("tls in select").count(), 1, "{verdict}");
}

#[test]
fn what_was_not_measured_is_not_within() {
    let mut short = run(STUDY, TLS, 3, 1);
    let found = held(&short, &["select/tls: server_cpu_per_op <= 99%"]);
    assert_eq!(found.verdict, BoundVerdict::CannotTell);
    says(found.rows[0].unmeasured.as_ref().unwrap(), "too few blocks");
    short.head.servers[0].cpu_unread = Some("it runs elsewhere".into());
    let found = held(&short, &["select/tls: server_cpu_per_op <= 99%"]);
    says(found.rows[0].unmeasured.as_ref().unwrap(), "it runs elsewhere");

    let mut left_out = run(STUDY, TLS, 20, 1);
    let budget = Budget {
        arm: Some("tls1.1".into()),
        cell: None,
        metric: Metric::ServerCpuPerOp,
        at_most: 9.0,
    };
    left_out.head.left_out.push(LeftOut {
        arm: "tls1.1".into(),
        reason: LeftOutReason::TlsVersion {
            lacks_tls: TlsVersion::V1_1,
            has: None,
        },
    });
    let named = named("run", &left_out);
    let found = gate(named, &[budget], &[], None).unwrap();
    assert_eq!(found.verdict, BoundVerdict::CannotTell);
    says(
        found.rows[0].unmeasured.as_ref().unwrap(),
        "the server does not offer TLSv1.1",
    );
}

#[test]
fn a_margin_that_no_length_of_a_run_can_hold_is_told_from_one_that_longer_runs_can() {
    let row = |cell: &str, blocks: u32, margin: f64, baselines: usize| {
        let (earlier, later) = (run(STUDY, TLS, blocks, 1), run(STUDY, TLS, blocks, 2));
        let earlier = vec![named("earlier", &earlier); baselines];
        let gate = gate(named("later", &later), &[], &earlier, Some(margin)).unwrap();
        let mut rows = gate.rows.into_iter();
        let row = rows.find(|row| row.cell == cell && row.metric == Metric::ServerCpuPerOp);
        (row.unwrap(), later.results.elapsed_s)
    };
    // Of a connect TLS is seven eighths of the work, and of these 3 % differ from run to run: √2 · 2.6 %.
    let (connect, _) = row("connect", 30, 0.06, 1);
    assert_eq!(
        (connect.verdict, connect.time_needed_s),
        (BoundVerdict::CannotTell, None)
    );
    let (select, elapsed_s) = row("select", 6, 0.045, 1);
    assert_eq!(select.verdict, BoundVerdict::CannotTell, "{select:?}");
    let longer = select.time_needed_s.unwrap() / elapsed_s;
    assert!((1.0..20.0).contains(&longer), "{select:?}");
    // Runs that agree show that there is less of it here.
    assert_eq!(row("connect", 30, 0.06, 20).0.verdict, BoundVerdict::Within);
}

#[test]
fn against_an_earlier_run_costs_may_not_rise_by_more_than_the_margin() {
    let earlier = run(STUDY, TLS, 30, 1);
    let against = |later: &Run, margin| {
        let earlier = named("earlier", &earlier);
        gate(named("later", later), &[], &[earlier], margin)
    };
    let same = against(&run(STUDY, TLS, 30, 2), None).unwrap();
    assert_eq!(same.verdict, BoundVerdict::Within, "{same:?}");
    assert!(same.rows.iter().all(|row| row.held_to == HeldTo::EarlierRun));
    assert_eq!(
        same.rows.len(),
        6,
        "CPU of both sides and throughput of two cells"
    );
    let dearer = run(STUDY, [12.0, 29.9], 30, 2);
    assert_eq!(against(&dearer, None).unwrap().verdict, BoundVerdict::Over);
    let allowed = against(&dearer, Some(0.25)).unwrap();
    assert_eq!(allowed.verdict, BoundVerdict::Within, "{allowed:?}");

    let fewer = run(
        &STUDY.replace("name = \"connect\"", "name = \"logins\""),
        TLS,
        30,
        2,
    );
    let gate = against(&fewer, None).unwrap();
    assert_eq!(
        gate.verdict,
        BoundVerdict::CannotTell,
        "a cell of the earlier run is missing"
    );
    let other = run(&STUDY.replace("\"tls1.3\"", "\"tls1.2\""), TLS, 30, 2);
    says(
        &against(&other, None).unwrap_err(),
        "nothing can be compared with earlier",
    );
}
