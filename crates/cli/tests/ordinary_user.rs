//! Root rights are not needed.

use ciphertax_lab::RunningLink;
use ciphertax_lab::link::WITHOUT_ROOT;
use ciphertax_testkit::OrdinaryUser;

use crate::common::*;

#[test]
fn an_ordinary_user_measures_too() {
    if !is_root() {
        return not_tested("whoever is not root cannot become another user; the other tests have shown it");
    }
    let sandbox = Sandbox::new();
    let finished = finish_as_ordinary_user(
        &sandbox,
        &["run", "quick", "--time=15", "--precision=0.5", "--out=run"],
    );
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
fn an_ordinary_user_is_told_how_to_measure_at_a_distance_and_does() {
    let Some(user) = user_with_namespaces() else {
        return;
    };
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
    refused.fails(2, &format!("CAP_NET_ADMIN … {WITHOUT_ROOT}"));
    assert!(!refused.stderr.contains("Starting"), "{}", refused.stderr);
    finish_in_namespaces(&sandbox, user, &run).measured();
    let link = record(&sandbox.run()).head.servers[0].link.clone().unwrap();
    assert!(link.packets > 0, "{link:?}");
    sandbox.expect_nothing_left();
}

/// Measures a built-in study at its distances, as the refusal says how.
fn expect_to_be_measured_at_its_distances(study: &str, settings: &[&str]) {
    let Some(user) = user_with_namespaces() else {
        return;
    };
    let sandbox = Sandbox::new();
    copy_tunnels(&sandbox);
    let run = ["run", study, "--out=run", "--time=8", "--set=slice_s=0.2"];
    finish_in_namespaces(&sandbox, user, &[&run, settings].concat()).measured();
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

/// An ordinary user who may have namespaces of his own; `None` where nobody can become him, or he may not, or root has no links.
fn user_with_namespaces() -> Option<OrdinaryUser> {
    if !is_root() {
        not_tested("whoever is not root cannot become another user, nor open /dev/net/tun for him");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-current-user", "--keep-caps", "--net", "true"]);
    let user = OrdinaryUser::find();
    let unshared = user.run(&mut command).output().unwrap();
    let refused = match RunningLink::check() {
        Err(error) => error.to_string(),
        Ok(()) if unshared.status.success() => return Some(user),
        Ok(()) => String::from_utf8_lossy(&unshared.stderr).into_owned(),
    };
    not_tested(refused);
    None
}

/// As [`finish_as_ordinary_user`], in the namespaces that the refusal advises. /dev/net/tun is for everyone there, as it is on most
/// systems.
fn finish_in_namespaces(sandbox: &Sandbox, user: OrdinaryUser, arguments: &[&str]) -> Finished {
    let program = program_of(user, sandbox, 0o700);
    let OrdinaryUser { user, group } = user;
    let advice = WITHOUT_ROOT.replace("ciphertax run …", r#"exec "$0" "$@""#);
    let script = format!(
        "mount -t tmpfs tmpfs /dev/net && mknod -m 666 /dev/net/tun c 10 200 && \
         exec setpriv --reuid={user} --regid={group} --clear-groups {advice} \"$0\" \"$@\""
    );
    let unshare = ["--mount", "sh", "-c", &script, program.to_str().unwrap()];
    let command = sandbox.command_of(Path::new("unshare"), &[&unshare, arguments].concat());
    Running::start(command).finish_within(4 * PATIENCE)
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
    let user = OrdinaryUser::find();
    let mut command = sandbox.command_of(&program_of(user, sandbox, mode), arguments);
    user.run(&mut command);
    Running::start(command).finish_within(4 * PATIENCE)
}

/// A copy of the command in a sandbox that becomes this user's.
fn program_of(user: OrdinaryUser, sandbox: &Sandbox, mode: u32) -> PathBuf {
    let program = sandbox.root().join("ciphertax");
    copy_program(Path::new(env!("CARGO_BIN_EXE_ciphertax")), &program);
    user.give(sandbox.root());
    fs::set_permissions(sandbox.work(), fs::Permissions::from_mode(mode)).unwrap();
    program
}

mod test_all {
    use super::*;

    #[test]
    fn an_ordinary_user_measures_connections_at_a_distance() {
        expect_to_be_measured_at_its_distances("mysql-connect-distance", &[]);
    }

    #[test]
    fn an_ordinary_user_measures_tunnels_over_continents() {
        // Without servers that would have to be fetched.
        let cells = ["yassl-1024-continent", "yassl-4096-continent", "yassl-4096-ocean"];
        let here = cells.map(|cell| format!("--set=cell.{cell}.server=mariadb"));
        expect_to_be_measured_at_its_distances("mysql-tls-tunnel-wan", &here.each_ref().map(String::as_str));
    }
}
