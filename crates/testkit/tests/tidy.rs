//! Limits on the size of the code. They fall as the code shrinks; whoever raises one says why in the commit.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a crate's `src` that are no tests.
const SRC: [(&str, usize); 20] = [
    ("cli", 3_900),
    ("columns", 2_200),
    ("engine", 1_700),
    ("estimate", 3_750),
    ("explain", 9_300),
    ("lab", 19_550),
    ("model", 7_750),
    ("observe", 2_750),
    ("profile", 5_850),
    ("ranks", 600),
    ("reactor", 950),
    ("records", 5_250),
    ("report", 8_900),
    ("report-check", 950),
    ("runner", 20_900),
    ("stats", 2_500),
    ("supervise", 2_100),
    ("testkit", 1_050),
    ("wire", 12_800),
    ("workload", 13_800),
];
const TEST_PROGRAMS: usize = 30;
const LONGEST_FILE: usize = 629;
const LONGEST_FUNCTION: usize = 153;
/// A bound may exceed the actual count by at most this.
const ROOM: usize = 100;

#[test]
fn no_crate_has_more_lines() {
    for (name, bound) in SRC {
        let lines: usize = sources(name).iter().map(|source| source.lines.len()).sum();
        hold(&format!("lines of {name}"), lines, bound, ROOM);
    }
    // Without the judges, which are tests alone.
    assert_eq!(SRC.len(), crates().len() - 1, "every crate has a bound");
}

#[test]
fn there_are_no_more_test_programs() {
    let programs = crates().iter().map(|folder| test_programs(folder)).sum();
    hold("test programs", programs, TEST_PROGRAMS, 1);
}

#[test]
fn no_file_and_no_function_is_longer() {
    let all: Vec<Source> = SRC.iter().flat_map(|(name, _)| sources(name)).collect();
    let (lines, path) = all
        .iter()
        .map(|source| (source.whole, &source.path))
        .max()
        .unwrap();
    hold(&path.display().to_string(), lines, LONGEST_FILE, 1);
    let (lines, path) = all
        .iter()
        .map(|source| (longest_function(&source.lines), &source.path))
        .max()
        .unwrap();
    hold(
        &format!("a function of {}", path.display()),
        lines,
        LONGEST_FUNCTION,
        1,
    );
}

fn hold(what: &str, is: usize, bound: usize, room: usize) {
    assert!(is <= bound, "{what}: {is}, and no more than {bound} are allowed");
    assert!(
        bound - is <= room,
        "{what}: {is}; lower the bound, which is {bound}"
    );
}

struct Source {
    path: PathBuf,
    /// Lines with those of tests.
    whole: usize,
    /// Lines without.
    lines: Vec<String>,
}

/// The files of a crate that are no tests.
fn sources(name: &str) -> Vec<Source> {
    let mut paths = Vec::new();
    walk(&root().join("crates").join(name).join("src"), &mut paths);
    let texts: Vec<(PathBuf, String)> = paths
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    let tests: HashSet<PathBuf> = texts
        .iter()
        .flat_map(|(path, text)| modules_of_tests(path, text))
        .collect();
    let is_test = |path: &Path| {
        path.ancestors()
            .any(|part| tests.contains(&part.with_extension("")))
    };
    texts
        .into_iter()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| Source {
            whole: text.lines().count(),
            lines: without_tests(&text),
            path,
        })
        .collect()
}

/// Paths, without their ending, of the modules that a file has for tests alone.
fn modules_of_tests(path: &Path, text: &str) -> Vec<PathBuf> {
    let home = match path.file_name().unwrap().to_str().unwrap() {
        "lib.rs" | "main.rs" | "mod.rs" => path.parent().unwrap().to_owned(),
        _ => path.with_extension(""),
    };
    let lines: Vec<&str> = text.lines().collect();
    let declared = lines.windows(2).filter(|pair| pair[0].trim() == "#[cfg(test)]");
    declared
        .filter_map(|pair| pair[1].rsplit_once("mod ")?.1.strip_suffix(';'))
        .map(|module| home.join(module))
        .collect()
}

/// Without what stands under `#[cfg(test)]`, up to the brace that closes it.
fn without_tests(text: &str) -> Vec<String> {
    let mut kept = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept.push(line.to_owned());
            continue;
        }
        let item = lines.by_ref().find(|line| !line.trim().starts_with("#["));
        if item.is_some_and(|item| item.ends_with('{')) {
            let end = format!("{}}}", indentation(line));
            lines.by_ref().find(|line| **line == end);
        }
    }
    kept
}

/// The lines of the longest function, as rustfmt indents them.
fn longest_function(lines: &[String]) -> usize {
    let begins = |line: &str| line.trim_start().split(' ').take(5).any(|word| word == "fn");
    let length = |(at, line): (usize, &String)| {
        let end = format!("{}}}", indentation(line));
        let body = &lines[at..];
        match body
            .iter()
            .position(|line| line.ends_with(';') || line.ends_with('{'))?
        {
            head if body[head].ends_with('{') => Some(body.iter().position(|line| *line == end)? + 1),
            _ => None,
        }
    };
    let functions = lines.iter().enumerate().filter(|(_, line)| begins(line));
    functions.filter_map(length).max().unwrap_or(0)
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn test_programs(folder: &Path) -> usize {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    if manifest.contains("autotests = false") {
        return manifest.matches("[[test]]").count();
    }
    let Ok(tests) = fs::read_dir(folder.join("tests")) else {
        return 0;
    };
    let paths = tests.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs") || path.join("main.rs").exists())
        .count()
}

fn crates() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    folders.map(|entry| entry.unwrap().path()).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}
