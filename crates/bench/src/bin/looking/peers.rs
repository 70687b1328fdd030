//! The ways of others.

use std::fs;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ciphertax_bench::Result;
use ciphertax_explain::why::categories::Rules;

use crate::gdb;
use crate::looker::{Looker, Seen};
use crate::perf::Recording;
use crate::program::{Program, folder};
use crate::script::Record;

/// `perf record` with options that say what it samples.
pub(crate) struct PerfSamples {
    options: &'static [&'static str],
    recording: Option<Recording>,
}

impl PerfSamples {
    pub(crate) fn with(options: &'static [&'static str]) -> Self {
        Self {
            options,
            recording: None,
        }
    }
}

impl Looker for PerfSamples {
    fn begin(&mut self, server: u32) -> Result<()> {
        let mut recording = Recording::start(self.options, server)?;
        recording.begin()?;
        self.recording = Some(recording);
        Ok(())
    }

    fn end(&mut self, rules: &Rules, seen: &mut Seen) -> Result<()> {
        let mut recording = self.recording.take().ok_or("nothing was begun")?;
        recording.stop()?;
        recording.finish()?.read(&[], |record| match record {
            Record::Sample(sample) => {
                seen.count(rules, &sample.names(), 1);
                seen.complete += u64::from(sample.is_complete());
            }
            Record::Lost(count) => seen.lost += count,
            Record::In { .. } | Record::Out { .. } => {}
        })
    }
}

/// Stacks of all threads by gdb, as pt-pmp takes them: one look a slice, which it begins in the midst of.
#[derive(Default)]
pub(crate) struct GdbLook(Option<JoinHandle<std::result::Result<Look, String>>>);

/// What a look saw.
struct Look {
    printed: String,
    stopped: Duration,
}

/// After the slice has begun.
const LEAD: Duration = Duration::from_millis(50);
/// For reading all symbols of a server and all of its stacks.
const PATIENCE: Duration = Duration::from_secs(30);

impl Looker for GdbLook {
    fn begin(&mut self, server: u32) -> Result<()> {
        // Asked beforehand, so that a machine without it has no slice for it.
        Program::start("gdb", &["--version"], folder()?.path(), "version")?.finish(PATIENCE, || ())?;
        self.0 = Some(thread::spawn(move || {
            thread::sleep(LEAD);
            look(server).map_err(|error| error.to_string())
        }));
        Ok(())
    }

    fn end(&mut self, _rules: &Rules, seen: &mut Seen) -> Result<()> {
        let looking = self.0.take().ok_or("nothing was begun")?;
        let look = looking.join().map_err(|_| "looking by gdb panicked")??;
        for is_complete in gdb::stacks(&look.printed) {
            seen.stacks += 1;
            seen.complete += u64::from(is_complete);
        }
        seen.stopped.push(look.stopped.as_secs_f64());
        Ok(())
    }
}

fn look(server: u32) -> Result<Look> {
    let folder = folder()?;
    let pid = server.to_string();
    let arguments = [
        "-nx",
        "-batch",
        "-p",
        &pid,
        "-ex",
        "set pagination 0",
        "-ex",
        "thread apply all bt",
    ];
    let program = Program::start("gdb", &arguments, folder.path(), "printed")?;
    let (mut last, mut stopped) = (Instant::now(), Duration::ZERO);
    program.finish(PATIENCE, || {
        let now = Instant::now();
        if is_stopped(server) {
            stopped += now - last;
        }
        last = now;
    })?;
    Ok(Look {
        printed: fs::read_to_string(folder.path().join("printed"))?,
        stopped,
    })
}

/// True while a debugger holds a process, by the third field of its `stat`, behind the name in parentheses
/// (<https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>).
fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
    after_name.is_some_and(|rest| rest.starts_with(['t', 'T']))
}
