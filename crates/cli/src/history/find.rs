//! The run folders that are meant.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::report;

/// Folders below a given one that are searched for runs: an archive may be sorted by year, month and day.
const LEVELS: usize = 4;

/// The runs that are given, or that lie below what is given; each once.
///
/// # Errors
/// When something that is given is neither a run nor holds one.
pub(super) fn runs(given: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for path in given {
        let folder = report::folder(path);
        let readable = fs::read_dir(&folder).map(drop);
        readable.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let mut below = Vec::new();
        search(&folder, LEVELS, &mut below);
        if below.is_empty() {
            return Err(format!(
                "there is no run in {}: give folders that runs have printed at their end, or a folder that holds some",
                path.display()
            ));
        }
        let is_new = |run: &PathBuf| seen.insert(run.canonicalize().unwrap_or_else(|_| run.clone()));
        found.extend(below.into_iter().filter(is_new));
    }
    Ok(found)
}

/// Runs do not hold others: what lies in one, tried what bounds it.
fn search(folder: &Path, levels: usize, found: &mut Vec<PathBuf>) {
    if folder.join("run.json").is_file() {
        found.push(folder.to_owned());
        return;
    }
    if levels == 0 {
        return;
    }
    // What cannot be read below holds no run that could be.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut folders: Vec<PathBuf> = entries.filter(is_folder).map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        search(&folder, levels - 1, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_some_levels_down_and_each_once() {
        let root = tempfile::tempdir().unwrap();
        let run = |name: &str| {
            let folder = root.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("run.json"), "{}").unwrap();
            folder
        };
        let (one, other) = (run("2026/11/a"), run("b"));
        run("b/confirm");
        fs::create_dir(root.path().join("empty")).unwrap();
        let found = runs(&[root.path().to_owned(), other.join("run.json"), one.clone()]).unwrap();
        assert_eq!(found, [one, other]);
        let error = runs(&[root.path().join("empty")]).unwrap_err();
        assert!(
            error.contains("there is no run in") && error.contains("empty"),
            "{error}"
        );
        let error = runs(&[root.path().join("absent")]).unwrap_err();
        assert!(error.contains("cannot be read"), "{error}");
    }
}
