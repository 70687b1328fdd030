//! Profiles and waits as files of lines.
//!
//! The first line says the version of the format; a last one that a crash cut off is passed over.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{ModuleRecord, Profile, StackRecord, SymbolRecord, SymbolTable, Waits};
use crate::files::{RecordError, append_to, line_of, unwritable};
use crate::run::{check_first_line, first_line};
use crate::samples::cut_to_whole_lines;

/// No line that is written comes near it; one that is longer is damage, and is not read into memory.
const LONGEST_LINE: u64 = 64 << 20;

/// What a file of lines is called, and the version of its format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    pub(super) name: &'static str,
    pub(super) schema: &'static str,
}

/// A file of lines that is written, from its first line on.
#[derive(Debug)]
pub(super) struct Appended {
    format: Format,
    path: PathBuf,
    file: Option<File>,
    /// Bytes of the lines that were written as a whole.
    whole: u64,
}

impl Appended {
    /// The file in a folder, which need not be there yet.
    pub(super) fn in_folder(folder: &Path, format: Format) -> Self {
        Self {
            format,
            path: folder.join(format.name),
            file: None,
            whole: 0,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes a last line that was cut off, where the file is there.
    pub(super) fn cut(&self) -> Result<(), RecordError> {
        match self.path.exists() {
            true => cut_to_whole_lines(&self.path).map_err(unwritable(&self.path)),
            false => Ok(()),
        }
    }

    /// Appends whole lines in one write. What cannot be written as a whole is not written.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), RecordError> {
        self.write(lines).map_err(unwritable(&self.path))
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                let file = append_to(&self.path, true)?;
                self.whole = file.metadata()?.len();
                file
            }
        };
        let version;
        let (first, lines) = match self.whole {
            0 => {
                version = [&first_line(self.format.schema)?, lines].concat();
                (true, &version[..])
            }
            _ => (false, lines),
        };
        let written = file.write_all(lines);
        match written {
            Ok(()) => self.whole += lines.len() as u64,
            // The error of writing matters more than one of tidying up.
            Err(_) if first => drop(std::fs::remove_file(&self.path)),
            Err(_) => drop(file.set_len(self.whole)),
        }
        if written.is_ok() || !first {
            self.file = Some(file);
        }
        written
    }
}

impl Format {
    /// The lines of the file in a folder after the first; none where there is no file.
    pub(super) fn lines<T: DeserializeOwned>(self, folder: &Path) -> io::Result<Lines<T>> {
        let file = match File::open(folder.join(self.name)) {
            Ok(file) => Some(BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut lines = Lines {
            file,
            line: Vec::new(),
            number: 0,
            holds: std::marker::PhantomData,
        };
        lines.check_version(self.schema)?;
        Ok(lines)
    }
}

/// The values of a file of lines, each with the number of its line, from 1.
#[derive(Debug)]
pub(super) struct Lines<T> {
    /// Absent after the last line and after the first error.
    file: Option<BufReader<File>>,
    line: Vec<u8>,
    number: usize,
    holds: std::marker::PhantomData<T>,
}

impl<T> Lines<T> {
    fn check_version(&mut self, schema: &'static str) -> io::Result<()> {
        match self.next_line()? {
            true => check_first_line(&self.line, schema),
            false => Ok(()),
        }
    }

    fn next_line(&mut self) -> io::Result<bool> {
        let Some(file) = &mut self.file else {
            return Ok(false);
        };
        self.line.clear();
        self.number += 1;
        let read = file.take(LONGEST_LINE).read_until(b'\n', &mut self.line);
        let is_whole = self.line.last() == Some(&b'\n');
        if !is_whole {
            self.file = None;
        }
        match read? {
            _ if is_whole => Ok(true),
            read if read as u64 == LONGEST_LINE => {
                let limit = LONGEST_LINE >> 20;
                Err(damaged(self.number, format_args!("has more than {limit} MiB")))
            }
            _ => Ok(false),
        }
    }
}

impl<T: DeserializeOwned> Iterator for Lines<T> {
    type Item = io::Result<(usize, T)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_line() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(error)),
        }
        let number = self.number;
        let value = serde_json::from_slice(&self.line);
        let value = value.map_err(|error| damaged(number, format_args!("cannot be read: {error}")));
        if value.is_err() {
            self.file = None;
        }
        Some(value.map(|value| (number, value)))
    }
}

pub(super) fn damaged(line: usize, problem: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("line {line} {problem}"))
}

pub(super) const SYMBOLS: Format = Format {
    name: "symbols.jsonl",
    schema: "ciphertax.symbols/1",
};
pub(super) const PROFILES: Format = Format {
    name: "profiles.jsonl",
    schema: "ciphertax.profiles/1",
};
pub(super) const WAITS: Format = Format {
    name: "waits.jsonl",
    schema: "ciphertax.waits/1",
};

/// So many names or stacks are in one line at most: lines have to be short enough to be read one at a time.
const IN_A_LINE: usize = 4096;

/// A line of `symbols.jsonl`: the next of one kind, numbered on from those before.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SymbolLine<M = Vec<ModuleRecord>, S = Vec<SymbolRecord>, C = Vec<StackRecord>> {
    Modules(M),
    Symbols(S),
    Stacks(C),
}

/// The files of a run folder that say why. Each is made when the first line for it is there.
#[derive(Debug)]
pub struct LookWriter {
    symbols: Appended,
    profiles: Appended,
    waits: Appended,
    written: Written,
}

/// How many of each are in `symbols.jsonl`.
#[derive(Debug, Clone, Copy, Default)]
struct Written {
    modules: usize,
    symbols: usize,
    stacks: usize,
}

impl LookWriter {
    /// For a new run.
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            symbols: Appended::in_folder(folder, SYMBOLS),
            profiles: Appended::in_folder(folder, PROFILES),
            waits: Appended::in_folder(folder, WAITS),
            written: Written::default(),
        }
    }

    /// Removes last lines that were cut off, before a run goes on.
    pub(crate) fn cut(&self) -> Result<(), RecordError> {
        [&self.symbols, &self.profiles, &self.waits]
            .into_iter()
            .try_for_each(Appended::cut)
    }

    /// Goes on after the symbols that are in the file.
    pub(crate) fn goes_on_after(&mut self, table: &SymbolTable) {
        self.written = Written::all_of(table);
    }

    /// Appends where the CPU time of a slice went, one write of one line, after the names and stacks of `table` that were not
    /// written yet. The table is that of the whole run; of one that goes on, it has grown from [`Earlier::symbols`]. What cannot be
    /// written as a whole is not written.
    ///
    /// [`Earlier::symbols`]: crate::Earlier::symbols
    ///
    /// # Errors
    /// When it cannot be written, for example because the disk is full.
    pub fn append_profile(&mut self, profile: &Profile, table: &SymbolTable) -> Result<(), RecordError> {
        self.append_symbols(table)?;
        append(&mut self.profiles, profile)
    }

    /// Appends what threads waited for in a slice in the same way.
    ///
    /// # Errors
    /// As [`LookWriter::append_profile`].
    pub fn append_waits(&mut self, waits: &Waits, table: &SymbolTable) -> Result<(), RecordError> {
        self.append_symbols(table)?;
        append(&mut self.waits, waits)
    }

    /// Writes what the table has and the file has not.
    fn append_symbols(&mut self, table: &SymbolTable) -> Result<(), RecordError> {
        let lines = self
            .written
            .lines_of_the_rest(table)
            .map_err(unwritable(self.symbols.path()))?;
        if !lines.is_empty() {
            self.symbols.append(&lines)?;
        }
        self.written = Written::all_of(table);
        Ok(())
    }
}

fn append(file: &mut Appended, value: &impl Serialize) -> Result<(), RecordError> {
    let line = line_of(value).map_err(unwritable(file.path()))?;
    file.append(&line)
}

impl Written {
    fn all_of(table: &SymbolTable) -> Self {
        Self {
            modules: table.modules().len(),
            symbols: table.symbols().len(),
            stacks: table.stacks().len(),
        }
    }

    /// Modules before symbols before stacks, since each names the ones before.
    fn lines_of_the_rest(self, table: &SymbolTable) -> io::Result<Vec<u8>> {
        type Line<'a> = SymbolLine<&'a [ModuleRecord], &'a [SymbolRecord], &'a [StackRecord]>;
        let modules = rest(table.modules(), self.modules)?.chunks(IN_A_LINE);
        let symbols = rest(table.symbols(), self.symbols)?.chunks(IN_A_LINE);
        let stacks = rest(table.stacks(), self.stacks)?.chunks(IN_A_LINE);
        let all = modules
            .map(Line::Modules)
            .chain(symbols.map(Line::Symbols))
            .chain(stacks.map(Line::Stacks));
        let mut lines = Vec::new();
        for line in all {
            lines.extend(line_of(&line)?);
        }
        Ok(lines)
    }
}

fn rest<T>(all: &[T], written: usize) -> io::Result<&[T]> {
    all.get(written..).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "its symbols are not those of the run",
        )
    })
}
