//! pgbench, on a private PostgreSQL.

use std::path::{Path, PathBuf};
use std::process::Command;

use ciphertax_lab::catalogue::POSTGRESQL;
use ciphertax_lab::postgresql::DATABASE;
use ciphertax_lab::{Installation, PrivateServer};
use ciphertax_model::{AuthenticationMethod, Transport};

use super::{Limit, Result, Run, run_program};

/// pgbench of the server's own version.
pub struct Pgbench {
    program: PathBuf,
}

/// What pgbench is to do.
#[derive(Clone, Copy)]
pub struct PgbenchCall<'a> {
    /// The server.
    pub server: &'a PrivateServer,
    /// How it logs in.
    pub method: AuthenticationMethod,
    /// How bytes travel: in plaintext, or by TLS 1.3.
    pub transport: Transport,
    /// What a transaction is.
    pub script: PgbenchScript<'a>,
    /// Connections.
    pub connections: u32,
    /// Threads that serve them.
    pub threads: u32,
}

/// What pgbench does in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PgbenchScript<'a> {
    /// Its own `select-only`.
    SelectOnly,
    /// Its own `tpcb-like`, after which it clears the tables as before every run of its own.
    TpcbLike,
    /// This file's.
    File(&'a Path),
    /// This file's, with a new connection for each transaction.
    Connect(&'a Path),
}

impl Pgbench {
    /// That of the private servers.
    pub fn find() -> Result<Self> {
        let server = Installation::of(&POSTGRESQL)?;
        let program = server.program.with_file_name("pgbench");
        if !program.exists() {
            return Err(format!("there is no {}", program.display()).into());
        }
        Ok(Self { program })
    }

    /// Name and version.
    pub fn version(&self) -> Result<String> {
        let output = run_program(Command::new(&self.program).arg("--version"), "")?.output;
        Ok(output.trim().to_owned())
    }

    /// One run.
    pub fn run(&self, call: &PgbenchCall<'_>, limit: Limit) -> Result<Run> {
        let mut command = self.command(call.server, call.method, call.transport)?;
        match limit {
            Limit::Transactions(count) => command.arg(format!("--transactions={count}")),
            Limit::Seconds(seconds) => command.arg(format!("--time={seconds}")),
        };
        command.args([
            format!("--client={}", call.connections),
            format!("--jobs={}", call.threads),
            "--protocol=prepared".to_owned(),
        ]);
        match call.script {
            PgbenchScript::SelectOnly => command.args(["--builtin=select-only", "--no-vacuum"]),
            PgbenchScript::TpcbLike => command.arg("--builtin=tpcb-like"),
            PgbenchScript::File(path) => command.arg("--no-vacuum").arg("--file").arg(path),
            PgbenchScript::Connect(path) => command.args(["--connect", "--no-vacuum", "--file"]).arg(path),
        };
        let finished = run_program(&mut command, "")?;
        let report = &finished.output;
        let unreadable = || format!("pgbench did not count what it did:\n{report}");
        Ok(Run {
            transactions: transactions(report).ok_or_else(unreadable)?,
            throughput: throughput(report).ok_or_else(unreadable)?,
            statements: None,
            cpu: finished.cpu,
        })
    }

    /// Has it make its tables of this scale, in plaintext.
    pub fn initialize(&self, server: &PrivateServer, method: AuthenticationMethod, scale: u32) -> Result<()> {
        let mut command = self.command(server, method, Transport::Plain)?;
        command.args(["--initialize", "--quiet", &format!("--scale={scale}")]);
        run_program(&mut command, "")?;
        Ok(())
    }

    /// With what it asks its environment for, and no more: anybody can read a command line.
    fn command(
        &self,
        server: &PrivateServer,
        method: AuthenticationMethod,
        transport: Transport,
    ) -> Result<Command> {
        let account = server
            .account(method)
            .ok_or_else(|| format!("the server has no account for {method}"))?;
        let address = server.address();
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("PGHOST", address.ip().to_string())
            .env("PGPORT", address.port().to_string())
            .env("PGUSER", &account.user)
            .env("PGPASSWORD", account.password.expose())
            .env("PGDATABASE", DATABASE);
        if transport.is_encrypted() {
            let ca_file = server.ca_file().ok_or("the server has no certificate")?;
            command
                .env("PGSSLMODE", "verify-full")
                .env("PGSSLROOTCERT", ca_file)
                .env("PGSSLMINPROTOCOLVERSION", "TLSv1.3");
        } else {
            command.env("PGSSLMODE", "disable");
        }
        Ok(command)
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
        let found = transactions("number of transactions actually processed: 7\n");
        assert_eq!(found, Some(7));
        assert_eq!(throughput("pgbench: error: connection refused"), None);
    }
}
