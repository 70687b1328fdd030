//! sysbench, on a private MySQL-compatible server.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use ciphertax_lab::PrivateServer;
use ciphertax_model::{CertificateKind, Dataset, Transport};
use ciphertax_supervise::create_private_file;

use super::{Limit, Result, Run, run_program};

/// Where it finds server, user and password: in a file, since anybody can read a command line.
const SETTINGS: &str = "server.cnf";

/// sysbench in a folder of its own.
pub struct Sysbench {
    folder: PathBuf,
}

/// What sysbench is to do.
#[derive(Debug, Clone, Copy)]
pub struct SysbenchCall<'a> {
    /// The scenario, by its name or that of a file in sysbench's folder.
    pub scenario: &'a str,
    /// The tables.
    pub dataset: &'a Dataset,
    /// How bytes travel.
    pub transport: Transport,
    /// Connections, each with a thread of its own.
    pub connections: u32,
}

impl Sysbench {
    /// Lays out what sysbench wants: the password in a file, and certificates of these names in its current folder. Over
    /// TLS it presents one of its own, whether the server asks for it or not.
    pub fn set_up(server: &PrivateServer, database: &str) -> Result<Self> {
        let folder = server.folder().join("sysbench");
        fs::create_dir(&folder)?;
        let missing = "the server has no certificate";
        let own = server
            .client_certificate(CertificateKind::EcdsaP256)?
            .ok_or(missing)?;
        fs::copy(server.ca_file().ok_or(missing)?, folder.join("cacert.pem"))?;
        fs::copy(own.certificate, folder.join("client-cert.pem"))?;
        fs::copy(own.key, folder.join("client-key.pem"))?;
        let settings = settings(server, database);
        create_private_file(&folder.join(SETTINGS))?.write_all(settings.as_bytes())?;
        Ok(Self { folder })
    }

    /// Its folder, where scripts of one's own may be put.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Name and version.
    pub fn version() -> Result<String> {
        let output = run_program(Command::new("sysbench").arg("--version"), "")?.output;
        Ok(output.trim().to_owned())
    }

    /// One run.
    pub fn run(&self, call: &SysbenchCall<'_>, limit: Limit) -> Result<Run> {
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
        let finished = run_program(&mut command, "")?;
        let unreadable = || format!("sysbench did not count what it did:\n{}", finished.output);
        let (transactions, throughput) = count(&finished.output, "transactions:").ok_or_else(unreadable)?;
        let (statements, _) = count(&finished.output, "queries:").ok_or_else(unreadable)?;
        Ok(Run {
            transactions,
            throughput,
            statements: Some(statements),
            cpu: finished.cpu,
        })
    }

    /// sysbench in its folder, which knows the server and this transport.
    pub fn command(&self, transport: Transport) -> Command {
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

fn settings(server: &PrivateServer, database: &str) -> String {
    let address = server.address();
    format!(
        "db-driver=mysql\nmysql-host={}\nmysql-port={}\nmysql-user={}\nmysql-password={}\nmysql-db={database}\n",
        address.ip(),
        address.port(),
        server.user(),
        server.password().expose()
    )
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
