//! Loads that were cut off, and tables that were damaged or worked on.

use ciphertax_workload::dataset;

use super::ground::{Ground, mariadb, one_warehouse, postgresql};
use crate::common::*;

const COUNTS: [&str; 9] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "oorder",
    "order_line",
    "item",
    "stock",
];

#[test]
fn what_an_interrupted_load_left_is_kept_on_mariadb() {
    is_resumed(&mariadb());
}

fn is_resumed<S: SqlSession>(ground: &Ground<S>) {
    let contents = one_warehouse();
    ground.interrupt(&contents, 150_000);
    let marked = ground.ask("SELECT COUNT(*) FROM ciphertax.tpcc_chunks")[0]
        .parse::<usize>()
        .unwrap();
    let date = ground.ask("SELECT loaded_at FROM ciphertax.tpcc_config");
    let heard = ground.prepare(&contents).unwrap();
    assert!(heard[0] >= 150_000, "{heard:?}");
    let is_gone_on = marked >= 3 && heard.len() <= 1 + 9 - marked;
    assert!(is_gone_on, "{marked}: {heard:?}");
    assert_eq!(heard.last(), Some(&contents.rows()));
    assert_eq!(ground.ask("SELECT loaded_at FROM ciphertax.tpcc_config"), date);
    let resumed = counts(ground);
    assert_eq!(ground.prepare(&contents).unwrap(), [contents.rows()]);
    ground.restore(&contents);
    assert_eq!(counts(ground), resumed);
}

#[test]
fn what_three_load_a_part_of_each_is_whole_on_mariadb() {
    is_loaded_in_parts(&mariadb());
}

fn is_loaded_in_parts<S: SqlSession>(ground: &Ground<S>) {
    let contents = one_warehouse();
    assert!(ground.begin(&contents));
    assert!(ground.begin(&contents), "nothing is written yet");
    // Chunks of 300,000, 100,000, 100,000, 30,000, … rows.
    let (first, second) = (
        ground.load_part(&contents, 0, 3),
        ground.load_part(&contents, 1, 3),
    );
    let goes_on = first > second && first < contents.rows() * 3 / 4;
    assert!(goes_on, "{first}, {second}");
    assert!(!ground.begin(&contents));
    let heard = ground.prepare(&contents).unwrap();
    assert_eq!(heard[0], first + second, "what nobody wrote is made: {heard:?}");
    let in_parts = counts(ground);
    assert_eq!(ground.prepare(&contents).unwrap(), [contents.rows()]);

    assert!(ground.with_session(async |session| dataset::remove(session).await.unwrap()));
    assert!(ground.begin(&contents));
    let written: u64 = (0..3).map(|index| ground.load_part(&contents, index, 3)).sum();
    assert_eq!(written, contents.rows());
    let kept = ground.prepare(&contents).unwrap();
    assert_eq!(kept, [contents.rows()], "nothing was missing");
    assert_eq!(counts(ground), in_parts);
}

/// The server ends the sessions in the middle of a chunk.
#[test]
fn a_load_whose_sessions_are_cut_off_is_an_error_and_goes_on_later() {
    let ground = mariadb();
    let contents = one_warehouse();
    let outcome = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            assert!(within(PATIENCE, || {
                let tables = "SELECT 1 FROM information_schema.tables WHERE table_name = 'tpcc_chunks'";
                !ground.ask(tables).is_empty()
                    && ground.number("SELECT COUNT(*) FROM ciphertax.tpcc_chunks") >= 5.0
            }));
            for id in ground.ask("SELECT id FROM information_schema.processlist WHERE db = 'ciphertax'") {
                // One may have ended meanwhile.
                ground.with_session(async |session| session.command(&format!("KILL {id}")).await.ok());
            }
        });
        let outcome = ground.prepare(&contents);
        killer.join().unwrap();
        outcome
    });
    let problem = outcome.unwrap_err().to_string();
    assert!(problem.starts_with("the data set cannot be made"), "{problem}");
    let heard = ground.prepare(&contents).unwrap();
    assert!(heard[0] >= 69_011, "five chunks of nine at least: {heard:?}");
    assert_eq!(ground.prepare(&contents).unwrap(), [contents.rows()]);
}

fn counts<S: SqlSession>(ground: &Ground<S>) -> Vec<String> {
    let count = |table: &&str| {
        ground
            .ask(&format!("SELECT COUNT(*) FROM ciphertax.{table}"))
            .concat()
    };
    COUNTS.iter().map(count).collect()
}

fn checksums(ground: &Ground<mysql::Session>) -> Vec<String> {
    let tables = COUNTS.map(|table| format!("ciphertax.{table}"));
    ground.ask(&format!("CHECKSUM TABLE {}", tables.join(", ")))
}

mod test_all {
    use super::*;

    #[test]
    fn damaged_tables_are_loaded_again_and_no_others_and_tables_that_were_worked_on_are_kept() {
        let ground = mariadb();
        let contents = one_warehouse();
        ground.prepare(&contents).unwrap();
        let right = checksums(&ground);
        for [damage, lost] in rows(
            "
            DELETE FROM ciphertax.history WHERE h_c_id = 77 → 30000
            DELETE FROM ciphertax.new_order WHERE no_o_id = 2101 AND no_d_id = 3 → 9000
            INSERT INTO ciphertax.item SELECT 0, i_im_id, i_name, i_price, i_data FROM ciphertax.item LIMIT 1 → 100000
            DELETE FROM ciphertax.order_line WHERE ol_o_id = 9 AND ol_number = 1 → 300000
            DELETE FROM ciphertax.tpcc_chunks WHERE table_name = 'district' → 10
            DROP TABLE ciphertax.warehouse → 1
            DROP INDEX by_name_of_customer ON ciphertax.customer → 0
            ",
        ) {
            let lost: u64 = lost.parse().unwrap();
            ground.ask(damage);
            let heard = ground.prepare(&contents).unwrap();
            assert_eq!(heard[0], contents.rows() - lost, "{damage}: {heard:?}");
            assert_eq!(heard.last(), Some(&contents.rows()), "{damage}");
            assert_eq!(checksums(&ground), right, "{damage}");
        }

        // A payment and a delivery of one order.
        for statement in [
            "UPDATE ciphertax.warehouse SET w_ytd = w_ytd + 5",
            "UPDATE ciphertax.customer SET c_payment_cnt = 2 WHERE c_id = 5 AND c_d_id = 5",
            "INSERT INTO ciphertax.history SELECT 5, 5, 1, 5, 1, h_date, 5, h_data FROM ciphertax.history LIMIT 1",
            "DELETE FROM ciphertax.new_order WHERE no_o_id = 2101 AND no_d_id = 3",
            "UPDATE ciphertax.oorder SET o_carrier_id = 3 WHERE o_id = 2101 AND o_d_id = 3",
        ] {
            ground.ask(statement);
        }
        let worked_on = checksums(&ground);
        assert_eq!(ground.prepare(&contents).unwrap(), [contents.rows()]);
        assert_eq!(checksums(&ground), worked_on);

        // What is damaged after that cannot be mended table by table.
        ground.ask("DELETE FROM ciphertax.stock WHERE s_i_id = 9");
        assert_eq!(ground.prepare(&contents).unwrap().len(), 9);
        assert_eq!(checksums(&ground), right);

        ground.ask("UPDATE ciphertax.district SET d_next_o_id = d_next_o_id + 3000");
        let grown = ground.with_session(async |session: &mut mysql::Session| {
            growth(session, TableNames::ONLY).await.unwrap()
        });
        assert!((grown - 2.0).abs() < 1e-9, "{grown}");
        let found = ground.prepare(&contents).unwrap().len();
        assert_eq!(found, 9, "they have grown too large");
        assert_eq!(checksums(&ground), right);
    }

    #[test]
    fn what_three_load_a_part_of_each_is_whole_on_postgresql() {
        let Some(ground) = postgresql() else { return };
        is_loaded_in_parts(&ground);
    }

    #[test]
    fn what_an_interrupted_load_left_is_kept_on_postgresql() {
        let Some(ground) = postgresql() else { return };
        is_resumed(&ground);
    }
}
