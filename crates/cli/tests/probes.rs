//! Probes: what they change is changed in the slices of their arm alone, and what they take away is gone there.

use crate::common::*;

/// A second connection that looks at the server in every slice, and commits thirty times in it. In the fifth slice of the probe's
/// arm it fails.
const LOOK: &str = r#"
mariadb --defaults-file="$CIPHERTAX_MY_CNF" -N -e '
SELECT @@GLOBAL.innodb_flush_log_at_trx_commit;
SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = "INNODB_DATA_FSYNCS";
DELIMITER //
BEGIN NOT ATOMIC
  FOR i IN 1 .. 30 DO UPDATE ciphertax.sbtest1 SET k = k + 1 WHERE id = i; END FOR;
END//
DELIMITER ;
SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = "INNODB_DATA_FSYNCS";
' | tr '\n' ' ' > "$1.now" || exit 1
echo "$0 $(cat "$1.now")" >> "$1"
test "$0" != unflushed || test "$(grep -c unflushed "$1")" != 5
"#;

fn study(log: &Path) -> String {
    format!(
        r#"
        name = "probes"
        question = "What does a flush cost?"
        time_s = 30
        profile = "off"
        storage = {{ flush_log_at_trx_commit = 1 }}
        dataset = {{ table_size = 1000 }}
        arm = [
            {{ name = "flushed", transport = "plain" }},
            {{ name = "unflushed", transport = "plain", probe = {{ variable = "innodb_flush_log_at_trx_commit", value = 2 }} }},
        ]
        [[cell]]
        name = "updates"
        workload = "command"
        command = {{ run = ["sh", "-c", '''{LOOK}''', "{{arm}}", "{}"] }}
        "#,
        log.display()
    )
}

#[test]
fn a_probe_holds_in_the_slices_of_its_arm_alone_also_after_one_that_failed() {
    let sandbox = Sandbox::new();
    let log = sandbox.work().join("seen");
    let finished = sandbox.start_study(&study(&log), &["--seed", "3"]).finish();
    finished.measured();

    // The trials before anything is measured are nobody's slices, and see the server as it is.
    let mut seen: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    for line in fs::read_to_string(&log).unwrap().lines() {
        let words: Vec<&str> = line.rsplitn(4, ' ').filter(|word| !word.is_empty()).collect();
        let [after, before, value_and_arm] = words[..] else {
            panic!("{line:?}");
        };
        let (arm, value) = value_and_arm.rsplit_once(' ').unwrap();
        let flushes = after.parse::<u64>().unwrap() - before.parse::<u64>().unwrap();
        seen.entry(arm.to_owned())
            .or_default()
            .push((value.to_owned(), flushes));
    }
    let of = |arm: &str| seen[arm].iter().skip(1).cloned().collect::<Vec<(String, u64)>>();
    for (arm, value) in [("flushed", "1"), ("unflushed", "2")] {
        let of = of(arm);
        let is_kept = of.len() >= 8 && of.iter().all(|(seen, _)| seen == value);
        assert!(is_kept, "{arm}: {seen:?}");
    }
    assert_eq!(seen["unflushed"][0].0, "1", "the trial");
    let mean = |arm: &str| {
        let of = of(arm);
        of.iter().map(|(_, flushes)| *flushes as f64).sum::<f64>() / of.len() as f64
    };
    // Thirty commits, each flushed; else once a second.
    assert!(mean("flushed") >= 25.0, "{seen:?}");
    assert!(mean("unflushed") <= 5.0, "{seen:?}");

    let run = record(&sandbox.run());
    let failed = run
        .results
        .void
        .iter()
        .filter(|row| matches!(row.reason, VoidReason::Errors { .. }));
    let arms = failed.map(|row| row.arm.as_str()).collect::<Vec<&str>>();
    assert_eq!(arms, ["unflushed"]);
    let arm = run
        .head
        .arms
        .iter()
        .find(|arm| arm.role == ArmRole::Variant)
        .unwrap();
    let mut proofs = arm.sessions.iter().flat_map(|session| &session.proofs);
    let proof = proofs.find(|proof| proof.claim.contains("innodb_flush_log_at_trx_commit = 2"));
    let proof = proof.unwrap();
    assert_eq!(proof.witness, Witness::Server);
    assert!(proof.evidence.contains("was 1, could be set to 2"), "{proof:?}");
    // All arms were measured on one server.
    assert_eq!(run.head.servers.len(), 1);
    let page = fs::read_to_string(sandbox.run().join("report.html")).unwrap();
    for text in [&page, &finished.stdout] {
        assert!(text.contains("with innodb_flush_log_at_trx_commit = 2"), "{text}");
    }
    sandbox.expect_nothing_left();
}

/// A study with a probe of this arm on this server.
fn probed(server: &str, arm: &str) -> String {
    format!(
        r#"
        name = "probed"
        question = "What does it cost?"
        server = "{server}"
        time_s = 30
        slice_s = 0.1
        arm = [{{ name = "plain", transport = "plain" }}, {{ name = "probed", transport = "plain", {arm} }}]
        cell = [{{ name = "select", workload = "connect", load = {{ connections = 1 }} }}]
        "#
    )
}

#[test]
fn what_cannot_be_probed_is_refused_by_name_before_anything_is_measured() {
    let own = "mysql://app@127.0.0.1:9/";
    for [server, probe, words] in rows(
        r#"
        postgresql → { variable = "fsync", value = "off" } → arm "probed": ciphertax sets variables of MySQL's family alone
        mongodb → { variable = "syncdelay", value = 1 } → arm "probed": ciphertax sets variables of MySQL's family alone
        sqlite → { cpus = 1 } → arm "probed": sqlite runs in its client
        OWN → { variable = "sync_binlog", value = 0 } → arm "probed": a probe changes the server for everybody who uses it
        mariadb → { variable = "sync_binlogs", value = 0 } → arm probed: its probe sync_binlogs = 0 cannot be tried
        mariadb → { variable = "port", value = 1 } → read only variable
        "#,
    ) {
        let sandbox = Sandbox::new();
        let (server, target) = match server {
            "OWN" => ("mariadb", &[own][..]),
            _ => (server, &[][..]),
        };
        let running = sandbox.start_study(&probed(server, &format!("probe = {probe}")), target);
        running.finish().refuses(words);
        sandbox.expect_nothing_left();
    }
}

#[test]
fn ctrl_c_in_a_slice_with_a_probe_leaves_nothing() {
    let sandbox = Sandbox::new();
    let mut running = sandbox.start_study(&probed("mariadb", "probe = { cpus = 1 }"), &[]);
    running.measures();
    running.interrupt();
    assert!(
        samples_so_far(&sandbox.run())
            .iter()
            .any(|sample| sample.slice.arm == "probed")
    );
    sandbox.expect_nothing_left();
}
