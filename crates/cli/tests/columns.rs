//! Columns that the server encrypts in the statements that write and read them.

use crate::common::*;

fn study(server: &str, columns: &str) -> String {
    format!(
        r#"
        name = "columns"
        question = "What do columns cost that the server encrypts?"
        server = "{server}"
        time_s = 3
        slice_s = 0.1
        ycsb = {{ record_count = 2000, verify = true }}
        arm = [
            {{ name = "plain", transport = "plain" }},
            {{ name = "encrypted", transport = "plain", at_rest = {{ columns = "{columns}" }} }},
        ]
        cell = [{{ name = "read", workload = "ycsb_a", load = {{ connections = 2 }} }}]
        "#
    )
}

fn measures(server: &str, columns: &str) {
    if fetched(catalogue::find(server).unwrap()).is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let (_, run) = sandbox.play(&study(server, columns), 1);
    let proofs = |arm: &str| {
        let arm = arm_of(&run, arm);
        arm.sessions
            .iter()
            .flat_map(|session| &session.proofs)
            .collect::<Vec<_>>()
    };
    for witness in [Witness::Server, Witness::Disk] {
        let is_of_columns =
            |proof: &&ciphertax_base::Proof| proof.witness == witness && proof.claim.contains(columns);
        let is_proved = proofs("encrypted").into_iter().any(|proof| is_of_columns(&proof));
        assert!(is_proved, "{witness}");
        let is_proved = !proofs("plain").into_iter().any(|proof| is_of_columns(&proof));
        assert!(is_proved, "{witness}");
    }
    // 2,000 records of 10 fields: of 100 bytes each, or of 112.
    let bytes = |arm: &str| run.results.storage("read", arm).unwrap().data_bytes.unwrap();
    assert!(bytes("plain") >= 2_000_000 && bytes("encrypted") >= 2_240_000);
    let row = run.results.storage("read", "encrypted").unwrap();
    assert!(
        row.hit_rate.is_some_and(|rate| rate > 0.9) && row.log_bytes.is_some_and(|bytes| bytes > 0.0),
        "{row:?}"
    );
    sandbox
        .finish(&["report", "run", "--full"])
        .shows("cache hit rate");
}

#[test]
fn mysqls_family_encrypts_columns_and_proves_it() {
    measures("mariadb", "aes_encrypt");
}

#[test]
fn postgresql_encrypts_columns_and_proves_it() {
    measures("postgresql", "pgcrypto");
}

mod test_all {
    use super::*;

    #[test]
    fn postgresql_18_encrypts_columns_and_proves_it() {
        measures("postgresql-18", "pgcrypto");
    }
}
