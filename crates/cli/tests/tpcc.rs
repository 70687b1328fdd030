//! TPC-C from beginning to end: tables that must be what they are after every run, and columns that the client encrypts.

use ciphertax_base::Proof;
use ciphertax_model::workload::CELLS;

use crate::common::*;

const PLAIN: &str = r#"{ name = "plain", transport = "plain" }"#;
const TLS: &str = r#"{ name = "tls", transport = "tls1.3" }"#;
const STORED: &str = r#"{ name = "wrapped", transport = "plain",
        columns = { feature = "stored", algorithm = "wrapped", encoding = "binary", columns = "payload" } },
    { name = "aes", transport = "plain", columns = { feature = "stored", algorithm = "aes128_gcm", columns = "payload" } }"#;
const KEY: &str = "CIPHERTAX_COLUMN_KEY";

/// Of one warehouse.
fn study(server: &str, arms: &str, load: &str, time_s: u32) -> String {
    format!(
        r#"
        name = "tpcc"
        question = "What does it cost?"
        server = "{server}"
        time_s = {time_s}
        slice_s = 0.3
        tpcc = {{ warehouses = 1 }}
        arm = [{arms}]
        cell = [{{ name = "mix", workload = "tpcc", load = {{ {load} }} }}]
        "#
    )
}

fn start(sandbox: &Sandbox, study: &str, more: &[&str], variable: Option<(&str, &str)>) -> Running {
    let mut command = sandbox.study(study, &[&["--seed", "7"], more].concat());
    command.envs(variable);
    Running::start(command)
}

fn proofs<'a>(run: &'a Run, arm: &str) -> Vec<&'a Proof> {
    let arm = arm_of(run, arm);
    arm.sessions.iter().flat_map(|session| &session.proofs).collect()
}

/// What an arm's tables were found to be after the run.
pub(crate) fn consistency<'a>(run: &'a Run, arm: &str) -> &'a Proof {
    let mut proofs = proofs(run, arm).into_iter();
    let found = proofs.find(|proof| proof.claim.contains("consistency conditions"));
    found.unwrap_or_else(|| panic!("nothing is proved of the tables of {arm}"))
}

fn measures(server: &str) {
    if fetched(catalogue::find(server).unwrap()).is_none() {
        return;
    }
    let arms = format!("{PLAIN}, {TLS}");
    let (sandbox, study) = (Sandbox::new(), study(server, &arms, "connections = 4", 4));
    let finished = start(&sandbox, &study, &[], None).finish_within(Duration::from_secs(180));
    finished.measured();
    let run = record(&sandbox.run());
    assert_eq!(run.head.inconsistent, None);
    for arm in ["plain", "tls"] {
        let proof = consistency(&run, arm);
        assert!(proof.claim.starts_with("12 of 12 "), "{proof:?}");
        assert!(!proof.claim.ends_with("after 0 transactions"), "{proof:?}");
    }
    sandbox.expect_nothing_left();
}

#[test]
fn tables_on_mariadb_are_consistent_after_a_run() {
    measures("mariadb");
}

#[test]
fn a_key_that_is_none_is_refused_and_not_repeated() {
    let arms = format!("{PLAIN}, {STORED}");
    let (sandbox, study) = (
        Sandbox::new(),
        study("mariadb", &arms, "connections = 1, batch = 10", 1),
    );
    let wrong = "00112233445566778899aabbccddeefz";
    let finished: Finished = start(&sandbox, &study, &[], Some((KEY, wrong))).finish();
    finished.refuses(&format!("{KEY} … 32 hexadecimal digits"));
    assert!(!finished.stderr.contains(wrong), "{}", finished.stderr);
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
}

#[test]
fn a_server_that_is_killed_in_a_transaction_is_named_and_leaves_nothing() {
    let arms = format!("{PLAIN}, {TLS}");
    let (sandbox, study) = (Sandbox::new(), study("mariadb", &arms, "connections = 4", 30));
    let mut running = start(&sandbox, &study, &[], None);
    running.says("Opening connections");
    running.measures();
    for pid in servers_of(&sandbox.temporary()) {
        kill_process(pid, Signal::KILL).unwrap();
    }
    let finished = running.finish();
    finished.fails(4, "");
    finished.shows("server");
    assert_eq!(record(&sandbox.run()).head.inconsistent, None);
    sandbox.expect_nothing_left();
}

#[test]
fn databases_that_cannot_be_asked_are_refused_by_name() {
    for (server, words) in [
        ("mongodb", "tpcc is not available on MongoDB"),
        ("sqlite", "take server = \"mariadb\""),
    ] {
        let arms = r#"{ name = "plain", transport = "plain" }, { name = "again", transport = "plain" }"#;
        study_refused(&study(server, arms, "connections = 1", 1)).refuses(&format!("cell \"mix\" … {words}"));
    }
}

mod test_all {
    use super::*;

    #[test]
    fn tables_on_mysql_are_consistent_after_a_run() {
        measures("mysql");
    }

    #[test]
    fn tables_on_postgresql_are_consistent_after_a_run() {
        measures("postgresql");
    }

    #[test]
    fn sets_of_stored_cells_hold_the_same_after_the_same_transactions_and_only_the_key_reads_them() {
        let arms = format!("{PLAIN}, {STORED}");
        let load = "connections = 2, batch = 60";
        let (sandbox, study) = (Sandbox::new(), study("mariadb", &arms, load, 6));
        let key = "00112233445566778899aabbccddeeff";
        let finished = start(&sandbox, &study, &[], Some((KEY, key))).finish_within(Duration::from_secs(300));
        finished.measured();
        let run = record(&sandbox.run());
        for [arm, claim] in rows(
            "
            wrapped → unprotected: the server holds cells that anybody can read
            aes → the server holds cells that it cannot read
        ",
        ) {
            for witness in [Witness::Server, Witness::Disk] {
                let is_it = |proof: &&Proof| proof.witness == witness && proof.claim == claim;
                let is_right = proofs(&run, arm).iter().any(is_it);
                assert!(is_right, "{arm}, {witness}: {:?}", proofs(&run, arm));
            }
        }
        for arm in ["plain", "wrapped", "aes"] {
            let proof = consistency(&run, arm);
            let words = "hold the same as 3 other sets";
            assert!(proof.evidence.contains(words), "{arm}: {proof:?}");
        }
        let cells = |arm: &str| {
            let samples = samples(&sandbox.run());
            let of_arm = samples.into_iter().filter(|sample| sample.slice.arm == arm);
            of_arm.map(|sample| sample.load.counts_of(CELLS)[0]).sum::<u64>()
        };
        assert_eq!(cells("plain"), 0);
        assert!(cells("aes") > 0);
        for file in fs::read_dir(sandbox.run()).unwrap() {
            let text = fs::read(file.unwrap().path()).unwrap();
            assert!(!text.windows(key.len()).any(|window| window == key.as_bytes()));
        }
        sandbox.expect_nothing_left();
    }

    #[test]
    fn a_row_that_somebody_takes_away_ends_the_run_without_a_figure() {
        let server = OwnServer::start();
        let arms = format!("{PLAIN}, {TLS}");
        let (sandbox, study) = (Sandbox::new(), study("mariadb", &arms, "connections = 2", 15));
        let password = Some(("CIPHERTAX_PASSWORD", server.password()));
        let mut running = start(&sandbox, &study, &[&server.url()], password);
        running.says("Opening connections");
        running.measures();
        server.query("DELETE FROM ciphertax.order_line WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 7 AND ol_number = 1");
        let finished = running.finish();
        assert_eq!(finished.stdout, "");
        finished.fails(
            2,
            "nothing that was measured can be trusted … clause 3.3.2 … d_id = 3",
        );
        // What was measured is there for whoever looks for the fault, and yields no figure later.
        let run = record(&sandbox.run());
        assert!(run.head.inconsistent.is_some() && run.results.estimates.is_empty());
        assert!(!samples(&sandbox.run()).is_empty());
        let report = sandbox.finish(&["report", "run"]);
        report.fails(2, "clause 3.3.2");
        let resumed = sandbox.finish(&["run", "--resume", "run"]);
        assert_eq!(resumed.code, Some(2), "{resumed:?}");
        assert!(!server.schemas().contains(&"ciphertax".to_owned()));
        sandbox.expect_nothing_left();
    }
}
