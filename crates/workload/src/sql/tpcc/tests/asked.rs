//! What is asked, to the letter.

use super::*;
use crate::sql::tpcc::inputs::{Customer, Line};

#[test]
fn an_order_is_asked_for_as_benchmarksql_does() {
    let tables = tables(StatementKind::Text);
    let input = order(&mut inputs(&tables));
    let Input::NewOrder(order) = &input else { panic!() };
    let mock = Mock::<false>::new();
    run(session(&mock, tables).transact(&input)).unwrap();
    let asked = mock.asked();
    let asked: Vec<String> = asked.iter().map(|asked| values(asked).0).collect();
    let (district, customer) = (order.district, order.customer);
    let items: Vec<String> = order.lines().iter().map(|line| line.item.to_string()).collect();
    let stock: Vec<String> = items.iter().map(|item| format!("(1, {item})")).collect();
    assert_eq!(
        asked[..3],
        [
            format!(
                "SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id \
                 WHERE c_w_id = 1 AND c_d_id = {district} AND c_id = {customer}"
            ),
            format!(
                "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = {district} FOR UPDATE"
            ),
            format!(
                "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = {district}"
            ),
        ]
    );
    let insert = format!("VALUES (3001, {district}, 1, {customer}, '");
    let holds = asked[3].contains(&insert) && asked[3].ends_with("', 5, 1)");
    assert!(holds, "{}", asked[3]);
    let is_told = asked[4].ends_with(&format!("VALUES (3001, {district}, 1)"));
    assert!(is_told, "{}", asked[4]);
    let is_told = asked[5].ends_with(&format!("i_id IN ({})", items.join(",")));
    assert!(is_told, "{}", asked[5]);
    let list = format!("IN ({}) ORDER BY s_w_id, s_i_id FOR UPDATE", stock.join(","));
    assert!(asked[6].ends_with(&list), "{}", asked[6]);
    let mut lines = Vec::new();
    for (index, line) in order.lines().iter().enumerate() {
        let (item, quantity) = (line.item, line.quantity);
        let left = if quantity <= 5 {
            15 - quantity
        } else {
            106 - quantity
        };
        assert_eq!(
            asked[7 + index],
            format!(
                "UPDATE stock SET s_quantity = {left}, s_ytd = s_ytd + {quantity}, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + 0 WHERE s_w_id = 1 AND s_i_id = {item}"
            )
        );
        let cents = quantity * 1250;
        lines.push(format!(
            "(3001, {district}, 1, {}, {item}, 1, {quantity}, {}.{:02}, 'info of {district:02}')",
            index + 1,
            cents / 100,
            cents % 100
        ));
    }
    let is_told = asked[12].ends_with(&format!("VALUES {}", lines.join(",")));
    assert!(is_told, "{}", asked[12]);
    assert_eq!(asked[13..], ["COMMIT"]);
}

#[test]
fn an_order_of_an_unused_item_is_rolled_back_after_everything_but_that_line() {
    let tables = tables(StatementKind::Prepared);
    let mut inputs = inputs(&tables);
    let order = std::iter::repeat_with(|| inputs.new_order())
        .find(|order| order.is_rolled_back())
        .unwrap();
    let known = order.known_lines().len();
    let mock = Mock::<false>::new();
    run(session(&mock, tables).transact(&Input::NewOrder(order))).unwrap();
    let asked = mock.asked();
    let executed: Vec<String> = asked
        .iter()
        .filter(|asked| !matches!(asked, Asked::Prepare(_)))
        .map(|asked| values(asked).0)
        .collect();
    let updates = executed
        .iter()
        .filter(|sql| sql.starts_with("UPDATE stock"))
        .count();
    assert_eq!(updates, known);
    let [.., lines, end] = &executed[..] else { panic!() };
    assert_eq!(lines.matches("(?, ?, ?, ?, ?, ?, ?, ?, ?)").count(), known);
    assert_eq!(end, "ROLLBACK");
}

#[test]
fn an_item_on_two_lines_is_taken_from_stock_twice() {
    let tables = tables(StatementKind::Text);
    let mut inputs = inputs(&tables);
    let order = std::iter::repeat_with(|| inputs.new_order())
        .find(|order| {
            let twice = |pair: &[Line]| pair[0].item == pair[1].item && pair[0].supplier == pair[1].supplier;
            !order.is_rolled_back() && order.lines().windows(2).any(twice)
        })
        .unwrap();
    let pair = order.lines().windows(2).find(|pair| pair[0].item == pair[1].item);
    let (first, second) = (pair.unwrap()[0], pair.unwrap()[1]);
    let mock = Mock::<false>::new();
    run(session(&mock, tables).transact(&Input::NewOrder(order.clone()))).unwrap();
    let less = |there: u32, quantity: u32| match there - quantity {
        left @ 10.. => left,
        left => left + 91,
    };
    let left = less(15, first.quantity);
    let writes: Vec<String> = mock
        .asked()
        .iter()
        .map(|asked| values(asked).0)
        .filter(|sql| sql.starts_with("UPDATE stock") && sql.ends_with(&format!("s_i_id = {}", first.item)))
        .collect();
    assert!(writes[0].contains(&format!("s_quantity = {left},")), "{writes:?}");
    let left = less(left, second.quantity);
    assert!(writes[1].contains(&format!("s_quantity = {left},")), "{writes:?}");
}

#[test]
fn what_is_known_about_a_customer_of_bad_credit_is_quoted() {
    let tables = tables(StatementKind::Text);
    let mut inputs = inputs(&tables);
    let payment = std::iter::repeat_with(|| inputs.payment())
        .find(|payment| matches!(payment.customer, Customer::LastName(_)))
        .unwrap();
    fn update<const POSTGRES: bool>(tables: Tpcc, input: &Input) -> String {
        let mock = Mock::<POSTGRES>::new();
        run(session(&mock, tables).transact(input)).unwrap();
        let asked = mock.asked();
        let sql = asked.iter().map(|asked| values(asked).0);
        sql.into_iter()
            .find(|sql| sql.starts_with("UPDATE customer"))
            .unwrap()
    }
    let (district, home) = (payment.district, payment.home);
    let amount = format!("{}.{:02}", payment.amount / 100, payment.amount % 100);
    let data = format!("42 {} {} {district} 1 {amount} | it''s old", home.1, home.0);
    let input = Input::Payment(payment);
    assert!(update::<false>(tables, &input).contains(&format!("c_data = '{data}\\\\' WHERE")));
    assert!(update::<true>(tables, &input).contains(&format!("c_data = '{data}\\' WHERE")));
}
