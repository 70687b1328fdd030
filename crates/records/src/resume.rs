//! Where a run goes: a new folder, or that of a run that was cut off.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files::{RecordError, append_to, unwritable};
use crate::folder::{OPERATIONS, Recorded, RunFolder, SAMPLES, begin, lock};
use crate::head::{Head, Tool};
use crate::sample::Sample;
use crate::samples::{Round, SampleLog, cut_to_whole_lines, whole_lines};
use crate::why::{LookWriter, SymbolTable};
use ciphertax_base::Host;

/// Longer than any run is measured.
const LONGEST_RUN: Duration = Duration::from_secs(30 * 24 * 3600);

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
    pub fn open(self) -> Result<(RunFolder, Option<Earlier>), RecordError> {
        match self {
            Self::New(path) => Ok((RunFolder::create(&path)?, None)),
            Self::FirstFree(path) => Ok((RunFolder::create_first_free(&path)?, None)),
            Self::Resumed(cut_off) => Ok((cut_off.folder, Some(cut_off.earlier))),
        }
    }
}

/// A run that was cut off: by a signal, a kill, a full disk, a server that died. Nobody else writes to it while this lives.
#[derive(Debug)]
pub struct CutOff {
    folder: RunFolder,
    earlier: Earlier,
}

/// What a run that goes on has measured already.
#[derive(Debug)]
pub struct Earlier {
    /// What was asked, where, and of whom.
    pub head: Head,
    /// What was measured.
    pub log: SampleLog,
    /// The names and stacks that its profiles and waits give by number, which go on to be given.
    pub symbols: SymbolTable,
}

impl CutOff {
    /// Takes up the run in a folder for `tool` on `host`. A last line that a crash cut off is removed.
    ///
    /// # Errors
    /// When it is no run, is complete, is still being measured, or was begun by another version or on another machine.
    pub fn open(path: &Path, tool: &Tool, host: &Host) -> Result<Self, RecordError> {
        let refused = |problem: String| RecordError::NotResumable {
            folder: path.to_owned(),
            problem,
        };
        let head = Recorded::head(path)?;
        let file = path.join(SAMPLES);
        let mut samples = append_to(&file, false).map_err(unwritable(&file))?;
        if !lock(&samples).map_err(unwritable(&file))? {
            return Err(refused(
                "another ciphertax still measures it; wait for its end".into(),
            ));
        }
        if let Some(problem) = never_resumed(&head, tool, host) {
            return Err(refused(problem));
        }
        let whole = whole_lines(&mut samples).map_err(unwritable(&file))?;
        samples.set_len(whole).map_err(unwritable(&file))?;
        let whole = match whole {
            // It was cut off in its very first line.
            0 => begin(&samples).map_err(unwritable(&file))?,
            whole => whole,
        };
        let operations = path.join(OPERATIONS);
        if operations.exists() {
            cut_to_whole_lines(&operations).map_err(unwritable(&operations))?;
        }
        let mut looks = LookWriter::new(path);
        looks.cut()?;
        let recorded = Recorded::open(path)?;
        let symbols = recorded.looks()?.into_symbols();
        looks.goes_on_after(&symbols);
        let log = recorded.read_all()?;
        let line = |(line, problem)| refused(format!("{SAMPLES}, line {line}: {problem}; begin a new run"));
        check_course(&log.samples)
            .map_err(|(index, problem)| line((recorded.samples.line_of_sample(index), problem)))?;
        check_rounds(&log.rounds, &log.samples)
            .map_err(|(index, problem)| line((recorded.samples.line_of_round(index), problem)))?;
        Ok(Self {
            folder: RunFolder::reopened(path, samples, whole, looks),
            earlier: Earlier { head, log, symbols },
        })
    }

    /// What is known of it: who measured what, where and how.
    pub fn head(&self) -> &Head {
        &self.earlier.head
    }
}

/// Makes sure that samples are of blocks one after the other, and of a time that passes: the run goes on with both.
///
/// # Errors
/// The index of the first sample that is not, and why.
fn check_course(samples: &[Sample]) -> Result<(), (usize, String)> {
    let mut blocks: BTreeMap<&str, u32> = BTreeMap::new();
    let mut before = 0;
    for (index, sample) in samples.iter().enumerate() {
        let (cell, block) = (sample.slice.cell.as_str(), sample.slice.block);
        let last = blocks.insert(cell, block);
        let follows = last.map_or(block == 0, |last| {
            block == last || last.checked_add(1) == Some(block)
        });
        if !follows {
            let last = last.map_or("none".into(), |last| format!("block {last}"));
            return Err((index, format!("block {block} of {cell} follows {last}")));
        }
        if sample.start_ns < before {
            return Err((index, "the time goes back".into()));
        }
        before = sample.start_ns;
        let end = sample.start_ns.checked_add(sample.load.duration_ns);
        if end.is_none_or(|end| end > LONGEST_RUN.as_nanos() as u64) {
            let days = LONGEST_RUN.as_secs() / (24 * 3600);
            return Err((
                index,
                format!("it ends more than {days} days after the run began"),
            ));
        }
    }
    Ok(())
}

/// Makes sure that rounds are of blocks that were measured, each once, and of a time that passes.
///
/// # Errors
/// The index of the first round that is not, and why.
fn check_rounds(rounds: &[Round], samples: &[Sample]) -> Result<(), (usize, String)> {
    let measured: HashSet<(&str, u32)> = samples
        .iter()
        .map(|sample| (sample.slice.cell.as_str(), sample.slice.block))
        .collect();
    let mut ended = HashSet::new();
    let mut before = 0;
    for (index, round) in rounds.iter().enumerate() {
        let of = (round.cell.as_str(), round.block);
        if !measured.contains(&of) {
            return Err((index, format!("no slice is of block {} of {}", of.1, of.0)));
        }
        if !ended.insert(of) {
            return Err((
                index,
                format!("the round of block {} of {} ends twice", of.1, of.0),
            ));
        }
        let end = round.start_ns.checked_add(round.duration_ns);
        if end.is_none_or(|end| end < before || end > LONGEST_RUN.as_nanos() as u64) {
            return Err((index, "the time goes back, or on for too long".into()));
        }
        before = round.end_ns();
    }
    Ok(())
}

/// Why a run never goes on; `None` if it may.
fn never_resumed(head: &Head, tool: &Tool, host: &Host) -> Option<String> {
    if head.status.is_at_end() {
        return Some(
            "it has come to its end; `ciphertax report` shows it, and a new run measures more".into(),
        );
    }
    if head.tool != *tool {
        let words = |tool: &Tool| format!("{} {} (commit {})", tool.name, tool.version, tool.commit);
        return Some(format!(
            "it was begun by {}, and this is {}; a run is measured by one version",
            words(&head.tool),
            words(tool)
        ));
    }
    (head.host != *host).then(|| {
        let words = |host: &Host| {
            format!(
                "{} CPUs {} with {} and Linux {}",
                host.cpus, host.cpu, host.os, host.kernel
            )
        };
        format!(
            "it was begun on a machine with {}, and this one has {}; a run is measured on one machine",
            words(&head.host),
            words(host)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{ServerSide, SliceId, Yield};

    #[test]
    fn runs_of_the_same_name_have_folders_of_their_own() {
        let parent = tempfile::tempdir().unwrap();
        let name = parent.path().join("ciphertax-quick-20260101-120000");
        let made: Vec<PathBuf> = (0..3)
            .map(|_| {
                let (folder, _) = Destination::FirstFree(name.clone()).open().unwrap();
                folder.path().to_owned()
            })
            .collect();
        let named = |end: &str| {
            parent
                .path()
                .join(format!("ciphertax-quick-20260101-120000{end}"))
        };
        assert_eq!(made, [named(""), named("-2"), named("-3")]);
        let error = Destination::New(name).open().err().unwrap();
        assert!(matches!(error, RecordError::FolderExists(_)), "{error}");
    }

    fn sample(cell: &str, block: u32, start_ns: u64, duration_ns: u64) -> Sample {
        Sample {
            slice: SliceId {
                cell: cell.into(),
                block,
                ..SliceId::default()
            },
            start_ns,
            load: Yield {
                duration_ns,
                ..Yield::default()
            },
            server: ServerSide::default(),
            quiet: None,
            others_worked: false,
            left_cached: None,
            look: None,
            void: None,
        }
    }

    #[test]
    fn a_run_goes_on_after_blocks_in_their_order_and_a_time_that_passes_and_no_others() {
        let begun = [
            sample("one", 0, 0, 5),
            sample("one", 0, 5, 5),
            sample("other", 0, 10, 5),
            sample("one", 1, 15, 5),
        ];
        assert_eq!(check_course(&begun), Ok(()));
        for (hostile, words) in [
            (
                sample("one", u32::MAX, 20, 5),
                "block 4294967295 of one follows block 1",
            ),
            (sample("one", 0, 20, 5), "block 0 of one follows block 1"),
            (sample("third", 7, 20, 5), "block 7 of third follows none"),
            (sample("one", 1, 14, 5), "the time goes back"),
            (sample("one", 1, u64::MAX, 5), "more than 30 days"),
            (sample("one", 1, 20, u64::MAX), "more than 30 days"),
            (sample("one", 1, u64::MAX / 2, 5), "more than 30 days"),
        ] {
            let samples = [&begun[..], &[hostile]].concat();
            let (index, problem) = check_course(&samples).unwrap_err();
            assert_eq!(index, 4);
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn rounds_are_of_blocks_that_were_measured_and_end_once() {
        let samples = [sample("one", 0, 0, 5), sample("one", 1, 5, 5)];
        let round = |cell: &str, block, start_ns, duration_ns| Round {
            cell: cell.into(),
            block,
            start_ns,
            duration_ns,
            ..Round::default()
        };
        let (first, second) = (round("one", 0, 0, 6), round("one", 1, 6, 6));
        assert_eq!(check_rounds(&[first.clone(), second.clone()], &samples), Ok(()));
        for (hostile, words) in [
            (round("one", 2, 6, 6), "no slice is of block 2 of one"),
            (round("other", 0, 6, 6), "no slice is of block 0 of other"),
            (round("one", 0, 6, 6), "the round of block 0 of one ends twice"),
            (round("one", 1, 0, 5), "the time goes back"),
            (
                round("one", 1, u64::MAX, 5),
                "the time goes back, or on for too long",
            ),
        ] {
            let (index, problem) = check_rounds(&[first.clone(), hostile], &samples).unwrap_err();
            assert_eq!(index, 1);
            assert!(problem.contains(words), "{problem}");
        }
    }
}
