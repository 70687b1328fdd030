//! The four kinds of rows that conditions are about.

use super::condition::{Condition, Side, Subject, column, measure, value};

/// In the order of the conditions.
pub(super) const SUBJECTS: [&Subject; 4] = [&WAREHOUSES, &DISTRICTS, &ORDERS, &CUSTOMERS];

/// What a [`Side`] has where it says nothing else.
const SIDE: Side = Side {
    keys: &[],
    inner_keys: &[],
    columns: &[],
    from: "",
    values: &[],
};

const CONDITION: Condition = Condition {
    clause: "",
    says: "",
    in_study: false,
    values: &[],
    holds: "",
};

const WAREHOUSES: Subject = Subject {
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

const DISTRICTS: Subject = Subject {
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

const ORDERS: Subject = Subject {
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

const CUSTOMERS: Subject = Subject {
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
