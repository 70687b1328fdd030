//! pgbench, and proof of what it does.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use ciphertax_lab::Installation;
use ciphertax_lab::catalogue::POSTGRESQL;
use ciphertax_model::Transport;

use crate::{Login, PostgresqlGround, Result, child};

/// Asks the server, through pgbench's own connection, what this connection is, and has it note that.
const WORD: &str = "INSERT INTO public.word SELECT concat_ws(' ', version, cipher) FROM pg_stat_ssl \
    WHERE pid = pg_backend_pid();\n";

/// Asks for nothing, so that there is nothing but connections.
const NOTHING: &str = "\\set nothing 1\n";

/// pgbench of the server's own version, with scripts of ours in a folder of its own.
pub struct Pgbench {
    program: PathBuf,
    folder: PathBuf,
}

/// What pgbench does in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// Its own `select-only`.
    SelectOnly,
    /// Its own `tpcb-like`, after which it clears the tables as before every run of its own.
    TpcbLike,
    /// Connects anew for each, and asks for nothing.
    Connect,
    /// Has the server note what the connection is.
    Word,
}

/// What pgbench is to do.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// How it gets in.
    pub login: &'a Login,
    /// What a transaction is.
    pub script: Script,
    /// Connections.
    pub connections: u32,
    /// Threads that serve them.
    pub threads: u32,
}

/// When pgbench ends.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// After so many transactions of every connection.
    Transactions(u64),
    /// After so many seconds.
    Seconds(u32),
}

/// One run.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Transactions.
    pub transactions: u64,
    /// Transactions per second, by its own count.
    pub throughput: f64,
    /// CPU time of the whole process, connecting included.
    pub cpu: Duration,
    /// The system time of it.
    pub system: Duration,
}

impl Pgbench {
    /// Lays out what pgbench wants.
    ///
    /// # Errors
    /// If it is not beside the server, or files cannot be written.
    pub fn set_up(ground: &mut PostgresqlGround) -> Result<Self> {
        let server = Installation::of(&POSTGRESQL)?;
        let program = server.program().with_file_name("pgbench");
        if !program.exists() {
            return Err(format!("there is no {}", program.display()).into());
        }
        let folder = ground.server().folder().join("pgbench");
        fs::create_dir(&folder)?;
        fs::write(folder.join("word.sql"), WORD)?;
        fs::write(folder.join("nothing.sql"), NOTHING)?;
        ground.ask("CREATE TABLE public.word (word TEXT)")?;
        Ok(Self { program, folder })
    }

    /// Name and version.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn version(&self) -> Result<String> {
        let output = child::run(Command::new(&self.program).arg("--version"), "")?.output;
        Ok(output.trim().to_owned())
    }

    /// Protocol version and cipher of its sessions, by the server's word; empty for a session in plaintext.
    ///
    /// # Errors
    /// If pgbench fails, or its session is not what the transport says.
    pub fn servers_word(&self, ground: &mut PostgresqlGround, login: &Login) -> Result<String> {
        ground.ask("TRUNCATE public.word")?;
        let call = Call {
            login,
            script: Script::Word,
            connections: 1,
            threads: 1,
        };
        self.run(&call, Limit::Transactions(1))?;
        let word = ground.ask("SELECT word FROM public.word")?;
        if word.starts_with(login.transport.tls_version().map_or("", |version| version.name()))
            && word.is_empty() != login.transport.is_encrypted()
        {
            return Ok(word);
        }
        Err(format!("{}: pgbench has {word:?}", login.transport).into())
    }

    /// One run.
    ///
    /// # Errors
    /// If it fails, or its report cannot be read.
    pub fn run(&self, call: &Call<'_>, limit: Limit) -> Result<Run> {
        let mut command = self.command(call.login);
        match limit {
            Limit::Transactions(count) => command.arg(format!("--transactions={count}")),
            Limit::Seconds(seconds) => command.arg(format!("--time={seconds}")),
        };
        command.args([
            format!("--client={}", call.connections),
            format!("--jobs={}", call.threads),
            "--protocol=prepared".to_owned(),
        ]);
        command.args(self.script(call.script));
        let finished = child::run(&mut command, "")?;
        let report = &finished.output;
        let unreadable = || format!("pgbench did not count what it did:\n{report}");
        Ok(Run {
            transactions: transactions(report).ok_or_else(unreadable)?,
            throughput: throughput(report).ok_or_else(unreadable)?,
            cpu: finished.cpu,
            system: finished.system,
        })
    }

    /// Makes its tables of this scale, and tells how long that took.
    ///
    /// # Errors
    /// If it fails.
    pub fn initialize(&self, login: &Login, scale: u32) -> Result<Duration> {
        let mut command = self.command(login);
        command.args(["--initialize", "--quiet", &format!("--scale={scale}")]);
        let began = Instant::now();
        child::run(&mut command, "")?;
        Ok(began.elapsed())
    }

    fn script(&self, script: Script) -> Vec<OsString> {
        let file = |name: &str| {
            let mut option = OsString::from("--file=");
            option.push(self.folder.join(name));
            option
        };
        match script {
            Script::SelectOnly => vec!["--builtin=select-only".into(), "--no-vacuum".into()],
            Script::TpcbLike => vec!["--builtin=tpcb-like".into()],
            Script::Connect => vec!["--connect".into(), "--no-vacuum".into(), file("nothing.sql")],
            Script::Word => vec!["--no-vacuum".into(), file("word.sql")],
        }
    }

    /// What it asks its environment for, and no more: anybody can read a command line.
    fn command(&self, login: &Login) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("PGHOST", &login.host)
            .env("PGPORT", login.port.to_string())
            .env("PGUSER", &login.user)
            .env("PGPASSWORD", &login.password)
            .env("PGDATABASE", &login.database);
        match (&login.ca_file, login.transport) {
            (Some(ca_file), transport) if transport != Transport::Plain => command
                .env("PGSSLMODE", "verify-full")
                .env("PGSSLROOTCERT", ca_file)
                .env("PGSSLMINPROTOCOLVERSION", "TLSv1.3"),
            _ => command.env("PGSSLMODE", "disable"),
        };
        command
    }
}

/// What follows these words in a report.
fn after<'a>(report: &'a str, words: &str) -> Option<&'a str> {
    report.lines().find_map(|line| line.trim().strip_prefix(words))
}

fn transactions(report: &str) -> Option<u64> {
    let count = after(report, "number of transactions actually processed: ")?;
    count.split('/').next()?.parse().ok()
}

fn throughput(report: &str) -> Option<f64> {
    after(report, "tps = ")?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_report() {
        let report = "pgbench (15.18)\nnumber of transactions actually processed: 10/10\n\
            latency average = 0.250 ms\ntps = 3996.802 (without initial connection time)\n";
        assert_eq!(transactions(report), Some(10));
        assert_eq!(throughput(report), Some(3996.802));
        assert_eq!(
            transactions("number of transactions actually processed: 7\n"),
            Some(7)
        );
        assert_eq!(throughput("pgbench: error: connection refused"), None);
    }
}
