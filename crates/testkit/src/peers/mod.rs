//! Programs beside which ciphertax is tested and measured, and the CPU time that they used. Benchmarks start them too, so
//! what goes wrong is an error here and no panic.

mod pgbench;
mod sysbench;

use std::error::Error;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::process::{Command, Stdio};

use ciphertax_base::CpuTime;

pub use pgbench::{Pgbench, PgbenchCall, PgbenchScript};
pub use sysbench::{Sysbench, SysbenchCall};

/// Result of starting a program; its errors are for a reader alone.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What a program left.
pub struct Finished {
    /// Its standard output.
    pub output: String,
    /// CPU time of the whole process from its start to its end, all threads together.
    pub cpu: CpuTime,
}

/// When a peer ends.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// After so many transactions; pgbench takes them as those of every connection.
    Transactions(u64),
    /// After so many seconds.
    Seconds(u32),
}

/// One run of a peer.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Transactions.
    pub transactions: u64,
    /// Transactions per second, by its own count.
    pub throughput: f64,
    /// Statements, if it counts them.
    pub statements: Option<u64>,
    /// CPU time of the whole process, connecting included.
    pub cpu: CpuTime,
}

/// Runs a program to its end with `input` on its standard input. Its standard error goes to ours.
pub fn run_program(command: &mut Command, input: &str) -> Result<Finished> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name} cannot be started: {error}; scripts/setup.sh installs it"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let mut output = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut output)?;
    }
    let (status, cpu) = reap(child.id())?;
    if status != 0 {
        return Err(format!("{name} failed (wait status {status}):\n{output}").into());
    }
    Ok(Finished { output, cpu })
}

/// Waits for the end of a child. Returns its wait status, and its CPU time.
fn reap(pid: u32) -> io::Result<(i32, CpuTime)> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: writes to `status` and `usage`, which outlive the call.
    if unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) } != pid {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeros is a valid value too, so it was valid before the call.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec).unsigned_abs() * 1000;
    let (user_ns, system_ns) = (ns(usage.ru_utime), ns(usage.ru_stime));
    let total_ns = user_ns + system_ns;
    Ok((status, CpuTime { total_ns, system_ns }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_works_is_billed_and_heard() {
        let spin = "read word; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo $word";
        let finished = run_program(Command::new("sh").args(["-c", spin]), "hello\n").unwrap();
        assert_eq!(finished.output, "hello\n");
        assert!(finished.cpu.total_ns > 0);
    }

    #[test]
    fn a_program_that_fails_is_an_error_with_its_output() {
        let error = run_program(Command::new("sh").args(["-c", "echo why; exit 3"]), "")
            .err()
            .unwrap();
        assert!(error.to_string().contains("why"), "{error}");
    }
}
