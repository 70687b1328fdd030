//! What begins transactions, and begins them anew.

use ciphertax_model::{Isolation, TpccWeights};

use super::*;

#[test]
fn a_transaction_that_is_given_up_is_begun_anew_with_the_same_inputs() {
    let tables = tables(StatementKind::Text);
    let input = order(&mut inputs(&tables));
    let mock = Mock::<false>::new();
    let whole = {
        run(session(&mock, tables).transact(&input)).unwrap();
        mock.asked()
    };
    // Telling the session of its transactions was the first.
    for given_up in [2, 7, 15] {
        let mock = Mock::<false>::giving_up(&[given_up]);
        let operation = run(session(&mock, tables).transact(&input)).unwrap();
        assert_eq!(operation.restarts, 1);
        let asked = mock.asked();
        let (failed, again) = asked.split_at(given_up);
        assert_eq!(undated(&failed[..given_up - 1]), undated(&whole[..given_up - 1]));
        assert_eq!(failed[given_up - 1..], [Asked::Text("ROLLBACK".to_owned())]);
        let sql = |asked: &[Asked]| asked.iter().map(|asked| values(asked).0).collect::<Vec<_>>();
        assert_eq!(sql(again).len(), whole.len());
        assert_eq!(sql(again)[4..], sql(&whole)[4..]);
    }
}

/// Statements without the date of the order, which is that of the clock.
fn undated(asked: &[Asked]) -> Vec<Asked> {
    let undated = |asked: &Asked| match asked {
        Asked::Text(sql) if sql.starts_with("INSERT INTO oorder") => {
            let parts: Vec<&str> = sql.split('\'').collect();
            assert_eq!(parts.len(), 3, "the date alone is in quotes: {sql}");
            Asked::Text([parts[0], parts[2]].concat())
        }
        other => other.clone(),
    };
    asked.iter().map(undated).collect()
}

#[test]
fn isolation_is_said_in_each_dialects_way_and_is_less_for_a_look_at_stock() {
    let level = |isolation| Tpcc {
        isolation,
        weights: Some(TpccWeights {
            new_order: 0.0,
            payment: 0.0,
            order_status: 0.0,
            delivery: 0.0,
            stock_level: 100.0,
        }),
        ..tables(StatementKind::Text)
    };
    fn first<const POSTGRES: bool>(tables: Tpcc) -> String {
        let mock = Mock::<POSTGRES>::new();
        let input = inputs(&tables).draw();
        run(session(&mock, tables).transact(&input)).unwrap();
        values(&mock.asked()[0]).0
    }
    let read_committed = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
    assert!(first::<false>(level(None)).starts_with("SELECT COUNT"));
    assert!(first::<false>(level(Some(Isolation::ReadCommitted))).starts_with("SELECT COUNT"));
    let repeatable_read = level(Some(Isolation::RepeatableRead));
    assert_eq!(first::<false>(repeatable_read), read_committed);
    let first_said = first::<false>(level(Some(Isolation::Serializable)));
    assert_eq!(first_said, read_committed);
    assert_eq!(first::<true>(level(None)), "BEGIN");
    let serializable = level(Some(Isolation::Serializable));
    let expected = "BEGIN ISOLATION LEVEL READ COMMITTED";
    assert_eq!(first::<true>(serializable), expected);

    let mock = Mock::<false>::new();
    let terminals = terminals(&mock, serializable, ArmColumns::default());
    run(terminals.ask_over(mock.session())).unwrap();
    let texts: Vec<Asked> = mock
        .asked()
        .into_iter()
        .filter(|asked| matches!(asked, Asked::Text(_)))
        .collect();
    let told = [
        "SET autocommit = 0",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    ];
    assert_eq!(texts, told.map(|told| Asked::Text(told.to_owned())));
}
