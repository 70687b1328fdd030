//! Go's driver, in a program that is built on the spot.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use ciphertax_bench::{Result, child};

/// The built program.
pub(crate) struct Program(PathBuf);

/// Builds it beside this program.
pub(crate) fn build() -> Result<Program> {
    let here = env::current_exe()?;
    let program = here.parent().unwrap_or(Path::new(".")).join("go-connect");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/go-connect");
    eprintln!("building the Go program …");
    let mut command = Command::new("go");
    command.current_dir(source).args(["build", "-o"]).arg(&program);
    child::run(&mut command, "").map_err(|error| {
        format!("{error}\nthe program beside which ciphertax is measured needs Go 1.24 or later")
    })?;
    Ok(Program(program))
}

/// The versions of Go and of the driver that the program was built with.
pub(crate) fn version(program: &Program) -> Result<String> {
    let report = child::run(Command::new("go").args(["version", "-m"]).arg(&program.0), "")?.output;
    let go = report.split_whitespace().nth(1).unwrap_or_default();
    let driver = report
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|words| words.get(1) == Some(&"github.com/go-sql-driver/mysql"))
        .and_then(|words| words.get(2).map(ToString::to_string))
        .ok_or("the Go program does not name its driver")?;
    Ok(format!("{go}, go-sql-driver/mysql {driver}"))
}

impl Program {
    pub(crate) fn command(&self) -> Command {
        Command::new(&self.0)
    }
}
