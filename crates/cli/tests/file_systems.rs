//! Arms whose servers lie on file systems that encrypt, and on those they are compared with, through the whole command.

use ciphertax_lab::file_system;
use ciphertax_model::FileSystem;

use crate::common::*;
use crate::ordinary_user::finish_as_ordinary_user;

/// More data than memory, which is read through the page cache.
const STUDY: &str = r#"
name = "layers"
question = "What does a file system cost that encrypts?"
server = "postgresql"
time_s = 30
slice_s = 0.3
storage = { memory_mb = 8 }
dataset = { tables = 1, table_size = 60000, distribution = "uniform" }
arm = [
    { name = "ext4", transport = "plain", at_rest = { file_system = "ext4" } },
    { name = "fscrypt", transport = "plain", at_rest = { file_system = "fscrypt" } },
    { name = "gocryptfs", transport = "plain", at_rest = { file_system = "gocryptfs" } },
]
cell = [{ name = "read", workload = "oltp_point_select", load = { connections = 2 } }]
"#;

const ARMS: [&str; 3] = ["ext4", "fscrypt", "gocryptfs"];

fn what_lies_on_the_disk_is_proved(run: &Run) {
    for (arm, readability, searched) in [
        ("ext4", Readable, "its image"),
        ("fscrypt", Encrypted, "its image"),
        ("gocryptfs", Encrypted, "the folder beneath it"),
    ] {
        let session = session(run, arm);
        let disk = session.disk.as_ref().unwrap();
        assert_eq!(disk.of("files on the disk"), Some(readability), "{arm}");
        assert_eq!(disk.of("names of files"), Some(readability), "{arm}");
        let of_disk: Vec<&str> = session
            .proofs
            .iter()
            .filter(|proof| proof.witness == Witness::Disk)
            .map(|proof| proof.evidence.as_str())
            .collect();
        let holds = of_disk.iter().any(|evidence| evidence.contains(searched));
        assert!(holds, "{of_disk:?}");
        let kernel = if arm == "gocryptfs" {
            "fuse.gocryptfs"
        } else {
            "ext4"
        };
        let holds = of_disk.iter().any(|evidence| evidence.contains(kernel));
        assert!(holds, "{of_disk:?}");
    }
}

fn whoever_works_for_a_file_system_is_metered(run: &Run) {
    let measured = |arm: &str, metric| {
        let mut rows = run.results.measurements.iter();
        rows.find(|row| row.arm == arm && row.metric == metric)
            .map(|row| row.value)
    };
    let own = ARMS.map(|arm| {
        let own = measured(arm, Metric::FileSystemCpuPerOp);
        own.unwrap_or_else(|| panic!("{arm}: {:#?}", run.results.measurements))
    });
    // Every page passes the daemon; a journal has next to nothing to do while nobody writes.
    assert!(own[2] > own[0] && own[2] > own[1], "{own:?}");
    for arm in ARMS {
        assert!(measured(arm, Metric::KernelWorkersCpuPerOp).is_some(), "{arm}");
    }
}

/// What a server has not in its own memory: as much in every arm, however its file system heeds the wish to go past the kernel's.
fn pages_come_from_the_disk(sandbox: &Sandbox, run: &Run) {
    let samples = samples(&sandbox.run());
    let row = run.results.storage("read", "ext4").unwrap();
    assert!(row.data_to_memory.unwrap() > 1.0, "{row:?}");
    let most = row.data_bytes.unwrap() / 4;
    for sample in &samples {
        let left = sample.left_cached.unwrap();
        assert!(left < most, "{}: {left} of {row:?}", sample.slice.arm);
    }
    let read = ARMS.map(|arm| {
        let mut rows = run.results.measurements.iter();
        let read = rows.find(|row| row.arm == arm && row.metric == Metric::StorageReadPerOp);
        read.unwrap().value
    });
    // A select reads a page or two, and the kernel some ahead; from its memory it would read none.
    assert!(read.iter().all(|bytes| *bytes > 1_000.0), "{read:?}");
}

#[test]
fn an_ordinary_user_is_refused_fscrypt_with_the_reason() {
    if !is_root() {
        return not_tested("whoever is not root cannot become another user");
    }
    let sandbox = Sandbox::new();
    let study = of_an_ordinary_user().replacen("\"bind\"", "\"fscrypt\"", 1);
    fs::write(sandbox.work().join("study.toml"), study).unwrap();
    let refused = finish_as_ordinary_user(&sandbox, &RUN);
    refused.refuses("fscrypt needs root … or choose gocryptfs, which any user can mount");
    sandbox.expect_nothing_left();
}

const RUN: [&str; 3] = ["run", "study.toml", "--out=run"];

/// What any user can have, with all data in memory.
fn of_an_ordinary_user() -> String {
    let (head, cell) = STUDY.split_once("arm = [").unwrap();
    let cell = cell.split_once("cell = [").unwrap().1;
    let head = head
        .replace("memory_mb = 8", "memory_mb = 64")
        .replace("60000", "1000")
        .replace("time_s = 30", "time_s = 3");
    format!(
        "{head}arm = [{{ name = \"disk\", transport = \"plain\" }}, \
         {{ name = \"other\", transport = \"plain\", at_rest = {{ file_system = \"bind\" }} }}]\ncell = [{cell}"
    )
}

fn session<'a>(run: &'a Run, arm: &str) -> &'a SessionRecord {
    let arm = arm_of(run, arm);
    &arm.sessions[0]
}

mod test_all {
    use super::*;

    #[test]
    fn file_systems_are_proved_metered_and_read_from_the_disk_in_every_arm() {
        for kind in [FileSystem::Fscrypt, FileSystem::Gocryptfs] {
            if let Err(error) = file_system::check(kind) {
                return not_tested(format_args!("{kind}: {error}"));
            }
        }
        let sandbox = Sandbox::new();
        let finished = sandbox.start_study(STUDY, &[]).finish_within(3 * PATIENCE);
        finished.measured();
        sandbox.expect_nothing_left();
        let run = record(&sandbox.run());
        no_slice_failed(&run);
        what_lies_on_the_disk_is_proved(&run);
        whoever_works_for_a_file_system_is_metered(&run);
        pages_come_from_the_disk(&sandbox, &run);

        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let report = words(&sandbox.finish(&["report", "run", "--full"]).stdout);
        for told in [
            "gocryptfs differs from ext4 in more than encryption: each read and write goes through a daemon (FUSE)",
            "s of idle servers before each slice on average, and the kernel",
            "On the running machine the file system decrypts them for whoever has the rights.",
        ] {
            assert!(report.contains(told), "{told}: {report}");
        }
        assert!(report.contains("files on the disk readable encrypted encrypted"));
    }

    #[test]
    fn where_all_fits_into_memory_nothing_is_dropped() {
        let sandbox = Sandbox::new();
        fs::write(sandbox.work().join("study.toml"), of_an_ordinary_user()).unwrap();
        let finished = match is_root() {
            true => finish_as_ordinary_user(&sandbox, &RUN),
            false => sandbox.finish(&RUN),
        };
        finished.measured();
        let samples = samples(&sandbox.run());
        assert!(!samples.is_empty() && samples.iter().all(|sample| sample.left_cached.is_none()));
        sandbox.expect_nothing_left();
    }
}
