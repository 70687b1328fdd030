//! How profiles and waits get into a run folder.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::lines::{Appended, Format};
use super::{ModuleRecord, Profile, StackRecord, SymbolRecord, SymbolTable, Waits};
use crate::files::{RecordError, unwritable};
use crate::samples::line_of;

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
pub(crate) struct LookWriter {
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
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn cut(&self) -> Result<(), RecordError> {
        [&self.symbols, &self.profiles, &self.waits]
            .into_iter()
            .try_for_each(Appended::cut)
    }

    /// Goes on after the symbols that are in the file.
    pub(crate) fn goes_on_after(&mut self, table: &SymbolTable) {
        self.written = Written::all_of(table);
    }

    pub(crate) fn append_profile(
        &mut self,
        profile: &Profile,
        table: &SymbolTable,
    ) -> Result<(), RecordError> {
        self.append_symbols(table)?;
        append(&mut self.profiles, profile)
    }

    pub(crate) fn append_waits(&mut self, waits: &Waits, table: &SymbolTable) -> Result<(), RecordError> {
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
