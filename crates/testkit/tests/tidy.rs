//! Limits on the size of the code. They fall as the code shrinks; whoever raises one says why in the commit.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a crate's `src` that are no tests. A crate uses only those before it.
const SRC: [(&str, usize); 21] = [
    ("base", 1_250),
    ("model", 7_270),
    ("stats", 2_300),
    ("records", 4_700),
    ("estimate", 3_860),
    ("explain", 9_340),
    ("report-check", 1_060),
    ("report", 9_095),
    ("reactor", 900),
    ("supervise", 2_100),
    ("observe", 2_600),
    ("columns", 2_050),
    ("wire", 14_400),
    ("engine", 1_700),
    ("profile", 5_550),
    ("lab", 17_600),
    ("workload", 12_650),
    ("runner", 20_760),
    ("ranks", 600),
    ("testkit", 1_030),
    ("cli", 3_920),
];
const TEST_PROGRAMS: usize = 30;
const LONGEST_FILE: usize = 516;
const LONGEST_FUNCTION: usize = 153;
/// Files that use each other.
const LARGEST_CIRCLE: usize = 3;
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
fn no_more_files_use_each_other_in_a_circle() {
    for (name, _) in SRC {
        let circle = largest_circle(&uses(name));
        assert!(circle.len() <= LARGEST_CIRCLE, "files of {name}: {circle:?}");
    }
}

#[test]
fn a_crate_uses_only_those_before_it() {
    for (place, (name, _)) in SRC.iter().enumerate() {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let (_, used) = manifest.split_once("[dependencies]").unwrap_or_default();
        let used = used.split("\n[").next().unwrap().lines();
        for used in used.filter_map(|line| line.strip_prefix("ciphertax-")?.split(['.', ' ']).next()) {
            assert!(
                SRC[..place].iter().any(|(before, _)| *before == used),
                "{name} uses {used}"
            );
        }
    }
}

#[test]
fn figures_come_from_no_clock_and_those_of_all_databases_from_no_database() {
    let says = |name: &str, words: &[&str]| {
        let found = sources(name).into_iter().flat_map(|source| source.lines);
        let mut found = found.filter(|line| words.iter().any(|word| line.to_lowercase().contains(word)));
        found.next().map(|line| format!("{name}: {line}"))
    };
    let clocks = ["instant::now", "systemtime", "timestamp::now"];
    for name in ["stats", "records", "estimate", "explain", "report"] {
        assert_eq!(says(name, &clocks), None);
    }
    let databases = ["mysql", "mariadb", "postgres", "mongo", "sqlite"];
    for name in ["stats", "reactor", "engine", "estimate"] {
        assert_eq!(says(name, &databases), None);
    }
}

#[test]
fn documents_name_files_that_are_there() {
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let words = text.split('`').skip(1).step_by(2);
        for file in words.filter(|word| word.contains('/') && word.ends_with(".rs")) {
            let is_there = root().join(file).exists() || root().join("crates").join(file).exists();
            assert!(is_there, "{document}: {file}");
        }
    }
}

#[test]
fn reported_set_ups_are_held_by_tests_that_are_there() {
    let mut files = Vec::new();
    crates().iter().for_each(|folder| walk(folder, "rs", &mut files));
    let tests: String = files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let text = fs::read_to_string(root().join("record/cases.md")).unwrap();
    let is_name = |word: &&str| {
        word.matches('_').count() > 4
            && word
                .chars()
                .all(|char| char == '_' || char.is_ascii_alphanumeric())
    };
    for name in text.split('`').filter(is_name) {
        assert!(tests.contains(&format!("fn {name}(")), "{name}");
    }
}

#[test]
fn there_are_no_more_test_programs() {
    let programs = crates().iter().map(|folder| test_programs(folder)).sum();
    hold("test programs", programs, TEST_PROGRAMS, 1);
}

#[test]
fn no_file_and_no_function_is_longer() {
    let all: Vec<Source> = SRC.iter().flat_map(|(name, _)| sources(name)).collect();
    let longest = |length: fn(&Source) -> usize| {
        let lengths = all.iter().map(|source| (length(source), &source.path));
        let (lines, path) = lengths.max().unwrap();
        (lines, path.display().to_string())
    };
    let (lines, path) = longest(|source| source.whole);
    hold(&path, lines, LONGEST_FILE, 1);
    let (lines, path) = longest(|source| longest_function(&source.lines));
    hold(&format!("a function of {path}"), lines, LONGEST_FUNCTION, 1);
}

/// What needs no machine is refused by the rules of the model, everything else by those of the runner.
#[test]
fn refusals_are_made_in_two_places() {
    let homes = ["model/src/refusal.rs", "model/src/rules/", "runner/src/check/"];
    let makes = |line: &String| {
        ["Refusal {", "Refusal::new", "refuse_if("]
            .iter()
            .any(|word| line.contains(word))
    };
    for source in SRC.iter().flat_map(|(name, _)| sources(name)) {
        let path = source.path.display().to_string();
        let is_home = homes.iter().any(|home| path.contains(home));
        let is_allowed = is_home || !source.lines.iter().any(makes);
        assert!(is_allowed, "{path} makes a refusal");
    }
}

fn hold(what: &str, is: usize, bound: usize, room: usize) {
    assert!(is <= bound, "{what}: {is}, and no more than {bound} are allowed");
    let fits = bound - is <= room;
    assert!(fits, "{what}: {is}; lower the bound, which is {bound}");
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
    walk(&root().join("crates").join(name).join("src"), "rs", &mut paths);
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

/// The modules, by their paths in a crate, that the file of each takes something from by `use crate::`, without parents and children.
fn uses(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let src = root().join("crates").join(name).join("src");
    let module = |source: &Source| {
        let path = source.path.strip_prefix(&src).unwrap().with_extension("");
        let path = path.to_str().unwrap().replace('/', "::");
        path.trim_end_matches("::mod").to_owned()
    };
    let sources = sources(name);
    let modules: BTreeSet<String> = sources.iter().map(module).collect();
    let used = |source: &Source| {
        let (user, text) = (module(source), source.lines.join("\n"));
        let statements = text.split("use crate::").skip(1);
        let paths = statements.flat_map(|statement| branches(statement.split(';').next().unwrap()));
        let owner = |path: String| {
            let mut ends = path.rmatch_indices("::").map(|(end, _)| &path[..end]);
            ends.find(|part| modules.contains(*part)).map(str::to_owned)
        };
        let is_kin =
            |module: &String| module.starts_with(&format!("{user}::")) || user.starts_with(&**module);
        let used = paths
            .filter_map(|path| owner(path + "::"))
            .filter(|module| !is_kin(module));
        (user.clone(), used.collect())
    };
    sources.iter().map(used).collect()
}

/// `a::{b, c::{d, e as f}}` as `a::b`, `a::c::d` and `a::c::e`.
fn branches(tree: &str) -> Vec<String> {
    let Some((stem, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap().trim().to_owned()];
    };
    let mut depth = 0;
    let parts = rest[..rest.rfind('}').unwrap()].split(move |character| {
        depth += i32::from(character == '{') - i32::from(character == '}');
        character == ',' && depth == 0
    });
    let branches = parts.filter(|part| !part.trim().is_empty()).flat_map(branches);
    branches
        .map(|branch| format!("{}{branch}", stem.trim()))
        .collect()
}

/// The most modules of which each uses, over others, all the others.
fn largest_circle(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut reached = uses.clone();
    for over in uses.keys() {
        let further = reached[over].clone();
        for from in reached.values_mut().filter(|from| from.contains(over)) {
            from.extend(further.iter().cloned());
        }
    }
    let circle = |(module, from_it): (&String, &BTreeSet<String>)| {
        let back = from_it.iter().filter(|other| reached[*other].contains(module));
        back.cloned().collect()
    };
    reached
        .iter()
        .map(circle)
        .max_by_key(Vec::len)
        .unwrap_or_default()
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

/// Files with this ending, but for those that are built or hidden.
pub(crate) fn walk(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_ours = !name.starts_with('.') && !["target", "dist"].contains(&name.as_str());
        if path.is_dir() && is_ours {
            walk(&path, ending, found);
        } else if path.extension().is_some_and(|found| found == ending) {
            found.push(path);
        }
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}
