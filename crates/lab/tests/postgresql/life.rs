//! How servers are made, where they listen, as whom they run, and what they leave: nothing.

use ciphertax_testkit::processes;
use ciphertax_wire::postgresql::ConnectOptions;

use super::common::{ask, connector, options, servers, user_of};
use crate::prelude::*;

#[test]
pub(crate) fn it_is_ready_from_a_template_and_is_reached_by_its_unix_socket_too() {
    for entry in servers() {
        // The first makes it, if it is not there.
        PrivateServer::builder(entry).start().unwrap().stop().unwrap();
        let server = PrivateServer::builder(entry).start().unwrap();
        let log = fs::read_to_string(server.folder().join("server.log")).unwrap();
        assert!(!log.contains("initdb"), "{log}");
        let arm = ConnectOptions {
            socket: Some(server.socket().unwrap().to_owned()),
            method: Some(Method::ScramSha256),
            ..options(&server, server.default_account())
        };
        assert_eq!(ask(&arm, "SELECT current_user").unwrap(), server.user());
    }
}

#[test]
pub(crate) fn only_its_user_may_read_its_secrets() {
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(server.folder()), 0o700);
        for folder in ["disk/data", "disk/data/pg_wal"] {
            let folder = server.folder().join(folder);
            assert_eq!(fs::metadata(&folder).unwrap().uid(), user_of(server.pids()[0]));
        }
        for (path, expected) in [
            ("disk/data", 0o700),
            ("server-key.pem", 0o600),
            ("disk/data/postgresql.conf", 0o600),
            ("disk/data/pg_hba.conf", 0o600),
        ] {
            assert_eq!(mode(&server.folder().join(path)), expected, "{path}");
        }
    }
}

#[test]
pub(crate) fn for_root_it_runs_as_a_user_of_its_own_with_no_right_but_to_read() {
    if !is_root() {
        return not_tested("whom root lets it run as; the other tests have shown it as an ordinary user");
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let pid = server.pids()[0];
        // Some end meanwhile.
        let statuses = processes()
            .filter_map(|process| fs::read_to_string(format!("/proc/{}/status", process.pid)).ok());
        let ours: Vec<String> = statuses
            .filter(|status| {
                status.contains(&format!("\nPid:\t{pid}\n")) || status.contains(&format!("\nPPid:\t{pid}\n"))
            })
            .collect();
        assert!(ours.len() > 3, "{ours:?}");
        let user = user_of(pid);
        assert!(!users.contains(&format!(":x:{user}:")), "{user} has a name");
        for status in ours {
            assert!(status.contains(&format!("\nUid:\t{user}\t{user}\t")), "{status}");
            // To read files, or where root cannot do that alone, to write them too.
            let rights = ["CapEff:\t0000000000000004", "CapEff:\t0000000000000002"];
            assert!(rights.iter().any(|right| status.contains(right)), "{status}");
            assert!(status.contains("Groups:\t \n"), "{status}");
        }
    }
}

#[test]
pub(crate) fn options_reach_the_server_and_its_record() {
    for entry in servers() {
        let server = PrivateServer::builder(entry)
            .cache_mb(64)
            .tls_versions(&[TlsVersion::V1_2, TlsVersion::V1_3])
            .option("--max_connections=30")
            .option("--synchronous-commit=off")
            .start()
            .unwrap();
        for (setting, value) in [
            ("max_connections", "30"),
            ("synchronous_commit", "off"),
            ("shared_buffers", "64MB"),
            ("ssl_min_protocol_version", "TLSv1.2"),
        ] {
            assert_eq!(server.settings()[setting], value);
        }
        let line = fs::read_to_string(format!("/proc/{}/cmdline", server.pids()[0])).unwrap();
        says(&line, "--max_connections=30\0--synchronous-commit=off");
    }
}

#[test]
fn inside_a_link_it_is_reached_at_its_distance() {
    if !is_root() {
        return not_tested("links are for root");
    }
    let Some(_) = fetched(&POSTGRESQL) else { return };
    let distance = Link {
        rtt_ms: 20.0,
        ..Link::NONE
    };
    let link = RunningLink::start(&distance.into(), &GuardProgram::this_program()).unwrap();
    let server = PrivateServer::builder(&POSTGRESQL).inside(&link).start().unwrap();
    let near = options(&server, server.default_account());
    let far = ConnectOptions {
        host: link.endpoints.delayed.to_string(),
        ..near.clone()
    };
    for arm in [near, far] {
        let user = ask(&arm, "SELECT current_user").unwrap();
        assert_eq!(user, server.user(), "{}", arm.host);
    }
    let pooler = Pooler {
        program: PoolerProgram::Pgbouncer,
        pool_mode: PoolMode::Session,
        server_transport: Transport::Plain,
    };
    let guard = GuardProgram::this_program();
    let pooler = pooler::start(pooler, Transport::Tls13, 10, &server, Some(&link), &guard).unwrap();
    let through_it = ConnectOptions {
        host: pooler.address().ip().to_string(),
        port: pooler.address().port(),
        tls: Some(connector(&TlsPolicy::new(
            None,
            Verification::Ca(server.ca_file().unwrap().to_owned()),
        ))),
        ..options(&server, server.default_account())
    };
    assert_eq!(ask(&through_it, "SELECT current_user").unwrap(), server.user());
    pooler.stop().unwrap();
    server.stop().unwrap();
    link.process.stop().unwrap();
}
