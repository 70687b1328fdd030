//! sysbench, and proof of what it does.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ciphertax_model::{Dataset, Transport};

use crate::{Ground, Login, Result, child, client_certificate};

/// Asks the server, through sysbench's own connection, what this connection is.
const WORD: &str = r"
function event()
   local connection = sysbench.sql.driver():connect()
   local _, version = connection:query_row([[SHOW SESSION STATUS LIKE 'Ssl_version']])
   local _, cipher = connection:query_row([[SHOW SESSION STATUS LIKE 'Ssl_cipher']])
   print(string.format('word: %s %s', version or '', cipher or ''))
end
";

/// Where it finds server, user and password: in a file, since anybody can read a command line.
const SETTINGS: &str = "server.cnf";

/// sysbench in a folder of its own.
pub struct Sysbench {
    folder: PathBuf,
}

/// What sysbench is to do.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The scenario, by its name.
    pub scenario: &'a str,
    /// The tables.
    pub dataset: &'a Dataset,
    /// How bytes travel.
    pub transport: Transport,
    /// Connections, each with a thread of its own.
    pub connections: u32,
}

/// When sysbench ends.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// After so many transactions.
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
    /// Statements.
    pub queries: u64,
    /// CPU time of the whole process, connecting included.
    pub cpu: Duration,
}

impl Sysbench {
    /// Lays out what sysbench wants: the password in a file, and certificates of these names in its current folder.
    ///
    /// # Errors
    /// If files cannot be written, or the server refuses.
    pub fn set_up(ground: &mut Ground) -> Result<Self> {
        let folder = ground.server().folder().join("sysbench");
        fs::create_dir(&folder)?;
        let ca_file = ground
            .server()
            .ca_file()
            .ok_or("the server has no certificate")?
            .to_owned();
        fs::copy(&ca_file, folder.join("cacert.pem"))?;
        let client = client_certificate::issue()?;
        fs::write(folder.join("client-cert.pem"), &client.certificate)?;
        private_file(&folder.join("client-key.pem"))?.write_all(&client.key)?;
        // The server trusts what it finds in the same file as its clients do.
        File::options()
            .append(true)
            .open(&ca_file)?
            .write_all(&client.certificate)?;
        ground.query("FLUSH SSL", 0)?;
        fs::write(folder.join("word.lua"), WORD)?;
        let settings = settings(&ground.login(Transport::Plain));
        private_file(&folder.join(SETTINGS))?.write_all(settings.as_bytes())?;
        Ok(Self { folder })
    }

    /// Name and version.
    ///
    /// # Errors
    /// If sysbench cannot be started.
    pub fn version() -> Result<String> {
        let output = child::run(Command::new("sysbench").arg("--version"), "")?.output;
        Ok(output.trim().to_owned())
    }

    /// Protocol version and cipher of its sessions, by the server's word; empty for a session in plaintext.
    ///
    /// # Errors
    /// If sysbench cannot be started or fails.
    pub fn servers_word(&self, transport: Transport) -> Result<String> {
        let mut command = self.command(transport);
        command.args(["--threads=1", "--events=1", "--time=0", "word.lua", "run"]);
        let output = child::run(&mut command, "")?.output;
        let word = output
            .lines()
            .find_map(|line| line.strip_prefix("word:"))
            .ok_or_else(|| format!("sysbench did not ask the server:\n{output}"))?;
        Ok(word.trim().to_owned())
    }

    /// CPU time of starting, connecting, preparing, one transaction a connection, and ending.
    ///
    /// # Errors
    /// As [`Sysbench::run`].
    pub fn startup(&self, call: &Call<'_>) -> Result<Duration> {
        Ok(self.run(call, Limit::Transactions(call.connections.into()))?.cpu)
    }

    /// One run.
    ///
    /// # Errors
    /// If sysbench cannot be started or fails, or its report cannot be read.
    pub fn run(&self, call: &Call<'_>, limit: Limit) -> Result<Run> {
        let (transactions, seconds) = match limit {
            Limit::Transactions(count) => (count, 0),
            Limit::Seconds(seconds) => (0, seconds),
        };
        let dataset = call.dataset;
        let mut command = self.command(call.transport);
        command.args([
            format!("--threads={}", call.connections),
            format!("--events={transactions}"),
            format!("--time={seconds}"),
            format!("--rand-type={}", dataset.distribution.name()),
            format!("--tables={}", dataset.tables),
            format!("--table-size={}", dataset.table_size),
        ]);
        command.args([call.scenario, "run"]);
        let finished = child::run(&mut command, "")?;
        let unreadable = || format!("sysbench did not count what it did:\n{}", finished.output);
        let (transactions, throughput) = count(&finished.output, "transactions:").ok_or_else(unreadable)?;
        let (queries, _) = count(&finished.output, "queries:").ok_or_else(unreadable)?;
        Ok(Run {
            transactions,
            throughput,
            queries,
            cpu: finished.cpu,
        })
    }

    fn command(&self, transport: Transport) -> Command {
        // On the command line: sysbench 1.0.20 takes `mysql-ssl=off` in a file for `on`.
        let ssl = if transport.is_encrypted() {
            "--mysql-ssl=on"
        } else {
            "--mysql-ssl=off"
        };
        let mut command = Command::new("sysbench");
        command
            .current_dir(&self.folder)
            .arg(format!("--config-file={SETTINGS}"))
            .arg(ssl);
        command
    }
}

fn settings(login: &Login) -> String {
    format!(
        "db-driver=mysql\nmysql-host={}\nmysql-port={}\nmysql-user={}\nmysql-password={}\nmysql-db={}\n",
        login.host, login.port, login.user, login.password, login.database
    )
}

fn private_file(path: &Path) -> std::io::Result<File> {
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// A line such as `queries: 126021 (41999.53 per sec.)` of sysbench's report.
fn count(report: &str, name: &str) -> Option<(u64, f64)> {
    let line = report.lines().find_map(|line| line.trim().strip_prefix(name))?;
    let (count, rate) = line.split_once('(')?;
    let rate = rate.split_whitespace().next()?;
    Some((count.trim().parse().ok()?, rate.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_report() {
        let report = "SQL statistics:\n    queries performed:\n        read:    126021\n    \
            transactions:   7001 (2333.53 per sec.)\n    queries:      126021 (41999.53 per sec.)\n";
        assert_eq!(count(report, "queries:"), Some((126_021, 41_999.53)));
        assert_eq!(count(report, "transactions:"), Some((7001, 2333.53)));
        assert_eq!(count("FATAL: unable to connect", "queries:"), None);
    }
}
