//! Running a program for what it prints.

use std::fmt;
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::stop;
use ciphertax_supervise::child;
use rustix::process::{Pid, Signal, kill_process_group};

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// What it printed is read so long after its end. A child of its own that outlives it may keep its output open for ever.
const AFTERWARDS: Duration = Duration::from_millis(500);
/// So much of what it prints is read.
const MOST_BYTES: u64 = 16 << 20;

/// Why a program printed nothing of use.
#[derive(Debug)]
pub(super) struct Failed {
    /// True if there is no such program.
    pub(super) is_missing: bool,
    words: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

fn failed(words: impl Into<String>) -> Failed {
    Failed {
        is_missing: false,
        words: words.into(),
    }
}

/// What a program prints, which must end well and soon; where it does not, it is killed with all that it started.
///
/// # Errors
/// What went wrong, without its arguments.
pub(super) fn run(words: &[String]) -> Result<String, Failed> {
    run_within(words, PATIENCE)
}

fn run_within(words: &[String], patience: Duration) -> Result<String, Failed> {
    let (program, arguments) = words.split_first().ok_or_else(|| failed("it names no program"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // What it starts is killed with it.
        .process_group(0);
    child::die_with_this_thread(&mut command);
    let mut child = command.spawn().map_err(|error| Failed {
        is_missing: error.kind() == ErrorKind::NotFound,
        words: format!("{program} cannot be started: {error}"),
    })?;
    let output = child.stdout.take().map(Output::read);
    let complaints = child.stderr.take().map(Output::read);
    let deadline = Instant::now() + patience;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Err(error) => return Err(failed(error.to_string())),
            Ok(None) if stop::is_over(deadline) => {
                kill(&mut child);
                return Err(failed(match stop::is_requested() {
                    true => "it was stopped".to_owned(),
                    false => format!("it did not end within {} s", patience.as_secs()),
                }));
            }
            Ok(None) => thread::sleep(Duration::from_millis(1)),
        }
    };
    let deadline = Instant::now() + AFTERWARDS;
    let text = |output: Option<Output>| output.map_or_else(String::new, |output| output.until(deadline));
    let (output, complaints) = (text(output), text(complaints));
    if status.success() {
        return Ok(output);
    }
    let complaint = complaints.lines().last().unwrap_or_default();
    let complaint: String = complaint
        .chars()
        .filter(|char| !char.is_control())
        .take(300)
        .collect();
    Err(failed(format!("{status}: {complaint}")))
}

/// Kills a child that leads a group, and the group.
fn kill(child: &mut Child) {
    // The child was not waited for yet, so the number is its own.
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// What a program prints, read by a thread of its own.
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: thread::JoinHandle<()>,
}

impl Output {
    fn read(source: impl Read + Send + 'static) -> Self {
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
        let kept = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut source = source.take(MOST_BYTES);
            let mut part = [0; 8192];
            // What was read until it broke is judged by its contents.
            while let Ok(count @ 1..) = source.read(&mut part) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&part[..count]);
            }
        });
        Self { bytes, reader }
    }

    /// What is there when all is read, or when it is time.
    fn until(self, deadline: Instant) -> String {
        while !self.reader.is_finished() && !stop::is_over(deadline) {
            thread::sleep(Duration::from_millis(1));
        }
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::within;

    use super::*;

    fn shell(script: &str, patience: Duration) -> Result<String, Failed> {
        run_within(&["sh", "-c", script].map(str::to_owned), patience)
    }

    #[test]
    fn what_a_program_printed_is_there_though_a_child_of_its_own_keeps_its_output_open() {
        let began = Instant::now();
        assert_eq!(shell("echo 5; sleep 3 &", PATIENCE).unwrap(), "5\n");
        assert!(began.elapsed() < Duration::from_secs(3));
        let refused = shell("echo why >&2; sleep 3 & exit 7", PATIENCE).unwrap_err();
        assert_eq!(refused.to_string(), "exit status: 7: why");
    }

    #[test]
    fn one_that_does_not_end_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 60 & echo $! > {}; wait", file.display());
        let refused = shell(&script, Duration::from_secs(1)).unwrap_err();
        assert_eq!(refused.to_string(), "it did not end within 1 s");
        let pid = std::fs::read_to_string(file).unwrap();
        let process = std::path::PathBuf::from(format!("/proc/{}/stat", pid.trim()));
        let has_ended = || {
            let stat = std::fs::read_to_string(&process).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        };
        assert!(within(Duration::from_secs(5), has_ended));
    }

    #[test]
    fn a_program_that_is_not_there_is_told_from_one_that_fails() {
        let missing = run(&["no-such-program-anywhere".to_owned()]).unwrap_err();
        assert!(missing.is_missing && missing.to_string().contains("cannot be started"));
        assert!(!shell("exit 1", PATIENCE).unwrap_err().is_missing);
        assert!(run(&[]).is_err());
    }
}
