//! go-ycsb, and proof of what it does.

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_bench::{GoProgram, MongodbGround, Result, child};
use ciphertax_model::{Arm, YcsbMix, YcsbTable};
use serde::{Deserialize, Serialize};

/// The database that go-ycsb uses; it has no choice.
pub(crate) const DATABASE: &str = "ycsb";

/// go-ycsb, built.
pub(crate) struct GoYcsb(GoProgram);

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

/// What it did.
pub(crate) struct Run {
    /// Operations; inserts of a load.
    pub(crate) operations: u64,
    /// How long they took, by its own clock.
    pub(crate) seconds: f64,
    /// CPU time of the whole process, connecting included.
    pub(crate) cpu: Duration,
    /// Protocol version and cipher of a TLS session; empty in plaintext.
    pub(crate) word: String,
}

/// What its process is told.
#[derive(Serialize)]
struct Task {
    host: String,
    port: u16,
    ca_file: Option<String>,
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
    pub(crate) fn build() -> Result<Self> {
        Ok(Self(GoProgram::build("go-ycsb")?))
    }

    pub(crate) fn versions(&self) -> Result<String> {
        self.0
            .versions(&["github.com/pingcap/go-ycsb", "go.mongodb.org/mongo-driver"])
    }

    /// One run, whose sessions were what the arm says.
    pub(crate) fn run(&self, ground: &mut MongodbGround, call: &Call<'_>) -> Result<Run> {
        let input = serde_json::to_string(&call.task(ground)?)?;
        let before = ground.counters()?;
        let finished = child::run(&mut self.0.command(), &input)?;
        ground.check_since(&before, call.arm, call.threads.into())?;
        let answer: Answer = serde_json::from_str(&finished.output)?;
        if answer.word.is_empty() == call.arm.transport.is_encrypted() || answer.operations == 0 {
            return Err(format!(
                "go-ycsb did {} operations over {:?}",
                answer.operations, answer.word
            )
            .into());
        }
        Ok(Run {
            operations: answer.operations,
            seconds: answer.seconds,
            cpu: finished.cpu,
            word: answer.word,
        })
    }
}

impl Call<'_> {
    fn task(&self, ground: &MongodbGround) -> Result<Task> {
        let address = ground.server().address();
        let ca_file = ground
            .server()
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
        Ok(Task {
            host: address.ip().to_string(),
            port: address.port(),
            ca_file: ca_file
                .map(|path| {
                    path.to_str()
                        .map(ToOwned::to_owned)
                        .ok_or("a path that is no text")
                })
                .transpose()?,
            threads: self.threads,
            load: is_load,
            batch: if is_load { table.batch_size } else { 1 },
            properties,
        })
    }
}
