//! The folder a run leaves: written as it happens, locked meanwhile, and read back.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::files::{RecordError, line_of, unwritable, write_whole};
use crate::head::Head;
use crate::operations::{KeptOperation, Operations};
use crate::run::{Run, first_line, head_from_json};
use crate::sample::Sample;
use crate::samples::{Round, RoundLine, SAMPLES_SCHEMA, SampleFile, SampleLog, cut_to_whole_lines};
use crate::why::{LookFiles, LookWriter};

const RUN: &str = "run.json";
pub(crate) const SAMPLES: &str = "samples.jsonl";
pub(crate) const OPERATIONS: &str = "operations.csv";

/// A run folder being written.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Locked, so that nobody takes up a run that is still measured.
    samples: File,
    /// Bytes of the lines that were written as a whole.
    whole: u64,
    /// From the first operation on that is kept.
    operations: Option<Operations>,
    /// What is seen in slices that are looked into. The slice's sample comes first: what was looked into and not measured means
    /// nothing.
    pub look_writer: LookWriter,
}

impl RunFolder {
    /// Makes the folder, which must not exist.
    ///
    /// # Errors
    /// When it exists or cannot be made.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        fs::create_dir(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => RecordError::FolderExists(path.to_owned()),
            _ => unwritable(path)(source),
        })?;
        let file = path.join(SAMPLES);
        let open = || {
            let samples = OpenOptions::new().append(true).create_new(true).open(&file)?;
            lock(&samples)?;
            let whole = begin(&samples)?;
            Ok((samples, whole))
        };
        let (samples, whole) = open().map_err(unwritable(&file))?;
        Ok(Self::reopened(path, samples, whole, LookWriter::new(path)))
    }

    /// Makes the first of `path`, `path-2`, `path-3`, … that does not exist: runs may begin in the same second.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create_first_free(path: &Path) -> Result<Self, RecordError> {
        let mut number = 1;
        loop {
            let mut name = path.as_os_str().to_owned();
            if number > 1 {
                name.push(format!("-{number}"));
            }
            match Self::create(Path::new(&name)) {
                Err(RecordError::FolderExists(_)) => number += 1,
                created => return created,
            }
        }
    }

    /// A folder whose samples are open and locked, and have so many bytes of whole lines.
    pub(crate) fn reopened(path: &Path, samples: File, whole: u64, look_writer: LookWriter) -> Self {
        Self {
            path: path.to_owned(),
            samples,
            whole,
            operations: None,
            look_writer,
        }
    }

    /// Appends a sample: one write of one line, so that a crash loses at most this line. What cannot be written as a whole is
    /// not written.
    ///
    /// # Errors
    /// When it cannot be written, for example because the disk is full.
    pub fn append(&mut self, sample: &Sample) -> Result<(), RecordError> {
        self.append_line(sample)
    }

    /// Appends a round in the same way.
    ///
    /// # Errors
    /// As [`RunFolder::append`].
    pub fn append_round(&mut self, round: &Round) -> Result<(), RecordError> {
        self.append_line(&RoundLine { round })
    }

    fn append_line(&mut self, value: &impl Serialize) -> Result<(), RecordError> {
        let write = |samples: &mut File| {
            let line = line_of(value)?;
            samples.write_all(&line).map(|()| line.len() as u64)
        };
        match write(&mut self.samples) {
            Ok(length) => {
                self.whole += length;
                Ok(())
            }
            Err(source) => {
                // The error of writing matters more than one of tidying up.
                let _ = self.samples.set_len(self.whole);
                Err(unwritable(&self.path.join(SAMPLES))(source))
            }
        }
    }

    /// Appends the single operations of a slice that keeps them.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn keep(&mut self, sample: &Sample, kept: &[KeptOperation]) -> Result<(), RecordError> {
        if kept.is_empty() {
            return Ok(());
        }
        let path = self.path.join(OPERATIONS);
        let operations = match self.operations.take() {
            Some(operations) => Ok(operations),
            None => Operations::open(&path),
        };
        let append = |mut operations: Operations| operations.append(&sample.slice, kept).map(|()| operations);
        let appended = operations.and_then(append).map_err(|source| {
            let _ = cut_to_whole_lines(&path);
            unwritable(&path)(source)
        });
        self.operations = Some(appended?);
        Ok(())
    }

    /// What was seen so far in the slices that were looked into.
    ///
    /// # Errors
    /// As [`Recorded::looks`].
    pub fn looks(&self) -> Result<LookFiles, RecordError> {
        looks_of(&self.path)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder again: a run that measured nothing leaves none.
    pub fn discard(self) {
        // What cannot be removed was reported by the error that led here.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A run that was recorded, to its end or not.
#[derive(Debug)]
pub struct Recorded {
    /// What was asked, where, and of whom.
    pub head: Head,
    /// What was measured. A last line that a crash cut off is passed over.
    pub samples: SampleFile,
    folder: PathBuf,
}

impl Recorded {
    /// Opens a run folder.
    ///
    /// # Errors
    /// When the folder is not that of a run, is damaged, or one of its files is of another version.
    pub fn open(folder: &Path) -> Result<Self, RecordError> {
        Ok(Self {
            head: Self::head(folder)?,
            samples: SampleFile::open(&folder.join(SAMPLES)).map_err(damaged(folder, SAMPLES))?,
            folder: folder.to_owned(),
        })
    }

    /// The head alone.
    ///
    /// # Errors
    /// As for [`Recorded::open`].
    pub fn head(folder: &Path) -> Result<Head, RecordError> {
        if folder.is_file() {
            return Err(RecordError::File(folder.to_owned()));
        }
        let text = fs::read_to_string(folder.join(RUN)).map_err(damaged(folder, RUN))?;
        head_from_json(&text).map_err(|error| damaged(folder, RUN)(io::Error::other(error)))
    }

    /// What was seen in the slices that were looked into; nothing where none was.
    ///
    /// # Errors
    /// When the names of it are damaged. What else is damaged is said where it is read.
    pub fn looks(&self) -> Result<LookFiles, RecordError> {
        looks_of(&self.folder)
    }

    /// Its samples and rounds, all in memory.
    ///
    /// # Errors
    /// When one of them is damaged.
    pub fn read_all(&self) -> Result<SampleLog, RecordError> {
        self.samples.read_all().map_err(damaged(&self.folder, SAMPLES))
    }
}

/// Writes `run.json` into a run folder; readers see the old one or the new one, never half of it.
///
/// # Errors
/// When it cannot be written.
pub fn write_run(folder: &Path, run: &Run) -> Result<(), RecordError> {
    write_whole(&folder.join(RUN), |file| {
        serde_json::to_writer_pretty(&mut *file, run)?;
        file.write_all(b"\n")
    })
}

fn looks_of(folder: &Path) -> Result<LookFiles, RecordError> {
    LookFiles::open(folder).map_err(damaged(folder, "symbols.jsonl"))
}

fn damaged(folder: &Path, file: &'static str) -> impl Fn(io::Error) -> RecordError {
    move |error| {
        let is_there = folder.join(file).exists();
        let (folder, problem) = (folder.to_owned(), format!("{file}: {error}"));
        match is_there {
            true => RecordError::Damaged { folder, problem },
            false => RecordError::NotARun { folder, problem },
        }
    }
}

/// Begins an empty file of samples with the version of its format, and tells how many bytes it has then.
pub(crate) fn begin(mut samples: &File) -> io::Result<u64> {
    let line = first_line(SAMPLES_SCHEMA)?;
    samples.write_all(&line)?;
    Ok(line.len() as u64)
}

/// True if nobody else has locked it. Where files cannot be locked, nobody else is taken to have.
pub(crate) fn lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
