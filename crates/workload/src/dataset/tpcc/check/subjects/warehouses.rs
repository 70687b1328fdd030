//! Warehouses, with what came from their stock.

use super::super::condition::Condition;
use super::super::subject::{Side, Subject, column, measure, value};
use super::{CONDITION, SIDE};

pub(super) const WAREHOUSES: Subject = Subject {
    table: "warehouse",
    keys: &["w_id"],
    values: &[column(&["w_ytd"])],
    sides: &[
        Side {
            keys: &[("d_w_id", "w_id")],
            from: "{district}",
            values: &[value("districts_ytd", "SUM(d_ytd)", &["d_ytd"])],
            ..SIDE
        },
        Side {
            keys: &[("h_w_id", "w_id")],
            from: "{history}",
            values: &[
                value("amounts", "SUM(h_amount)", &["h_amount"]),
                value("payments", "COUNT(*)", &[]),
                value(
                    "remote_payments",
                    "COUNT(CASE WHEN h_c_w_id <> h_w_id THEN 1 END)",
                    &["h_c_w_id", "h_w_id"],
                ),
            ],
            ..SIDE
        },
        Side {
            keys: &[("s_w_id", "w_id")],
            from: "{stock}",
            values: &[
                value("stock_ytd", "SUM(s_ytd)", &["s_ytd"]),
                value("stocked", "COUNT(*)", &[]),
            ],
            ..SIDE
        },
        Side {
            keys: &[("ol_supply_w_id", "w_id")],
            columns: &["ol_o_id"],
            from: "{order_line} WHERE ol_o_id > {orders}",
            values: &[
                value("supplied", "SUM(ol_quantity)", &["ol_quantity"]),
                value("run_lines", "COUNT(*)", &[]),
                value(
                    "remote_lines",
                    "COUNT(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 END)",
                    &["ol_supply_w_id", "ol_w_id"],
                ),
            ],
            ..SIDE
        },
    ],
    conditions: &[
        Condition {
            clause: "3.3.2.1",
            says: "w_ytd is the sum of its districts' d_ytd",
            in_study: true,
            values: &["w_ytd", "districts_ytd"],
            holds: "w_ytd = districts_ytd",
        },
        Condition {
            clause: "3.3.2.8",
            says: "w_ytd is the sum of its history's h_amount",
            values: &["w_ytd", "amounts"],
            holds: "w_ytd = amounts",
            ..CONDITION
        },
        Condition {
            clause: "2.4.2.2",
            says: "the sum of a warehouse's s_ytd is the sum of ol_quantity of the run's lines that it supplies",
            values: &["stock_ytd", "supplied"],
            holds: "stock_ytd = COALESCE(supplied, 0)",
            ..CONDITION
        },
        Condition {
            clause: "1.2.1",
            says: "a warehouse has every item in stock",
            values: &["stocked"],
            holds: "stocked = {items}",
            ..CONDITION
        },
    ],
    measures: &[
        measure("payments", "SUM(payments)", "payments"),
        measure("remote_payments", "SUM(remote_payments)", "remote_payments"),
        measure("run_lines", "SUM(run_lines)", "run_lines"),
        measure("remote_lines", "SUM(remote_lines)", "remote_lines"),
    ],
};
