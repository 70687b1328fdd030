//! Real servers that hold the same data: MariaDB's nodes by Galera, MySQL's by group replication, MongoDB's members; and what
//! travels between them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::net::SocketAddr;

use ciphertax_lab::catalogue::{Entry, MARIADB, MARIADB_10_2, MONGODB, MYSQL};
use ciphertax_lab::{PrivateServer, PrivateServerBuilder, ProofError, cluster_proof};
use ciphertax_model::ReplicaSet;
use ciphertax_testkit::{fetched, is_root, not_tested, plain, processes_with, run};
use ciphertax_wire::mysql::{ConnectOptions, Session};

ciphertax_testkit::plays_roles!();

#[test]
fn galera_nodes_hold_the_same_and_are_what_they_say() {
    hold_the_same(&MARIADB, "wsrep_on", "socket.ssl");
}

#[test]
fn a_replication_group_holds_the_same_and_is_what_it_says() {
    hold_the_same(&MYSQL, "group_replication_members", "group_replication_ssl_mode");
}

fn hold_the_same(entry: &'static Entry, name: &str, encryption: &str) {
    if fetched(entry).is_none() {
        return;
    }
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
            assert!(
                ciphertax_testkit::within(ciphertax_testkit::PATIENCE, || there() == "42"),
                "{address}"
            );
        }
    }
    are_proved(&servers);
    are_gone(servers);
}

#[test]
fn members_of_a_replica_set_are_what_they_say() {
    if fetched(&MONGODB).is_none() {
        return;
    }
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
fn a_server_that_cannot_be_a_cluster_says_so() {
    for entry in [&MARIADB_10_2, &MONGODB] {
        let refusal = builder(entry).nodes(3).start().unwrap_err().to_string();
        assert!(
            refusal.contains("a cluster of 3 nodes; it can do a single server"),
            "{refusal}"
        );
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
