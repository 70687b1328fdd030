//! Districts.

use super::super::condition::Condition;
use super::super::subject::{Side, Subject, column, measure, value};
use super::{CONDITION, SIDE};

pub(super) const DISTRICTS: Subject = Subject {
    table: "district",
    keys: &["d_w_id", "d_id"],
    values: &[column(&["d_ytd"]), column(&["d_next_o_id"])],
    sides: &[
        Side {
            keys: &[("o_w_id", "d_w_id"), ("o_d_id", "d_id")],
            columns: &["o_id"],
            from: "{oorder}",
            values: &[
                value("last_order", "MAX(o_id)", &[]),
                value("orders", "COUNT(*)", &[]),
                value("run_orders", "COUNT(CASE WHEN o_id > {orders} THEN 1 END)", &[]),
                value("counted_lines", "SUM(o_ol_cnt)", &["o_ol_cnt"]),
            ],
            ..SIDE
        },
        Side {
            keys: &[("no_w_id", "d_w_id"), ("no_d_id", "d_id")],
            columns: &["no_o_id"],
            from: "{new_order}",
            values: &[
                value("last_new_order", "MAX(no_o_id)", &[]),
                value("first_new_order", "MIN(no_o_id)", &[]),
                value("new_orders", "COUNT(*)", &[]),
            ],
            ..SIDE
        },
        Side {
            keys: &[("ol_w_id", "d_w_id"), ("ol_d_id", "d_id")],
            from: "{order_line}",
            values: &[value("order_lines", "COUNT(*)", &[])],
            ..SIDE
        },
        Side {
            keys: &[("h_w_id", "d_w_id"), ("h_d_id", "d_id")],
            from: "{history}",
            values: &[value("amounts", "SUM(h_amount)", &["h_amount"])],
            ..SIDE
        },
        Side {
            keys: &[("c_w_id", "d_w_id"), ("c_d_id", "d_id")],
            from: "{customer}",
            values: &[
                value("customers", "COUNT(*)", &[]),
                value("delivered_since", "SUM(c_delivery_cnt)", &["c_delivery_cnt"]),
            ],
            ..SIDE
        },
    ],
    conditions: &[
        Condition {
            clause: "3.3.2.2",
            says: "d_next_o_id follows the largest o_id, and the largest no_o_id where there is any",
            in_study: true,
            values: &["d_next_o_id", "last_order", "last_new_order"],
            holds: "d_next_o_id - 1 = last_order AND d_next_o_id - 1 = COALESCE(last_new_order, last_order)",
        },
        Condition {
            clause: "3.3.2.3",
            says: "a district's new orders have consecutive numbers",
            in_study: true,
            values: &["first_new_order", "last_new_order", "new_orders"],
            holds: "new_orders IS NULL OR last_new_order - first_new_order + 1 = new_orders",
        },
        Condition {
            clause: "3.3.2.4",
            says: "the sum of a district's o_ol_cnt is the number of its order lines",
            in_study: true,
            values: &["counted_lines", "order_lines"],
            holds: "counted_lines = order_lines",
        },
        Condition {
            clause: "3.3.2.9",
            says: "d_ytd is the sum of its history's h_amount",
            values: &["d_ytd", "amounts"],
            holds: "d_ytd = amounts",
            ..CONDITION
        },
        Condition {
            clause: "3.3.2.11",
            says: "orders that are no new orders are those delivered at the load, and since by c_delivery_cnt",
            values: &["orders", "new_orders", "delivered_since"],
            holds: "orders - COALESCE(new_orders, 0) = {delivered} + delivered_since",
            ..CONDITION
        },
        Condition {
            clause: "1.2.1",
            says: "a district has all its customers",
            values: &["customers"],
            holds: "customers = {customers}",
            ..CONDITION
        },
    ],
    measures: &[
        measure("orders", "SUM(orders)", "orders"),
        measure("delivered_since", "SUM(delivered_since)", "delivered_since"),
        measure("run_orders", "SUM(run_orders)", "run_orders"),
        measure("pairs", "SUM(run_orders * (run_orders - 1))", "run_orders"),
        measure(
            "triples",
            "SUM(1.0 * run_orders * (run_orders - 1) * (run_orders - 2))",
            "run_orders",
        ),
    ],
};
