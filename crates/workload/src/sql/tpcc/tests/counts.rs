//! How often each transaction asks: as often as BenchmarkSQL 5 for MySQL does.

use std::collections::BTreeMap;

use super::*;
use crate::sql::tpcc::inputs::Customer;

/// How often each verb was executed.
fn verbs(asked: &[Asked]) -> BTreeMap<String, u64> {
    let mut verbs = BTreeMap::new();
    for asked in asked {
        let (Asked::Execute(sql, _) | Asked::Text(sql)) = asked else {
            continue;
        };
        let verb = sql.split(' ').next().unwrap().to_lowercase();
        *verbs.entry(verb).or_insert(0) += 1;
    }
    verbs
}

/// What a transaction must ask: selects, inserts, updates, deletes, commits, rollbacks.
fn expected(input: &Input) -> [u64; 6] {
    let of_name = |customer: &Customer| u64::from(matches!(customer, Customer::LastName(_)));
    match input {
        Input::NewOrder(order) => {
            let is_rolled_back = u64::from(order.is_rolled_back());
            let known = order.known_lines().len() as u64;
            [4, 3, 1 + known, 0, 1 - is_rolled_back, is_rolled_back]
        }
        Input::Payment(payment) => {
            let has_bad_credit = match payment.customer {
                // The second of four.
                Customer::LastName(_) => true,
                Customer::Number(number) => number % 3 == 0,
            };
            [
                3 + of_name(&payment.customer) + u64::from(has_bad_credit),
                1,
                3,
                0,
                1,
                0,
            ]
        }
        Input::OrderStatus(asked) => [3 + of_name(&asked.customer), 0, 0, 0, 0, 1],
        Input::Delivery(_) => [12, 0, 12, 1, 1, 0],
        Input::StockLevel(_) => [1, 0, 0, 0, 0, 1],
    }
}

#[test]
fn each_transaction_asks_as_often_as_its_inputs_say() {
    for kind in [StatementKind::Prepared, StatementKind::Text] {
        asks_as_often(&Mock::<false>::new(), tables(kind), 0);
        asks_as_often(&Mock::<true>::new(), tables(kind), 1);
    }
}

fn asks_as_often<const POSTGRES: bool>(mock: &Mock<POSTGRES>, tables: Tpcc, begins: u64) {
    let mut inputs = inputs(&tables);
    let mut session = session(mock, tables);
    let mut statements = [(0, 0); 5];
    for _ in 0..3000 {
        let input = inputs.draw();
        let operation = run(session.transact(&input)).unwrap();
        let verbs = verbs(&mock.asked());
        let count = |verb| verbs.get(verb).copied().unwrap_or(0);
        let counts = ["select", "insert", "update", "delete", "commit", "rollback"].map(count);
        assert_eq!(counts, expected(&input), "{input:?}");
        assert_eq!(count("begin"), begins);
        let sum = counts.iter().sum::<u64>();
        assert_eq!((operation.queries, operation.restarts), (sum + begins, 0));
        assert_eq!(operation.kind, input.kind() as usize);
        statements[operation.kind].0 += 1;
        statements[operation.kind].1 += sum;
    }
    // BenchmarkSQL 5 for MySQL: 8.9 + n, 8.6 + BC, 4.6, 26, 2. Here all bearers of a name have bad credit.
    let means = statements.map(|(count, sum)| sum as f64 / f64::from(count));
    for (mean, expected, tolerance) in [
        (means[0], 18.98, 0.4),
        (means[1], 8.6 + 0.6 + 0.4 / 3.0, 0.1),
        (means[2], 4.6, 0.25),
        (means[3], 26.0, 0.0),
        (means[4], 2.0, 0.0),
    ] {
        assert!((mean - expected).abs() <= tolerance, "{means:?}");
    }
}
