//! Probes on real servers: what is changed is changed for every session, and is as it was afterwards.

use std::sync::atomic::AtomicBool;

use ciphertax_lab::catalogue::{Entry, MARIADB, MARIADB_10_2, MYSQL, MYSQL_5_6};
use ciphertax_model::{ProbeValue, Study};
use ciphertax_records::ServerId;
use ciphertax_wire::Session as _;
use ciphertax_wire::sql::SqlSession as _;

use super::*;
use crate::groups::groups;
use crate::mysql::MySql;
use crate::server::{Identity, Server};

/// A server; `None` if it is not available here.
fn server(entry: &'static Entry) -> Option<GroupServer<MySql>> {
    ciphertax_testkit::fetched(entry)?;
    let text = format!(
        "name = \"s\"\nquestion = \"?\"\nserver = \"{}\"\ntime_s = 1\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n\
         [[arm]]\nname = \"again\"\ntransport = \"plain\"\n[[cell]]\nname = \"only\"\nworkload = \"connect\"\n\
         load = {{ connections = 1 }}\nstorage = {{ flush_log_at_trx_commit = 1, binary_log = true, sync_binlog = 1 }}\n",
        entry.name
    );
    let study = Study::from_toml(&text).unwrap();
    let spec = study.server_spec(&study.cells[0]);
    let arms = study.measured_arms();
    let group = &groups(&study, &spec, arms.iter().collect())[0];
    let identity = Identity {
        id: ServerId::numbered(1),
        cells: Vec::new(),
    };
    Some(GroupServer::private(&study, &spec, group, identity, None).unwrap())
}

fn arm(probe: Probe) -> Arm {
    Arm {
        probe: Some(probe),
        ..Arm::new("probed", ciphertax_model::Transport::Plain)
    }
}

fn whole(name: &str, value: i64) -> Arm {
    arm(Probe::variable(name, ProbeValue::Whole(value)))
}

fn text(name: &str, value: &str) -> Arm {
    arm(Probe::variable(name, ProbeValue::Text(value.into())))
}

/// What a variable is to another session.
fn seen_by_another(server: &mut GroupServer<MySql>, name: &str) -> String {
    let (mut other, control) = (server.control.ways[0].clone(), &server.control);
    other.database = None;
    let ask = async {
        let (mut session, _) = ciphertax_wire::mysql::Session::connect(&control.reactor, &other).await?;
        let rows = session.query(&format!("SELECT @@GLOBAL.{name}")).await?;
        session.close().await?;
        Ok::<_, ciphertax_wire::WireError>(rows[0].text(0))
    };
    control.wait_for(crate::timeout::TIMEOUT, ask).unwrap().unwrap()
}

fn is_changed_and_changed_back(entry: &'static Entry) {
    let Some(mut server) = server(entry) else { return };
    for (probed, name, during) in [
        (whole("sync_binlog", 0), "sync_binlog", "0"),
        (
            whole("innodb_flush_log_at_trx_commit", 2),
            "innodb_flush_log_at_trx_commit",
            "2",
        ),
        (
            text("innodb_adaptive_hash_index", "OFF"),
            "innodb_adaptive_hash_index",
            "0",
        ),
        (
            text("innodb_change_buffering", "none"),
            "innodb_change_buffering",
            "none",
        ),
        (
            whole("innodb_max_dirty_pages_pct", 50),
            "innodb_max_dirty_pages_pct",
            "50.000000",
        ),
    ] {
        let before = seen_by_another(&mut server, name);
        let proof = server.try_probe(&probed).unwrap().unwrap();
        assert_eq!(seen_by_another(&mut server, name), before);
        assert!(
            proof
                .evidence
                .contains(&format!("{name} was {before}, could be set to ")),
            "{proof:?}"
        );
        server.apply_probe(&probed).unwrap();
        let now = seen_by_another(&mut server, name);
        assert_eq!(Variable::read(&now), Variable::read(during), "{name}");
        server.undo_probe().unwrap();
        assert_eq!(seen_by_another(&mut server, name), before);
        // Nothing is left to change back.
        server.undo_probe().unwrap();
    }
    for (probed, words) in [
        (whole("nope", 1), "Unknown system variable 'nope'"),
        (whole("innodb_page_size", 8192), "read only variable"),
        (whole("port", 3307), "read only variable"),
        (text("sync_binlog", "soon"), "Incorrect argument type"),
        (
            whole("sort_buffer_size", 65536),
            "every session has a sort_buffer_size of its own",
        ),
        (
            whole("innodb_flush_log_at_trx_commit", 9),
            "innodb_flush_log_at_trx_commit",
        ),
    ] {
        let refusal = server.try_probe(&probed).unwrap_err().to_string();
        assert!(
            refusal.contains("arm probed: its probe") && refusal.contains(words),
            "{refusal}"
        );
    }
    assert_eq!(
        seen_by_another(&mut server, "innodb_flush_log_at_trx_commit"),
        "1"
    );
    server.close().unwrap();
}

#[test]
fn mariadb_is_changed_for_every_session_and_is_as_it_was_afterwards() {
    is_changed_and_changed_back(&MARIADB);
}

#[test]
fn mysql_is_changed_for_every_session_and_is_as_it_was_afterwards() {
    is_changed_and_changed_back(&MYSQL);
}

#[test]
fn a_server_is_as_it_was_also_for_whoever_wants_to_stop() {
    let Some(mut server) = server(&MARIADB) else {
        return;
    };
    server.apply_probe(&whole("sync_binlog", 0)).unwrap();
    let stop = Arc::new(AtomicBool::new(true));
    stop::with_flag(&stop, || {
        // This one is cut off in the middle of its answer, and the session with it.
        let asked = server
            .control
            .ask(async |session| session.query("SELECT SLEEP(2)").await);
        assert!(matches!(asked, Err(RunError::Stopped)));
        server.undo_probe().unwrap();
    });
    assert_eq!(seen_by_another(&mut server, "sync_binlog"), "1");
    server.close().unwrap();
}

#[test]
fn the_buffer_pool_has_its_size_when_the_slice_begins() {
    let Some(mut server) = server(&MARIADB) else {
        return;
    };
    let before = seen_by_another(&mut server, "innodb_buffer_pool_size");
    let half = before.parse::<i64>().unwrap() / 2;
    server
        .apply_probe(&whole("innodb_buffer_pool_size", half))
        .unwrap();
    assert_eq!(
        seen_by_another(&mut server, "innodb_buffer_pool_size"),
        half.to_string()
    );
    server.undo_probe().unwrap();
    assert_eq!(seen_by_another(&mut server, "innodb_buffer_pool_size"), before);
    server.close().unwrap();
}

#[test]
fn every_thread_of_a_server_runs_on_one_cpu_until_it_is_changed_back() {
    let Some(mut server) = server(&MARIADB) else {
        return;
    };
    let pid = server.pids()[0];
    let cpus = || {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let status =
            threads.filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("status")).ok());
        let allowed = status.map(|status| {
            let line = status
                .lines()
                .find(|line| line.starts_with("Cpus_allowed:"))
                .unwrap();
            line["Cpus_allowed:".len()..]
                .chars()
                .filter_map(|digit| digit.to_digit(16))
                .map(u32::count_ones)
                .sum()
        });
        allowed.collect::<Vec<u32>>()
    };
    let usual = cpus();
    if usual[0] < 2 {
        return ciphertax_testkit::not_tested("a server that has one CPU can have no fewer");
    }
    let proof = server.try_probe(&arm(Probe::cpus(1))).unwrap().unwrap();
    assert_eq!(proof.witness, Witness::Kernel);
    server.apply_probe(&arm(Probe::cpus(1))).unwrap();
    assert!(cpus().iter().all(|count| *count == 1));
    // A session that begins meanwhile has a thread that is confined too.
    seen_by_another(&mut server, "sync_binlog");
    assert!(cpus().iter().all(|count| *count == 1));
    server.undo_probe().unwrap();
    assert!(cpus().iter().all(|count| *count == usual[0]));
    let refusal = server.try_probe(&arm(Probe::cpus(4000))).unwrap_err().to_string();
    assert!(refusal.contains("are not fewer"), "{refusal}");
    server.close().unwrap();
}

mod test_all {
    use super::*;

    #[test]
    fn mariadb_10_2_is_changed_for_every_session_and_is_as_it_was_afterwards() {
        is_changed_and_changed_back(&MARIADB_10_2);
    }

    #[test]
    fn mysql_5_6_is_changed_for_every_session_and_is_as_it_was_afterwards() {
        is_changed_and_changed_back(&MYSQL_5_6);
    }
}
