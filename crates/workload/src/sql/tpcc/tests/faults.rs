//! Rows that are missing, or not what was asked for.

use super::*;

#[test]
fn a_row_that_is_missing_or_was_not_written_is_an_error_that_names_it() {
    let tables = tables(StatementKind::Prepared);
    let mut inputs = inputs(&tables);
    let new_order = order(&mut inputs);
    let payment = Input::Payment(inputs.payment());
    for (input, gone, named) in [
        (&new_order, "SELECT c_discount", "customer [1, "),
        (&new_order, "SELECT d_tax", "district [1, "),
        (&new_order, "UPDATE district", "district [1, "),
        (&new_order, "INSERT INTO oorder", "oorder [1, "),
        (&new_order, "SELECT i_id", "item ["),
        (&new_order, "SELECT s_i_id", "stock [1, "),
        (&new_order, "UPDATE stock", "stock [1, "),
        (&new_order, "INSERT INTO order_line", "order_line [1, "),
        (&payment, "SELECT w_name", "warehouse [1]"),
        (&payment, "UPDATE warehouse", "warehouse [1]"),
        (&payment, "SELECT c_first", "customer ["),
        (&payment, "UPDATE customer", "customer ["),
        (&payment, "INSERT INTO history", "history of customer ["),
    ] {
        let mock = Mock::<false>::new();
        let mut session = session(&mock, tables);
        mock.answers(Box::new(move |asked| match values(asked).0.starts_with(gone) {
            true if gone.starts_with("SELECT") => Rows::Read(Vec::new()),
            true => Rows::Written(0),
            false => answer(asked),
        }));
        let failure = run(session.transact(input)).unwrap_err();
        let message = failure.message();
        let is_told = message.starts_with(named) && message.ends_with("was the table changed?");
        assert!(is_told, "{message}");
    }
}

#[test]
fn a_row_that_is_not_what_was_asked_for_is_an_error_and_no_panic() {
    let tables = tables(StatementKind::Prepared);
    let input = order(&mut inputs(&tables));
    let rows: [Vec<Vec<Value>>; 4] = [
        vec![vec![]],
        vec![vec![text("x")]],
        vec![vec![text("x"), Value::Integer(1), text("y"), text("")]],
        vec![vec![Value::Integer(i64::MAX); 4]],
    ];
    for rows in rows {
        for asked_for in [
            "SELECT c_discount",
            "SELECT d_tax",
            "SELECT i_id",
            "SELECT s_i_id",
        ] {
            let rows = rows.clone();
            let mock = Mock::<false>::new();
            let mut session = session(&mock, tables);
            mock.answers(Box::new(move |asked| {
                match values(asked).0.starts_with(asked_for) {
                    true => Rows::Read(rows.clone()),
                    false => answer(asked),
                }
            }));
            run(session.transact(&input)).unwrap_err();
        }
    }
}
