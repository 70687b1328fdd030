//! sysbench-tpcc: Percona's scripts of TPC-C for sysbench.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_base::CpuTime;
use ciphertax_bench::{MariadbGround, Measured, Result};
use ciphertax_observe::ProcessMeter;
use ciphertax_testkit::peers::run_program;

/// How long it opens connections and prepares statements before anything is counted.
const WARM_UP: Duration = Duration::from_secs(2);
/// Its account: without a password, since it takes that on its command line.
const USER: &str = "peer";
/// Where its tables are.
const SCHEMA: &str = "sbtpcc";
/// Longer than any turn, after which it is killed.
const LONG_S: u32 = 3600;

/// sysbench with these scripts, and a schema of its own.
pub(crate) struct SysbenchTpcc {
    scripts: PathBuf,
    /// What all its calls say.
    arguments: Vec<String>,
}

impl SysbenchTpcc {
    /// Without tables so far.
    pub(crate) fn new(scripts: &Path, ground: &MariadbGround, warehouses: u32) -> Self {
        let address = ground.server.address();
        let arguments = [
            "./tpcc.lua".to_owned(),
            "--db-driver=mysql".into(),
            format!("--mysql-host={}", address.ip()),
            format!("--mysql-port={}", address.port()),
            format!("--mysql-user={USER}"),
            format!("--mysql-db={SCHEMA}"),
            "--tables=1".into(),
            format!("--scale={warehouses}"),
            "--use_fk=0".into(),
            format!("--time={LONG_S}"),
        ];
        Self {
            scripts: scripts.to_owned(),
            arguments: arguments.into(),
        }
    }

    /// Removes its tables, if there are any.
    pub(crate) fn remove(&self, ground: &mut MariadbGround) -> Result<()> {
        ground.ask(&format!("DROP DATABASE IF EXISTS {SCHEMA}"))?;
        Ok(())
    }

    /// Has it write its tables by four sessions, where there are none. Returns its CPU time.
    pub(crate) fn prepare(&self, ground: &mut MariadbGround) -> Result<CpuTime> {
        eprintln!("sysbench-tpcc writes its tables …");
        let host = ground.server.address().ip();
        for sql in [
            format!("CREATE DATABASE {SCHEMA}"),
            format!("CREATE USER IF NOT EXISTS '{USER}'@'{host}' IDENTIFIED BY ''"),
            format!("GRANT ALL ON {SCHEMA}.* TO '{USER}'@'{host}'"),
        ] {
            ground.ask(&sql)?;
        }
        Ok(run_program(&mut self.command("prepare", 4), "")?.cpu)
    }

    /// Has it run, and counts for so long after it has warmed up: by its own CPU clock, with transactions and statements
    /// by the server's word.
    pub(crate) fn measure(
        &self,
        ground: &mut MariadbGround,
        terminals: u32,
        time: Duration,
    ) -> Result<Measured> {
        let mut command = self.command("run", terminals);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let running = Running(command.spawn()?);
        let client = ProcessMeter::open(running.0.id())?;
        let server = ProcessMeter::open(ground.server.pids()[0])?;
        thread::sleep(WARM_UP);
        let begin = Instant::now();
        let before = (client.cpu()?, server.cpu()?, counts(ground)?);
        thread::sleep(time);
        let after = (client.cpu()?, server.cpu()?, counts(ground)?);
        let transactions = (after.2.0 - before.2.0) as f64;
        if transactions == 0.0 {
            return Err("sysbench-tpcc did not finish a transaction".into());
        }
        let us = |before: u64, after: u64| (after - before) as f64 / 1e3 / transactions;
        Ok(Measured {
            server_us: us(before.1.total_ns, after.1.total_ns),
            throughput: transactions / begin.elapsed().as_secs_f64(),
            statements: (after.2.1 - before.2.1) as f64 / transactions,
            ..Measured::client(us(before.0.total_ns, after.0.total_ns))
        })
    }

    fn command(&self, what: &str, terminals: u32) -> Command {
        let mut command = Command::new("sysbench");
        command
            .current_dir(&self.scripts)
            .args(&self.arguments)
            .arg(format!("--threads={terminals}"))
            .arg(what);
        command
    }
}

/// Transactions that ended, and statements.
fn counts(ground: &mut MariadbGround) -> Result<(u64, u64)> {
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
