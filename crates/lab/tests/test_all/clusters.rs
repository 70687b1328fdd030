//! Real servers that hold the same data: MariaDB's nodes by Galera, MySQL's by group replication, MongoDB's members; and what
//! travels between them.

use ciphertax_lab::cluster_proof;
use ciphertax_wire::Session as _;
use ciphertax_wire::mongodb;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;

use crate::prelude::*;

const MS: Duration = Duration::from_millis(1);

/// How many commits are timed.
const COMMITS: usize = 30;

#[test]
fn galera_nodes_hold_the_same_and_are_what_they_say() {
    hold_the_same(&MARIADB, "wsrep_on", "socket.ssl");
}

#[test]
fn a_replication_group_holds_the_same_and_is_what_it_says() {
    hold_the_same(&MYSQL, "group_replication_members", "group_replication_ssl_mode");
}

fn hold_the_same(entry: &'static Entry, name: &str, encryption: &str) {
    let Some(_) = fetched(entry) else { return };
    let servers = [false, true].map(|tls| builder(entry).nodes(3).cluster_tls(tls).start().unwrap());
    let [open, encrypted] = &servers;
    assert!(open.settings().contains_key(name));
    assert_ne!(open.settings()[encryption], encrypted.settings()[encryption]);
    for server in &servers {
        let addresses = server.addresses();
        assert_eq!((addresses.len(), server.pids().len()), (3, 3));
        ask(server, addresses[0], "CREATE DATABASE d");
        ask(server, addresses[0], "CREATE TABLE d.t (id INT PRIMARY KEY)");
        ask(server, addresses[0], "INSERT INTO d.t VALUES (42)");
        for address in addresses {
            let there = || ask(server, address, "SELECT MAX(id) FROM d.t");
            let in_time = ciphertax_testkit::within(ciphertax_testkit::PATIENCE, || there() == "42");
            assert!(in_time, "{address}");
        }
    }
    are_proved(&servers);
    are_gone(servers);
}

#[test]
fn members_of_a_replica_set_are_what_they_say() {
    let Some(_) = fetched(&MONGODB) else { return };
    let set = ReplicaSet {
        members: 3,
        read_only_member: false,
    };
    let servers = [false, true].map(|tls| {
        builder(&MONGODB)
            .replica_set(set)
            .cluster_tls(tls)
            .start()
            .unwrap()
    });
    are_proved(&servers);
    are_gone(servers);
}

#[test]
fn a_commit_waits_for_nodes_that_are_apart() {
    for entry in [&MARIADB, &MYSQL, &MONGODB] {
        let Some(link) = fetched(entry).and_then(|_| link_between_nodes()) else {
            continue;
        };
        let set = ReplicaSet {
            members: 3,
            read_only_member: false,
        };
        let servers = [false, true].map(|tls| {
            let builder = builder(entry).cluster_tls(tls).inside(&link);
            let builder = match *entry == MONGODB {
                true => builder.replica_set(set),
                false => builder.nodes(3),
            };
            builder.start().unwrap()
        });
        let commit = match *entry == MONGODB {
            true => commit_of_a_majority,
            false => commit,
        };
        for server in &servers {
            let mut seen = Vec::new();
            let is_kept = (0..5).any(|_| {
                let near = commit(server);
                link.set(&between_nodes(40.0)).unwrap();
                let far = commit(server);
                link.set(&between_nodes(0.0)).unwrap();
                seen.push((near, far));
                // It takes one round trip at least, and hardly more than two.
                assert!(far >= 40 * MS, "{}: {seen:?}", entry.name);
                near < far && far - near < 3 * 40 * MS
            });
            assert!(is_kept, "{}: {seen:?}", entry.name);
        }
        are_proved(&servers);
        are_gone(servers);
        link.process.stop().unwrap();
    }
}

fn builder(entry: &'static Entry) -> PrivateServerBuilder {
    PrivateServer::builder(entry)
}

fn ask(server: &PrivateServer, address: SocketAddr, statement: &str) -> String {
    let options = ConnectOptions {
        port: address.port(),
        ..plain(server)
    };
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
        // A node that was not yet told of the table has none.
        let rows = session.query(statement).await.unwrap_or_default();
        session.close().await.unwrap();
        rows.first().map(|row| row.text(0)).unwrap_or_default()
    })
}

/// A link whose nodes can be put apart; `None` where there can be none.
fn link_between_nodes() -> Option<RunningLink> {
    if RunningLink::check().is_err() {
        not_tested("a link needs the rights of root over networks, and /dev/net/tun");
        return None;
    }
    Some(RunningLink::start(&between_nodes(0.0), &GuardProgram::this_program()).unwrap())
}

fn between_nodes(rtt_ms: f64) -> Distances {
    Distances {
        to_servers: None,
        between_nodes: Some(Link { rtt_ms, ..Link::NONE }),
    }
}

/// How long a commit takes at the median, by a client beside the first node.
fn commit(server: &PrivateServer) -> Duration {
    let address = server.address();
    ask(server, address, "CREATE DATABASE IF NOT EXISTS d");
    ask(
        server,
        address,
        "CREATE TABLE IF NOT EXISTS d.c (id INT AUTO_INCREMENT PRIMARY KEY)",
    );
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain(server)).await.unwrap();
        let mut times = Vec::new();
        for _ in 0..COMMITS {
            let began = Instant::now();
            session.query("INSERT INTO d.c VALUES ()").await.unwrap();
            times.push(began.elapsed());
        }
        session.close().await.unwrap();
        median(times)
    })
}

/// The same of a document, which is written when most members have it.
fn commit_of_a_majority(server: &PrivateServer) -> Duration {
    let primary = server.primary().unwrap();
    run(async |reactor| {
        let account = server.default_account();
        let login = mongodb::Login::by(account.method, account.user.clone(), account.password.clone());
        let options = mongodb::ConnectOptions::new(primary.ip().to_string(), primary.port(), login.unwrap());
        let (mut session, _) = mongodb::Session::connect(reactor, &options).await.unwrap();
        let mut times = Vec::new();
        for _ in 0..COMMITS {
            let began = Instant::now();
            let insert = rawdoc! {
                "insert": "c", "documents": [{ "a": 1 }], "writeConcern": { "w": "majority" }, "$db": "d",
            };
            session.command(&insert).await.unwrap();
            times.push(began.elapsed());
        }
        median(times)
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Each is proved to be what it is, and refused to be what the other is; nothing of a proof stays.
fn are_proved([open, encrypted]: &[PrivateServer; 2]) {
    if !is_root() {
        not_tested("looking between servers needs root");
        return;
    }
    for _ in 0..2 {
        let read = cluster_proof::prove("open", open, false).unwrap();
        assert_eq!(read.claim, "a row travels in plaintext between the servers");
        let hidden = cluster_proof::prove("encrypted", encrypted, true).unwrap();
        assert!(hidden.evidence.contains("bytes and not the row"), "{hidden:?}");
    }
    for (server, says) in [(open, true), (encrypted, false)] {
        let lie = cluster_proof::prove("liar", server, says).unwrap_err();
        assert!(matches!(lie, ProofError::Disproved { .. }), "{lie}");
    }
}

fn are_gone(servers: [PrivateServer; 2]) {
    for server in servers {
        let folder = server.folder().to_owned();
        server.stop().unwrap();
        assert!(!folder.exists());
        assert_eq!(processes_with(&folder), Vec::<String>::new());
    }
}
