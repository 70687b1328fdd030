//! The folder a run leaves: `run.json` and `samples.jsonl`, written as it happens, and `operations.csv` where a study asks
//! for it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ciphertax_engine::KeptOperation;
use ciphertax_model::record::{Run, SCHEMA, Sample};

use crate::error::RunError;
use crate::operations::Operations;

const RUN: &str = "run.json";
const SAMPLES: &str = "samples.jsonl";
const OPERATIONS: &str = "operations.csv";

/// A run folder being written.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    samples: File,
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
            .map_err(|source| RunError::Write { path: file, source })?;
        Ok(Self {
            path: path.to_owned(),
            samples,
            operations: None,
        })
    }

    /// Appends a sample: one write of one line, so that a crash loses at most this line.
    ///
    /// # Errors
    /// When it cannot be written, for example because the disk is full.
    pub fn append(&mut self, sample: &Sample) -> Result<(), RunError> {
        let write = |samples: &mut File| {
            let mut line = serde_json::to_vec(sample)?;
            line.push(b'\n');
            samples.write_all(&line)
        };
        write(&mut self.samples).map_err(|source| RunError::Write {
            path: self.path.join(SAMPLES),
            source,
        })
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
            None => Operations::create(&path),
        };
        let append = |mut operations: Operations| operations.append(sample, kept).map(|()| operations);
        let appended = operations.and_then(append);
        self.operations = Some(appended.map_err(|source| RunError::Write { path, source })?);
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
        let not_a_run = |problem: String| RunError::NotARun {
            folder: path.to_owned(),
            problem,
        };
        let text =
            fs::read_to_string(path.join(RUN)).map_err(|error| not_a_run(format!("{RUN}: {error}")))?;
        let schema: SchemaOnly =
            serde_json::from_str(&text).map_err(|error| not_a_run(format!("{RUN}: {error}")))?;
        if schema.schema != SCHEMA {
            return Err(not_a_run(format!(
                "{RUN} has the format {:?}; this version reads {SCHEMA:?}",
                schema.schema
            )));
        }
        let run: Run = serde_json::from_str(&text).map_err(|error| not_a_run(format!("{RUN}: {error}")))?;
        let samples =
            read_samples(&path.join(SAMPLES)).map_err(|error| not_a_run(format!("{SAMPLES}: {error}")))?;
        Ok(ciphertax_explain::explain(run, &samples)?)
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
    let path = folder.join(RUN);
    let draft = folder.join(".run.json.new");
    let write = || {
        let mut file = File::create(&draft)?;
        serde_json::to_writer_pretty(&mut file, run)?;
        file.write_all(b"\n")?;
        fs::rename(&draft, &path)
    };
    write().map_err(|source: io::Error| {
        let _ = fs::remove_file(&draft);
        RunError::Write {
            path: path.clone(),
            source,
        }
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
