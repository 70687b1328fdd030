//! Programs in Go, built on the spot.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, child};

/// A built program.
pub struct GoProgram(PathBuf);

impl GoProgram {
    /// Builds the program of this name, whose source is in `peers`, beside the program that runs now.
    ///
    /// # Errors
    /// If there is no Go, or its modules are not available.
    pub fn build(name: &str) -> Result<Self> {
        let here = env::current_exe()?;
        let program = here.parent().unwrap_or(Path::new(".")).join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name);
        eprintln!("building {name} …");
        let mut command = Command::new("go");
        command.current_dir(source).args(["build", "-o"]).arg(&program);
        child::run(&mut command, "").map_err(|error| {
            format!("{error}\nthe program beside which ciphertax is measured needs Go 1.24 or later")
        })?;
        Ok(Self(program))
    }

    /// The versions of Go and of these modules that it was built with.
    ///
    /// # Errors
    /// If it has none of a module.
    pub fn versions(&self, modules: &[&str]) -> Result<String> {
        let report = child::run(Command::new("go").args(["version", "-m"]).arg(&self.0), "")?.output;
        let mut versions = vec![report.split_whitespace().nth(1).unwrap_or_default().to_owned()];
        for module in modules {
            let version = report
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>())
                .find(|words| words.get(1) == Some(module))
                .and_then(|words| words.get(2).map(ToString::to_string))
                .ok_or_else(|| format!("the program in Go was built without {module}"))?;
            let name = module.split_once('/').map_or(*module, |(_host, name)| name);
            versions.push(format!("{name} {version}"));
        }
        Ok(versions.join(", "))
    }

    /// Runs it.
    pub fn command(&self) -> Command {
        Command::new(&self.0)
    }
}
