//! Root rights are not needed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ciphertax_model::{LinkKind, Metric};
use ciphertax_records::RunStatus;
use ciphertax_testkit::{OrdinaryUser, copy_program, is_root, not_tested, unpacked_tunnels};

use crate::common::{Finished, PATIENCE, Running, Sandbox, no_slice_failed, record, samples};

const ONLY_ROOT_IS_SURE: &str =
    "whoever runs the tests may have the rights for links although he is not root";

#[test]
fn an_ordinary_user_measures_too() {
    if !is_root() {
        return not_tested("whoever is not root cannot become another user; the other tests have shown it");
    }
    let sandbox = Sandbox::new();
    let finished = finish_as_ordinary_user(&sandbox, &["quick", "--time=4", "--out=run"]);
    finished.measured();
    let run = record(&sandbox.run());
    // The server is the user's own, so its CPU can be seen.
    let is_server_cpu = |metric| metric == Metric::ServerCpuPerOp;
    assert!(
        run.results
            .measurements
            .iter()
            .any(|row| is_server_cpu(row.metric))
    );
    sandbox.expect_nothing_left();
}

#[test]
fn an_ordinary_user_is_told_of_the_relay_and_measures_at_a_distance_with_it() {
    if !is_root() {
        return not_tested(ONLY_ROOT_IS_SURE);
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
    let refused = finish_as_ordinary_user(&sandbox, &run);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for words in [
        "needs root",
        "without these rights, add `--set link_by=relay`",
        "does not delay TCP's own handshake",
    ] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert!(!refused.stderr.contains("Starting"), "{}", refused.stderr);
    let finished = finish_as_ordinary_user(&sandbox, &[&run[..], &["--set", "link_by=relay"]].concat());
    finished.measured();
    let link = record(&sandbox.run()).head.servers[0].link.clone().unwrap();
    assert_eq!(link.by, LinkKind::Relay);
    sandbox.expect_nothing_left();
}

/// Takes the settings that a refusal names, and measures with them.
fn expect_advice_that_works(study: &str, settings: &[&str]) {
    if !is_root() {
        return not_tested(ONLY_ROOT_IS_SURE);
    }
    let sandbox = Sandbox::new();
    copy_tunnels(&sandbox);
    let run = [
        &["run", study, "--out=run", "--time=8", "--set=slice_s=0.2"],
        settings,
    ]
    .concat();
    let refused = finish_as_ordinary_user(&sandbox, &run);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let (_, advice) = refused
        .stderr
        .split_once("without these rights, add `")
        .expect("advice");
    let (advice, _) = advice.split_once('`').unwrap();
    let finished = finish_as_ordinary_user(
        &sandbox,
        &run.into_iter().chain(advice.split(' ')).collect::<Vec<_>>(),
    );
    finished.measured();
    let run = record(&sandbox.run());
    no_slice_failed(&run);
    assert_eq!(run.head.status, RunStatus::Complete);
    // The time is too short for figures of all cells; but every arm was proved, those with tunnels through them.
    for arm in &run.head.arms {
        assert!(!arm.sessions.is_empty(), "{}", arm.name);
    }
    assert!(!samples(&sandbox.run()).is_empty());
    sandbox.expect_nothing_left();
}

/// Programs of tunnels that are in the cache of whoever runs the tests are put where the ordinary user finds them.
fn copy_tunnels(sandbox: &Sandbox) {
    if let Some(unpacked) = unpacked_tunnels() {
        let cache = sandbox.work().join(".cache/ciphertax");
        fs::create_dir_all(&cache).unwrap();
        copy_program(&unpacked, &cache);
    }
}

/// Runs a copy of the command as an ordinary user, in a sandbox that is this user's.
pub(crate) fn finish_as_ordinary_user(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    finish_as_ordinary_user_in(sandbox, 0o700, arguments)
}

/// As [`finish_as_ordinary_user`], in a working folder of this mode.
pub(crate) fn finish_as_ordinary_user_in(sandbox: &Sandbox, mode: u32, arguments: &[&str]) -> Finished {
    let (user, program) = (OrdinaryUser::find(), sandbox.root().join("ciphertax"));
    copy_program(Path::new(env!("CARGO_BIN_EXE_ciphertax")), &program);
    user.give(sandbox.root());
    fs::set_permissions(sandbox.work(), fs::Permissions::from_mode(mode)).unwrap();
    let mut command = sandbox.command_of(&program, arguments);
    user.run(&mut command);
    Running::start(command).finish_within(4 * PATIENCE)
}

mod test_all {
    use super::*;

    #[test]
    fn connections_at_a_distance_are_measured_as_the_refusal_advises() {
        expect_advice_that_works("mysql-connect-distance", &[]);
    }

    #[test]
    fn tunnels_over_continents_are_measured_as_the_refusal_advises() {
        // Without servers that would have to be fetched.
        let cells = ["yassl-1024-continent", "yassl-4096-continent", "yassl-4096-ocean"];
        let here = cells.map(|cell| format!("--set=cell.{cell}.server=mariadb"));
        expect_advice_that_works("mysql-tls-tunnel-wan", &here.each_ref().map(String::as_str));
    }
}
