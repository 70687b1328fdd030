//! go-ycsb, and proof of what it does.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use ciphertax_bench::{MongodbGround, Result};
use ciphertax_model::{Arm, YcsbMix, YcsbTable};
use ciphertax_testkit::peers::{Run, run_program};
use serde::{Deserialize, Serialize};

/// The database that go-ycsb uses; it has no choice.
pub(crate) const DATABASE: &str = "ycsb";

/// Its modules, whose versions are told.
const MODULES: [&str; 2] = ["github.com/pingcap/go-ycsb", "go.mongodb.org/mongo-driver"];

/// go-ycsb, built.
pub(crate) struct GoYcsb(PathBuf);

/// What it is to do.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) arm: &'a Arm,
    pub(crate) table: &'a YcsbTable,
    /// Threads, each with a connection.
    pub(crate) threads: u32,
    pub(crate) part: Part<'a>,
}

/// Which of its phases.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    /// Inserts all records, as many at a time as the table says.
    Load,
    /// Asks for records so many times.
    Run(&'a YcsbMix, u64),
}

/// What its process is told.
#[derive(Serialize)]
struct Task {
    host: String,
    port: u16,
    ca_file: Option<PathBuf>,
    threads: u32,
    load: bool,
    batch: u32,
    properties: BTreeMap<&'static str, String>,
}

/// What its process answers.
#[derive(Deserialize)]
struct Answer {
    operations: u64,
    seconds: f64,
    word: String,
}

impl GoYcsb {
    /// Builds the program in `bench/go-ycsb`, beside the one that runs now.
    pub(crate) fn build() -> Result<Self> {
        let here = env::current_exe()?;
        let program = here.parent().unwrap_or(Path::new(".")).join("go-ycsb");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("go-ycsb");
        eprintln!("building go-ycsb …");
        let mut command = Command::new("go");
        command.current_dir(source).args(["build", "-o"]).arg(&program);
        run_program(&mut command, "").map_err(|error| format!("{error}\ngo-ycsb needs Go 1.24 or later"))?;
        Ok(Self(program))
    }

    /// The versions of Go and of go-ycsb's modules.
    pub(crate) fn versions(&self) -> Result<String> {
        let report = run_program(Command::new("go").args(["version", "-m"]).arg(&self.0), "")?.output;
        let mut versions = vec![report.split_whitespace().nth(1).unwrap_or_default().to_owned()];
        for module in MODULES {
            let version = report
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>())
                .find(|words| words.get(1) == Some(&module))
                .and_then(|words| words.get(2).map(ToString::to_string))
                .ok_or_else(|| format!("go-ycsb was built without {module}"))?;
            let name = module.split_once('/').map_or(module, |(_host, name)| name);
            versions.push(format!("{name} {version}"));
        }
        Ok(versions.join(", "))
    }

    /// One run, whose sessions were what the arm says: by its own clock, with inserts as the transactions of a load; and
    /// protocol version and cipher of a TLS session, empty in plaintext.
    pub(crate) fn run(&self, ground: &mut MongodbGround, call: &Call<'_>) -> Result<(Run, String)> {
        let input = serde_json::to_string(&call.task(ground))?;
        let before = ground.counters()?;
        let finished = run_program(&mut Command::new(&self.0), &input)?;
        ground.check_since(&before, call.arm, call.threads.into())?;
        let answer: Answer = serde_json::from_str(&finished.output)?;
        if answer.word.is_empty() == call.arm.transport.is_encrypted() || answer.operations == 0 {
            return Err(format!(
                "go-ycsb did {} operations over {:?}",
                answer.operations, answer.word
            )
            .into());
        }
        let run = Run {
            transactions: answer.operations,
            throughput: answer.operations as f64 / answer.seconds,
            statements: None,
            cpu: finished.cpu,
        };
        Ok((run, answer.word))
    }
}

impl Call<'_> {
    fn task(&self, ground: &MongodbGround) -> Task {
        let address = ground.server.address();
        let ca_file = ground
            .server
            .ca_file()
            .filter(|_| self.arm.transport.is_encrypted());
        let table = self.table;
        let mut properties = BTreeMap::from([
            ("fieldcount", table.field_count.to_string()),
            ("fieldlength", table.field_length.to_string()),
        ]);
        let mut set = |name, value: String| properties.insert(name, value);
        match self.part {
            Part::Load => {
                set("recordcount", table.record_count.to_string());
            }
            Part::Run(mix, operations) => {
                // It also asks for the record behind the last one of a table of so many.
                set("recordcount", (table.record_count - 1).to_string());
                set("operationcount", operations.to_string());
                set("requestdistribution", mix.distribution.name().to_owned());
                set("readproportion", mix.read.to_string());
                set("updateproportion", mix.update.to_string());
            }
        }
        let is_load = matches!(self.part, Part::Load);
        Task {
            host: address.ip().to_string(),
            port: address.port(),
            ca_file: ca_file.map(Path::to_owned),
            threads: self.threads,
            load: is_load,
            batch: if is_load { table.batch_size } else { 1 },
            properties,
        }
    }
}
