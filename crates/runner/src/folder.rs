//! The folder a run leaves: `run.json` and `samples.jsonl`, written as it happens, and `operations.csv` where a study asks
//! for it.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use ciphertax_engine::KeptOperation;
use ciphertax_records::{Host, Run, RunStatus, SCHEMA, Sample, Tool};

use crate::error::RunError;
use crate::operations::Operations;

const RUN: &str = "run.json";
const SAMPLES: &str = "samples.jsonl";
const OPERATIONS: &str = "operations.csv";

/// Where a run goes.
#[derive(Debug)]
pub enum Destination {
    /// A folder that must not exist.
    New(PathBuf),
    /// The first of `NAME`, `NAME-2`, `NAME-3`, … that does not exist.
    FirstFree(PathBuf),
    /// That of a run that was cut off and goes on.
    Resumed(Box<CutOff>),
}

impl Destination {
    /// The folder, and what it holds of the run already.
    ///
    /// # Errors
    /// When it exists or cannot be made.
    pub(crate) fn open(self) -> Result<(RunFolder, Option<Earlier>), RunError> {
        match self {
            Self::New(path) => Ok((RunFolder::create(&path)?, None)),
            Self::FirstFree(path) => Ok((RunFolder::create_first_free(&path)?, None)),
            Self::Resumed(cut_off) => {
                let CutOff { folder, run, samples } = *cut_off;
                Ok((folder, Some(Earlier { run, samples })))
            }
        }
    }
}

/// A run that was cut off: by a signal, a kill, a full disk, a server that died. Nobody else writes to it while this lives.
#[derive(Debug)]
pub struct CutOff {
    folder: RunFolder,
    run: Run,
    samples: Vec<Sample>,
}

/// What a run that goes on has measured already.
pub(crate) struct Earlier {
    pub(crate) run: Run,
    pub(crate) samples: Vec<Sample>,
}

impl CutOff {
    /// Takes up the run in a folder for `tool`. A last line that a crash cut off is removed.
    ///
    /// # Errors
    /// When it is no run, is complete, is still being measured, or was begun by another version or on another machine.
    pub fn open(path: &Path, tool: &Tool) -> Result<Self, RunError> {
        let refused = |problem: &str| RunError::NotResumable {
            folder: path.to_owned(),
            problem: problem.to_owned(),
        };
        let run = read_head(path)?;
        let file = path.join(SAMPLES);
        let write = |source| RunError::Write {
            path: file.clone(),
            source,
        };
        let samples = OpenOptions::new().append(true).open(&file).map_err(write)?;
        if !lock(&samples).map_err(write)? {
            return Err(refused("another ciphertax still measures it; wait for its end"));
        }
        match &run.status {
            RunStatus::Complete | RunStatus::NotCleanedUp { .. } => {
                return Err(refused(
                    "it has come to its end; `ciphertax report` shows it, and a new run measures more",
                ));
            }
            RunStatus::Running | RunStatus::Partial { .. } => {}
        }
        let host = ciphertax_observe::host();
        if run.tool != *tool {
            let words = |tool: &Tool| format!("{} {} (commit {})", tool.name, tool.version, tool.commit);
            return Err(refused(&format!(
                "it was begun by {}, and this is {}; a run is measured by one version",
                words(&run.tool),
                words(tool)
            )));
        }
        if run.host != host {
            let words = |host: &Host| {
                format!(
                    "{} CPUs {} with {} and Linux {}",
                    host.cpus, host.cpu, host.os, host.kernel
                )
            };
            return Err(refused(&format!(
                "it was begun on a machine with {}, and this one has {}; a run is measured on one machine",
                words(&run.host),
                words(&host)
            )));
        }
        let whole = whole_lines(&file).map_err(write)?;
        samples.set_len(whole).map_err(write)?;
        let operations = path.join(OPERATIONS);
        if operations.exists() {
            cut_to_whole_lines(&operations).map_err(|source| RunError::Write {
                path: operations,
                source,
            })?;
        }
        Ok(Self {
            samples: read_samples_of(path)?,
            folder: RunFolder {
                path: path.to_owned(),
                samples,
                whole,
                operations: None,
            },
            run,
        })
    }

    /// What is known of it: who measured what, where and how.
    pub fn run(&self) -> &Run {
        &self.run
    }
}

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
}

impl RunFolder {
    /// Makes the folder, which must not exist.
    ///
    /// # Errors
    /// When it exists or cannot be made.
    pub fn create(path: &Path) -> Result<Self, RunError> {
        fs::create_dir(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => RunError::FolderExists(path.to_owned()),
            _ => RunError::Write {
                path: path.to_owned(),
                source,
            },
        })?;
        let file = path.join(SAMPLES);
        let samples = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&file)
            .and_then(|samples| lock(&samples).map(|_| samples))
            .map_err(|source| RunError::Write { path: file, source })?;
        Ok(Self {
            path: path.to_owned(),
            samples,
            whole: 0,
            operations: None,
        })
    }

    /// Makes the first of `path`, `path-2`, `path-3`, … that does not exist: runs may begin in the same second.
    fn create_first_free(path: &Path) -> Result<Self, RunError> {
        let mut number = 1;
        loop {
            let mut name = path.as_os_str().to_owned();
            if number > 1 {
                name.push(format!("-{number}"));
            }
            match Self::create(Path::new(&name)) {
                Err(RunError::FolderExists(_)) => number += 1,
                created => return created,
            }
        }
    }

    /// Appends a sample: one write of one line, so that a crash loses at most this line. What cannot be written as a whole is
    /// not written.
    ///
    /// # Errors
    /// When it cannot be written, for example because the disk is full.
    pub fn append(&mut self, sample: &Sample) -> Result<(), RunError> {
        let write = |samples: &mut File| {
            let mut line = serde_json::to_vec(sample)?;
            line.push(b'\n');
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
                Err(RunError::Write {
                    path: self.path.join(SAMPLES),
                    source,
                })
            }
        }
    }

    /// Appends the single operations of a slice that keeps them.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn keep(&mut self, sample: &Sample, kept: &[KeptOperation]) -> Result<(), RunError> {
        if kept.is_empty() {
            return Ok(());
        }
        let path = self.path.join(OPERATIONS);
        let operations = match self.operations.take() {
            Some(operations) => Ok(operations),
            None => Operations::open(&path),
        };
        let append = |mut operations: Operations| operations.append(sample, kept).map(|()| operations);
        let appended = operations.and_then(append).map_err(|source| {
            let _ = cut_to_whole_lines(&path);
            RunError::Write { path, source }
        });
        self.operations = Some(appended?);
        Ok(())
    }

    /// Writes `run.json`; readers see the old one or the new one, never half of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_run(&self, run: &Run) -> Result<(), RunError> {
        write_run(&self.path, run)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder again: a run that measured nothing leaves none.
    pub(crate) fn discard(self) {
        // What cannot be removed was reported by the error that led here.
        let _ = fs::remove_dir_all(&self.path);
    }

    /// Reads a run folder and makes its run again from its samples. A last line that a crash cut off is passed over.
    ///
    /// # Errors
    /// When the folder is not that of a run, or is damaged.
    pub fn load(path: &Path) -> Result<Run, RunError> {
        let run = read_head(path)?;
        Ok(ciphertax_explain::explain(run, &read_samples_of(path)?)?)
    }

    /// Writes a run that was made again into its folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn update(path: &Path, run: &Run) -> Result<(), RunError> {
        write_run(path, run)
    }
}

#[derive(serde::Deserialize)]
struct SchemaOnly {
    schema: String,
}

fn write_run(folder: &Path, run: &Run) -> Result<(), RunError> {
    write_whole(&folder.join(RUN), |file| {
        serde_json::to_writer_pretty(&mut *file, run)?;
        file.write_all(b"\n")
    })
}

/// Writes a file beside its place and then puts it there: readers see the old one or the new one, never half of it.
///
/// # Errors
/// When it cannot be written; then the old one is there, if there was one.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), RunError> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    let draft = path.with_file_name(name);
    let put_there = || {
        let mut file = BufWriter::new(File::create(&draft)?);
        write(&mut file)?;
        // Some file systems tell only now that they are full.
        file.into_inner()?.sync_all()?;
        fs::rename(&draft, path)
    };
    put_there().map_err(|source| {
        let _ = fs::remove_file(&draft);
        RunError::Write {
            path: path.to_owned(),
            source,
        }
    })
}

/// True if nobody else has locked it. Where files cannot be locked, nobody else is taken to have.
fn lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Bytes up to the end of the last line that is whole.
fn whole_lines(path: &Path) -> io::Result<u64> {
    let text = fs::read(path)?;
    let end = text.iter().rposition(|byte| *byte == b'\n');
    Ok(end.map_or(0, |end| end as u64 + 1))
}

fn cut_to_whole_lines(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .open(path)?
        .set_len(whole_lines(path)?)
}

/// Reads `run.json`.
fn read_head(folder: &Path) -> Result<Run, RunError> {
    let not_a_run = |problem: String| RunError::NotARun {
        folder: folder.to_owned(),
        problem: format!("{RUN}{problem}"),
    };
    let unreadable = |error: &dyn fmt::Display| not_a_run(format!(": {error}"));
    let text = fs::read_to_string(folder.join(RUN)).map_err(|error| unreadable(&error))?;
    let schema: SchemaOnly = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
    if schema.schema != SCHEMA {
        return Err(not_a_run(format!(
            " has the format {:?}; this version reads {SCHEMA:?}",
            schema.schema
        )));
    }
    serde_json::from_str(&text).map_err(|error| unreadable(&error))
}

fn read_samples_of(folder: &Path) -> Result<Vec<Sample>, RunError> {
    read_samples(&folder.join(SAMPLES)).map_err(|error| RunError::NotARun {
        folder: folder.to_owned(),
        problem: format!("{SAMPLES}: {error}"),
    })
}

fn read_samples(path: &Path) -> io::Result<Vec<Sample>> {
    let text = fs::read(path)?;
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    // After the last newline there is nothing, or a line that a crash cut off.
    lines.pop();
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_slice(line)
                .map_err(|error| io::Error::other(format!("line {} cannot be read: {error}", index + 1)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_the_same_name_have_folders_of_their_own() {
        let parent = tempfile::tempdir().unwrap();
        let name = parent.path().join("ciphertax-quick-20260101-120000");
        let made: Vec<PathBuf> = (0..3)
            .map(|_| {
                Destination::FirstFree(name.clone())
                    .open()
                    .unwrap()
                    .0
                    .path()
                    .to_owned()
            })
            .collect();
        let named = |end: &str| {
            parent
                .path()
                .join(format!("ciphertax-quick-20260101-120000{end}"))
        };
        assert_eq!(made, [named(""), named("-2"), named("-3")]);
        let error = Destination::New(name).open().err().unwrap();
        assert!(matches!(error, RunError::FolderExists(_)), "{error}");
    }

    #[test]
    fn a_file_that_cannot_be_written_as_a_whole_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        write_whole(&path, |file| file.write_all(b"old")).unwrap();
        let fails = |file: &mut BufWriter<File>| {
            file.write_all(&[b'n'; 1 << 16])?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let error = write_whole(&path, fails).unwrap_err().to_string();
        assert!(
            error.contains("report.html cannot be written") && error.contains("make room"),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

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
