//! Root rights are not needed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use ciphertax_model::LinkKind;

use crate::common::{Finished, Running, Sandbox, record};

const NOBODY: u32 = 65_534;

#[test]
fn an_ordinary_user_measures_too() {
    if !rustix::process::geteuid().is_root() {
        return; // Then every test here has just shown it.
    }
    let sandbox = Sandbox::new();
    let finished = finish_as_nobody(&sandbox, &["quick", "--time=4", "--out=run"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let run = record(&sandbox.run());
    assert!(!run.estimates.is_empty());
    sandbox.expect_nothing_left();
}

#[test]
fn an_ordinary_user_is_told_of_the_relay_and_measures_at_a_distance_with_it() {
    if !rustix::process::geteuid().is_root() {
        return; // Whoever runs the tests may have the rights for links although he is not root.
    }
    let sandbox = Sandbox::new();
    let study = r#"
        name = "distance"
        question = "Does it need root?"
        time_s = 3
        slice_s = 0.2
        link = { rtt_ms = 10 }
        arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls" }]
        cell = [{ name = "connect", workload = "connect_only", load = { connections = 2 } }]
    "#;
    fs::write(sandbox.work().join("study.toml"), study).unwrap();
    let run = ["run", "study.toml", "--out=run"];
    let refused = finish_as_nobody(&sandbox, &run);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for words in [
        "needs root",
        "--set link_by=relay",
        "does not delay TCP's own handshake",
    ] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert!(!refused.stderr.contains("Starting"), "{}", refused.stderr);
    let finished = finish_as_nobody(&sandbox, &[&run[..], &["--set", "link_by=relay"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let link = record(&sandbox.run()).servers[0].link.clone().unwrap();
    assert_eq!(link.by, LinkKind::Relay);
    sandbox.expect_nothing_left();
}

/// Runs a copy of the command that `nobody` may run, in a sandbox that `nobody` may write to.
pub(crate) fn finish_as_nobody(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
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
    let ids = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    let words = [&ids[..], &[program.to_str().unwrap()], arguments].concat();
    Running::start(sandbox.command_of(Path::new("setpriv"), &words)).finish()
}
