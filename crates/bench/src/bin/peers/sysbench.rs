//! sysbench, and proof of what it does.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ciphertax_bench::{Ground, Login, ROWS, Result, child};
use ciphertax_model::Transport;

use crate::client_certificate;

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
pub(crate) struct Sysbench {
    folder: PathBuf,
}

/// One run of `oltp_point_select`.
pub(crate) struct Run {
    /// Queries.
    pub(crate) queries: u64,
    /// Queries per second, by its own count.
    pub(crate) throughput: f64,
    /// CPU time of the whole process, connecting included.
    pub(crate) cpu: Duration,
}

impl Sysbench {
    /// Lays out what sysbench wants: the password in a file, and certificates of these names in its current folder.
    pub(crate) fn set_up(ground: &mut Ground) -> Result<Self> {
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
    pub(crate) fn version() -> Result<String> {
        let output = child::run(Command::new("sysbench").arg("--version"), "")?.output;
        Ok(output.trim().to_owned())
    }

    /// Protocol version and cipher of its sessions, by the server's word; empty for a session in clear.
    pub(crate) fn servers_word(&self, transport: Transport) -> Result<String> {
        let mut command = self.command(transport);
        command.args(["--threads=1", "--events=1", "--time=0", "word.lua", "run"]);
        let output = child::run(&mut command, "")?.output;
        let word = output
            .lines()
            .find_map(|line| line.strip_prefix("word:"))
            .ok_or_else(|| format!("sysbench did not ask the server:\n{output}"))?;
        Ok(word.trim().to_owned())
    }

    /// CPU time of starting, connecting, preparing, one query a connection, and ending.
    pub(crate) fn startup(&self, transport: Transport, connections: u32) -> Result<Duration> {
        let limit = [format!("--events={connections}"), "--time=0".to_owned()];
        Ok(self.point_select(transport, connections, &limit)?.cpu)
    }

    /// Prepared point selects of ids drawn uniformly, for so many seconds.
    pub(crate) fn run(&self, transport: Transport, connections: u32, seconds: u32) -> Result<Run> {
        let limit = ["--events=0".to_owned(), format!("--time={seconds}")];
        self.point_select(transport, connections, &limit)
    }

    fn point_select(&self, transport: Transport, connections: u32, limit: &[String]) -> Result<Run> {
        let mut command = self.command(transport);
        command
            .args(limit)
            .arg(format!("--threads={connections}"))
            .args([
                "--rand-type=uniform",
                "--tables=1",
                &format!("--table-size={ROWS}"),
            ])
            .args(["oltp_point_select", "run"]);
        let finished = child::run(&mut command, "")?;
        let (queries, throughput) = queries(&finished.output)
            .ok_or_else(|| format!("sysbench did not count its queries:\n{}", finished.output))?;
        Ok(Run {
            queries,
            throughput,
            cpu: finished.cpu,
        })
    }

    fn command(&self, transport: Transport) -> Command {
        // On the command line: sysbench 1.0.20 takes `mysql-ssl=off` in a file for `on`.
        let ssl = match transport {
            Transport::Plain => "--mysql-ssl=off",
            Transport::Tls12 | Transport::Tls13 => "--mysql-ssl=on",
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

/// The line `queries: 126021 (41999.53 per sec.)` of sysbench's report.
fn queries(report: &str) -> Option<(u64, f64)> {
    let line = report
        .lines()
        .find_map(|line| line.trim().strip_prefix("queries:"))?;
    let (count, rate) = line.split_once('(')?;
    let rate = rate.split_whitespace().next()?;
    Some((count.trim().parse().ok()?, rate.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_from_the_report() {
        let report = "SQL statistics:\n    queries performed:\n        read:    126021\n    \
            transactions:   126021 (41999.53 per sec.)\n    queries:      126021 (41999.53 per sec.)\n";
        assert_eq!(queries(report), Some((126_021, 41_999.53)));
        assert_eq!(queries("FATAL: unable to connect"), None);
    }
}
