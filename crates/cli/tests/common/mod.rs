//! What the tests share: a sandbox, the command in it, servers of the "user's own", and looking for traces.

mod command;
pub(crate) mod impostor;
mod own;
mod own_mongodb;
mod own_postgresql;
mod own_server;
mod own_sshd;
mod postgresql_copy;
mod secrets;
mod traces;

use std::process::ExitStatus;

use ciphertax_records::{ArmRecord, SampleFile, VoidRow};
use ciphertax_report::json::schema;
use ciphertax_testkit::processes_with;

pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::ffi::OsString;
pub(crate) use std::fs::File;
pub(crate) use std::io::{Read, Write};
pub(crate) use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
pub(crate) use std::ops::Deref;
pub(crate) use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Child, Command, Stdio};
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use std::sync::{Arc, Mutex, OnceLock, mpsc};
pub(crate) use std::time::{Duration, Instant};
pub(crate) use std::{fs, io, thread};

pub(crate) use ciphertax_base::{Phase, Verified, Witness, counter};
pub(crate) use ciphertax_lab::catalogue::{Entry, MARIADB, MONGODB, MYSQL, POSTGRESQL};
pub(crate) use ciphertax_lab::certificates::{Authority, CertificateFiles};
pub(crate) use ciphertax_lab::postgresql::DATABASE;
pub(crate) use ciphertax_lab::{PrivateServerBuilder, catalogue};
pub(crate) use ciphertax_model::study::BASELINE_AGAIN;
pub(crate) use ciphertax_model::{AuthenticationMethod, CertificateKind, Metric, Study};
pub(crate) use ciphertax_observe::{Meter, ProcessMeter, SocketOwner, listener};
pub(crate) use ciphertax_reactor::Reactor;
pub(crate) use ciphertax_records::Readability::{Encrypted, Readable};
pub(crate) use ciphertax_records::why::{Bound, ProfiledSide};
pub(crate) use ciphertax_records::{
    ArmRole, CpuSource, Recorded, Run, RunStatus, Sample, SessionRecord, VoidReason,
};
pub(crate) use ciphertax_stats::FEWEST_BLOCKS;
pub(crate) use ciphertax_testkit::{
    PATIENCE, cache, command_lines_with, copy_program, fetched, files_with, is_root, not_tested,
    postgresql_programs, processes, rows, says, unpacked_tunnels, within,
};
pub(crate) use ciphertax_wire::mongodb::Login;
pub(crate) use ciphertax_wire::mongodb::bson::{RawArrayBuf, rawdoc};
pub(crate) use rustix::process::{Pid, Signal, kill_process};
pub(crate) use serde_json::Value;

pub(crate) use command::{Finished, Running};
pub(crate) use own::{AnyOwn, Own, measured_in_a_moment, on_each, refused, start_study, study};
pub(crate) use own_mongodb::OwnMongoDb;
pub(crate) use own_postgresql::OwnPostgreSql;
pub(crate) use own_server::OwnServer;
pub(crate) use own_sshd::{OwnSshd, install};
pub(crate) use postgresql_copy::PostgreSqlCopy;
pub(crate) use secrets::no_secret_is_left;
pub(crate) use traces::{poolers_of, servers_of};

/// How long cleaning up may take after ciphertax was killed. The guard alone waits three seconds before it ends a server for good.
pub(crate) const CLEANED_UP: Duration = Duration::from_secs(30);

/// The most memory that a process has had so far, in bytes; `None` once it has ended.
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// Waits for a command's end, and tells how it ended and the most memory that it has had, in bytes.
pub(crate) fn end_and_peak_memory(mut running: Child) -> (ExitStatus, u64) {
    let mut peak = 0;
    loop {
        peak = peak.max(peak_memory(running.id()).unwrap_or(0));
        if let Some(ended) = running.try_wait().unwrap() {
            return (ended, peak);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Set when this is dropped, by a panic too: whoever waits for it does not wait for ever.
pub(crate) struct SetAtTheEnd<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A study of PostgreSQL with so many rows in its table.
pub(crate) fn with_rows(rows: u32) -> String {
    format!(
        r#"
    name = "rows"
    question = "What does TLS cost?"
    server = "postgresql"
    time_s = 2
    dataset = {{ table_size = {rows} }}
    arm = [{{ name = "plain", transport = "plain" }}, {{ name = "tls", transport = "tls1.3" }}]
    cell = [{{ name = "queries", workload = "oltp_point_select", load = {{ connections = 1 }} }}]
"#
    )
}

/// A run of which a slice has failed so goes on, and ends when it is told to.
pub(crate) fn goes_on(sandbox: &Sandbox, running: Running, words: &str) {
    let went_on = within(2 * PATIENCE, || fails_and_goes_on(&sandbox.run(), words));
    running.signal(Signal::INT);
    let finished = running.finish_within(2 * PATIENCE);
    let void = record(&sandbox.run()).results.void;
    assert!(went_on, "{}\n{void:?}", finished.stderr);
    assert_eq!(finished.code, Some(130), "{}", finished.stderr);
    sandbox.expect_nothing_left();
}

/// The certificate of an authority that signed for no server of the test, in a folder of its own.
pub(crate) fn another_ca() -> (tempfile::TempDir, PathBuf) {
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Authority::new(CertificateKind::EcdsaP256)
        .unwrap()
        .issue_for_localhost(elsewhere.path())
        .unwrap();
    (elsewhere, other.ca)
}

/// Folders of one test. Everything that ciphertax makes must be in them, so that what is left can be told.
pub(crate) struct Sandbox {
    root: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("ciphertax-test-")
            .tempdir()
            .unwrap();
        let sandbox = Self { root };
        fs::create_dir(sandbox.temporary()).unwrap();
        fs::create_dir(sandbox.work()).unwrap();
        sandbox
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Where ciphertax works and leaves its runs.
    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// Where it puts private servers.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root().join("tmp")
    }

    /// Where `quick --out run` leaves its run.
    pub(crate) fn run(&self) -> PathBuf {
        self.work().join("run")
    }

    /// The command with these arguments in this sandbox, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> std::process::Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_ciphertax")), arguments)
    }

    /// Any program in this sandbox.
    pub(crate) fn command_of(&self, program: &Path, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(program);
        command
            .args(arguments)
            .current_dir(self.work())
            .env("TMPDIR", self.temporary())
            .env("HOME", self.work())
            .env_remove("CIPHERTAX_PASSWORD")
            .env_remove("CIPHERTAX_KEY_PASSWORD")
            .env_remove("CIPHERTAX_COLUMN_KEY")
            .env_remove("CIPHERTAX_ENCDB_PASSWORD")
            .env_remove("PGPASSWORD")
            .env_remove("PGPASSFILE");
        command
    }

    /// Starts `ciphertax run` of a study with this text, whose run is left in [`Sandbox::run`].
    pub(crate) fn start_study(&self, text: &str, options: &[&str]) -> Running {
        Running::start(self.study(text, options))
    }

    /// The same, not yet started. What was fetched and unpacked is found.
    pub(crate) fn study(&self, text: &str, options: &[&str]) -> std::process::Command {
        // Servers are fetched once where the system has none, and not for every sandbox; a run says why one is not there.
        for entry in [&MONGODB, &POSTGRESQL] {
            if text.contains(&format!("server = \"{}\"", entry.name)) {
                let _ = ciphertax_lab::install(entry, &AtomicBool::new(false), &mut |_| {});
            }
        }
        fs::write(self.work().join("study.toml"), text).unwrap();
        let mut command = self.command(&[&["run", "study.toml", "--out", "run"], options].concat());
        command.env("XDG_CACHE_HOME", cache());
        command
    }

    /// Plays a study to its end, of which nothing is left but its record, with at least so many blocks in every cell.
    pub(crate) fn play(&self, text: &str, blocks: u32) -> (Finished, Run) {
        self.until_measured(blocks, |time| {
            let finished = self.start_study(text, time).finish_within(2 * PATIENCE);
            finished.measured();
            self.expect_nothing_left();
            finished
        })
    }

    /// What `measure` made with its own time; and with four times as much, and then sixteen times, where a hypervisor or other
    /// programs left fewer blocks than these that count.
    pub(crate) fn until_measured<T>(&self, blocks: u32, mut measure: impl FnMut(&[&str]) -> T) -> (T, Run) {
        let mut made = measure(&[]);
        for _ in 0..2 {
            let run = record(&self.run());
            if run.results.cells.iter().all(|cell| cell.blocks >= blocks) {
                break;
            }
            fs::remove_dir_all(self.run()).unwrap();
            made = measure(&[&format!("--time={}", 4.0 * run.head.study.time_s)]);
        }
        (made, record(&self.run()))
    }

    /// Starts the command.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.command(arguments))
    }

    /// Runs the command to its end.
    pub(crate) fn finish(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).finish()
    }

    /// Neither a process nor a file of a private server is there, at the latest after `CLEANED_UP`.
    pub(crate) fn expect_nothing_left(&self) {
        let processes = || processes_with(self.root());
        let in_time = within(CLEANED_UP, || processes().is_empty());
        assert!(in_time, "still running: {:?}", processes());
        let in_time = within(CLEANED_UP, || is_empty(&self.temporary()));
        assert!(in_time, "a folder of a private server is left");
    }
}

/// An arm of a run.
#[track_caller]
pub(crate) fn arm_of<'a>(run: &'a Run, name: &str) -> &'a ArmRecord {
    run.head.arms.iter().find(|arm| arm.name == name).unwrap()
}

/// What proves an arm's sessions, a claim and its evidence a line.
pub(crate) fn claims(run: &Run, name: &str) -> String {
    let proofs = arm_of(run, name).sessions[0].proofs.iter();
    let lines: Vec<String> = proofs
        .map(|proof| format!("{}: {}", proof.claim, proof.evidence))
        .collect();
    lines.join("\n")
}

/// The ways that logins of each arm went in a cell.
pub(crate) fn logins<'a>(run: &'a Run, cell: &str) -> BTreeMap<&'a str, Vec<String>> {
    let rows = run.results.connects.iter().filter(|row| row.cell == cell);
    rows.map(|row| {
        (
            row.arm.as_str(),
            row.logins.keys().map(ToString::to_string).collect(),
        )
    })
    .collect()
}

/// How a study ended that is to be refused: it started no server and left nothing.
pub(crate) fn study_refused(study: &str) -> Finished {
    let sandbox = Sandbox::new();
    let finished = sandbox.start_study(study, &[]).finish();
    assert!(!finished.stderr.contains("Starting a private"), "{finished:?}");
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
    finished
}

/// The record of a run, complete or not: it follows the schema.
pub(crate) fn record(run: &Path) -> Run {
    let text = fs::read_to_string(run.join("run.json")).unwrap();
    follows_the_schema(&serde_json::from_str(&text).unwrap());
    Run::from_json(&text).unwrap()
}

/// Fails if a slice is void for another reason than that the hypervisor had given the CPU to others.
#[track_caller]
pub(crate) fn no_slice_failed(run: &Run) {
    let failed = |row: &&VoidRow| !matches!(row.reason, VoidReason::Steal { .. });
    let failed: Vec<&VoidRow> = run.results.void.iter().filter(failed).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// True if a slice of a run that may still go on failed for a reason with these words, and a later one did not. What the
/// hypervisor does to slices is no failure of theirs.
fn fails_and_goes_on(run: &Path, words: &str) -> bool {
    if !run.join("samples.jsonl").exists() {
        return false;
    }
    let samples = samples_so_far(run);
    let has_failed = |sample: &Sample| match &sample.void {
        Some(reason @ VoidReason::Errors { .. }) => reason.to_string().contains(words),
        _ => false,
    };
    let mut later = samples.iter().skip_while(|sample| !has_failed(sample));
    later.any(|sample| matches!(sample.void, None | Some(VoidReason::Steal { .. })))
}

pub(crate) fn follows_the_schema(record: &Value) {
    follows("run", record);
}

/// Makes sure that a document is what the schema of this name says, and that the schema says anything.
pub(crate) fn follows(name: &str, record: &Value) {
    let schema: Value = serde_json::from_str(&schema(name).unwrap().text()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator
        .iter_errors(record)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert_eq!(faults, Vec::<String>::new());
    assert!(!validator.is_valid(&Value::Object(serde_json::Map::new())));
}

/// All samples; every line must be whole.
pub(crate) fn samples(run: &Path) -> Vec<Sample> {
    let path = run.join("samples.jsonl");
    assert!(fs::read(&path).unwrap().ends_with(b"\n"));
    samples_so_far(run)
}

/// The samples of a run that may have been cut off in the middle of a line.
pub(crate) fn samples_so_far(run: &Path) -> Vec<Sample> {
    let samples = SampleFile::open(&run.join("samples.jsonl")).unwrap();
    samples.read_all().unwrap().samples
}

/// Waits until slices of an arm were looked into, however seldom a busy machine allows it.
pub(crate) fn is_looked_into(run: &Path, arm: &str) {
    let looks = || {
        let samples = samples_so_far(run);
        let looked = samples
            .iter()
            .filter(|sample| sample.is_valid() && sample.look.is_some());
        looked.filter(|sample| sample.slice.arm == arm).count()
    };
    assert!(within(PATIENCE, || looks() >= 3), "{arm}");
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}
