//! Orders.

use super::super::condition::Condition;
use super::super::subject::{Side, Subject, column, value};
use super::{CONDITION, SIDE};

pub(super) const ORDERS: Subject = Subject {
    table: "oorder",
    keys: &["o_w_id", "o_d_id", "o_id"],
    values: &[
        column(&["o_ol_cnt"]),
        value(
            "has_carrier",
            "CASE WHEN o_carrier_id IS NULL THEN 0 ELSE 1 END",
            &[],
        ),
    ],
    sides: &[
        Side {
            keys: &[("no_w_id", "o_w_id"), ("no_d_id", "o_d_id"), ("no_o_id", "o_id")],
            from: "{new_order}",
            values: &[value("new_orders", "COUNT(*)", &[])],
            ..SIDE
        },
        Side {
            keys: &[("ol_w_id", "o_w_id"), ("ol_d_id", "o_d_id"), ("ol_o_id", "o_id")],
            from: "{order_line}",
            values: &[
                value("order_lines", "COUNT(*)", &[]),
                value("delivered_lines", "COUNT(ol_delivery_d)", &[]),
            ],
            ..SIDE
        },
    ],
    conditions: &[
        Condition {
            clause: "3.3.2.5",
            says: "an order has no o_carrier_id while it is a new order, and only then",
            values: &["has_carrier", "new_orders"],
            holds: "has_carrier + COALESCE(new_orders, 0) = 1",
            ..CONDITION
        },
        Condition {
            clause: "3.3.2.6",
            says: "o_ol_cnt is the number of the order's lines",
            values: &["o_ol_cnt", "order_lines"],
            holds: "o_ol_cnt = COALESCE(order_lines, 0)",
            ..CONDITION
        },
        Condition {
            clause: "3.3.2.7",
            says: "an order's lines have no ol_delivery_d while it has no o_carrier_id, and only then",
            values: &["has_carrier", "delivered_lines", "order_lines"],
            holds: "COALESCE(delivered_lines, 0) = has_carrier * COALESCE(order_lines, 0)",
            ..CONDITION
        },
    ],
    measures: &[],
};
