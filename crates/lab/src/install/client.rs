//! Running the programs that fetch and unpack.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{io, thread};

use ciphertax_supervise::child;
use rustix::process::{Pid, Signal, kill_process_group};

use super::Job;
use crate::error::{Error, Result};

/// How often a program is looked after.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How much of what a program says goes into a message, in lines.
const MOST_LINES: usize = 3;

/// What lines of apt-get, Maven, npm and pip begin with that complain.
const MARKS: [&str; 4] = ["E: ", "[ERROR] ", "npm error ", "ERROR: "];

/// A program that fetches or unpacks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    pub(super) program: &'static str,
    pub(super) package: &'static str,
}

pub(super) const APT_GET: Client = Client::new("apt-get", "apt");
pub(super) const APT_CONFIG: Client = Client::new("apt-config", "apt");
pub(super) const DPKG: Client = Client::new("dpkg", "dpkg");
pub(super) const NPM: Client = Client::new("npm", "npm");
pub(super) const MVN: Client = Client::new("mvn", "maven");
pub(super) const GO: Client = Client::new("go", "golang-go");
pub(super) const PYTHON: Client = Client::new("python3", "python3-pip");
pub(super) const TAR: Client = Client::new("tar", "tar");
/// The maintained editor of loader and library paths; it is unpacked with the server and runs from there.
pub(super) const PATCHELF: Client = Client::new("patchelf", "patchelf");

impl Client {
    const fn new(program: &'static str, package: &'static str) -> Self {
        Self { program, package }
    }

    /// A command line that begins with the program.
    pub(super) fn command(self) -> Command {
        Command::new(self.program)
    }

    /// Runs a command in the folder of downloads to its end and returns what it printed. It has no terminal and a
    /// process group of its own, which is killed when the user asks to stop.
    pub(super) fn run(self, job: &Job<'_>, command: &mut Command) -> Result<String> {
        let (out, err) = (job.folder.join("stdout"), job.folder.join("stderr"));
        let create = |path: &Path| File::create(path).map_err(Error::write(path));
        command
            .current_dir(job.downloads())
            .stdin(Stdio::null())
            .stdout(create(&out)?)
            .stderr(create(&err)?)
            .process_group(0);
        // This thread waits for the end, so it lives as long as the program does.
        child::die_with_this_thread(command);
        let status = self.wait(job, command)?;
        let read = |path: &Path| {
            let text = fs::read(path).map_err(Error::read(path))?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        if status.success() {
            return read(&out);
        }
        let said = read(&err)? + &read(&out)?;
        Err(Error::Client {
            program: self.program,
            server: job.entry.name,
            said: complaint(&said).unwrap_or_else(|| format!("nothing ({status})")),
        })
    }

    fn wait(self, job: &Job<'_>, command: &mut Command) -> Result<ExitStatus> {
        let failed = |cause: io::Error| match cause.kind() {
            io::ErrorKind::NotFound => Error::NoClient {
                program: self.program,
                package: self.package,
                server: job.entry.name,
            },
            _ => Error::Spawn {
                program: self.program.into(),
                cause,
            },
        };
        let mut process = command.spawn().map_err(failed)?;
        loop {
            if let Some(status) = process.try_wait().map_err(failed)? {
                return Ok(status);
            }
            if job.stop.load(Ordering::Relaxed) {
                let _ = kill_process_group(Pid::from_child(&process), Signal::KILL);
                let _ = process.wait();
                return Err(Error::Stopped);
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

/// The lines that complain, in one line; where none is marked as one, the last lines.
fn complaint(text: &str) -> Option<String> {
    // Maven resets colours even when told to use none.
    let text = text.replace("\u{1b}[0m", "");
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let marked: Vec<&str> = lines
        .iter()
        .filter_map(|line| MARKS.iter().find_map(|mark| line.strip_prefix(mark)))
        .take(MOST_LINES)
        .collect();
    let chosen = match marked.is_empty() {
        true => &lines[lines.len().saturating_sub(MOST_LINES)..],
        false => &marked,
    };
    (!chosen.is_empty()).then(|| chosen.join(" | "))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ciphertax_testkit::{PATIENCE, says, within};

    use super::*;
    use crate::catalogue::MYSQL_5_6;

    const SHELL: Client = Client::new("sh", "dash");

    #[test]
    fn a_failure_is_told_in_the_programs_words_and_a_missing_program_by_its_package() {
        with_job(&AtomicBool::new(false), |job| {
            let mut command = SHELL.command();
            command.args(["-c", "echo second; echo first >&2; exit 3"]);
            says(
                SHELL.run(job, &mut command).unwrap_err(),
                "mysql-5.6 … first | second",
            );

            let missing = Client::new("no-such-program", "nothing");
            says(
                missing.run(job, &mut missing.command()).unwrap_err(),
                "no-such-program … package nothing",
            );
        });
    }

    #[test]
    fn of_all_that_clients_say_the_complaint_is_told() {
        for (text, expected) in [
            (
                "Reading package lists...\nE: Unable to locate package x\n",
                "Unable to locate package x",
            ),
            (
                "\u{1b}[0m[ERROR] Could not find artifact x\n[ERROR] \n\u{1b}[0m\u{1b}[0m",
                "Could not find artifact x",
            ),
            ("npm warn old\nnpm error code ETARGET\n", "code ETARGET"),
            ("one\n\ntwo\nthree\nfour\n", "two | three | four"),
        ] {
            assert_eq!(complaint(text).unwrap(), expected);
        }
        assert_eq!(complaint(" \n"), None);
    }

    #[test]
    fn a_stop_ends_the_program_and_its_children() {
        let stop = AtomicBool::new(false);
        with_job(&stop, |job| {
            let pid_file = job.folder.join("pid");
            let mut command = SHELL.command();
            command
                .args(["-c", "sleep 600 & echo $! > \"$0\"; wait"])
                .arg(&pid_file);
            let error = thread::scope(|scope| {
                scope.spawn(|| {
                    while fs::read_to_string(&pid_file).map_or(true, |text| text.is_empty()) {
                        thread::sleep(LOOK_AGAIN);
                    }
                    stop.store(true, Ordering::Relaxed);
                });
                SHELL.run(job, &mut command).unwrap_err()
            });
            assert!(matches!(error, Error::Stopped), "{error}");
            let child = fs::read_to_string(&pid_file).unwrap();
            let process = Path::new("/proc").join(child.trim()).join("exe");
            assert!(within(PATIENCE, || fs::read_link(&process).is_err()));
        });
    }

    fn with_job(stop: &AtomicBool, test: impl FnOnce(&Job<'_>)) {
        let servers = tempfile::tempdir().unwrap();
        let place = servers.path().join("place");
        let job = Job::begin(&MYSQL_5_6, servers.path(), &place, stop).unwrap();
        test(&job);
    }
}
