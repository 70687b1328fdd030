//! A server of the user's own that is to encrypt results by itself.

use crate::common::*;

const PASSWORD: &str = "CIPHERTAX_ENCDB_PASSWORD";
/// A target that is not asked before a plan is possible.
const TARGET: &str = "mysql://app:secret@127.0.0.1:1/";
const ALL: &str =
    "{ name = \"all\", transport = \"plain\", columns = { feature = \"in_results\", columns = \"all\" } }";

fn sandbox(arms: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let study = format!(
        "name = \"mine\"\nquestion = \"?\"\ntime_s = 2\ntpcc = {{ warehouses = 1 }}\n\
         arm = [{{ name = \"plain\", transport = \"plain\" }}, {arms}]\n\
         cell = [{{ name = \"c\", workload = \"tpcc\", load = {{ connections = 1 }} }}]\n"
    );
    fs::write(sandbox.work().join("mine.toml"), study).unwrap();
    sandbox
}

fn finish(sandbox: &Sandbox, arguments: &[&str], password: Option<&str>) -> Finished {
    let fixed = ["run", "mine.toml", "--out", "run"];
    let mut command = sandbox.command(&[&fixed, arguments].concat());
    if let Some(password) = password {
        command.env(PASSWORD, password);
    }
    Running::start(command).finish()
}

#[test]
fn what_a_server_cannot_be_asked_for_is_refused_before_it_is_asked() {
    let none = "{ name = \"tls\", transport = \"tls1.3\" }";
    let binary = ALL.replace("\"all\" }", "\"all\", encoding = \"binary\" }");
    let of_url = [TARGET, "--encdb-account", "app"];
    let sealed = [TARGET, "--encdb-account", "sealed"];
    for (arms, arguments, words) in [
        (ALL, of_url, "the URL's own account … full access"),
        (none, sealed, "no arm of the study … leave it out"),
        (&binary, sealed, "arm \"all\" … encoding = \"binary\""),
    ] {
        let finished = finish(&sandbox(arms), &arguments, Some("tr0ub4dor"));
        finished.refuses(words);
    }
    finish(&sandbox(ALL), &[TARGET, "--encdb-account", "sealed"], None)
        .refuses(&format!("{PASSWORD} … sealed"));
    // A server of another kind: two refusals, a line each.
    let other = finish(&sandbox(ALL), &["postgres://app@127.0.0.1:1/shop"], None);
    assert_eq!(other.code, Some(2), "{other:?}");
    let of_arm = other.stderr.lines().find(|line| line.contains("arm \"all\""));
    let is_told = of_arm.is_some_and(|line| line.contains("leave the target out"));
    assert!(is_told, "{other:?}");
}

#[test]
fn a_server_without_the_exchange_is_named_and_nothing_is_left_on_it() {
    let server = OwnServer::start();
    server.session(|query| {
        query("CREATE USER sealed@'%' IDENTIFIED BY 'tr0ub4dor'");
    });
    let sandbox = sandbox(ALL);
    let target = server.url_with(server.password());
    let arguments = [target.as_str(), "--encdb-account", "sealed"];
    let finished = finish(&sandbox, &arguments, Some("tr0ub4dor"));
    finished.refuses("arm all … encdb_process_message … is it a PolarDB-X or RDS");
    assert!(!finished.stderr.contains("tr0ub4dor"), "{}", finished.stderr);
    let denied = finish(&sandbox, &arguments, Some("wrong"));
    denied.refuses("Access denied … all");
    assert!(!server.schemas().contains(&"ciphertax".to_owned()));
    sandbox.expect_nothing_left();
}
