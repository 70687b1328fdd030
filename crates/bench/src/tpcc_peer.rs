//! Other programs that run TPC-C: go-tpc and sysbench-tpcc.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_observe::ProcessCpu;

use crate::{Ground, Result, child};

/// How long it opens connections and prepares statements before anything is counted.
const WARM_UP: Duration = Duration::from_secs(2);

/// The account that peers have: without a password, since they take it on their command lines.
const USER: &str = "peer";

/// One of them, with a schema of its own.
pub struct TpccPeer {
    /// Its name.
    pub name: &'static str,
    program: PathBuf,
    /// What all its calls say.
    arguments: Vec<String>,
    folder: Option<PathBuf>,
    /// Where its tables are.
    schema: &'static str,
    /// What `prepare` is told besides.
    prepare: &'static [&'static str],
}

/// What one of its slices cost, in nanoseconds of CPU time.
pub struct Counted {
    /// Transactions that ended, by the server's count.
    pub transactions: u64,
    /// Statements, by the server's count.
    pub statements: u64,
    /// Of the peer.
    pub client_ns: u64,
    /// Of the server.
    pub server_ns: u64,
    /// How long it took.
    pub seconds: f64,
}

impl TpccPeer {
    /// go-tpc, whose program is `program`; without tables so far.
    pub fn go_tpc(program: &Path, ground: &Ground, warehouses: u32) -> Self {
        let address = ground.server().address();
        let arguments = [
            "tpcc".to_owned(),
            format!("--host={}", address.ip()),
            format!("--port={}", address.port()),
            format!("--user={USER}"),
            "--db=gotpc".into(),
            format!("--warehouses={warehouses}"),
        ];
        Self {
            name: "go-tpc, prepared",
            program: program.to_owned(),
            arguments: arguments.into(),
            folder: None,
            // Its check does not end in minutes.
            schema: "gotpc",
            prepare: &["--no-check"],
        }
    }

    /// sysbench with Percona's scripts of TPC-C, which are in `scripts`; without tables so far.
    pub fn sysbench_tpcc(scripts: &Path, ground: &Ground, warehouses: u32) -> Self {
        let address = ground.server().address();
        let arguments = [
            "./tpcc.lua".to_owned(),
            "--db-driver=mysql".into(),
            format!("--mysql-host={}", address.ip()),
            format!("--mysql-port={}", address.port()),
            format!("--mysql-user={USER}"),
            "--mysql-db=sbtpcc".into(),
            "--tables=1".into(),
            format!("--scale={warehouses}"),
            "--use_fk=0".into(),
            "--time=3600".into(),
        ];
        Self {
            name: "sysbench-tpcc, text",
            program: "sysbench".into(),
            arguments: arguments.into(),
            folder: Some(scripts.to_owned()),
            schema: "sbtpcc",
            prepare: &[],
        }
    }

    /// Removes its tables, if there are any.
    ///
    /// # Errors
    /// The server's own.
    pub fn remove(&self, ground: &mut Ground) -> Result<()> {
        ground.query(&format!("DROP DATABASE IF EXISTS {}", self.schema), 0)?;
        Ok(())
    }

    /// Has it write its tables by four sessions, where there are none. Returns its CPU time.
    ///
    /// # Errors
    /// Its own, and the server's.
    pub fn prepare(&self, ground: &mut Ground) -> Result<Duration> {
        eprintln!("{} writes its tables …", self.name);
        let schema = self.schema;
        let host = ground.server().address().ip();
        for sql in [
            format!("CREATE DATABASE {schema}"),
            format!("CREATE USER IF NOT EXISTS '{USER}'@'{host}' IDENTIFIED BY ''"),
            format!("GRANT ALL ON {schema}.* TO '{USER}'@'{host}'"),
        ] {
            ground.query(&sql, 0)?;
        }
        Ok(child::run(self.command("prepare", 4).args(self.prepare), "")?.cpu)
    }

    fn command(&self, what: &str, terminals: u32) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
            .args(&self.arguments)
            .arg(format!("--threads={terminals}"))
            .arg(what);
        command
    }

    /// Has it run, and counts for so long after it has warmed up: its own CPU clock, and transactions and statements by the
    /// server's word.
    ///
    /// # Errors
    /// If it cannot be started, and the server's.
    pub fn measure(&self, ground: &mut Ground, terminals: u32, time: Duration) -> Result<Counted> {
        let mut command = self.command("run", terminals);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let running = Running(command.spawn()?);
        let client = ProcessCpu::open(running.0.id())?;
        let server = ProcessCpu::open(ground.server().pids()[0])?;
        thread::sleep(WARM_UP);
        let begin = Instant::now();
        let before = (client.read()?, server.read()?, counts(ground)?);
        thread::sleep(time);
        let after = (client.read()?, server.read()?, counts(ground)?);
        Ok(Counted {
            transactions: after.2.0 - before.2.0,
            statements: after.2.1 - before.2.1,
            client_ns: after.0.total_ns - before.0.total_ns,
            server_ns: after.1.total_ns - before.1.total_ns,
            seconds: begin.elapsed().as_secs_f64(),
        })
    }
}

/// Transactions that ended, and statements.
fn counts(ground: &mut Ground) -> Result<(u64, u64)> {
    let transactions = ground.counter("Com_commit")? + ground.counter("Com_rollback")?;
    Ok((transactions, ground.counter("Questions")?))
}

/// A child that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
