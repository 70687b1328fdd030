//! Arms whose results are encrypted, on a real server: each goes through its relay, is proved to, and pays for it.

use std::collections::BTreeSet;

use ciphertax_columns::MasterKey;
use ciphertax_model::Study;
use ciphertax_records::{ServerId, VoidReason};

use super::*;
use crate::groups::groups;
use crate::mysql::MySql;
use crate::server::{Identity, Server};

const STUDY: &str = r#"
name = "s"
question = "?"
server = "mariadb"
time_s = 1
arm = [
    { name = "plain", transport = "plain" },
    { name = "all", transport = "plain", columns = { feature = "in_results", columns = "all" } },
    { name = "read", transport = "plain", columns = { feature = "in_results", columns = "all", decrypt = "read" } },
    { name = "wrapped", transport = "plain", columns = { feature = "in_results", algorithm = "wrapped", columns = "keys" } },
]
cell = [{ name = "only", workload = "tpcc", load = { connections = 1 } }]
"#;

fn server(study: &Study, arms: &[Arm]) -> GroupServer<MySql> {
    let spec = study.server_spec(&study.cells[0]);
    let group = &groups(study, &spec, arms.iter().collect())[0];
    let identity = Identity {
        id: ServerId::numbered(1),
        cells: Vec::new(),
    };
    let key = MasterKey::from_hex("000102030405060708090a0b0c0d0e0f").unwrap();
    GroupServer::private(study, &spec, group, identity, Some(&key)).unwrap()
}

#[test]
fn every_arm_goes_through_a_relay_of_its_policy_and_is_proved_to() {
    let study = Study::from_toml(STUDY).unwrap();
    let arms = study.measured_arms();
    let mut server = server(&study, &arms);
    let mut relays = BTreeSet::new();
    for arm in &arms {
        let before = server.proxies(arm).column_relay.unwrap().read().unwrap();
        let proved = server
            .prove(arm, None)
            .unwrap_or_else(|error| panic!("{}: {error}", arm.name));
        let says = match arm.name.as_str() {
            "all" | "read" => "cannot be read without the key",
            "wrapped" => "the cells are unprotected",
            _ => "passes everything on",
        };
        assert!(
            proved
                .session
                .proofs
                .iter()
                .any(|proof| proof.claim.contains(says)),
            "{}: {:?}",
            arm.name,
            proved.session.proofs
        );
        let used = server
            .proxies(arm)
            .column_relay
            .unwrap()
            .read()
            .unwrap()
            .since(&before);
        assert!(used.cpu.unwrap().total_ns > 0);
        assert_eq!(server.column_relay_cells(arm).unwrap() > 0, arm.columns.is_some());
        relays.insert(server.route.endpoint_of(arm).port);
    }
    assert_eq!(relays.len(), 3);
    assert!(!relays.contains(&server.route.control[0].port));
    let settings = server.route.proxies.settings();
    assert!(
        settings
            .keys()
            .any(|name| name.starts_with("column relay, sm4_gcm")),
        "{settings:?}"
    );
    let killed = server.route.proxies.column_relay(&arms[0]).unwrap().process.pid;
    let kill = std::process::Command::new("kill")
        .args(["-9", &killed.to_string()])
        .status();
    assert!(kill.unwrap().success());
    assert!(ciphertax_testkit::within(ciphertax_testkit::PATIENCE, || {
        matches!(
            server.proxy_death(&arms[0]),
            Some(VoidReason::ColumnRelayDied { .. })
        )
    }));
    let others = arms.iter().find(|arm| arm.name == "all").unwrap();
    assert_eq!(server.proxy_death(others), None);
    server.close().unwrap();
}
