//! Sets whose columns hold cells, beside a plain one.

use ciphertax_model::tpcc::{COLUMNS, TpccColumn};
use ciphertax_model::*;
use ciphertax_workload::dataset::tpcc::TpccSet;

use super::ground::{Ground, mariadb, mysql, one_warehouse, postgresql};
use crate::common::*;

const KEY: &str = "00112233445566778899aabbccddeeff";
/// Keys, values that may be NULL, a number, a date and texts.
const COLUMNS_OF_KEYS: [&str; 12] = [
    "item.i_id",
    "item.i_price",
    "stock.s_i_id",
    "stock.s_w_id",
    "customer.c_last",
    "customer.c_first",
    "customer.c_data",
    "customer.c_since",
    "oorder.o_c_id",
    "oorder.o_carrier_id",
    "order_line.ol_delivery_d",
    "warehouse.w_id",
];

#[test]
fn mariadb_holds_cells_of_the_same_rows() {
    holds_cells_of_the_same_rows(&mariadb(), "HEX");
}

fn holds_cells_of_the_same_rows<S: SqlSession>(ground: &Ground<S>, hexadecimal: &str) {
    let payload = ColumnEncryption {
        feature: ColumnFeature::Stored,
        format: CellFormat::Encdb,
        algorithm: CellAlgorithm::Aes128Gcm,
        mode: CellMode::Random,
        encoding: CellEncoding::Base64,
        columns: ColumnSelection::Payload,
        decrypt: Decrypt::All,
    };
    let keys = ColumnEncryption {
        format: CellFormat::AeadCbcHmac,
        mode: CellMode::Deterministic,
        encoding: CellEncoding::Binary,
        columns: ColumnSelection::Named(COLUMNS_OF_KEYS.map(str::to_owned).to_vec()),
        ..payload.clone()
    };
    let stored = [None, Some(payload), Some(keys)];
    let contents = TpccContents {
        sets: (0..)
            .zip(stored)
            .map(|(set, stored)| TpccSet {
                names: TableNames::of_set(set),
                stored,
            })
            .collect(),
        key: Some(MasterKey::from_hex(KEY).unwrap()),
        ..one_warehouse()
    };
    let heard = ground.prepare(&contents).unwrap();
    assert_eq!(heard.len(), 27, "{heard:?}");
    let kept = ground.prepare(&contents).unwrap();
    assert_eq!(kept, [contents.rows()], "they are kept");

    for (index, set) in contents.sets.iter().enumerate().skip(1) {
        let stored = set.stored.as_ref().unwrap();
        let mut cipher = CellCipher::open(stored, &MasterKey::from_hex(KEY).unwrap()).unwrap();
        for column in COLUMNS.iter().filter(|column| column.is_in(&stored.columns)) {
            let TpccColumn {
                table, column: name, ..
            } = column;
            let nulls = |set: usize| {
                ground.ask(&format!(
                    "SELECT COUNT(*) FROM ciphertax.{table}_{set} WHERE {name} IS NULL"
                ))
            };
            assert_eq!(nulls(index), nulls(0), "{name}");
            // Rows of both sets are in the same order by the keys that are plain in both.
            let Some((key, where_it_is)) = plain_key(table, stored.mode) else {
                continue;
            };
            let ask = |set: usize, what: &str| {
                ground.ask(&format!(
                    "SELECT {what} FROM ciphertax.{table}_{set} WHERE {where_it_is} AND {name} IS NOT NULL ORDER BY {key}"
                ))
            };
            let what = match (stored.encoding, hexadecimal) {
                (CellEncoding::Base64, _) => (*name).to_owned(),
                (CellEncoding::Binary, "HEX") => format!("HEX({name})"),
                (CellEncoding::Binary, _) => format!("ENCODE({name}, 'hex')"),
            };
            let (cells, plaintexts) = (ask(index, &what), ask(0, name));
            assert!(!cells.is_empty(), "{name}");
            assert_eq!(cells.len(), plaintexts.len(), "{name}");
            for (cell, expected) in cells.iter().zip(&plaintexts) {
                let cell = match stored.encoding {
                    CellEncoding::Base64 => cell.clone().into_bytes(),
                    CellEncoding::Binary => bytes(cell),
                };
                let mut plaintext = Vec::new();
                let kind = cipher.decrypt(&cell, &mut plaintext).unwrap();
                assert_eq!(String::from_utf8_lossy(&plaintext), *expected, "{name}");
                if stored.format == CellFormat::Encdb {
                    assert_eq!(kind.0, column.sql_type.protocol_type(), "{name}");
                }
            }
        }
    }
    // Cells of sessions that loaded side by side are equal where their values are.
    for [question, expected] in rows(
        "
        SELECT COUNT(*) FROM ciphertax.item_2 JOIN ciphertax.stock_2 ON i_id = s_i_id → 100000
        SELECT COUNT(*) FROM (SELECT DISTINCT c_last FROM ciphertax.customer_2) AS c → 1000
        SELECT COUNT(*) FROM (SELECT DISTINCT c_middle FROM ciphertax.customer_1) AS c → 30000
    ",
    ) {
        assert_eq!(ground.ask(question), [expected], "{question}");
    }

    let without_key = TpccContents {
        key: None,
        ..contents
    };
    let refused = ground.prepare(&without_key).unwrap_err().to_string();
    assert!(refused.contains("master key"), "{refused}");
}

/// What some rows of a table are ordered by, and which those are; `None` where the columns for that hold cells themselves, or there
/// are none.
fn plain_key(table: &str, mode: CellMode) -> Option<(&'static str, &'static str)> {
    match (table, mode) {
        ("warehouse", _) => Some(("w_ytd", "1 = 1")),
        ("district", _) => Some(("d_id", "d_w_id = 1")),
        ("customer", _) => Some(("c_id", "c_d_id = 3 AND c_id < 20")),
        ("oorder", _) => Some(("o_id", "o_d_id = 3 AND o_id < 20")),
        ("order_line", _) => Some(("ol_o_id, ol_number", "ol_d_id = 3 AND ol_o_id < 5")),
        ("item", CellMode::Random) => Some(("i_id", "i_id < 20")),
        ("stock", CellMode::Random) => Some(("s_i_id", "s_i_id < 20")),
        _ => None,
    }
}

fn bytes(digits: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

mod test_all {
    use super::*;

    #[test]
    fn mysql_holds_cells_of_the_same_rows() {
        let Some(ground) = mysql() else { return };
        holds_cells_of_the_same_rows(&ground, "HEX");
    }

    #[test]
    fn postgresql_holds_cells_of_the_same_rows() {
        let Some(ground) = postgresql() else { return };
        holds_cells_of_the_same_rows(&ground, "ENCODE");
    }
}
