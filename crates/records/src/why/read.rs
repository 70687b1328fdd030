//! How profiles and waits are read from a run folder.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::lines::{Format, PROFILES, SYMBOLS, SymbolLine, WAITS, damaged};
use super::{Looks, Profile, SideProfile, StackId, SymbolTable, Waits};

/// More than any slice has of anything: sums over all slices of a run have room in 64 bits.
const MOST: u64 = 1 << 40;

/// Deeper stacks are not written. What is made of them may go down function by function.
const DEEPEST: usize = 2048;

/// What was seen in the slices of a recorded run that were looked into: names and stacks in memory, all else in its files. It is
/// empty where nothing was looked into.
#[derive(Debug)]
pub struct LookFiles {
    folder: PathBuf,
    symbols: SymbolTable,
}

impl LookFiles {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            symbols: read_symbols(folder)?,
        })
    }

    /// The names and stacks, for a run that goes on.
    pub fn into_symbols(self) -> SymbolTable {
        self.symbols
    }

    /// The lines of a file, each of which is checked.
    fn lines<'a, T: DeserializeOwned + Clone + 'a>(
        &self,
        format: Format,
        check: impl Fn(&T) -> Result<(), String> + 'a,
    ) -> Box<dyn Iterator<Item = io::Result<Cow<'a, T>>> + 'a> {
        let named = move |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", format.name));
        let lines = match format.lines::<T>(&self.folder) {
            Ok(lines) => lines,
            Err(error) => return Box::new(std::iter::once(Err(named(error)))),
        };
        Box::new(lines.map(move |line| {
            let (number, value) = line.map_err(named)?;
            check(&value).map_err(|problem| named(damaged(number, problem)))?;
            Ok(Cow::Owned(value))
        }))
    }
}

impl Looks for LookFiles {
    fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    fn profiles(&self) -> Box<dyn Iterator<Item = io::Result<Cow<'_, Profile>>> + '_> {
        let stacks = self.symbols.stacks().len();
        self.lines(PROFILES, move |profile: &Profile| {
            profile
                .sides
                .values()
                .try_for_each(|side| check_side(side, stacks))
        })
    }

    fn waits(&self) -> Box<dyn Iterator<Item = io::Result<Cow<'_, Waits>>> + '_> {
        let stacks = self.symbols.stacks().len();
        self.lines(WAITS, move |waits: &Waits| check_waits(waits, stacks))
    }
}

/// Each line numbers on from those before, and names only what was numbered before it.
fn read_symbols(folder: &Path) -> io::Result<SymbolTable> {
    let mut table = SymbolTable::default();
    for line in SYMBOLS.lines::<SymbolLine>(folder)? {
        let (number, line) = line?;
        add(line, &mut table).map_err(|problem| damaged(number, problem))?;
    }
    Ok(table)
}

fn add(line: SymbolLine, table: &mut SymbolTable) -> Result<(), String> {
    let numbered_on = |id: u32, before: usize| match id as usize == before {
        true => Ok(()),
        false => Err(format!("gives number {id} a second time")),
    };
    match line {
        SymbolLine::Modules(modules) => modules.into_iter().try_for_each(|module| {
            let before = table.modules().len();
            numbered_on(table.module(module), before)
        }),
        SymbolLine::Symbols(symbols) => symbols.into_iter().try_for_each(|symbol| {
            within("module", symbol.module, table.modules().len())?;
            let before = table.symbols().len();
            numbered_on(table.symbol(symbol), before)
        }),
        SymbolLine::Stacks(stacks) => stacks.into_iter().try_for_each(|stack| {
            let known = table.symbols().len();
            if stack.len() > DEEPEST {
                return Err(format!(
                    "has a stack of {} functions, and {DEEPEST} are the most possible",
                    stack.len()
                ));
            }
            stack
                .iter()
                .try_for_each(|symbol| within("symbol", *symbol, known))?;
            let before = table.stacks().len();
            numbered_on(table.stack(&stack), before)
        }),
    }
}

fn check_side(side: &SideProfile, stacks: usize) -> Result<(), String> {
    if side.hz == 0 {
        return Err("has samples at no rate".into());
    }
    side.stacks
        .keys()
        .try_for_each(|stack: &StackId| within("stack", *stack, stacks))?;
    at_most("samples", side.samples, MOST)?;
    at_most("lost samples", side.lost, MOST)?;
    at_most("complete stacks", side.complete, side.samples)?;
    let sum = side.stacks.values().try_fold(0_u64, |sum, n| sum.checked_add(*n));
    at_most("samples in its stacks", sum.unwrap_or(u64::MAX), side.samples)
}

fn check_waits(waits: &Waits, stacks: usize) -> Result<(), String> {
    for (what, count) in [
        ("rounds", waits.rounds),
        ("running threads", waits.running),
        ("running threads", waits.background_running),
        ("idle threads", waits.idle),
        ("inconsistent stacks", waits.inconsistent),
        ("unreadable stacks", waits.unreadable),
    ] {
        at_most(what, count, MOST)?;
    }
    let mut all = 0_u64;
    for blocked in &waits.blocked {
        within("stack", blocked.stack, stacks)?;
        at_most("complete stacks", blocked.complete, blocked.seen)?;
        all = all.saturating_add(blocked.seen);
    }
    at_most("waiting threads", all, MOST)
}

fn within(what: &str, id: u32, known: usize) -> Result<(), String> {
    match (id as usize) < known {
        true => Ok(()),
        false => Err(format!("names {what} {id}, and only {known} are known")),
    }
}

fn at_most(what: &str, count: u64, most: impl Into<u64> + Display + Copy) -> Result<(), String> {
    match count <= most.into() {
        true => Ok(()),
        false => Err(format!("has {count} {what}, and {most} is the most possible")),
    }
}
