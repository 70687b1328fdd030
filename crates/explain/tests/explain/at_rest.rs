//! Findings about encryption at rest: what decides its cost.

use ciphertax_base::{CpuTime, DeviceUse, counter};
use ciphertax_model::{Metric, Study};
use ciphertax_records::*;

use crate::comparisons::{found, measured, only};
use crate::made_up::{OPERATIONS, explain, head, says};
use crate::targets::session;

const AT_REST: &str = r#"
name = "at-rest"
question = "What decides?"
time_s = 60
arm = [
    { name = "plain", transport = "plain" },
    { name = "tls", transport = "tls1.3" },
    { name = "rest", transport = "plain", at_rest = { tables = true } },
    { name = "both", transport = "tls1.3", at_rest = { tables = true } },
]
cell = [{ name = "write", workload = "oltp_write_only", load = { connections = 8 } }]
"#;

fn study() -> Study {
    Study::from_toml(AT_REST).unwrap()
}

/// Server CPU of the arms `plain`, `tls`, `rest` and `both` in microseconds, and what a slice is besides.
fn samples(cpu_us: [f64; 4], change: impl Fn(&mut Sample)) -> Vec<Sample> {
    let of_arm = |_: &str, arm: &str| {
        let place = ["plain", "tls", "rest", "both"]
            .iter()
            .position(|name| *name == arm);
        [20.0, cpu_us[place.unwrap_or(0)]]
    };
    let mut samples = measured(&study(), of_arm);
    samples.iter_mut().for_each(change);
    samples
}

/// The server moved so many pages for each operation.
fn moved(sample: &mut Sample, read: u64, written: u64) {
    let operations = OPERATIONS as i64;
    sample.server.server_counters = [
        (counter::PAGES_REQUESTED, 50 * operations),
        (counter::PAGES_READ, read as i64 * operations),
        (counter::PAGES_WRITTEN, written as i64 * operations),
        (counter::LOG_BYTES, 300 * operations),
    ]
    .map(|(name, rose)| (name.to_owned(), rose))
    .into();
}

/// The same slices in rounds, over which every arm's server took so much CPU for an operation, in microseconds, and read and
/// wrote so many pages for it; by cell, arm and block.
fn in_rounds(samples: Vec<Sample>, of: impl Fn(&str, &str, u32) -> (f64, u64, u64)) -> SampleLog {
    let mut rounds: Vec<Round> = Vec::new();
    for sample in &samples {
        let id = &sample.slice;
        let (cpu_us, read, written) = of(&id.cell, &id.arm, id.block);
        let mut moving = sample.clone();
        moved(&mut moving, read, written);
        let of_arm = RoundOfArm {
            arm: id.arm.clone(),
            server_cpu: Some(CpuTime {
                total_ns: (cpu_us * 1e3 * OPERATIONS as f64) as u64,
                system_ns: 0,
            }),
            server_counters: moving.server.server_counters,
            ..RoundOfArm::default()
        };
        let mut same = rounds.iter_mut();
        match same.find(|round| round.cell == id.cell && round.block == id.block) {
            Some(round) => round.arms.push(of_arm),
            None => rounds.push(Round {
                cell: id.cell.clone(),
                block: id.block,
                duration_ns: 6_000_000_000,
                arms: vec![of_arm],
                ..Round::default()
            }),
        }
    }
    SampleLog { samples, rounds }
}

fn found_in(head: &Head, log: &SampleLog, id: &str) -> Vec<Finding> {
    let mut findings = explain(head, log).unwrap().findings;
    findings.retain(|finding| finding.id == id);
    findings
}

fn data(head: &mut Head, arm: &str, disk_bytes: u64) {
    head.data_sizes.push(DataSize {
        cell: "write".into(),
        arm: arm.into(),
        data_bytes: 64 << 20,
        disk_bytes,
        memory_bytes: 256 << 20,
    });
}

#[test]
fn what_is_in_memory_and_what_is_moved_is_known_of_every_arm() {
    let mut head = head(study());
    data(&mut head, "rest", 80 << 20);
    let samples = samples([100.0; 4], |sample| {
        if sample.slice.arm == "rest" {
            moved(sample, 2, 1);
            sample.server.device = Some(DeviceUse {
                busy_ns: sample.load.duration_ns / 4,
                read_bytes: sample.load.duration_ns / 1_000,
                written_bytes: sample.load.duration_ns / 1_000,
                ..DeviceUse::default()
            });
        }
    });
    let results = explain(&head, samples.as_slice()).unwrap();
    assert_eq!(results.storage("write", "plain"), None);
    let row = results.storage("write", "rest").unwrap();
    assert_eq!((row.hit_rate, row.data_to_memory), (Some(0.96), Some(0.25)));
    let moved = (row.pages_read, row.pages_written, row.log_bytes);
    assert_eq!(moved, (Some(2.0), Some(1.0), Some(300.0)));
    let near = |value: Option<f64>, expected: f64| (value.unwrap() / expected - 1.0).abs() < 1e-3;
    let is_near = near(row.device_busy, 0.25) && near(row.device_bytes_per_s, 2e6);
    assert!(is_near, "{row:?}");
}

#[test]
fn reads_from_disk_are_a_suspicion_where_nobody_asked_for_them() {
    let told = |text: &str| {
        let samples = samples([100.0; 4], |sample| moved(sample, 2, 0));
        found(&head(Study::from_toml(text).unwrap()), &samples, "read-from-disk")
    };
    assert_eq!(only(told(AT_REST)).severity, Severity::Suspicion);
    let asked_for = told(&AT_REST.replace("time_s", "storage = { memory_mb = 16 }\ntime_s"));
    assert_eq!(asked_for, []);
    // One page in a thousand that the server asks for.
    let rare = samples([100.0; 4], |sample| {
        moved(sample, 0, 0);
        let read = OPERATIONS as i64 / 20;
        let counters = &mut sample.server.server_counters;
        counters.insert(counter::PAGES_READ.into(), read);
    });
    assert_eq!(found(&head(study()), &rare, "read-from-disk"), []);
}

#[test]
fn no_cost_is_explained_by_pages_that_stay_decrypted_in_memory() {
    let told = |cpu_of_rest: f64, read: u64| {
        let mut head = head(study());
        data(&mut head, "rest", 64 << 20);
        let samples = samples([100.0, 130.0, cpu_of_rest, 130.0], |sample| {
            moved(sample, read, 0)
        });
        found(&head, &samples, "decrypted-in-memory")
    };
    // What the noise of the made-up slices takes from the arm alone.
    let finding = only(told(100.2, 0));
    says(
        &finding.summary,
        "rest has no cost above 2.0 %, because … hit rate 100 %, 0 pages read",
    );
    says(&finding.evidence, "67.1 MB, 0.25 × of memory");
    assert_eq!(told(100.2, 1), [], "pages were read");
    assert_eq!(told(120.0, 0), [], "it costs");
}

#[test]
fn the_cost_is_that_of_the_pages_that_were_read_or_written() {
    let told = |read: u64, written: u64| {
        let samples = samples([100.0, 100.0, 200.0, 200.0], |sample| {
            moved(sample, read, written)
        });
        found(&head(study()), &samples, "cost-per-page")
    };
    // 100 µs more for 20 pages.
    let finding = only(told(20, 0));
    says(
        &finding.summary,
        "costs the server 5.0 µs [5.0, 5.0] for each page read; 20 are read per operation",
    );
    let summary = only(told(0, 10)).summary;
    says(&summary, "10 µs … for each page written; 10 are written");
    let summary = only(told(5, 5)).summary;
    says(
        &summary,
        "for each page read or written; 5 are read and 5 written",
    );
    assert_eq!(told(0, 0), [], "there is nothing to divide by");
}

#[test]
fn pages_that_are_written_later_and_their_cpu_are_those_of_whole_rounds() {
    // In the slices the arm seems to save CPU and writes nothing. All is paid later, and only in every third round.
    let slices = || samples([100.0, 100.0, 80.0, 200.0], |sample| moved(sample, 0, 0));
    let rest = |block: u32| match block % 3 {
        0 => (300.0, 30),
        _ => (110.0, 0),
    };
    let log = in_rounds(slices(), |_, arm, block| match arm {
        "rest" => (rest(block).0, 0, rest(block).1),
        _ => (120.0, 0, 10),
    });
    let head = head(study());
    let results = explain(&head, &log).unwrap();
    let row = results.storage("write", "rest").unwrap();
    assert_eq!(row.pages_written, Some(10.0), "{row:?}");
    // Too lumpy to be sure of 173.3 µs against 120: nothing is said.
    let cost = results
        .estimate("write", "rest", Metric::ServerCpuRoundPerOp)
        .unwrap();
    assert!((cost.change - (520.0 / 360.0 - 1.0)).abs() < 0.01, "{cost:?}");

    let log = in_rounds(slices(), |_, arm, block| match arm {
        "rest" => (150.0 + f64::from(block % 3), 2, 8),
        _ => (121.0, 2, 8),
    });
    // 151 − 121 µs for ten pages.
    let finding = only(found_in(&head, &log, "cost-per-page"));
    says(&finding.summary, "3.0 µs [ … 2 are read and 8 written");
    assert!(
        finding.evidence.contains(Metric::ServerCpuRoundPerOp.label()),
        "{finding:?}"
    );

    // In its slices it costs twice as much, and over whole rounds nothing.
    let dear = samples([100.0, 100.0, 200.0, 200.0], |sample| moved(sample, 0, 10));
    let log = in_rounds(dear, |_, _, block| (200.0 + f64::from(block % 2), 0, 10));
    assert_eq!(found_in(&head, &log, "cost-per-page"), []);
}

#[test]
fn a_device_that_is_full_in_both_arms_explains_why_only_the_cpu_rises() {
    let told = |busy_of_plain: f64, cpu_of_rest: f64| {
        let samples = samples([100.0, 100.0, cpu_of_rest, 100.0], |sample| {
            // As fast as the device lets it be, with a noise of its own.
            sample.load.duration_ns = 1_000_000_000 + u64::from(sample.slice.block * 13 % 7) * 1_000_000;
            let busy = if sample.slice.arm == "plain" {
                busy_of_plain
            } else {
                0.97
            };
            sample.server.device = Some(DeviceUse {
                busy_ns: (sample.load.duration_ns as f64 * busy) as u64,
                read_bytes: 10_000_000,
                written_bytes: 21_000_000,
                ..DeviceUse::default()
            });
        });
        found(&head(study()), &samples, "device-full")
    };
    let finding = only(told(0.99, 150.0));
    says(&finding.summary, "+50 %");
    says(
        &finding.summary,
        "the bottleneck (30.9 MB/s without encryption, 30.9 MB/s with it)",
    );
    assert_eq!(
        told(0.5, 150.0),
        [],
        "the device has more to give without encryption"
    );
    assert_eq!(told(0.99, 100.0), [], "nothing costs CPU");
    says(&finding.summary, "costs at most 5.7 % of the throughput");
}

/// The study on two servers of these libraries.
fn libraries(names: [&str; 2]) -> Head {
    let cell = r#"{ name = "write elsewhere", server = "mariadb-10.2", workload = "oltp_write_only", load = { connections = 8 } }"#;
    let text = AT_REST.replace("cell = [", &format!("cell = [{cell}, "));
    let mut head = head(Study::from_toml(&text).unwrap());
    let first = head.servers[0].clone();
    let server = |number: usize, cell: &str| ServerRecord {
        id: ServerId::numbered(number),
        name: format!("server {number}"),
        product: format!("MariaDB {number}"),
        tls_library: names[number - 1].into(),
        cells: vec![cell.into()],
        ..first.clone()
    };
    head.servers = vec![server(1, "write"), server(2, "write elsewhere")];
    head
}

#[test]
fn the_library_decides_where_the_same_is_asked_of_servers_with_several() {
    let told = |names: [&str; 2]| {
        let head = libraries(names);
        let samples = measured(&head.study, |cell, arm| {
            [
                20.0,
                match (cell, arm) {
                    ("write elsewhere", "rest" | "both") => 160.0,
                    (_, "rest" | "both") => 102.0,
                    _ => 100.0,
                },
            ]
        });
        found(&head, &samples, "crypto-library")
    };
    let finding = only(told(["OpenSSL 3.0.19", "yaSSL 2.4.4"]));
    says(
        &finding.summary,
        "with OpenSSL 3.0.19 (MariaDB 1) it takes 1.8 µs",
    );
    says(&finding.summary, "does not use the CPU's instructions for AES");
    says(
        &finding.summary,
        "the server's library decides: with yaSSL 2.4.4 (MariaDB 2) it takes 60 µs",
    );
    let summary = only(told(["OpenSSL 3.0.19", "wolfSSL 5.7.6"])).summary;
    assert!(!summary.contains("instructions"), "{summary}");
    assert_eq!(
        told(["OpenSSL 3.0.19", "OpenSSL 3.6"]),
        [],
        "the library is the same"
    );
}

#[test]
fn the_library_decides_by_what_is_paid_over_whole_rounds() {
    let told = |yassl_in_rounds: f64| {
        let head = libraries(["OpenSSL 3.0.19", "yaSSL 2.4.4"]);
        // In the slices neither library costs anything.
        let slices = measured(&head.study, |_, _| [20.0, 100.0]);
        let log = in_rounds(slices, |cell, arm, block| {
            let us = match (cell, arm) {
                ("write elsewhere", "rest" | "both") => yassl_in_rounds,
                (_, "rest" | "both") => 112.0,
                _ => 110.0,
            };
            (us * (1.0 + 0.001 * f64::from(block % 3)), 0, 1)
        });
        found_in(&head, &log, "crypto-library")
    };
    let finding = only(told(170.0));
    says(&finding.summary, "with yaSSL 2.4.4 (MariaDB 2) it takes 60 µs");
    assert_eq!(told(112.0), []);
}

#[test]
fn costs_in_transit_and_at_rest_add_up_or_the_interaction_says_by_how_much_not() {
    let told = |both: f64| -> Vec<Finding> {
        let samples = samples([100.0, 150.0, 200.0, both], |_| ());
        found(&head(study()), &samples, "transit-and-rest")
    };
    let of_cpu = |both| {
        let findings = told(both);
        assert_eq!(findings.len(), 2, "{findings:#?}");
        let metric = Metric::ServerCpuPerOp.label();
        findings
            .into_iter()
            .find(|finding| finding.summary.contains(metric))
            .unwrap()
    };
    // 1.5 × 2.0 = 3.0
    let finding = of_cpu(300.0);
    says(&finding.summary, "no deviation found: both against their product");
    says(&finding.evidence, "their product: +199 %");
    let finding = of_cpu(360.0);
    says(&finding.summary, "cost more … product +20 % [");
    let finding = of_cpu(240.0);
    says(&finding.summary, "cost less … product −20 % [");
}

#[test]
fn whether_costs_add_up_is_told_of_whole_rounds() {
    // In the slices they do.
    let slices = samples([100.0, 150.0, 200.0, 300.0], |_| ());
    let log = in_rounds(slices, |_, arm, block| {
        // What is flushed by one round of two is paid for both.
        let flushed = f64::from(block % 2) * 20.0;
        let us = match arm {
            "tls" => 150.0,
            "rest" => 200.0,
            "both" => 360.0,
            _ => 100.0,
        };
        (us - 10.0 + flushed, 0, 0)
    });
    let findings = found_in(&head(study()), &log, "transit-and-rest");
    let metric = Metric::ServerCpuRoundPerOp.label();
    let mut of_cpu = findings.iter().filter(|finding| finding.summary.contains(metric));
    let finding = of_cpu.next().unwrap();
    says(&finding.summary, "cost more … product +20 % [");
}

#[test]
fn cores_are_told_at_a_rate_of_writes_for_what_is_encrypted_at_rest() {
    let samples = samples([100.0, 130.0, 150.0, 180.0], |_| ());
    let capacity = explain(&head(study()), samples.as_slice()).unwrap().capacity;
    assert!(
        capacity
            .iter()
            .all(|row| row.of == Rated::Writes && row.arm != "tls"),
        "{capacity:#?}"
    );
    let of_server = |row: &&ciphertax_records::CapacityRow| row.side == Side::Server && row.arm == "rest";
    let row = capacity.iter().find(of_server).unwrap();
    // 1,000 a second × 50 µs.
    let is_near = (row.extra_cores.value - 0.05).abs() < 0.002 && row.rate == 1_000.0;
    assert!(is_near, "{row:?}");
}

#[test]
fn more_space_on_the_disk_is_told() {
    let told = |arm: &str, disk_bytes: u64| {
        let mut head = head(study());
        head.study.dataset.tables = 2;
        data(&mut head, "plain", 100_000_000);
        data(&mut head, arm, disk_bytes);
        found(&head, &samples([100.0; 4], |_| ()), "space")
    };
    let finding = only(told("rest", 140_000_000));
    says(
        &finding.summary,
        "take 140 MB on the disk instead of 100 MB (+40 %).",
    );
    // The files of two tables may each be a piece longer.
    assert_eq!(told("rest", 108_000_000), []);
    assert_eq!(told("tls", 140_000_000), [], "it encrypts nothing at rest");
}

const LAYERS: &str = r#"
name = "layers"
question = "At which layer?"
time_s = 60
arm = [
    { name = "ext4", transport = "plain", at_rest = { file_system = "ext4" } },
    { name = "own", transport = "plain", at_rest = { tables = true, file_system = "ext4" } },
    { name = "fscrypt", transport = "plain", at_rest = { file_system = "fscrypt" } },
    { name = "gocryptfs", transport = "plain", at_rest = { file_system = "gocryptfs" } },
]
cell = [{ name = "write", workload = "oltp_write_only", load = { connections = 8 } }]
"#;

#[test]
fn the_layer_that_takes_least_is_named_where_it_can_be_told_with_what_it_leaves_readable() {
    let told = |cpu_of_own: f64, cpu_of_fscrypt: f64| {
        let study = Study::from_toml(LAYERS).unwrap();
        let samples = measured(&study, |_, arm| match arm {
            "own" => [20.0, cpu_of_own],
            "fscrypt" => [20.0, cpu_of_fscrypt],
            "gocryptfs" => [20.0, 300.0],
            _ => [20.0, 100.0],
        });
        let mut head = head(study);
        let own = head.arms.iter_mut().find(|arm| arm.name == "own").unwrap();
        let files = |kind: &str, readability| FilesOnDisk {
            kind: kind.into(),
            readability,
        };
        own.sessions = vec![SessionRecord {
            server_id: head.servers[0].id.clone(),
            disk: Some(DiskRecord {
                searched_bytes: 1,
                files: vec![
                    files("files on the disk", Readability::Readable),
                    files("tables", Readability::Encrypted),
                    files("redo log", Readability::Readable),
                ],
            }),
            ..session("none")
        }];
        only(found(&head, &samples, "which-layer"))
    };
    let finding = told(150.0, 110.0);
    assert_eq!(finding.severity, Severity::Advice);
    let beginning = "write: encrypt in the kernel's file system (fscrypt), which takes least CPU";
    assert!(finding.summary.starts_with(beginning), "{finding:?}");
    says(&finding.summary, "own does not encrypt redo log.");
    let places = ["fscrypt: server", "own: server", "gocryptfs: server"]
        .map(|words| finding.evidence.find(words).unwrap());
    assert!(places.is_sorted(), "{finding:?}");
    let finding = told(110.0, 150.0);
    says(&finding.summary, "encrypt in the server itself (own)");
    let alike = told(150.0, 150.0);
    assert_eq!(alike.severity, Severity::Cause);
    says(&alike.summary, "this run cannot tell it from");
}

#[test]
fn a_kernel_that_encrypts_without_the_cpus_instructions_is_named_and_no_other() {
    let told = |driver: Option<&str>| {
        let study = Study::from_toml(LAYERS).unwrap();
        let samples = measured(&study, |_, _| [20.0, 100.0]);
        let mut head = head(study);
        head.kernel_cipher = driver.map(str::to_owned);
        found(&head, &samples, "kernel-cipher")
    };
    let finding = only(told(Some("xts(ecb(aes-fixed-time))")));
    assert_eq!(finding.severity, Severity::Advice);
    let beginning = "fscrypt: this kernel computes AES-XTS without";
    assert!(finding.summary.starts_with(beginning), "{finding:?}");
    let ending = "xts(ecb(aes-fixed-time))";
    assert!(finding.evidence.ends_with(ending), "{finding:?}");
    for driver in [Some("xts-aes-vaes-avx512"), Some("xts(ecb-aes-aesni)"), None] {
        assert_eq!(told(driver), []);
    }
}

#[test]
fn a_file_system_in_user_space_is_never_billed_to_encryption_alone() {
    let study = Study::from_toml(LAYERS).unwrap();
    let samples = measured(&study, |_, arm| match arm {
        "gocryptfs" | "fscrypt" => [20.0, 300.0],
        _ => [20.0, 100.0],
    });
    let mut samples = samples;
    samples.iter_mut().for_each(|sample| moved(sample, 10, 0));
    let told = only(found(&head(study.clone()), &samples, "not-encryption-alone"));
    says(&told.summary, "not in an image");
    says(
        &told.summary,
        "gocryptfs differs from ext4 in more than encryption",
    );
    let per_page = found(&head(study), &samples, "cost-per-page");
    says(&only(per_page).summary, "fscrypt costs the server");
}
