//! Running a program for what it prints.

use std::fmt;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ciphertax_reactor::stop;
use ciphertax_supervise::{ChildPipe, child};
use rustix::event::{PollFd, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

const PATIENCE: Duration = Duration::from_secs(20);
/// How much it may print, in bytes.
const MOST_BYTES: usize = 16 << 20;
/// How often its end is looked for.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

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
    let mut output = Output::of(child.stdout.take())?;
    let mut complaints = Output::of(child.stderr.take())?;
    let deadline = Instant::now() + patience;
    let status = loop {
        wait([&output, &complaints]);
        let ended = child.try_wait().map_err(|error| failed(error.to_string()))?;
        // What it printed is there when it has ended. A child of its own that outlives it may keep its output open for ever.
        let printed = output.read().and_then(|()| complaints.read());
        if let Some(status) = ended {
            printed?;
            break status;
        }
        let trouble = match printed {
            Err(trouble) => trouble,
            Ok(()) if !stop::is_over(deadline) => continue,
            Ok(()) if stop::is_requested() => failed("it was stopped"),
            Ok(()) => failed(format!("it did not end within {} s", patience.as_secs())),
        };
        kill(&mut child);
        return Err(trouble);
    };
    let (output, complaints) = (output.text(), complaints.text());
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

struct Output {
    pipe: ChildPipe,
    bytes: Vec<u8>,
}

impl Output {
    fn of(pipe: Option<impl Into<OwnedFd>>) -> Result<Self, Failed> {
        Ok(Self {
            pipe: ChildPipe::of(pipe).map_err(|error| failed(error.to_string()))?,
            bytes: Vec::new(),
        })
    }

    fn read(&mut self) -> Result<(), Failed> {
        let room = MOST_BYTES + 1 - self.bytes.len();
        self.pipe.read(room, |bytes| self.bytes.extend_from_slice(bytes));
        match self.bytes.len() {
            ..=MOST_BYTES => Ok(()),
            _ => Err(failed(format!("it prints more than {} MiB", MOST_BYTES >> 20))),
        }
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Waits a moment, or until there is something to read.
fn wait(outputs: [&Output; 2]) {
    let pipes = outputs.into_iter().filter_map(|output| output.pipe.readable());
    let mut pipes: Vec<PollFd<'_>> = pipes.collect();
    // A signal ends it too.
    let _ = poll(&mut pipes, Some(&LOOK));
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::within;
    use rustix::process::kill_process;

    use super::*;

    fn shell(script: &str, patience: Duration) -> Result<String, Failed> {
        run_within(&["sh", "-c", script].map(str::to_owned), patience)
    }

    #[test]
    fn what_a_program_printed_is_there_though_a_child_of_its_own_keeps_its_output_open() {
        let printed = shell("sleep 600 & echo $!", PATIENCE).unwrap();
        let refused = shell("sleep 600 & echo $! >&2; exit 7", PATIENCE).unwrap_err();
        let refused = refused.to_string();
        for child in [Some(printed.trim_end()), refused.strip_prefix("exit status: 7: ")] {
            let child = child.expect(&refused).parse::<i32>().unwrap();
            // It still sleeps, so nobody has waited for it.
            kill_process(Pid::from_raw(child).unwrap(), Signal::KILL).unwrap();
        }
    }

    #[test]
    fn all_that_a_program_printed_is_read_and_no_more_than_it_may_print() {
        let printed = shell(
            "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last",
            PATIENCE,
        )
        .unwrap();
        assert_eq!(printed.len(), 3_000_006);
        assert!(printed.ends_with("x\nlast\n"));
        let refused = shell("yes", PATIENCE).unwrap_err();
        assert_eq!(refused.to_string(), "it prints more than 16 MiB");
    }

    #[test]
    fn one_that_does_not_end_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        let refused = shell(&script, Duration::from_secs(1)).unwrap_err();
        assert_eq!(refused.to_string(), "it did not end within 1 s");
        let pid = std::fs::read_to_string(file).unwrap();
        let process = std::path::PathBuf::from(format!("/proc/{}/stat", pid.trim()));
        let has_ended = || {
            let stat = std::fs::read_to_string(&process).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        };
        assert!(within(ciphertax_testkit::PATIENCE, has_ended));
    }

    #[test]
    fn a_program_that_is_not_there_is_told_from_one_that_fails() {
        let missing = run(&["no-such-program-anywhere".to_owned()]).unwrap_err();
        assert!(missing.is_missing && missing.to_string().contains("cannot be started"));
        assert!(!shell("exit 1", PATIENCE).unwrap_err().is_missing);
        assert!(run(&[]).is_err());
    }
}
