//! Every condition broken on purpose, and no other with it.

/// A condition by its clause, what breaks it alone after the transactions of the tiny tables, and what is told of it.
pub(super) struct Break {
    pub(super) clause: &'static str,
    pub(super) by: &'static [&'static str],
    pub(super) told: &'static [&'static str],
}

pub(super) const BREAKS: &[Break] = &[
    Break {
        clause: "3.3.2.1",
        by: &[
            "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2",
            "INSERT INTO history VALUES (9, 9, 2, 9, 2, 1)",
        ],
        told: &["w_id = 2, w_ytd = 61.00, districts_ytd = 60.00"],
    },
    Break {
        clause: "3.3.2.2",
        by: &["UPDATE district SET d_next_o_id = 9 WHERE d_w_id = 1 AND d_id = 2"],
        told: &["d_w_id = 1, d_id = 2, d_next_o_id = 9, last_order = 3, last_new_order = 3"],
    },
    Break {
        clause: "3.3.2.3",
        by: &[
            "INSERT INTO oorder VALUES (1, 1, 6, 2, NULL, 0, 1)",
            "INSERT INTO new_order VALUES (1, 1, 6)",
            "UPDATE district SET d_next_o_id = 7 WHERE d_w_id = 1 AND d_id = 1",
        ],
        told: &["d_w_id = 1, d_id = 1, first_new_order = 4, last_new_order = 6, new_orders = 2"],
    },
    Break {
        clause: "3.3.2.4",
        by: &["INSERT INTO order_line VALUES (2, 1, 99, 1, 1, NULL, 0, 2, 0)"],
        told: &["d_w_id = 2, d_id = 1, counted_lines = 6, order_lines = 7"],
    },
    Break {
        clause: "3.3.2.5",
        by: &[
            "UPDATE oorder SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 1",
            "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 1",
        ],
        told: &["o_w_id = 1, o_d_id = 2, o_id = 1, has_carrier = 0, new_orders = NULL"],
    },
    Break {
        clause: "3.3.2.5",
        by: &[
            "UPDATE oorder SET o_carrier_id = 1 WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 3",
            "UPDATE order_line SET ol_delivery_d = '2026-01-02 00:00:00', ol_amount = 0 \
             WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 3",
        ],
        told: &["o_w_id = 1, o_d_id = 2, o_id = 3, has_carrier = 1, new_orders = 1"],
    },
    Break {
        clause: "3.3.2.6",
        by: &[
            "UPDATE oorder SET o_ol_cnt = 3 WHERE o_w_id = 2 AND o_d_id = 2 AND o_id = 1",
            "UPDATE oorder SET o_ol_cnt = 1 WHERE o_w_id = 2 AND o_d_id = 2 AND o_id = 2",
        ],
        told: &[
            "o_w_id = 2, o_d_id = 2, o_id = 1, o_ol_cnt = 3, order_lines = 2",
            "o_w_id = 2, o_d_id = 2, o_id = 2, o_ol_cnt = 1, order_lines = 2",
        ],
    },
    Break {
        clause: "3.3.2.7",
        by: &[
            "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 2 AND ol_number = 2",
        ],
        told: &["o_w_id = 2, o_d_id = 1, o_id = 2, has_carrier = 1, delivered_lines = 1, order_lines = 2"],
    },
    Break {
        clause: "3.3.2.8",
        by: &["INSERT INTO history VALUES (9, 9, 1, 9, 1, 0.5)"],
        told: &["w_id = 1, w_ytd = 65.00, amounts = 65.50"],
    },
    Break {
        clause: "3.3.2.9",
        by: &[
            "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 2 AND d_id = 1",
            "UPDATE district SET d_ytd = d_ytd - 1 WHERE d_w_id = 2 AND d_id = 2",
        ],
        told: &[
            "d_w_id = 2, d_id = 1, d_ytd = 31.00, amounts = 30.00",
            "d_w_id = 2, d_id = 2, d_ytd = 29.00, amounts = 30.00",
        ],
    },
    Break {
        clause: "3.3.2.10",
        by: &[
            "UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1 \
             WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 3",
        ],
        told: &[
            "c_w_id = 1, c_d_id = 1, c_id = 3, c_balance = 10.00, delivered_amount = 21.00, amounts = 10.00",
        ],
    },
    Break {
        clause: "3.3.2.11",
        by: &["UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 2 AND c_d_id = 2 AND c_id = 1"],
        told: &["d_w_id = 2, d_id = 2, orders = 3, new_orders = 1, delivered_since = 1"],
    },
    Break {
        clause: "3.3.2.12",
        by: &["UPDATE customer SET c_ytd_payment = 11 WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 2"],
        told: &[
            "c_w_id = 1, c_d_id = 2, c_id = 2, c_balance = -10.00, c_ytd_payment = 11.00, delivered_amount = 0.00",
        ],
    },
    Break {
        clause: "2.4.2.2",
        by: &["UPDATE stock SET s_ytd = 5 WHERE s_w_id = 2 AND s_i_id = 2"],
        told: &["w_id = 2, stock_ytd = 5, supplied = 4"],
    },
    // As where the home warehouse's stock is counted for a remote line.
    Break {
        clause: "2.4.2.2",
        by: &[
            "UPDATE stock SET s_ytd = 7 WHERE s_w_id = 1 AND s_i_id = 1",
            "UPDATE stock SET s_ytd = 0 WHERE s_w_id = 2 AND s_i_id = 2",
        ],
        told: &[
            "w_id = 1, stock_ytd = 7, supplied = 3",
            "w_id = 2, stock_ytd = 0, supplied = 4",
        ],
    },
    Break {
        clause: "2.5.2.2",
        by: &["UPDATE customer SET c_payment_cnt = 1 WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 2"],
        told: &["c_w_id = 2, c_d_id = 1, c_id = 2, c_payment_cnt = 1, payments = 2"],
    },
    Break {
        clause: "4.3.3.1",
        by: &["UPDATE oorder SET o_c_id = 2 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1"],
        told: &[
            "c_w_id = 1, c_d_id = 1, c_id = 1, loaded_orders = 0",
            "c_w_id = 1, c_d_id = 1, c_id = 2, loaded_orders = 2",
        ],
    },
    Break {
        clause: "1.2.1",
        by: &["DELETE FROM stock WHERE s_w_id = 2 AND s_i_id = 4"],
        told: &["w_id = 2, stocked = 3"],
    },
    Break {
        clause: "1.2.1",
        by: &["DELETE FROM item WHERE i_id = 4"],
        told: &["item has 3 rows, expected 4"],
    },
];
