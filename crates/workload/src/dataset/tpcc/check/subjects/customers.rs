//! Customers.

use super::super::condition::Condition;
use super::super::subject::{Side, Subject, column, measure, value};
use super::{CONDITION, SIDE};

pub(super) const CUSTOMERS: Subject = Subject {
    table: "customer",
    keys: &["c_w_id", "c_d_id", "c_id"],
    values: &[
        column(&["c_balance"]),
        column(&["c_ytd_payment"]),
        column(&["c_payment_cnt"]),
    ],
    sides: &[
        Side {
            keys: &[("h_c_w_id", "c_w_id"), ("h_c_d_id", "c_d_id"), ("h_c_id", "c_id")],
            from: "{history}",
            values: &[
                value("payments", "COUNT(*)", &[]),
                value("amounts", "SUM(h_amount)", &["h_amount"]),
            ],
            ..SIDE
        },
        Side {
            keys: &[("o_w_id", "c_w_id"), ("o_d_id", "c_d_id"), ("o_c_id", "c_id")],
            inner_keys: &[("ol_w_id", "o_w_id"), ("ol_d_id", "o_d_id"), ("ol_o_id", "o_id")],
            columns: &["ol_amount"],
            from: "{oorder} LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, SUM(ol_amount) AS amount FROM {order_line} \
                   WHERE ol_delivery_d IS NOT NULL GROUP BY ol_w_id, ol_d_id, ol_o_id) delivered \
                   ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id",
            values: &[
                value("delivered_amount", "SUM(amount)", &[]),
                value(
                    "loaded_orders",
                    "COUNT(CASE WHEN o_id <= {orders} THEN 1 END)",
                    &["o_id"],
                ),
                value(
                    "run_orders",
                    "COUNT(CASE WHEN o_id > {orders} THEN 1 END)",
                    &["o_id"],
                ),
            ],
        },
    ],
    conditions: &[
        Condition {
            clause: "3.3.2.10",
            says: "c_balance is the sum of delivered ol_amount less the sum of h_amount",
            values: &["c_balance", "delivered_amount", "amounts"],
            holds: "c_balance = COALESCE(delivered_amount, 0) - COALESCE(amounts, 0)",
            ..CONDITION
        },
        Condition {
            clause: "3.3.2.12",
            says: "c_balance and c_ytd_payment are together the sum of delivered ol_amount",
            values: &["c_balance", "c_ytd_payment", "delivered_amount"],
            holds: "c_balance + c_ytd_payment = COALESCE(delivered_amount, 0)",
            ..CONDITION
        },
        Condition {
            clause: "2.5.2.2",
            says: "c_payment_cnt is the number of payments in history, that of the load among them",
            values: &["c_payment_cnt", "payments"],
            holds: "c_payment_cnt = COALESCE(payments, 0)",
            ..CONDITION
        },
        Condition {
            clause: "4.3.3.1",
            says: "each customer has one of the orders that were loaded",
            values: &["loaded_orders"],
            holds: "loaded_orders = 1",
            ..CONDITION
        },
    ],
    measures: &[measure(
        "customer_pairs",
        "SUM(run_orders * (run_orders - 1))",
        "run_orders",
    )],
};
