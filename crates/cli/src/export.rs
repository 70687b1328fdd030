//! `--export`: the run in files, each of the format that its name says.

use std::fs;
use std::io::{self, Write};
use std::path::{self, Path, PathBuf};

use ciphertax_model::Profiling;
use ciphertax_records::why::Looks;
use ciphertax_records::{Recorded, Run, write_whole};
use ciphertax_report::{csv, json, markdown, openmetrics, why};

/// A file to write, and as what.
#[derive(Debug, Clone)]
pub(crate) struct Export {
    path: PathBuf,
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Estimates,
    Samples,
    Markdown,
    Html,
    OpenMetrics,
    Collapsed,
}

/// What endings there are, for those who gave another.
const ENDINGS: &str = ".json, .csv (estimates), samples.csv, .md, .html, .prom (OpenMetrics), .collapsed";

impl Export {
    /// A file whose name says what it will hold.
    pub(crate) fn new(path: PathBuf) -> Result<Self, String> {
        let name = lowered_name(&path);
        let format = match ending(&path).as_str() {
            "json" => Format::Json,
            "csv" if name.ends_with("samples.csv") => Format::Samples,
            "csv" => Format::Estimates,
            "md" => Format::Markdown,
            "html" => Format::Html,
            "xml" => return Err("JUnit is of gate alone: ciphertax gate RUN --export FILE.xml".into()),
            "prom" => Format::OpenMetrics,
            "collapsed" => Format::Collapsed,
            _ => return Err(format!("its ending says no format; there are {ENDINGS}")),
        };
        let path = no_folder(path)?;
        Ok(Self { path, format })
    }
}

fn lowered_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().to_lowercase()
}

/// What the ending of a file's name says, in small letters and one word for one format; empty where there is none.
pub(crate) fn ending(path: &Path) -> String {
    let name = lowered_name(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "markdown" => "md",
        "htm" => "html",
        "folded" => "collapsed",
        ending => ending,
    }
    .to_owned()
}

/// A file to write, whose name says one of these formats in whatever letters.
pub(crate) fn file_ending_in(path: PathBuf, endings: &[&str]) -> Result<PathBuf, String> {
    match endings.contains(&ending(&path).as_str()) {
        true => no_folder(path),
        false => Err(format!(
            "its ending says no format; there are .{}",
            endings.join(", .")
        )),
    }
}

fn no_folder(path: PathBuf) -> Result<PathBuf, String> {
    match path.is_dir() {
        true => Err("it is a folder; give the name of a file".into()),
        false => Ok(path),
    }
}

/// Makes sure that the files can be written once a run of many hours has ended. `made` is a folder that will be made until
/// then.
pub(crate) fn possible(exports: &[Export], made: Option<&Path>) -> Result<(), String> {
    let is_made = |path: &Path| made.is_some_and(|made| is_same(made, folder_of(path)));
    let mut paths = exports.iter().map(|export| export.path.as_path());
    paths.try_for_each(|path| match is_made(path) {
        true => Ok(()),
        false => is_possible(path),
    })
}

/// The same of files whose folders must be there.
pub(crate) fn can_be_written(paths: &[PathBuf]) -> Result<(), String> {
    paths.iter().try_for_each(|path| is_possible(path))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn is_possible(path: &Path) -> Result<(), String> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(format!(
            "{} cannot be written: there is no folder {}; make it first",
            path.display(),
            folder.display()
        ));
    }
    // What permissions, read-only mounts and full disks allow is known by trying.
    tempfile_in(folder).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

/// Refuses stacks of a study that looks at no CPU time.
///
/// # Errors
/// Names the file, and what to ask for.
pub(crate) fn looked_into(exports: &[Export], profile: Profiling) -> Result<(), String> {
    let mut stacks = exports.iter().filter(|export| export.format == Format::Collapsed);
    match (stacks.next(), profile) {
        (Some(Export { path, .. }), Profiling::Off | Profiling::Waits) => Err(format!(
            "{} would hold stacks with their CPU time, and with --profile={} nobody looks at them; give --profile=full, or \
             leave the file out",
            path.display(),
            profile.name()
        )),
        (Some(_), Profiling::Full) | (None, _) => Ok(()),
    }
}

/// True if two paths name the same folder, which need not be there: `./run` is `run`.
fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let parent = path.parent().filter(|parent| *parent != Path::new(""));
        let parent = fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()?;
        Some(parent.join(path.file_name()?))
    };
    let whole = |path: &Path| whole(path).or_else(|| path::absolute(path).ok());
    whole(one) == whole(other)
}

/// Makes a file in a folder, and removes it.
fn tempfile_in(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!(".ciphertax-{:016x}", rand::random::<u64>()));
    fs::File::create_new(&path)?;
    fs::remove_file(&path)
}

/// Writes a text file, or leaves what was there.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), String> {
    write_whole(path, |file| file.write_all(text.as_bytes())).map_err(|error| error.to_string())
}

/// Writes all that can be written, and tells what cannot. `page` is the report, or why there is none.
pub(crate) fn write_all(
    exports: &[Export],
    run: &Run,
    folder: &Path,
    page: Result<&str, &String>,
) -> Vec<String> {
    let written = exports.iter().map(|export| export.write(run, folder, page));
    written.filter_map(Result::err).collect()
}

impl Export {
    fn write(&self, run: &Run, folder: &Path, page: Result<&str, &String>) -> Result<(), String> {
        let path = self.path.display();
        let recorded =
            || Recorded::open(folder).map_err(|error| format!("{path} cannot be written: {error}"));
        let write = |fill: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
            write_whole(&self.path, |file| fill(file)).map_err(|error| error.to_string())
        };
        let text = |text: &str| write_text(&self.path, text);
        match self.format {
            Format::Json => text(&json::render(run)),
            Format::Estimates => write(&|file| csv::estimates(run, file)),
            Format::Samples => {
                let samples = recorded()?.samples;
                write(&|file| csv::samples(&samples, file))
            }
            Format::Markdown => text(&markdown::render(run)),
            Format::Html => text(page.map_err(Clone::clone)?),
            Format::OpenMetrics => {
                text(&openmetrics::render(run).map_err(|error| format!("{path}: {error}"))?)
            }
            Format::Collapsed => {
                let looks = recorded()?.looks().map_err(|error| error.to_string())?;
                if looks.profiles().next().is_none() {
                    return Err(format!(
                        "{path} is not written: the run has no profile of CPU time; `ciphertax why {}` says why",
                        folder.display()
                    ));
                }
                write(&|file| why::collapsed(run, &looks, why::Chosen::default(), file))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_what_it_holds() {
        for (name, format) in [
            ("run.json", Format::Json),
            ("out/estimates.csv", Format::Estimates),
            ("samples.csv", Format::Samples),
            ("today-samples.csv", Format::Samples),
            ("PR.MD", Format::Markdown),
            ("a.b.html", Format::Html),
            ("ciphertax.prom", Format::OpenMetrics),
            ("cpu.folded", Format::Collapsed),
        ] {
            assert_eq!(Export::new(name.into()).unwrap().format, format, "{name}");
        }
        for name in ["run", "run.txt", "csv", "run.", "", "/tmp/a.d/run"] {
            let error = Export::new(name.into()).unwrap_err();
            assert!(error.contains(".prom (OpenMetrics)"), "{name}: {error}");
        }
        let error = Export::new("results.xml".into()).unwrap_err();
        assert!(error.contains("ciphertax gate RUN --export FILE.xml"), "{error}");
    }

    #[test]
    fn commands_with_fewer_formats_know_the_same_endings() {
        for name in ["a.md", "A.MD", "a.b.Markdown"] {
            let found = file_ending_in(name.into(), &["md", "json"]).unwrap();
            assert_eq!(found, Path::new(name));
            assert_eq!(ending(Path::new(name)), "md");
        }
        let error = file_ending_in("a.html".into(), &["md", "json"]).unwrap_err();
        assert!(error.ends_with("there are .md, .json"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::create_dir(&path).unwrap();
        let words = "it is a folder";
        assert!(file_ending_in(path, &["json"]).unwrap_err().contains(words));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_before_and_nothing_is_left_by_trying() {
        let folder = tempfile::tempdir().unwrap();
        let export = |path: &str| [Export::new(folder.path().join(path)).unwrap()];
        possible(&export("a.csv"), None).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let error = possible(&export("run/a.csv"), None).unwrap_err();
        let has_remedy = error.contains("there is no folder") && error.contains("make it first");
        assert!(has_remedy, "{error}");
        possible(&export("run/a.csv"), Some(&folder.path().join("run"))).unwrap();
        possible(
            &export("./run/a.csv"),
            Some(
                &folder
                    .path()
                    .join("../")
                    .join(folder.path().file_name().unwrap())
                    .join("run/"),
            ),
        )
        .unwrap();
        possible(
            &[Export::new("./run/a.csv".into()).unwrap()],
            Some(Path::new("run")),
        )
        .unwrap();
        possible(
            &[Export::new("run/a.csv".into()).unwrap()],
            Some(Path::new("./run/")),
        )
        .unwrap();
        fs::create_dir(folder.path().join("taken.csv")).unwrap();
        assert!(Export::new(folder.path().join("taken.csv")).is_err());
    }

    #[test]
    fn stacks_that_nobody_would_look_at_are_refused_before() {
        let exports = [
            Export::new("a.csv".into()).unwrap(),
            Export::new("cpu.folded".into()).unwrap(),
        ];
        looked_into(&exports, Profiling::Full).unwrap();
        looked_into(&exports[..1], Profiling::Off).unwrap();
        let error = looked_into(&exports, Profiling::Waits).unwrap_err();
        let has_remedy = error.contains("cpu.folded") && error.contains("--profile=full");
        assert!(has_remedy, "{error}");
    }
}
