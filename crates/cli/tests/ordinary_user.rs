//! Root rights are not needed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::common::{Running, Sandbox, record};

#[test]
fn an_ordinary_user_measures_too() {
    if !rustix::process::geteuid().is_root() {
        return; // Then every test here has just shown it.
    }
    const NOBODY: u32 = 65_534;
    let sandbox = Sandbox::new();
    let program = sandbox.root().join("ciphertax");
    // By another process: a copy that this one still has open for writing, or that a child forked meanwhile inherited,
    // cannot be executed.
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_ciphertax"))
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    for path in [sandbox.root(), &program, &sandbox.work(), &sandbox.temporary()] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let command = sandbox.command_of(
        Path::new("setpriv"),
        &[
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--",
            program.to_str().unwrap(),
            "quick",
            "--time=4",
            "--out=run",
        ],
    );
    let finished = Running::start(command).finish();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let run = record(&sandbox.run());
    assert!(!run.estimates.is_empty());
    sandbox.expect_nothing_left();
}
