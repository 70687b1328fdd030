//! The programs that tunnels are made of.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::stop;
use ciphertax_supervise::child;

use crate::error::{Error, Result};
use crate::locate::{cache_root, command_line, library_folders, program_in, system_folders};

use crate::error::path::TunnelError;

const PATIENCE: Duration = Duration::from_secs(10);

/// An installed program: of the system, or unpacked into the user's cache by `scripts/setup.sh`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    path: PathBuf,
    /// Where its shared libraries are; empty for a program of the system.
    libraries: Vec<PathBuf>,
}

impl Program {
    /// The system's program of one of these names; where there is none, the one in the user's cache.
    pub(crate) fn find(names: &[&str], package: &str) -> Result<Self> {
        let in_cache = cache_root().map(|root| root.join("tunnels"));
        Self::find_in(names, package, &system_folders(), in_cache.as_deref())
    }

    fn find_in(names: &[&str], package: &str, in_system: &[PathBuf], cache: Option<&Path>) -> Result<Self> {
        if let Some(path) = program_in(names, in_system) {
            return Ok(Self {
                path,
                libraries: Vec::new(),
            });
        }
        let in_cache: Vec<PathBuf> = cache
            .iter()
            .flat_map(|root| ["usr/bin", "usr/sbin", "bin", "sbin"].map(|folder| root.join(folder)))
            .collect();
        match (program_in(names, &in_cache), cache) {
            (Some(path), Some(root)) => Ok(Self {
                path,
                libraries: library_folders(root),
            }),
            _ => {
                let searched = in_system
                    .iter()
                    .chain(&in_cache)
                    .map(|folder| folder.display().to_string())
                    .collect::<Vec<_>>()
                    .join(", ");
                Err(TunnelError::NotInstalled {
                    program: names.join(" or "),
                    package: package.into(),
                    searched,
                }
                .into())
            }
        }
    }

    /// A program that was fetched; with the folder of its own libraries below its root, where these do not know each other.
    pub(crate) fn at(path: PathBuf, own_libraries: Option<&str>) -> Self {
        let root = path.ancestors().nth(3).unwrap_or(Path::new("/"));
        let libraries = own_libraries.map(|own| [library_folders(root), vec![root.join(own)]].concat());
        let libraries = libraries.unwrap_or_default();
        Self { path, libraries }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    pub(crate) fn command_line<Word: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = Word>,
    ) -> Vec<OsString> {
        let mut words = command_line(&self.path, &self.libraries);
        words.extend(arguments.into_iter().map(Into::into));
        words
    }

    /// `name`, and the word that follows `mark` in what it says with `option`.
    pub(crate) fn version(&self, name: &str, option: &str, mark: &str) -> Result<String> {
        let said = self.says(option, mark)?;
        Ok(format!(
            "{name} {}",
            said.split_whitespace().next().unwrap_or_default()
        ))
    }

    /// What follows `mark` in the first line with it that the program writes with `option`, as in `-V`. The exit code
    /// does not matter.
    pub(crate) fn says(&self, option: &str, mark: &str) -> Result<String> {
        let said = run(&self.command_line([option]))?;
        let words = [&said.output, &said.complaints]
            .into_iter()
            .flat_map(|text| text.lines())
            .find_map(|line| line.split_once(mark));
        Ok(words.map_or("unknown", |(_, words)| words).trim().to_owned())
    }
}

/// Runs a command that ends by itself, and fails if it fails.
pub(crate) fn run_to_success(command_line: &[OsString]) -> Result<String> {
    let said = run(command_line)?;
    if said.success {
        return Ok(said.output);
    }
    Err(TunnelError::Command {
        command: displayed(command_line),
        problem: one_line(&said.complaints),
    }
    .into())
}

struct Said {
    success: bool,
    output: String,
    complaints: String,
}

fn run(command_line: &[OsString]) -> Result<Said> {
    let mut command = Command::new(&command_line[0]);
    command
        .args(&command_line[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for the owner alone to act upon.
        .process_group(0);
    // This thread waits for the end, so it lives as long as the process does.
    child::die_with_this_thread(&mut command);
    let failed = |cause| Error::Spawn {
        program: PathBuf::from(&command_line[0]),
        cause,
    };
    let mut process = command.spawn().map_err(failed)?;
    let success = end_within(&mut process, PATIENCE)
        .map_err(failed)?
        .ok_or_else(|| TunnelError::Command {
            command: displayed(command_line),
            problem: format!("nothing for {} s", PATIENCE.as_secs()),
        })?;
    Ok(Said {
        success,
        output: text_of(process.stdout.take()),
        complaints: text_of(process.stderr.take()),
    })
}

/// Waits until a process ends, and kills it if it has not in time. Whether it succeeded; `None` if it was killed. It must not write
/// more than a pipe holds.
pub(crate) fn end_within(process: &mut Child, time: Duration) -> io::Result<Option<bool>> {
    let deadline = Instant::now() + time;
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(Some(status.success()));
        }
        if stop::is_over(deadline) {
            let _ = process.kill();
            let _ = process.wait();
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn text_of(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    let _ = stream.map(|mut stream| stream.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    match lines.len() {
        0 => "nothing".into(),
        _ => lines.join(" | "),
    }
}

fn displayed(command_line: &[OsString]) -> String {
    let words: Vec<_> = command_line.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_system_comes_before_the_cache() {
        let (system, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let bin = cache.path().join("usr/bin");
        let libraries = cache.path().join("usr/lib/x86_64-linux-gnu");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&libraries).unwrap();
        write_program(&bin.join("carrier"));
        let find = || {
            Program::find_in(
                &["carrier"],
                "carriers",
                &[system.path().to_owned()],
                Some(cache.path()),
            )
            .unwrap()
            .command_line(["-x"])
        };
        assert_eq!(
            find(),
            [
                "/usr/bin/env".into(),
                OsString::from(format!("LD_LIBRARY_PATH={}", libraries.display())),
                bin.join("carrier").into(),
                "-x".into()
            ]
        );
        write_program(&system.path().join("carrier"));
        assert_eq!(
            find(),
            [system.path().join("carrier").into(), OsString::from("-x")]
        );
    }

    fn write_program(path: &Path) {
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let error = Program::find_in(
            &["stunnel4", "stunnel"],
            "stunnel4",
            &[],
            Some(Path::new("/cache")),
        )
        .unwrap_err()
        .to_string();
        for words in [
            "stunnel4 or stunnel is not installed",
            "the package stunnel4",
            "/cache/usr/bin",
            "scripts/setup.sh tunnels",
        ] {
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_command_that_fails_is_reported_in_its_own_words() {
        let words = ["/bin/sh", "-c", "printf 'no\nway\n' >&2; exit 3"].map(OsString::from);
        let error = run_to_success(&words).unwrap_err().to_string();
        assert!(error.contains("no | way"), "{error}");
    }
}
