//! A MongoDB that the user already has: what ciphertax touches there, and what it keeps to itself.

use ciphertax_model::{AuthenticationMethod, ReplicaSet, TlsVersion};
use ciphertax_records::{RunStatus, Verified};
use ciphertax_wire::mongodb::bson::{RawArrayBuf, rawdoc};
use rustix::process::Signal;

use crate::common::{
    OwnMongoDb, PATIENCE, Running, Sandbox, another_ca, command_lines_with, no_secret_is_left,
    no_slice_failed, record, within,
};

/// Few records and short slices: what a run leaves does not depend on how long it is.
const SHORT: [&str; 6] = [
    "--time",
    "3",
    "--set",
    "ycsb.record_count=500",
    "--set",
    "slice_s=0.05",
];

#[test]
fn a_password_in_the_environment_stays_there_and_other_databases_stay_as_they_are() {
    let server = OwnMongoDb::start();
    server.insert("shop", "orders", [rawdoc! { "_id": 1_i32, "item": "a chair" }]);
    let before = server.contents();
    let sandbox = Sandbox::new();
    let target = format!("{}?tlsCAFile={}", server.url(), server.ca_file().display());

    let mut running = start(&sandbox, &target, Some(server.password()), &["--time", "12"]);
    running.measures();
    assert_eq!(command_lines_with(server.password()), Vec::<String>::new());
    assert!(server.has("ciphertax"));
    let finished = running.finish();

    finished.measured();
    no_secret_is_left(&sandbox, &finished, server.password(), &server.url());
    assert_eq!(server.contents(), before);
    sandbox.expect_nothing_left();

    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
    let [own] = &run.head.servers[..] else {
        panic!("{:?}", run.head.servers)
    };
    assert_eq!((&own.name, &own.address), (&server.url(), &server.hosts()));
    assert!(own.version.starts_with('6'), "{own:?}");
    assert_eq!(own.settings["storageEngine"], "wiredTiger");
    assert!(own.tls_library.contains("SSL"), "{own:?}");
    let facts = &run
        .head
        .arms
        .iter()
        .find(|arm| arm.name == "tls1.3")
        .unwrap()
        .sessions[0]
        .facts;
    assert_eq!(facts.tls.as_ref().unwrap().verification, Verified::Ca);
    assert!(run.results.connects.iter().all(|row| {
        row.logins
            .keys()
            .map(ToString::to_string)
            .eq(["SCRAM-SHA-256/cached"])
    }));
}

#[test]
fn what_keeps_ciphertax_from_a_server_is_said_with_the_remedy_and_nothing_is_written() {
    let server = OwnMongoDb::start();
    let before = server.contents();
    let ca = format!("?tlsCAFile={}", server.ca_file().display());
    let wrong = refused(
        &format!("{}{ca}", server.url_with("tr0ub4dor")),
        &["refused", "check user and password"],
    );
    assert!(!wrong.contains("tr0ub4dor"), "{wrong}");
    refused(&format!("{}{ca}", server.url()), &["CIPHERTAX_PASSWORD"]);
    refused(
        &format!("mongodb://{}/{ca}", server.hosts()),
        &["name a user in the URL", "CIPHERTAX_PASSWORD"],
    );
    refused(
        &server.url_with(server.password()),
        &["tls1.2", "no CA is known", "URL"],
    );
    let own = server.url_with(server.password());
    refused(
        &format!("{own}{ca}&replicaSet=rs0"),
        &["no replica set", "leave replicaSet out"],
    );
    server.session(|_| refused(&format!("{own}{ca}"), &["another ciphertax measures it", "wait"]));
    assert_eq!(server.contents(), before);
}

#[test]
fn a_tls_arm_on_a_server_without_tls_and_without_access_control() {
    let server = OwnMongoDb::start_with(|builder| builder.without_tls().access_control(false));
    let before = server.contents();
    let sandbox = Sandbox::new();
    let target = format!("mongodb://{}/", server.hosts());
    let finished = start(&sandbox, &target, None, &["--set", "tls.verification=none"]).finish();
    finished.refuses(&["arm tls1.2", "does not offer TLS", "switch TLS on"]);
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
    assert_eq!(server.contents(), before);
}

#[test]
fn a_server_that_demands_tls_is_measured_by_studies_without_a_plain_arm() {
    let server = OwnMongoDb::start();
    server.session(|ask| {
        for mode in ["preferTLS", "requireTLS"] {
            ask(&rawdoc! { "setParameter": 1_i32, "tlsMode": mode, "$db": "admin" });
        }
    });
    let target = format!(
        "{}?tlsCAFile={}",
        server.url_with(server.password()),
        server.ca_file().display()
    );
    let said = refused(
        &target,
        &[
            "demands TLS",
            "plain arm",
            "ciphertax run mongodb-tls-versions 'mongodb://",
        ],
    );
    // The URL that it names lacks the password alone.
    let url = said.split('\'').nth(1).unwrap();
    let sandbox = Sandbox::new();
    let words = ["run", "mongodb-tls-versions", url, "--out", "run"];
    let mut command = sandbox.command(&[&words[..], &SHORT].concat());
    command.env("CIPHERTAX_PASSWORD", server.password());
    let finished = Running::start(command).finish();
    finished.measured();
    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
    assert!(!run.results.measurements.is_empty());
}

#[test]
fn an_arm_of_a_tls_version_that_the_server_does_not_have_is_left_out_and_said_to_be() {
    for (has, lacks) in [
        (TlsVersion::V1_2, TlsVersion::V1_3),
        (TlsVersion::V1_3, TlsVersion::V1_2),
    ] {
        let server = OwnMongoDb::start_with(|builder| builder.tls_versions(&[has]).access_control(false));
        let target = format!(
            "mongodb://{}/?tlsCAFile={}",
            server.hosts(),
            server.ca_file().display()
        );
        let sandbox = Sandbox::new();
        let finished = start(&sandbox, &target, None, &[]).finish();
        finished.measured();
        let arm = lacks.name().replace("TLSv", "tls");
        let reason = format!("the server does not offer {lacks}, it has {has}");
        assert!(
            finished.stderr.contains(&format!("Leaving out {arm}: {reason}")),
            "{}",
            finished.stderr
        );
        let run = record(&sandbox.run());
        let [left_out] = &run.head.left_out[..] else {
            panic!("{:?}", run.head.left_out)
        };
        assert_eq!((&left_out.arm, left_out.reason.to_string()), (&arm, reason));
        assert_eq!(run.head.arms.len(), 3);
    }
}

#[test]
fn a_certificate_in_the_url_logs_in() {
    let method = AuthenticationMethod::MongodbX509;
    let server = OwnMongoDb::start_with(|builder| builder.account(method));
    let before = server.contents();
    let sandbox = Sandbox::new();
    let target = format!(
        "mongodb://{}/?authMechanism=MONGODB-X509&tlsCertificateKeyFile={}&tlsCAFile={}",
        server.hosts(),
        server.client_file().display(),
        server.ca_file().display()
    );
    // Without TLS nobody can show a certificate.
    let plain = start(&sandbox, &target, None, &SHORT).finish();
    plain.refuses(&["arm plain", "mongodb-tls-versions"]);
    assert!(!sandbox.run().exists());

    let mut command = vec!["run", "mongodb-tls-versions", target.as_str(), "--out", "run"];
    command.extend(SHORT);
    let finished = sandbox.finish(&command);
    finished.measured();
    assert_eq!(server.contents(), before);
    let run = record(&sandbox.run());
    for arm in &run.head.arms {
        let facts = &arm.sessions[0].facts.authentication;
        assert_eq!(facts.method, method.name(), "{}", arm.name);
    }
    let cleaned = sandbox.finish(&["clean", &target]);
    assert_eq!(cleaned.code, Some(0), "{}", cleaned.stderr);
}

#[test]
fn other_clients_keep_connections() {
    let server = OwnMongoDb::start_with(|builder| builder.option("--maxConns=30"));
    let target = format!(
        "{}?tlsCAFile={}",
        server.url_with(server.password()),
        server.ca_file().display()
    );
    let before = server.contents();
    let sandbox = Sandbox::new();
    let many = ["--set", "load.connections=20"];
    let finished = start(&sandbox, &target, None, &many).finish();
    finished.refuses(&[
        "opens 121 connections at a time",
        "of the 30 that maxIncomingConnections allows",
        "5 are kept for other clients",
        "--set load.connections=4",
    ]);
    assert_eq!(server.contents(), before);
    let fewer = ["--set", "load.connections=4"];
    let finished = start(&sandbox, &target, None, &fewer).finish();
    finished.measured();
}

#[test]
fn a_missing_right_is_named_with_the_command_that_gives_it() {
    let server = OwnMongoDb::start();
    let user = |name: &str, roles: RawArrayBuf| {
        server.ask(&rawdoc! { "createUser": name, "pwd": "tr0ub4dor", "roles": roles, "$db": "accounts" });
        format!(
            "mongodb://{name}:tr0ub4dor@{}/?authSource=accounts&tlsCAFile={}",
            server.hosts(),
            server.ca_file().display()
        )
    };
    let before = server.contents();
    let nothing = user("nobody", RawArrayBuf::new());
    let reads = [rawdoc! { "role": "read", "db": "ciphertax" }]
        .into_iter()
        .collect();
    let reader = user("reader", reads);
    for (target, name) in [(&nothing, "nobody"), (&reader, "reader")] {
        let grant = format!(
            r#"db.getSiblingDB("accounts").grantRolesToUser("{name}", [{{ role: "dbOwner", db: "ciphertax" }}])"#
        );
        refused(target, &["not authorized", "have its administrator run", &grant]);
    }
    assert_eq!(server.contents(), before);
    let roles = [rawdoc! { "role": "dbOwner", "db": "ciphertax" }]
        .into_iter()
        .collect::<RawArrayBuf>();
    server.ask(&rawdoc! { "grantRolesToUser": "reader", "roles": roles, "$db": "accounts" });
    let finished = start(&Sandbox::new(), &reader, None, &[]).finish();
    finished.measured();
}

#[test]
fn a_certificate_of_another_authority_is_mended_by_the_options_of_mongodb() {
    let server = OwnMongoDb::start();
    let (_elsewhere, other_ca) = another_ca();
    let own = server.url_with(server.password());
    let wrong = refused(
        &format!("{own}?tlsCAFile={}", other_ca.display()),
        &["signed by another CA", "tlsCAFile must name"],
    );
    assert!(!wrong.contains("ssl-ca"), "{wrong}");
}

#[test]
fn a_database_that_ciphertax_did_not_make_is_left_alone() {
    let server = OwnMongoDb::start_with(|builder| builder.access_control(false));
    let target = format!(
        "mongodb://{}/?tlsCAFile={}",
        server.hosts(),
        server.ca_file().display()
    );
    let words = ["database named ciphertax", "did not make", "rename it"];
    server.insert("ciphertax", "precious", [rawdoc! { "_id": 1_i32 }]);
    let before = server.contents();
    refused(&target, &words);
    assert_eq!(server.contents(), before);
    // Nor is one that only looks like it.
    server.insert("ciphertax", "ciphertax_mark", [rawdoc! { "mark": "so they say" }]);
    let before = server.contents();
    refused(&target, &words);
    assert_eq!(server.contents(), before);
}

#[test]
fn what_a_killed_run_left_on_the_server_goes_with_the_next() {
    let server = OwnMongoDb::start_with(|builder| builder.access_control(false));
    let before = server.contents();
    let sandbox = Sandbox::new();
    let target = format!(
        "mongodb://{}/?tlsCAFile={}",
        server.hosts(),
        server.ca_file().display()
    );
    let mut running = start(&sandbox, &target, None, &["--time", "30", "--out", "killed"]);
    running.measures();
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    assert!(server.has("ciphertax"));

    // The claim ends when the server notices that the connections are closed.
    let others = || {
        let idle = rawdoc! { "currentOp": true, "$all": true, "active": false, "$db": "admin" };
        let answer = server.ask(&idle);
        answer.get_array("inprog").unwrap().into_iter().any(|session| {
            let session = session.unwrap();
            let client = session.as_document().unwrap().get_document("clientMetadata");
            client.is_ok()
        })
    };
    assert!(within(PATIENCE, || !others()));
    let finished = start(&sandbox, &target, None, &[]).finish();
    finished.measured();
    assert_eq!(server.contents(), before);
}

#[test]
fn an_account_that_may_use_the_database_alone_is_enough() {
    let server = OwnMongoDb::start();
    server.ask(&rawdoc! {
        "createUser": "app",
        "pwd": "tr0ub4dor",
        "roles": [{ "role": "dbOwner", "db": "ciphertax" }],
        "mechanisms": ["SCRAM-SHA-1"],
        "$db": "accounts",
    });
    let before = server.contents();
    let sandbox = Sandbox::new();
    let target = format!(
        "mongodb://app:tr0ub4dor@{}/?authSource=accounts&authMechanism=SCRAM-SHA-1&tlsCAFile={}",
        server.hosts(),
        server.ca_file().display()
    );
    let finished = start(&sandbox, &target, None, &[]).finish();
    finished.measured();
    assert_eq!(server.contents(), before);
    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
    assert!(run.head.servers[0].settings.is_empty());
    assert!(run.results.connects.iter().all(|row| {
        row.logins
            .keys()
            .map(ToString::to_string)
            .eq(["SCRAM-SHA-1/cached"])
    }));
}

#[test]
fn quick_names_the_study_for_mongodb() {
    let sandbox = Sandbox::new();
    let finished = sandbox.finish(&["quick", "mongodb://app:tr0ub4dor@h/", "--out", "run"]);
    finished.refuses(&["ciphertax run mongodb-tls-connection mongodb://app@h:27017/"]);
    assert!(!finished.stderr.contains("tr0ub4dor"), "{}", finished.stderr);
}

/// A run that is refused; returns what it says.
fn refused(target: &str, words: &[&str]) -> String {
    let sandbox = Sandbox::new();
    let finished = start(&sandbox, target, None, &[]).finish();
    finished.refuses(words);
    assert!(!sandbox.run().exists());
    finished.stderr
}

/// Starts the built-in study on a target; `options` go before those that keep it short.
fn start(sandbox: &Sandbox, target: &str, password: Option<&str>, options: &[&str]) -> Running {
    let mut arguments = vec!["run", "mongodb-tls-connection", target];
    arguments.extend(options);
    let is_given = |name: &str| options.contains(&name);
    for pair in SHORT.chunks(2).chain([&["--out", "run"][..]]) {
        if pair[0] == "--set" || !is_given(pair[0]) {
            arguments.extend(pair);
        }
    }
    let mut command = sandbox.command(&arguments);
    if let Some(password) = password {
        command.env("CIPHERTAX_PASSWORD", password);
    }
    Running::start(command)
}

mod test_all {
    use super::*;

    #[test]
    fn the_members_of_a_replica_set_are_found() {
        let set = ReplicaSet {
            members: 3,
            read_only_member: false,
        };
        let server = OwnMongoDb::start_with(|builder| builder.replica_set(set));
        let before = server.contents();
        let options = format!("tlsCAFile={}&replicaSet", server.ca_file().display());
        let own = server.url_with(server.password());
        refused(
            &format!("{own}?{options}=rs0"),
            &["named ciphertax", "replicaSet=ciphertax"],
        );
        // Another run is seen at the primary, though it was given other members.
        let (user, password) = (server.user(), server.password());
        let of_secondary = format!(
            "mongodb://{user}:{password}@{}/?{options}=ciphertax",
            server.secondary()
        );
        server.session(|_| refused(&of_secondary, &["another ciphertax measures it", "wait"]));

        let sandbox = Sandbox::new();
        let target = format!("{own}?{options}=ciphertax");
        let finished = start(&sandbox, &target, None, &[]).finish();
        finished.measured();
        assert_eq!(server.contents(), before);
        let run = record(&sandbox.run());
        assert_eq!(run.head.status, RunStatus::Complete);
        let mut found: Vec<&str> = run.head.servers[0].address.split(',').collect();
        let hosts = server.hosts();
        let mut all: Vec<&str> = hosts.split(',').collect();
        found.sort_unstable();
        all.sort_unstable();
        assert_eq!(found, all);
        no_secret_is_left(&sandbox, &finished, server.password(), &server.url());
    }
}
