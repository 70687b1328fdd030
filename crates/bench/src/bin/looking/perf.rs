//! `perf record` and `perf script` (<https://perf.wiki.kernel.org>), which come with the kernel.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use ciphertax_bench::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use crate::program::{Program, folder};
use crate::script::{Record, Script};

/// Until it has done what it was told.
const PATIENCE: Duration = Duration::from_secs(20);
/// Until it has unwound what it recorded in a slice.
const UNWINDING: Duration = Duration::from_secs(60);
const DATA: &str = "perf.data";

/// A `perf record` of one process. It is ready before a slice, and records only what it is told to.
pub(crate) struct Recording {
    program: Program,
    control: File,
    answers: File,
    folder: TempDir,
}

/// What one recorded.
pub(crate) struct Recorded(TempDir);

impl Recording {
    /// Starts one of a process, with these options.
    ///
    /// # Errors
    /// If there is no perf, or it does not start.
    pub(crate) fn start(options: &[&str], pid: u32) -> Result<Self> {
        let folder = folder()?;
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let (control, answers) = (path("control"), path("answers"));
        let (data, told, pid) = (path(DATA), format!("fifo:{control},{answers}"), pid.to_string());
        let (control, answers) = (pipe(Path::new(&control))?, pipe(Path::new(&answers))?);
        // Disabled at first. It reads no build ids from what it recorded, and copies no program into the user's home.
        let all = [
            "record",
            "--delay=-1",
            "-B",
            "-N",
            "-o",
            &data,
            "--control",
            &told,
            "-p",
            &pid,
        ];
        let program = Program::start("perf", &[&all, options].concat(), folder.path(), "record")?;
        let mut recording = Self {
            program,
            control,
            answers,
            folder,
        };
        recording.tell("ping")?;
        Ok(recording)
    }

    /// Begins to record.
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.tell("enable")
    }

    /// Ends the recording at once.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.tell("disable")
    }

    /// What was recorded.
    pub(crate) fn finish(mut self) -> Result<Recorded> {
        self.tell("stop")?;
        self.program.finish(PATIENCE, || ())?;
        Ok(Recorded(self.folder))
    }

    /// Gives an order and waits until it was followed.
    fn tell(&mut self, order: &str) -> Result<()> {
        self.control.write_all(format!("{order}\n").as_bytes())?;
        let deadline = Instant::now() + PATIENCE;
        let glance = Timespec {
            tv_sec: 0,
            tv_nsec: 20_000_000,
        };
        while poll(&mut [PollFd::new(&self.answers, PollFlags::IN)], Some(&glance))? == 0 {
            self.program.check_runs()?;
            if Instant::now() > deadline {
                return Err(format!("perf record does not answer to {order:?}").into());
            }
        }
        let mut answer = [0; 64];
        let length = self.answers.read(&mut answer)?;
        match answer[..length].starts_with(b"ack") {
            true => Ok(()),
            false => Err(format!("perf record does not know {order:?}").into()),
        }
    }
}

/// A named pipe, opened for both directions, so that opening waits for nobody.
fn pipe(path: &Path) -> Result<File> {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    Ok(File::options().read(true).write(true).open(path)?)
}

impl Recorded {
    /// Has its stacks unwound and named, and calls `each` for what was recorded, in the order of time.
    ///
    /// # Errors
    /// If `perf script` fails or takes too long.
    pub(crate) fn read(&self, options: &[&str], each: impl FnMut(Record)) -> Result<()> {
        let folder = self.0.path();
        let data = folder.join(DATA).to_string_lossy().into_owned();
        let all = ["script", "-i", &data, "--no-inline", "--ns", "--show-lost-events"];
        let fields = ["-F", "tid,time,event,ip,sym,dso"];
        let program = Program::start("perf", &[&all, &fields[..], options].concat(), folder, "script")?;
        program.finish(UNWINDING, || ())?;
        Script::default().read(BufReader::new(File::open(folder.join("script"))?), each)
    }
}

/// Its version.
pub(crate) fn version() -> Result<String> {
    let folder = folder()?;
    Program::start("perf", &["--version"], folder.path(), "version")?.finish(PATIENCE, || ())?;
    Ok(std::fs::read_to_string(folder.path().join("version"))?
        .trim()
        .to_owned())
}
