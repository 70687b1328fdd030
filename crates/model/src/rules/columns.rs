//! Which columns an arm cannot encrypt: because nothing asks them, because the server has other cells, or because a statement
//! would be answered wrongly. Systems of the field answer such statements all the same: a range over encrypted values finds
//! other rows.

use super::{Located, Place, Rule, arms, of_arm, of_arm_in, of_cell_in, of_study};
use crate::arm::Arm;
use crate::authentication::AuthenticationMethod;
use crate::columns::{CellAlgorithm, CellFormat, CellMode, ColumnEncryption, ColumnFeature, ColumnSelection};
use crate::problem::nearest;
use crate::refusal::{Refusal, refuse_if};
use crate::study::{Cell, Study};
use crate::tpcc::{COLUMNS, StoredUse, TpccColumn};
use crate::workload::{Tables, Workload};

pub(super) const RULES: &[Rule] = &[
    of_arm("cell-algorithm", "columns.algorithm", |arm| {
        let columns = arm
            .columns
            .as_ref()
            .filter(|columns| columns.format != CellFormat::Encdb)?;
        let (format, algorithm): (&str, &str) = (columns.format.into(), columns.algorithm.into());
        let why = format!(
            "only cells of encdb have algorithms to choose, and {format} has one of its own; leave algorithm = \
             {algorithm:?} out"
        );
        refuse_if(columns.algorithm != CellAlgorithm::default(), why)
    }),
    of_arm("deterministic-gcm", "columns.mode", |arm| {
        let columns = in_results(arm)?;
        let gcm = [CellAlgorithm::Sm4Gcm, CellAlgorithm::Aes128Gcm];
        let is_gcm = columns.format == CellFormat::Encdb && gcm.contains(&columns.algorithm);
        let why = "deterministic cells show who has no key which values are equal, and GCM must never have one \
                   vector for two values, so servers make random ones, which nobody compares in results; leave mode out";
        refuse_if(is_gcm && columns.mode == CellMode::Deterministic, why)
    }),
    of_arm("csfle-in-results", "columns.format", |arm| {
        let is_csfle = in_results(arm)?.format == CellFormat::Csfle;
        let why =
            "csfle is what a client stores in MongoDB; take format = \"encdb\", or feature = \"stored\"";
        refuse_if(is_csfle, why)
    }),
    of_arm("cells-and-functions", "columns", |arm| {
        let both = arm.columns.is_some() && arm.at_rest.columns.is_some();
        let why = "columns are encrypted by the client or in results, at_rest.columns by the server's functions; \
                   leave one of them out";
        refuse_if(both, why)
    }),
    of_arm("cells-between", "columns", |arm| {
        let what = arm.is_carried_by()?;
        let why = format!("columns are measured without a {what} alone, so far; leave {what} or columns out");
        refuse_if(arm.columns.is_some(), why)
    }),
    of_arm("results-over-tls", "columns.feature", |arm| {
        in_results(arm)?;
        let why = "who encrypts cells in results reads what the server sends, which TLS hides; take transport = \
                   \"plain\"";
        refuse_if(arm.transport.is_encrypted(), why)
    }),
    of_arm("results-over-unix-socket", "columns.feature", |arm| {
        in_results(arm)?;
        let why = "cells in results are made between client and server, where a login by unix_socket does not pass; \
                   take another method";
        refuse_if(
            arm.authentication.method == Some(AuthenticationMethod::UnixSocket),
            why,
        )
    }),
    of_study("column-names", "columns.columns", |study| {
        arms(study)
            .flat_map(|(place, arm)| wrong_names(study, &place, arm))
            .collect()
    }),
    of_study("stored-columns", "columns.columns", |study| {
        let asked = arms(study).filter(|(place, arm)| {
            asks(study, arm, Tables::Tpcc) && wrong_names(study, place, arm).is_empty()
        });
        asked
            .flat_map(|(place, arm)| wrong_answers(&place, arm))
            .collect()
    }),
    // Cells in results are made of one set of tables that all arms share; stored ones are in a set for each arm.
    of_study("results-and-stored", "columns.feature", |study| {
        let (mut arms_in_results, mut stored) = (arms(study), arms(study));
        let in_results = arms_in_results.find(|(_, arm)| in_results(arm).is_some());
        let stored = stored.find(|(_, arm)| stored_by(arm).is_some());
        let refusal = in_results.zip(stored).map(|((_, shared), (place, _))| {
            let cannot = format!(
                "it stores cells in tables of its own, and arm {:?} shares",
                shared.name
            );
            let why = format!("{cannot} its tables with the baseline; make two studies of them");
            place.at("columns.feature", Refusal::new(why))
        });
        refusal.into_iter().collect()
    }),
    // Tables of stored cells stay equal to those of the other arms only by equal work.
    of_cell_in("stored-without-batch", "load", |study, cell| {
        let arm = &study.arms.iter().find(|arm| stored_by(arm).is_some())?.name;
        let connections = cell.load.connections.max(1);
        let why = format!(
            "arm {arm:?} stores cells, so every arm has tables of its own, which stay equal by the same transactions \
             alone; take load = {{ connections = {connections}, batch = {} }}",
            u64::from(connections) * 50
        );
        refuse_if(cell.workload == Workload::Tpcc && cell.load.batch.is_none(), why)
    }),
    of_arm_in("cells-workload", "workload", |_, cell, arm| {
        let columns = arm.columns.as_ref().filter(|columns| !is_asked(cell, columns))?;
        let workload = cell.workload.name();
        let usertable = cell.workload.descriptor().tables == Some(Tables::Usertable);
        let why = match columns.feature {
            ColumnFeature::InResults => {
                format!(
                    "it has cells in results, which tpcc alone decrypts so far, and not {workload}; {OMIT}"
                )
            }
            ColumnFeature::Stored if usertable => format!(
                "it encrypts {} of TPC-C, which {workload} does not ask; take columns = \"all\", or {OMIT}",
                columns.columns
            ),
            ColumnFeature::Stored => {
                format!("it stores cells, which tpcc and YCSB's workloads can, and not {workload}; {OMIT}")
            }
        };
        Some(Refusal::new(why))
    }),
];

const OMIT: &str = "leave the arm out with arms = […]";

fn in_results(arm: &Arm) -> Option<&ColumnEncryption> {
    let columns = arm.columns.as_ref();
    columns.filter(|columns| columns.feature == ColumnFeature::InResults)
}

fn stored_by(arm: &Arm) -> Option<&ColumnEncryption> {
    let columns = arm.columns.as_ref();
    columns.filter(|columns| columns.feature == ColumnFeature::Stored)
}

/// True if a cell asks tables of this kind of an arm.
fn asks(study: &Study, arm: &Arm, tables: Tables) -> bool {
    let mut cells = study.cells.iter();
    cells.any(|cell| {
        cell.workload.descriptor().tables == Some(tables) && study.arms_of(cell).any(|other| other == arm)
    })
}

/// True if a cell's workload asks columns that are encrypted so.
fn is_asked(cell: &Cell, columns: &ColumnEncryption) -> bool {
    match (cell.workload.descriptor().tables, columns.feature) {
        (Some(Tables::Tpcc), _) => true,
        (Some(Tables::Usertable), ColumnFeature::Stored) => match columns.columns {
            ColumnSelection::None | ColumnSelection::All | ColumnSelection::Named(_) => true,
            ColumnSelection::Keys | ColumnSelection::Half | ColumnSelection::Payload => false,
        },
        _ => false,
    }
}

/// Names of an arm that are none of columns which a cell asks.
fn wrong_names(study: &Study, place: &Place, arm: &Arm) -> Vec<Located> {
    let Some(ColumnSelection::Named(names)) = arm.columns.as_ref().map(|columns| &columns.columns) else {
        return Vec::new();
    };
    let key = "columns.columns";
    if names.is_empty() {
        let why = "it names no columns; take columns = \"none\", or leave it out";
        return vec![place.at(key, Refusal::new(why))];
    }
    let is_tpcc = asks(study, arm, Tables::Tpcc);
    let is_ycsb = asks(study, arm, Tables::Usertable);
    let of_tpcc = COLUMNS.iter().map(full_name).filter(|_| is_tpcc || !is_ycsb);
    let of_ycsb = (0..study.ycsb.field_count).map(|field| format!("field{field}"));
    let known: Vec<String> = of_tpcc.chain(of_ycsb.filter(|_| is_ycsb)).collect();
    let refusal = |(index, name): (usize, &String)| {
        let why = if !known.contains(name) {
            let instead = match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean {near:?}?"),
                None if is_ycsb && !is_tpcc => {
                    "fields of YCSB's table are called \"field0\" and so on".to_owned()
                }
                None => "columns are called as \"customer.c_last\"".to_owned(),
            };
            format!("unknown column {name:?}; {instead}")
        } else if names[..index].contains(name) {
            format!("it names column {name:?} twice; name it once")
        } else {
            return None;
        };
        Some(place.at(&format!("{key}.{index}"), Refusal::new(why)))
    };
    names.iter().enumerate().filter_map(refusal).collect()
}

/// Columns that the server compares with each other: both hold cells, or neither does.
const JOINS: [([&str; 2], &str); 5] = [
    (
        ["warehouse.w_id", "customer.c_w_id"],
        "new-order: JOIN warehouse ON w_id = c_w_id",
    ),
    (
        ["order_line.ol_w_id", "district.d_w_id"],
        "stock-level: JOIN order_line ON ol_w_id = d_w_id",
    ),
    (
        ["order_line.ol_d_id", "district.d_id"],
        "stock-level: JOIN order_line ON ol_d_id = d_id",
    ),
    (
        ["stock.s_w_id", "district.d_w_id"],
        "stock-level: JOIN stock ON s_w_id = d_w_id",
    ),
    (
        ["stock.s_i_id", "order_line.ol_i_id"],
        "stock-level: JOIN stock ON s_i_id = ol_i_id",
    ),
];

/// What TPC-C's statements have the server do with columns that an arm stores as cells, and it would do wrongly.
fn wrong_answers(place: &Place, arm: &Arm) -> Vec<Located> {
    let Some(columns) = stored_by(arm) else {
        return Vec::new();
    };
    let is_in = |column: &&TpccColumn| column.is_in(&columns.columns);
    let encrypted: Vec<&TpccColumn> = COLUMNS.iter().filter(is_in).collect();
    let mut found = Vec::new();
    let mut impossible = encrypted
        .iter()
        .filter_map(|column| Some((full_name(column), statement(column)?)));
    if let Some((column, statement)) = impossible.next() {
        let others: Vec<String> = impossible.map(|(column, _)| column).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("; nor can {}", others.join(", ")),
        };
        found.push(format!(
            "{column} cannot be stored as a cell: {statement}{others}; take columns = \"payload\", or those names that \
             are only compared for equality"
        ));
    }
    // Without vectors of their own, equal values have equal cells whatever the mode.
    let vectorless = [
        CellAlgorithm::Sm4Ecb,
        CellAlgorithm::Aes128Ecb,
        CellAlgorithm::Wrapped,
    ];
    let is_vectorless = columns.format == CellFormat::Encdb && vectorless.contains(&columns.algorithm);
    let is_random = columns.mode != CellMode::Deterministic && !is_vectorless;
    let compared = encrypted
        .iter()
        .find(|column| column.stored_use == StoredUse::Equality);
    found.extend(compared.filter(|_| is_random).map(|column| {
        format!(
            "{} is compared for equality in the server, and random cells of equal values differ, so that no row would \
             be found; take mode = \"deterministic\", or columns = \"payload\"",
            full_name(column)
        )
    }));
    let is_encrypted = |name: &str| encrypted.iter().any(|column| full_name(column) == name);
    for ([one, other], statement) in JOINS {
        let (with_cells, without) = match (is_encrypted(one), is_encrypted(other)) {
            (true, false) => (one, other),
            (false, true) => (other, one),
            (true, true) | (false, false) => continue,
        };
        found.push(format!(
            "{with_cells} would be stored as a cell and {without} not, and the server compares them ({statement}); \
             encrypt both or neither"
        ));
    }
    let refusals = found
        .into_iter()
        .map(|why| place.at("columns.columns", Refusal::new(why)));
    refusals.collect()
}

/// The statement because of which no cell can be stored in a column.
fn statement(column: &TpccColumn) -> Option<&'static str> {
    if matches!(column.stored_use, StoredUse::Payload | StoredUse::Equality) {
        return None;
    }
    Some(match column.column {
        "w_ytd" => "payment adds to it in the server (UPDATE … SET w_ytd = w_ytd + ?)",
        "d_ytd" => "payment adds to it in the server (UPDATE … SET d_ytd = d_ytd + ?)",
        "d_next_o_id" => "new-order adds to it in the server (UPDATE … SET d_next_o_id = d_next_o_id + 1)",
        "c_balance" => "payment subtracts from it in the server (UPDATE … SET c_balance = c_balance - ?)",
        "c_ytd_payment" => {
            "payment adds to it in the server (UPDATE … SET c_ytd_payment = c_ytd_payment + ?)"
        }
        "c_payment_cnt" => {
            "payment adds to it in the server (UPDATE … SET c_payment_cnt = c_payment_cnt + 1)"
        }
        "c_delivery_cnt" => {
            "delivery adds to it in the server (UPDATE … SET c_delivery_cnt = c_delivery_cnt + 1)"
        }
        "ol_amount" => "delivery sums it up in the server (SELECT … SUM(ol_amount))",
        "s_ytd" => "new-order adds to it in the server (UPDATE … SET s_ytd = s_ytd + ?)",
        "s_order_cnt" => "new-order adds to it in the server (UPDATE … SET s_order_cnt = s_order_cnt + 1)",
        "s_remote_cnt" => "new-order adds to it in the server (UPDATE … SET s_remote_cnt = s_remote_cnt + ?)",
        "no_o_id" => "delivery asks for the smallest (ORDER BY no_o_id LIMIT 1)",
        "o_id" => "order-status asks for the largest (ORDER BY o_id DESC LIMIT 1)",
        "ol_o_id" => "stock-level asks for a range (ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id)",
        "s_quantity" => "stock-level asks for a range (s_quantity < ?)",
        _ if column.stored_use == StoredUse::Order => "the server orders by it",
        _ => "the server computes with it",
    })
}

fn full_name(column: &TpccColumn) -> String {
    format!("{}.{}", column.table, column.column)
}
