//! Slices and rounds as they are kept.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::files::append_to;
use crate::run::check_first_line;
use crate::sample::{QuietPhase, Sample, Yield};
use ciphertax_base::CpuTime;

/// The version of the format of `samples.jsonl`.
pub const SAMPLES_SCHEMA: &str = "ciphertax.samples/2";

/// What the line of a round begins with, and no other.
const ROUND: &[u8] = br#"{"round":"#;

/// Bytes that are looked through at a time for the ends of lines.
const CHUNK: usize = 1 << 16;

/// The samples of a run in the order they were measured. Each is read when it is asked for, as often as it is asked for:
/// the histograms of a long run together may not fit in memory.
pub trait Samples {
    /// How many there are.
    fn count(&self) -> usize;

    /// The sample at an index below [`Samples::count`].
    ///
    /// # Errors
    /// When it cannot be read; names the line.
    fn get(&self, index: usize) -> io::Result<Cow<'_, Sample>>;

    /// What the load yielded in the sample at an index, which may be read in less time than all of it.
    ///
    /// # Errors
    /// When it cannot be read; names the line.
    fn load(&self, index: usize) -> io::Result<Cow<'_, Yield>> {
        Ok(match self.get(index)? {
            Cow::Borrowed(sample) => Cow::Borrowed(&sample.load),
            Cow::Owned(sample) => Cow::Owned(sample.load),
        })
    }

    /// How many rounds there are; none where arms do not differ at rest.
    fn round_count(&self) -> usize;

    /// The round at an index below [`Samples::round_count`], in the order they ended.
    ///
    /// # Errors
    /// When it cannot be read; names the line.
    fn round(&self, index: usize) -> io::Result<Cow<'_, Round>>;
}

/// Samples in memory, of a run without rounds.
impl Samples for [Sample] {
    fn count(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> io::Result<Cow<'_, Sample>> {
        Ok(Cow::Borrowed(&self[index]))
    }

    fn round_count(&self) -> usize {
        0
    }

    fn round(&self, _index: usize) -> io::Result<Cow<'_, Round>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Samples and rounds in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SampleLog {
    /// In the order they were measured.
    pub samples: Vec<Sample>,
    /// In the order they ended.
    pub rounds: Vec<Round>,
}

/// Of a run without rounds.
impl From<Vec<Sample>> for SampleLog {
    fn from(samples: Vec<Sample>) -> Self {
        Self {
            samples,
            rounds: Vec::new(),
        }
    }
}

impl Samples for SampleLog {
    fn count(&self) -> usize {
        self.samples.len()
    }

    fn get(&self, index: usize) -> io::Result<Cow<'_, Sample>> {
        Ok(Cow::Borrowed(&self.samples[index]))
    }

    fn round_count(&self) -> usize {
        self.rounds.len()
    }

    fn round(&self, index: usize) -> io::Result<Cow<'_, Round>> {
        Ok(Cow::Borrowed(&self.rounds[index]))
    }
}

/// The samples in a file. A last line that a crash cut off is passed over.
#[derive(Debug)]
pub struct SampleFile {
    file: File,
    lines: Lines,
    /// The line of each sample, from 0.
    samples: Vec<usize>,
}

#[derive(Debug)]
struct Lines {
    /// Where each begins, and where the last whole one ends.
    bounds: Vec<u64>,
    /// Those that hold rounds, from 0.
    rounds: Vec<usize>,
}

impl SampleFile {
    /// Finds the lines of a file, and reads what version of the format it has.
    ///
    /// # Errors
    /// When it cannot be read, or is of another version.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let lines = Lines::of(&mut file)?;
        let count = lines.bounds.len() - 1;
        let mut samples = Self {
            file,
            lines,
            samples: Vec::new(),
        };
        if count > 0 {
            check_first_line(&samples.line(0)?, SAMPLES_SCHEMA)?;
        }
        let is_round = |line: &usize| samples.lines.rounds.binary_search(line).is_ok();
        samples.samples = (1..count).filter(|line| !is_round(line)).collect();
        Ok(samples)
    }

    /// All of them, in memory.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn read_all(&self) -> io::Result<SampleLog> {
        let samples = (0..self.count()).map(|index| self.get(index).map(Cow::into_owned));
        let rounds = (0..self.round_count()).map(|index| self.round(index).map(Cow::into_owned));
        Ok(SampleLog {
            samples: samples.collect::<io::Result<_>>()?,
            rounds: rounds.collect::<io::Result<_>>()?,
        })
    }

    /// The number of the line that the sample at an index is in, from 1.
    pub(crate) fn line_of_sample(&self, index: usize) -> usize {
        self.samples[index] + 1
    }

    /// The number of the line that the round at an index is in, from 1.
    pub(crate) fn line_of_round(&self, index: usize) -> usize {
        self.lines.rounds[index] + 1
    }

    /// A line with its end.
    fn line(&self, index: usize) -> io::Result<Vec<u8>> {
        let (from, to) = (self.lines.bounds[index], self.lines.bounds[index + 1]);
        let mut line = vec![0; usize::try_from(to - from).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut line, from)?;
        Ok(line)
    }

    fn read<T: DeserializeOwned>(&self, index: usize) -> io::Result<T> {
        serde_json::from_slice(&self.line(index)?)
            .map_err(|error| io::Error::other(format!("line {} cannot be read: {error}", index + 1)))
    }
}

impl Samples for SampleFile {
    fn count(&self) -> usize {
        self.samples.len()
    }

    fn get(&self, index: usize) -> io::Result<Cow<'_, Sample>> {
        Ok(Cow::Owned(self.read(self.samples[index])?))
    }

    fn load(&self, index: usize) -> io::Result<Cow<'_, Yield>> {
        Ok(Cow::Owned(self.read(self.samples[index])?))
    }

    fn round_count(&self) -> usize {
        self.lines.rounds.len()
    }

    fn round(&self, index: usize) -> io::Result<Cow<'_, Round>> {
        let RoundLine { round } = self.read(self.lines.rounds[index])?;
        Ok(Cow::Owned(round))
    }
}

/// The line of a round, by whose only field it is known.
#[derive(Serialize, Deserialize)]
pub(crate) struct RoundLine<R = Round> {
    pub(crate) round: R,
}

impl Lines {
    fn of(file: &mut File) -> io::Result<Self> {
        let mut lines = Self {
            bounds: vec![0],
            rounds: Vec::new(),
        };
        let mut chunk = vec![0; CHUNK];
        // How many bytes of this line, and how many of them are those that a round begins with.
        let (mut length, mut alike) = (0, 0);
        let mut at = 0;
        loop {
            let read = match file.read(&mut chunk) {
                Ok(0) => return Ok(lines),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            for (index, byte) in chunk[..read].iter().enumerate() {
                if *byte == b'\n' {
                    if alike == ROUND.len() {
                        lines.rounds.push(lines.bounds.len() - 1);
                    }
                    lines.bounds.push(at + index as u64 + 1);
                    (length, alike) = (0, 0);
                    continue;
                }
                if length == alike && ROUND.get(alike) == Some(byte) {
                    alike += 1;
                }
                length += 1;
            }
            at += read as u64;
        }
    }
}

/// Bytes up to the end of the last line that is whole.
pub(crate) fn whole_lines(file: &mut File) -> io::Result<u64> {
    let lines = Lines::of(file)?;
    Ok(lines.bounds.last().copied().unwrap_or(0))
}

pub(crate) fn cut_to_whole_lines(path: &Path) -> io::Result<()> {
    let mut file = append_to(path, false)?;
    let whole = whole_lines(&mut file)?;
    file.set_len(whole)
}

/// A round: a block of a cell whose arms have servers of their own because they differ at rest. What a server does between its
/// slices (flushing, purging) is its own arm's, so the clocks of all servers are read at the same point of every round,
/// its end; a round begins where the one before it on the same servers ended, so that no work is lost between two.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Round {
    /// Name of the cell.
    pub cell: String,
    /// Number of the block in its cell, from 0.
    pub block: u32,
    /// Begin, in nanoseconds since the run began.
    pub start_ns: u64,
    /// From the reading at its begin to that at its end, in nanoseconds.
    pub duration_ns: u64,
    /// The quiet phase before the reading at its end.
    pub quiet: QuietPhase,
    /// What each arm's server used.
    pub arms: Vec<RoundOfArm>,
}

impl Round {
    /// When it ended, in nanoseconds since the run began.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// What the server of one arm used in a round. Whatever cannot be seen is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RoundOfArm {
    /// Name of the arm.
    pub arm: String,
    /// CPU time of the server: of its process, or of all in its process tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<CpuTime>,
    /// CPU time of those that work for the file system under its folder alone: a daemon, the journal's thread. Absent where
    /// there is nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system_cpu: Option<CpuTime>,
    /// CPU time in nanoseconds of all the kernel's workers, whomever they worked for, from the begin of the arm's slice to the
    /// end of the quiet phase after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_workers_cpu_ns: Option<u64>,
    /// Bytes that the server fetched from storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// Bytes that the server gave to storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// Differences of the server's own counters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub server_counters: BTreeMap<String, i64>,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_removed_before_others_follow() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("operations.csv");
        for (text, whole) in [("a\nb\nc", "a\nb\n"), ("a\n", "a\n"), ("a", ""), ("", "")] {
            fs::write(&path, text).unwrap();
            cut_to_whole_lines(&path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        }
    }
}
