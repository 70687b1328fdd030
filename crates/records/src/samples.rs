//! `samples.jsonl`: a line with the version of the format, then one [`Sample`] a line.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::counter::rename_former;
use crate::sample::Sample;

/// The version of the format of `samples.jsonl` that is written. It is read, and so is the one before it, which has no line
/// that says its version.
pub const SAMPLES_SCHEMA: &str = "ciphertax.samples/1";

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
}

/// Samples in memory.
impl Samples for [Sample] {
    fn count(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> io::Result<Cow<'_, Sample>> {
        Ok(Cow::Borrowed(&self[index]))
    }
}

/// The samples in a file. A last line that a crash cut off is passed over.
#[derive(Debug)]
pub struct SampleFile {
    file: File,
    /// Where each line begins, and where the last whole one ends.
    bounds: Vec<u64>,
    /// True if the first line says the version of the format.
    has_version: bool,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Version<'a> {
    #[serde(borrow)]
    schema: Cow<'a, str>,
}

impl SampleFile {
    /// Finds the lines of a file, and reads what version of the format it has.
    ///
    /// # Errors
    /// When it cannot be read, or has a version that this release does not read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let bounds = bounds_of_lines(&mut file)?;
        let mut samples = Self {
            file,
            bounds,
            has_version: false,
        };
        if samples.lines() > 0 {
            let first = samples.line(0)?;
            // A sample has no such field.
            if let Ok(Version { schema }) = serde_json::from_slice(&first) {
                if schema != SAMPLES_SCHEMA {
                    return Err(io::Error::other(format!(
                        "it has the format {schema:?}; this version reads {SAMPLES_SCHEMA:?}"
                    )));
                }
                samples.has_version = true;
            }
        }
        Ok(samples)
    }

    /// All of them, in memory.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn read_all(&self) -> io::Result<Vec<Sample>> {
        (0..self.count())
            .map(|index| self.get(index).map(Cow::into_owned))
            .collect()
    }

    /// The number of the line that the sample at an index is in, from 1.
    pub(crate) fn line_number(&self, index: usize) -> usize {
        index + usize::from(self.has_version) + 1
    }

    fn lines(&self) -> usize {
        self.bounds.len() - 1
    }

    /// A line with its end.
    fn line(&self, index: usize) -> io::Result<Vec<u8>> {
        let (from, to) = (self.bounds[index], self.bounds[index + 1]);
        let mut line = vec![0; usize::try_from(to - from).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut line, from)?;
        Ok(line)
    }
}

impl Samples for SampleFile {
    fn count(&self) -> usize {
        self.lines() - usize::from(self.has_version)
    }

    fn get(&self, index: usize) -> io::Result<Cow<'_, Sample>> {
        let number = self.line_number(index);
        let mut sample: Sample = serde_json::from_slice(&self.line(number - 1)?)
            .map_err(|error| io::Error::other(format!("line {number} cannot be read: {error}")))?;
        if !self.has_version {
            rename_former(&mut sample.server.server_counters);
        }
        Ok(Cow::Owned(sample))
    }
}

/// The line that begins the file.
pub(crate) fn first_line() -> io::Result<Vec<u8>> {
    line_of(&Version {
        schema: SAMPLES_SCHEMA.into(),
    })
}

/// A line of the file, with its end.
pub(crate) fn line_of(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Where each line begins, and where the last whole one ends.
pub(crate) fn bounds_of_lines(file: &mut File) -> io::Result<Vec<u64>> {
    let mut bounds = vec![0];
    let mut chunk = vec![0; CHUNK];
    let mut at = 0;
    loop {
        let length = match file.read(&mut chunk) {
            Ok(0) => return Ok(bounds),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let ends = chunk[..length]
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n');
        bounds.extend(ends.map(|(index, _)| at + index as u64 + 1));
        at += length as u64;
    }
}
