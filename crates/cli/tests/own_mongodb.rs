//! What a MongoDB of the user's own has, demands and allows.

use std::os::fd::OwnedFd;
use std::process::Child;

use ciphertax_model::ReplicaSet;
use ciphertax_records::{ArmRecord, ConnectionRecord};

use crate::common::*;

#[test]
fn what_keeps_ciphertax_from_a_server_is_said_with_the_remedy_and_nothing_is_written() {
    let server = OwnMongoDb::start();
    let before = server.contents();
    let wrong = server.with_ca(&server.url_with("tr0ub4dor"));
    let wrong = refused(&wrong, "refused … check user and password");
    assert!(!wrong.contains("tr0ub4dor"), "{wrong}");
    refused(&server.with_ca(&server.url()), "CIPHERTAX_PASSWORD");
    let nobody = server.with_ca(&server.url_of(""));
    refused(&nobody, "name a user in the URL … CIPHERTAX_PASSWORD");
    let unverified = server.url_with(server.password());
    refused(&unverified, "tls1.2 … no CA is known … URL");
    let target = server.verified_url();
    let set = format!("{target}&replicaSet=rs0");
    refused(&set, "no replica set … leave replicaSet out");
    server.session(|_| drop(refused(&target, "another ciphertax measures it … wait")));
    assert_eq!(server.contents(), before);
}

#[test]
fn a_certificate_in_the_url_logs_in() {
    let method = AuthenticationMethod::MongodbX509;
    let server = OwnMongoDb::start_with(|builder| builder.account(method));
    let before = server.contents();
    let sandbox = Sandbox::new();
    let target = format!(
        "{}&authMechanism=MONGODB-X509&tlsCertificateKeyFile={}",
        server.with_ca(&server.url_of("")),
        server.client_file().display()
    );
    // Without TLS nobody can show a certificate.
    refused(&target, "arm \"plain\" … mongodb-tls-versions");
    let command = ["run", "mongodb-tls-versions", &target, "--time=3", "--out=run"];
    let short = ["--set=ycsb.record_count=500", "--set=slice_s=0.05"];
    sandbox.finish(&[&command[..], &short].concat()).measured();
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
    let target = server.verified_url();
    let before = server.contents();
    let sandbox = Sandbox::new();
    let many = ["--set=load.connections=20"];
    let finished = start_study(&sandbox, &target, &many).finish();
    finished.refuses(
        "opens 121 connections at a time … of the 30 that maxIncomingConnections allows … \
         5 are kept for other clients … --set load.connections=4",
    );
    assert_eq!(server.contents(), before);
    let fewer = ["--set=load.connections=4"];
    start_study(&sandbox, &target, &fewer).finish().measured();
    // Nobody else connects meanwhile, so its counters tell.
    for arm in &record(&sandbox.run()).head.arms {
        let proofs = by_server(arm).concat();
        let is_over_tls = arm.sessions[0].facts.tls.is_some();
        assert!(proofs.contains("by SCRAM-SHA-256"), "{}: {proofs}", arm.name);
        let found = proofs.contains(" of TLSv1");
        assert_eq!(found, is_over_tls, "{}: {proofs}", arm.name);
    }
}

#[test]
fn a_missing_right_is_named_with_the_command_that_gives_it() {
    let server = OwnMongoDb::start();
    let user = |name: &str, roles: RawArrayBuf| {
        server.ask(&rawdoc! { "createUser": name, "pwd": "tr0ub4dor", "roles": roles, "$db": "accounts" });
        let url = server.url_of(&format!("{name}:tr0ub4dor"));
        format!("{}&authSource=accounts", server.with_ca(&url))
    };
    let role = |name: &str| RawArrayBuf::from_iter([rawdoc! { "role": name, "db": "ciphertax" }]);
    let before = server.contents();
    let nothing = user("nobody", RawArrayBuf::new());
    let reader = user("reader", role("read"));
    // Who may write, and not remove what was written.
    let writer = user("writer", role("readWrite"));
    for (target, name, words) in [
        (&nothing, "nobody", "not authorized"),
        (&reader, "reader", "not authorized"),
        (&writer, "writer", "dropDatabase"),
    ] {
        let grant = format!(
            r#"db.getSiblingDB("accounts").grantRolesToUser("{name}", [{{ role: "dbOwner", db: "ciphertax" }}])"#
        );
        refused(target, &format!("{words} … have its administrator run … {grant}"));
    }
    assert_eq!(server.contents(), before);
    let roles = role("dbOwner");
    server.ask(&rawdoc! { "grantRolesToUser": "reader", "roles": roles, "$db": "accounts" });
    start_study(&Sandbox::new(), &reader, &[]).finish().measured();
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
        "{}&authSource=accounts&authMechanism=SCRAM-SHA-1",
        server.app_url()
    );
    let finished = start_study(&sandbox, &target, &[]).finish();
    let page = finished
        .measured()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let silent = "not proved by the server: the account may not read its counters of TLS handshakes";
    assert!(page.contains(silent), "{page}");
    assert_eq!(server.contents(), before);
    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
    assert!(run.head.arms.iter().all(|arm| by_server(arm).is_empty()));
    assert!(run.head.servers[0].settings.is_empty());
    let mut logins = logins(&run, "connect").into_values();
    assert!(logins.all(|login| login == ["SCRAM-SHA-1/cached"]));
}

/// As drivers do, where the URL names no mechanism.
#[test]
fn the_server_says_by_which_mechanism_a_user_logs_in() {
    let server = OwnMongoDb::start();
    for (user, mechanisms) in [
        ("old", &["SCRAM-SHA-1"][..]),
        ("both", &["SCRAM-SHA-1", "SCRAM-SHA-256"]),
    ] {
        let roles = rawdoc! { "role": "clusterMonitor", "db": "admin" };
        server.ask(&rawdoc! {
            "createUser": user,
            "pwd": "tr0ub4dor",
            "roles": [{ "role": "dbOwner", "db": "ciphertax" }, roles],
            "mechanisms": RawArrayBuf::from_iter(mechanisms.iter().copied()),
            "$db": "admin",
        });
    }
    let target = |user: &str| server.with_ca(&server.url_of(&format!("{user}:tr0ub4dor")));
    for (target, expected) in [
        (target("old"), "SCRAM-SHA-1"),
        (target("both"), "SCRAM-SHA-256"),
        (target("both") + "&authMechanism=SCRAM-SHA-1", "SCRAM-SHA-1"),
    ] {
        let finished = Sandbox::new().finish(&["connect", &target, "--json"]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let record: ConnectionRecord = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(record.facts.authentication.method, expected, "{target}");
    }
    Sandbox::new()
        .finish(&["connect", &(target("old") + "&authMechanism=SCRAM-SHA-256")])
        .fails(2, "Authentication failed");

    let sandbox = Sandbox::new();
    start_study(&sandbox, &target("old"), &[]).finish().measured();
    let run = record(&sandbox.run());
    no_slice_failed(&run);
    assert!(run.head.arms.iter().all(|arm| !by_server(arm).is_empty()));
    let mut logins = logins(&run, "connect").into_values();
    assert!(logins.all(|login| login == ["SCRAM-SHA-1/cached"]));
}

/// The evidence that the server gives of an arm.
fn by_server(arm: &ArmRecord) -> Vec<String> {
    let proofs = arm.sessions.iter().flat_map(|session| &session.proofs);
    let proofs = proofs.filter(|proof| proof.witness == Witness::Server);
    proofs.map(|proof| proof.evidence.clone()).collect()
}

/// A study of plain arms alone, which would begin with any server that knows the account.
const PLAIN: &str = r#"
name = "plain"
question = "Who answers?"
server = "mongodb"
time_s = 20
slice_s = 0.1
ycsb = { record_count = 1000 }
arm = [{ name = "plain", transport = "plain" }, { name = "again", transport = "plain" }]
cell = [{ name = "connect", workload = "connect", load = { connections = 1 } }]
"#;

/// A replica set whose configuration names a forwarder, which leads to its member at first and to another server later.
#[test]
fn nobody_is_asked_in_the_place_of_a_member() {
    let set = OwnMongoDb::start_with(|builder| {
        builder.replica_set(ReplicaSet {
            members: 1,
            read_only_member: false,
        })
    });
    let standalone = OwnMongoDb::start();
    for server in [&set, &standalone] {
        server.ask(&rawdoc! {
            "createUser": "app",
            "pwd": "tr0ub4dor",
            "roles": [{ "role": "dbOwner", "db": "ciphertax" }],
            "$db": "admin",
        });
    }
    let before = [&set, &standalone].map(OwnMongoDb::contents);
    let target = Arc::new(Mutex::new(set.nodes()[0]));
    let member = forwarder(Arc::clone(&target));
    let answer = set.ask(&rawdoc! { "replSetGetConfig": 1_i32, "$db": "admin" });
    let config = answer.get_document("config").unwrap();
    let version = config.get_i32("version").unwrap() + 1;
    let members = RawArrayBuf::from_iter([rawdoc! { "_id": 0_i32, "host": member.to_string() }]);
    set.ask(&rawdoc! {
        "replSetReconfig": { "_id": "ciphertax", "version": version, "members": members },
        "force": true,
        "$db": "admin",
    });

    let sandbox = Sandbox::new();
    fs::write(sandbox.work().join("plain.toml"), PLAIN).unwrap();
    let url = format!("mongodb://app:tr0ub4dor@{}/?replicaSet=ciphertax", set.hosts());
    let mut running = sandbox.start(&["run", "plain.toml", &url, "--out=run"]);
    running.measures();
    *target.lock().unwrap() = standalone.nodes()[0];
    let finished = running.finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    let stranger = format!("{member} is no member of ciphertax");
    let says = |reason: &VoidReason| reason.to_string().contains(&stranger);
    let void = record(&sandbox.run()).results.void;
    assert!(void.iter().any(|row| says(&row.reason)), "{void:?}");

    for command in [
        vec!["run", "plain.toml", &url, "--time=2", "--out=other"],
        vec!["clean", &url],
    ] {
        let finished = sandbox.finish(&command);
        finished.refuses(&format!(
            "{stranger} … by the names they have in its configuration … directConnection=true"
        ));
    }
    let alone = format!("mongodb://app:tr0ub4dor@{}/?replicaSet=rs0", standalone.hosts());
    let finished = sandbox.finish(&["connect", &alone]);
    finished.refuses("is no replica set … leave replicaSet out");
    assert_eq!(standalone.contents(), before[1]);
    // What it could not remove, it does when the member is back.
    *target.lock().unwrap() = set.nodes()[0];
    assert_eq!(sandbox.finish(&["clean", &url]).code, Some(0));
    assert_eq!(set.contents(), before[0]);
}

/// A process that ends with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Private servers ask for certificates and demand none, so this one is started with the files of such a server.
#[test]
fn a_server_that_demands_certificates_is_told_from_one_that_went_away() {
    let lender = OwnMongoDb::start_with(|builder| builder.account(AuthenticationMethod::MongodbX509));
    let lines = ciphertax_testkit::processes_with(lender.folder());
    let mut lines = lines.iter().filter_map(|line| line.split_once(' '));
    let (program, arguments) = lines.find(|(program, _)| program.ends_with("mongod")).unwrap();
    let files = arguments
        .split(' ')
        .filter(|argument| argument.starts_with("--tlsC"));
    let data = lender.folder().join("demanding");
    fs::create_dir(&data).unwrap();
    let server = Command::new(program)
        .args([
            "--port=0",
            "--bind_ip=127.0.0.1",
            "--nounixsocket",
            "--tlsMode=requireTLS",
        ])
        .arg(format!("--dbpath={}", data.display()))
        .args(files)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut server = Started(server);
    let log = io::BufReader::new(server.0.stdout.take().unwrap());
    let port = io::BufRead::lines(log).map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("\"Waiting for connections\",\"attr\":{\"port\":")?;
        Some(port.split_once(',')?.0.to_owned())
    });
    let target = lender.with_ca(&format!("mongodb://127.0.0.1:{}/", port.unwrap_or_default()));
    let certified = format!(
        "{target}&tlsCertificateKeyFile={}",
        lender.client_file().display()
    );
    let finished =
        [&target, &certified].map(|target| Sandbox::new().finish(&["connect", target, "--count=2"]));
    finished[0].refuses("demands a certificate of its clients … by tlsCertificateKeyFile=FILE in the URL");
    assert_eq!(finished[1].code, Some(0), "{:?}", finished[1]);
}

/// stunnel in the way of a plain arm, whose canary any relay before it reads.
#[test]
fn a_plain_arm_that_reaches_the_server_over_tls_is_refused() {
    let server = OwnMongoDb::start();
    let Some(front) = over_tls(&server) else {
        return not_tested("there is no stunnel");
    };
    let before = server.contents();
    let sandbox = Sandbox::new();
    fs::write(sandbox.work().join("plain.toml"), PLAIN).unwrap();
    let url = format!("mongodb://{}:{}@{front}/", server.user(), server.password());
    let finished = sandbox.finish(&["run", "plain.toml", &url, "--out=run"]);
    finished.refuses(
        "arm plain is not what it says … handshakes of TLSv1.3; expected 0 … connect to the server itself",
    );
    assert_eq!(server.contents(), before);
}

/// An address from which each connection travels to the server inside TLS; `None` where there is no stunnel.
fn over_tls(server: &OwnMongoDb) -> Option<SocketAddr> {
    let root = unpacked_tunnels().unwrap_or_else(|| "/".into());
    let program = root.join("usr/bin/stunnel4");
    if !program.exists() {
        return None;
    }
    let settings = server.folder().join("stunnel.conf");
    let connect = format!("client = yes\nsyslog = no\nconnect = {}\n", server.nodes()[0]);
    fs::write(&settings, connect).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map(Result::unwrap) {
            let mut command = Command::new(&program);
            command
                .arg(&settings)
                .env("LD_LIBRARY_PATH", root.join("usr/lib/x86_64-linux-gnu"))
                .stdin(OwnedFd::from(client.try_clone().unwrap()))
                .stdout(OwnedFd::from(client))
                .stderr(Stdio::null());
            let mut stunnel = command.spawn().unwrap();
            // What it was given must be its own, so that its end is that of the connection.
            drop(command);
            thread::spawn(move || stunnel.wait());
        }
    });
    Some(address)
}

/// An address from which each new connection leads to where `target` says by then.
fn forwarder(target: Arc<Mutex<SocketAddr>>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map(Result::unwrap) {
            let server = TcpStream::connect(*target.lock().unwrap()).unwrap();
            for (from, to) in [(&client, &server), (&server, &client)] {
                let [mut from, mut to] = [from, to].map(|stream| stream.try_clone().unwrap());
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    address
}

#[test]
fn quick_asks_a_mongodb_in_its_own_words() {
    let server = OwnMongoDb::start();
    let target = server.url_with(server.password());
    for command in [&["quick"][..], &["run", "quick"]] {
        let sandbox = Sandbox::new();
        let options = [&target, "--time=5", "--out=run"];
        sandbox.finish(&[command, &options].concat()).measured();
        let run = record(&sandbox.run());
        let found = (&*run.head.study.name, &*run.head.study.server);
        assert_eq!(found, ("quick", "mongodb"));
        let arms: Vec<&str> = run.head.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(arms, ["plain", "baseline again", "tls1.3", "tls1.2"]);
        let cells = run.results.cells.iter();
        assert!(cells.map(|cell| &*cell.name).eq(["ycsb_c", "connect"]));
    }
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
        let other = format!("{own}?{options}=rs0");
        refused(&other, "named ciphertax … replicaSet=ciphertax");
        // Another run is seen at the primary, though it was given other members.
        let (user, password) = (server.user(), server.password());
        let of_secondary = format!(
            "mongodb://{user}:{password}@{}/?{options}=ciphertax",
            server.secondary()
        );
        server.session(|_| drop(refused(&of_secondary, "another ciphertax measures it … wait")));
        let (alone, _) = of_secondary.split_once("&replicaSet").unwrap();
        refused(
            alone,
            "it is a member of a replica set, and not its primary … replicaSet=NAME",
        );

        let sandbox = Sandbox::new();
        let target = format!("{own}?{options}=ciphertax");
        let finished = start_study(&sandbox, &target, &[]).finish();
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

    /// By default a set waits for most members that hold data, as one of a primary, a secondary that is down and an arbiter does.
    #[test]
    fn what_a_killed_run_left_is_removed_while_no_secondary_writes() {
        let set = ReplicaSet {
            members: 3,
            read_only_member: false,
        };
        let server = OwnMongoDb::start_with(|builder| builder.replica_set(set));
        let before = server.contents();
        let mark = "this database was made by ciphertax, which removes it after a run";
        server.insert(
            "ciphertax",
            "ciphertax_mark",
            [rawdoc! { "mark": mark, "dataset": "x" }],
        );
        server.insert("ciphertax", "usertable", [rawdoc! { "_id": "user1" }]);
        server.hold_secondaries(true);
        let finished = Sandbox::new().finish(&[
            "clean",
            &format!("{}&replicaSet=ciphertax", server.verified_url()),
        ]);
        server.hold_secondaries(false);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert_eq!(server.contents(), before);
    }
}
