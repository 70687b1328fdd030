//! A MariaDB that ciphertax and sysbench ask in turns, and proof of what sysbench's sessions are.

use std::fs;
use std::time::Duration;

use ciphertax_bench::{Document, Figures, MariadbGround, Measured, Result, Slice, TABLES, in_turns};
use ciphertax_engine::Engine;
use ciphertax_model::{TlsLibrary, Transport};
use ciphertax_testkit::peers::{Limit, Run, Sysbench, SysbenchCall, run_program};
use ciphertax_workload::dataset::SCHEMA;

/// Asks the server, through sysbench's own connection, what this connection is.
const WORD: &str = r"
function event()
   local connection = sysbench.sql.driver():connect()
   local _, version = connection:query_row([[SHOW SESSION STATUS LIKE 'Ssl_version']])
   local _, cipher = connection:query_row([[SHOW SESSION STATUS LIKE 'Ssl_cipher']])
   print(string.format('word: %s %s', version or '', cipher or ''))
end
";

/// The server's counter of prepared statements that it executed.
pub(crate) const EXECUTED: &str = "Com_stmt_execute";

/// The server, and sysbench.
pub(crate) struct BesideSysbench {
    pub(crate) ground: MariadbGround,
    pub(crate) sysbench: Sysbench,
    /// Length of one turn.
    seconds: u32,
    repeats: u32,
}

impl BesideSysbench {
    /// Starts the server, makes sure that the sessions of both are what each transport says, and adds what they are.
    pub(crate) fn prepare(document: &mut Document, seconds: u32, repeats: u32) -> Result<Self> {
        let ground = MariadbGround::prepare()?;
        let sysbench = Sysbench::set_up(&ground.server, &SCHEMA)?;
        fs::write(sysbench.folder().join("word.lua"), WORD)?;
        document.fact("MariaDB", &ground.identity);
        document.fact("sysbench", Sysbench::version()?);
        let beside = Self {
            ground,
            sysbench,
            seconds,
            repeats,
        };
        for transport in [Transport::Plain, Transport::Tls13] {
            let word = beside.servers_word(transport)?;
            document.fact(&format!("{transport}, by MariaDB's word"), word);
        }
        Ok(beside)
    }

    /// What the sessions of both are, by the server's word.
    fn servers_word(&self, transport: Transport) -> Result<String> {
        let mut command = self.sysbench.command(transport);
        command.args(["--threads=1", "--events=1", "--time=0", "word.lua", "run"]);
        let output = run_program(&mut command, "")?.output;
        let theirs = output
            .lines()
            .find_map(|line| line.strip_prefix("word:"))
            .ok_or_else(|| format!("sysbench did not ask the server:\n{output}"))?
            .trim();
        let ours = self.ground.servers_word(transport)?;
        if ours != theirs || ours.is_empty() == transport.is_encrypted() {
            return Err(format!("{transport}: ciphertax has {ours:?}, sysbench {theirs:?}").into());
        }
        Ok(match ours.as_str() {
            "" => "both in plaintext".to_owned(),
            word => format!("both {word}"),
        })
    }

    /// Measures in turns ciphertax, by an arm of the engine for each of these libraries, and sysbench, whose figures are the
    /// last. `counter` of the server must have grown by the operations of ciphertax at least.
    pub(crate) fn compare(
        &mut self,
        what: &str,
        (engine, libraries): (&mut Engine, &[TlsLibrary]),
        call: &SysbenchCall<'_>,
        counter: &str,
    ) -> Result<Vec<Figures>> {
        let ours = libraries
            .iter()
            .map(|library| format!("ciphertax by {}", library.name()));
        let names: Vec<String> = ours.chain(["sysbench".to_owned()]).collect();
        in_turns(what, &names, self.repeats, |index| {
            if index == libraries.len() {
                let start = self.run(call, Limit::Transactions(call.connections.into()))?;
                let run = self.run(call, Limit::Seconds(self.seconds))?;
                return Measured::of_peer(&start, &run);
            }
            let before = self.ground.counter(counter)?;
            let duration = Duration::from_secs(self.seconds.into());
            let slice = Slice::measure(&self.ground.cpu, engine, index, duration)?;
            let (counted, said) = (self.ground.counter(counter)? - before, slice.operations);
            if counted < said {
                let problem = format!("{said} operations are said, MariaDB counted {counted} {counter}");
                return Err(problem.into());
            }
            Ok(slice.turn)
        })
    }

    /// One run of sysbench, whose sessions were what the transport says.
    pub(crate) fn run(&mut self, call: &SysbenchCall<'_>, limit: Limit) -> Result<Run> {
        let before = self.ground.counter("Ssl_accepts")?;
        let run = self.sysbench.run(call, limit)?;
        let accepted = self.ground.counter("Ssl_accepts")? - before;
        let is_right = match call.transport.is_encrypted() {
            true => accepted >= call.connections.into(),
            false => accepted == 0,
        };
        if !is_right {
            let transport = call.transport;
            return Err(format!("{transport}: sysbench made {accepted} TLS sessions").into());
        }
        Ok(run)
    }
}

/// A scenario of sysbench on the table that everybody asks.
pub(crate) fn call(scenario: &str, transport: Transport, connections: u32) -> SysbenchCall<'_> {
    SysbenchCall {
        scenario,
        dataset: &TABLES.dataset,
        transport,
        connections,
    }
}

/// A transport, and the library by which it is encrypted.
pub(crate) fn session(transport: Transport, library: TlsLibrary) -> String {
    match transport.is_encrypted() {
        true => format!("{transport} by {}", library.name()),
        false => transport.to_string(),
    }
}
