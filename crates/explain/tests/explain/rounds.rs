//! Whole rounds: what is paid later is paid by whoever caused it.

use ciphertax_base::CpuTime;
use ciphertax_estimate::precision;
use ciphertax_records::{CellRecord, QuietPhase, Results, Round, RoundOfArm, SampleLog};
use ciphertax_stats::Verdict;

use ciphertax_model::{AtRest, ColumnFunctions, Metric, Study};

use crate::made_up::*;

/// The arm `tls` is the one that differs at rest.
fn at_rest() -> Study {
    let mut study = study();
    study.arms[1].at_rest.tables = true;
    study
}

fn cpu(us_per_operation: f64) -> Option<CpuTime> {
    Some(CpuTime {
        total_ns: (us_per_operation * 1e3 * OPERATIONS as f64) as u64,
        system_ns: 0,
    })
}

/// What an arm's server uses in the rounds of a cell.
type Of<'a> = &'a dyn Fn(&str, u32) -> RoundOfArm;

/// Samples of the cell `select`, whose slices take 20 µs of the server's CPU, and 8 of the arm `tls`, since it flushes later.
fn log(blocks: u32, of: Of<'_>) -> SampleLog {
    let mut log = SampleLog::default();
    for block in 0..blocks {
        for (position, arm) in (0..).zip(ARMS) {
            let noise = 1.0 + 0.01 * (f64::from((block * 7 + position * 3) % 11) / 5.0 - 1.0);
            let in_slice = if arm == "tls" { 8.0 } else { 20.0 };
            let mut sample = sample("select", block, position, arm, [10.0 * noise, in_slice * noise]);
            sample.quiet = Some(QuietPhase {
                waited_ns: 1_500_000_000,
                is_still: (block, arm) != (2, "plain"),
            });
            sample.others_worked = (block, arm) == (5, "tls");
            log.samples.push(sample);
        }
        log.rounds.push(Round {
            cell: "select".into(),
            block,
            start_ns: u64::from(block) * 6_000_000_000,
            duration_ns: 6_000_000_000,
            quiet: QuietPhase::default(),
            arms: ARMS
                .map(|arm| RoundOfArm {
                    arm: arm.into(),
                    ..of(arm, block)
                })
                .into(),
        });
    }
    log
}

fn explained(log: &SampleLog) -> Results {
    explain(&head(at_rest()), log).unwrap()
}

/// A little noise that differs from arm to arm.
fn noise(arm: &str, block: u32) -> f64 {
    let step = (block * 5 + arm.len() as u32) % 7;
    1.0 + 0.002 * (f64::from(step) / 3.0 - 1.0)
}

fn verdict(results: &Results, metric: Metric) -> Option<Verdict> {
    Some(results.estimate("select", "tls", metric)?.verdict)
}

fn cell(results: &Results) -> &CellRecord {
    &results.cells[0]
}

#[test]
fn an_arm_that_flushes_later_is_cheaper_in_its_slices_and_costs_the_same() {
    let results = explained(&log(40, &|arm, block| RoundOfArm {
        server_cpu: cpu(25.0 * noise(arm, block)),
        bytes_written: Some((4096.0 * OPERATIONS as f64 * noise(arm, block)) as u64),
        bytes_read: Some(0),
        ..RoundOfArm::default()
    }));
    assert_eq!(verdict(&results, Metric::ServerCpuPerOp), Some(Verdict::Gains));
    let found = verdict(&results, Metric::ServerCpuRoundPerOp);
    assert_eq!(found, Some(Verdict::NoCost));
    assert_eq!(results.server_cpu("select"), Metric::ServerCpuRoundPerOp);
    let row = results
        .estimate("select", "tls", Metric::ServerCpuRoundPerOp)
        .unwrap();
    assert!((row.baseline / 25.0 - 1.0).abs() < 0.01, "{row:?}");
    assert!(row.floor.is_some(), "the baseline again has rounds too");
    let written = results
        .estimate("select", "tls", Metric::StorageWrittenPerOp)
        .unwrap();
    assert!((written.baseline / 4096.0 - 1.0).abs() < 0.01 && written.unit == "bytes/op");
    // Nothing was read, and no file system has anybody of its own.
    for metric in [
        Metric::StorageReadPerOp,
        Metric::FileSystemCpuPerOp,
        Metric::ServerAndFileSystemCpuPerOp,
        Metric::KernelWorkersCpuPerOp,
    ] {
        assert_eq!(verdict(&results, metric), None, "{metric}");
    }
    says(&results.verdict, "costs the server less than");
    let quiet = cell(&results).rounds.unwrap();
    assert_eq!((quiet.slices, quiet.disturbed), (120, 2));
    assert!((quiet.quiet_s - 1.5).abs() < 1e-9);
}

#[test]
fn what_a_daemon_does_for_an_arm_is_part_of_what_the_arm_costs() {
    let results = explained(&log(40, &|arm, block| RoundOfArm {
        server_cpu: cpu(25.0 * noise(arm, block)),
        file_system_cpu: if arm == "tls" { cpu(15.0) } else { None },
        kernel_workers_cpu_ns: Some(OPERATIONS * if arm == "tls" { 3_000 } else { 1_000 }),
        ..RoundOfArm::default()
    }));
    let found = verdict(&results, Metric::ServerCpuRoundPerOp);
    assert_eq!(found, Some(Verdict::NoCost));
    let both = results
        .estimate("select", "tls", Metric::ServerAndFileSystemCpuPerOp)
        .unwrap();
    assert_eq!(both.verdict, Verdict::Costs);
    assert!((both.change - 0.6).abs() < 0.01, "{}", both.change);
    says(
        &results.verdict,
        "costs the server 15 … µs more CPU … kernel workers take 2.0 µs more)",
    );
    let by_itself = |arm: &str| {
        let mut rows = results.measurements.iter();
        let row = rows.find(|row| row.arm == arm && row.metric == Metric::FileSystemCpuPerOp);
        row.map(|row| row.value)
    };
    assert_eq!((by_itself("tls"), by_itself("plain")), (Some(15.0), None));
    let workers = results
        .estimate("select", "tls", Metric::KernelWorkersCpuPerOp)
        .unwrap();
    assert!((workers.change - 2.0).abs() < 1e-6, "{}", workers.change);
}

#[test]
fn what_is_put_off_to_another_round_is_paid_all_the_same() {
    let results = explained(&log(40, &|arm, block| {
        // The variant pays in every fourth round alone, and no block's ratio is the truth.
        let share = match (arm, block % 4) {
            ("tls", 0) => 3.4,
            ("tls", _) => 0.2,
            _ => 1.0,
        };
        RoundOfArm {
            server_cpu: cpu(25.0 * share * noise(arm, block)),
            bytes_read: Some((share.max(1.0) - 1.0) as u64 * OPERATIONS),
            ..RoundOfArm::default()
        }
    }));
    let row = results
        .estimate("select", "tls", Metric::ServerCpuRoundPerOp)
        .unwrap();
    let is_unsure = row.low < 0.0 && row.high > 0.0 && row.change.abs() < 0.05;
    assert!(is_unsure, "{row:?}");
    // The baseline never read.
    assert_eq!(verdict(&results, Metric::StorageReadPerOp), None);
    let read = results.measurements.iter();
    let mut read = read.filter(|row| row.metric == Metric::StorageReadPerOp);
    let tls = read.next().unwrap();
    assert_eq!((tls.arm.as_str(), tls.value), ("tls", 0.5));
    assert!(read.next().is_none());
}

#[test]
fn a_round_without_end_is_left_out_and_whole_rounds_are_what_becomes_precise() {
    let of: Of<'_> = &|arm, block| RoundOfArm {
        // Wider than the slices, and so what there is to wait for.
        server_cpu: cpu(25.0
            * if (block + arm.len() as u32).is_multiple_of(3) {
                1.4
            } else {
                1.0
            }),
        ..RoundOfArm::default()
    };
    let mut cut_off = log(30, of);
    cut_off.rounds.pop();
    let results = explained(&cut_off);
    let row = results
        .estimate("select", "tls", Metric::ServerCpuRoundPerOp)
        .unwrap();
    assert_eq!((row.blocks, cell(&results).blocks), (29, 30));

    let study = at_rest();
    let reached = precision(&study, &study.cells[0], &cut_off).unwrap();
    assert!(!reached.precise, "{reached:?}");
    let slices_alone = SampleLog::from(cut_off.samples);
    assert!(precision(&study, &study.cells[0], &slices_alone).unwrap().precise);
}

#[test]
fn a_machine_is_not_noisy_because_workers_of_the_kernel_are() {
    let results = explained(&log(20, &|arm, block| RoundOfArm {
        server_cpu: cpu(25.0 * noise(arm, block)),
        kernel_workers_cpu_ns: Some(
            OPERATIONS * (1 + u64::from(block + u32::from(arm == "plain")) % 3 * 1_000),
        ),
        ..RoundOfArm::default()
    }));
    let mut floor = results.noise_floor.iter();
    let workers = floor
        .find(|row| row.metric == Metric::KernelWorkersCpuPerOp)
        .unwrap();
    assert!(workers.high > 0.5, "{workers:?}");
    let findings = results.findings.iter();
    assert!(
        findings.clone().all(|finding| finding.id != "noisy-machine"),
        "{findings:?}"
    );
}

#[test]
fn fewer_bytes_are_suspicious_but_of_functions_whose_results_have_shorter_names() {
    let mut log = log(20, &|arm, block| RoundOfArm {
        server_cpu: cpu(25.0 * noise(arm, block)),
        ..RoundOfArm::default()
    });
    for sample in log.samples.iter_mut().filter(|sample| sample.slice.arm == "tls") {
        sample.load.bytes_received -= OPERATIONS * 80;
    }
    let gains = |study: Study| {
        let results = explain(&head(study), &log).unwrap();
        let mut findings = results.findings.into_iter();
        findings.any(|finding| finding.id == "impossible-gain" && finding.summary.contains("bytes"))
    };
    let mut functions = at_rest();
    functions.arms[1].at_rest = AtRest {
        columns: Some(ColumnFunctions::AesEncrypt),
        ..AtRest::default()
    };
    assert_eq!([gains(at_rest()), gains(functions)], [true, false]);
}
