//! Cells in place of values: of results, and of what is stored.

use std::sync::{Arc, Mutex};

use ciphertax_columns::{CellCipher, CellKind, MasterKey};
use ciphertax_engine::{Operation, Result};
use ciphertax_model::tpcc::COLUMNS;
use ciphertax_model::*;

use super::*;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

pub(super) fn encryption(feature: ColumnFeature, columns: ColumnSelection) -> ColumnEncryption {
    ColumnEncryption {
        feature,
        format: CellFormat::Encdb,
        algorithm: CellAlgorithm::Aes128Gcm,
        mode: CellMode::Random,
        encoding: CellEncoding::Base64,
        columns,
        decrypt: Decrypt::All,
    }
}

pub(super) fn key() -> MasterKey {
    MasterKey::from_hex(KEY).unwrap()
}

fn cipher(encryption: &ColumnEncryption) -> Arc<Mutex<CellCipher>> {
    Arc::new(Mutex::new(CellCipher::open(encryption, &key()).unwrap()))
}

/// The columns that a select asks for.
fn selected(sql: &str) -> Vec<&str> {
    let list = sql
        .strip_prefix("SELECT ")
        .and_then(|rest| rest.split_once(" FROM "));
    list.map_or_else(Vec::new, |(list, _)| list.split(", ").collect())
}

/// Answers as the others do, with cells where columns are named; integers as `integer` says.
pub(super) fn with_cells(
    encryption: &ColumnEncryption,
    integer: fn(i64) -> Vec<u8>,
) -> impl Fn(&Asked) -> Rows + Send + 'static {
    with_cells_of(cipher(encryption), encryption, integer)
}

/// The same with cells that are made so.
pub(super) fn with_cells_of(
    cipher: Arc<Mutex<CellCipher>>,
    encryption: &ColumnEncryption,
    integer: fn(i64) -> Vec<u8>,
) -> impl Fn(&Asked) -> Rows + Send + 'static {
    let encryption = encryption.clone();
    move |asked| {
        let Rows::Read(mut rows) = answer(asked) else {
            return answer(asked);
        };
        let (sql, _) = values(asked);
        for row in &mut rows {
            for (name, value) in selected(&sql).iter().zip(row) {
                let known = COLUMNS.iter().find(|known| known.column == *name);
                let Some(known) = known.filter(|known| known.is_in(&encryption.columns)) else {
                    continue;
                };
                let plaintext = match &*value {
                    Value::Integer(value) => integer(*value),
                    Value::Text(text) => text.clone().into_bytes(),
                };
                let kind = CellKind(known.sql_type.protocol_type());
                let mut cell = Vec::new();
                cipher
                    .lock()
                    .unwrap()
                    .encrypt(kind, &plaintext, &mut cell)
                    .unwrap();
                *value = Value::Text(String::from_utf8(cell).unwrap());
            }
        }
        Rows::Read(rows)
    }
}

fn transact(
    encryption: &ColumnEncryption,
    statements: StatementKind,
    input: &Input,
    answers: impl Fn(&Asked) -> Rows + Send + 'static,
) -> (Result<Operation>, Vec<Asked>) {
    let mock = Mock::<false>::new();
    let columns = ArmColumns {
        set: 0,
        encryption: Some((encryption.clone(), key())),
    };
    mock.answers(Box::new(answers));
    let terminals = terminals(&mock, tables(statements), columns);
    let mut session = run(terminals.ask_over(mock.session())).unwrap();
    mock.asked();
    (run(session.transact(input)), mock.asked())
}

/// As rows of prepared statements have integers of 32 bits.
fn bytes(value: i64) -> Vec<u8> {
    i32::try_from(value).unwrap().to_le_bytes().to_vec()
}

pub(super) fn digits(value: i64) -> Vec<u8> {
    value.to_string().into_bytes()
}

#[test]
fn cells_of_results_are_decrypted_whether_statements_are_prepared_or_not() {
    let mut inputs = inputs(&tables(StatementKind::Text));
    let encryption = encryption(ColumnFeature::InResults, ColumnSelection::All);
    for _ in 0..200 {
        let input = inputs.draw();
        let forms = [
            (StatementKind::Text, digits as fn(i64) -> Vec<u8>),
            (StatementKind::Prepared, bytes),
        ];
        let ran = forms.map(|(statements, integer)| {
            let (operation, asked) =
                transact(&encryption, statements, &input, with_cells(&encryption, integer));
            let asked = asked
                .iter()
                .filter(|asked| !matches!(asked, Asked::Prepare(_)))
                .count();
            (operation.unwrap(), asked)
        });
        for (operation, _) in ran {
            let [encrypted, decrypted, named, ..] = operation.counts;
            assert_eq!(decrypted, named, "{input:?}");
            assert_eq!(encrypted, 0);
            assert!(named > 0 || matches!(input, Input::StockLevel(_)));
        }
        assert_eq!(ran[0].0, ran[1].0);
        assert_eq!(ran[0].1, ran[1].1);
    }
}

#[test]
fn an_order_has_as_many_cells_as_its_results_have_values_and_need_not_read_all() {
    let text = tables(StatementKind::Text);
    let input = order(&mut inputs(&text));
    let mut encryption = encryption(ColumnFeature::InResults, ColumnSelection::All);
    let mut cells = |decrypt| {
        encryption.decrypt = decrypt;
        let (operation, _) = transact(
            &encryption,
            StatementKind::Text,
            &input,
            with_cells(&encryption, digits),
        );
        let [_, decrypted, named, ..] = operation.unwrap().counts;
        (named, decrypted)
    };
    // Of buyer and district 4 and 2; of five items 4 each, and of their stock 14, of which 9 are about other districts.
    assert_eq!(cells(Decrypt::All), (96, 96));
    assert_eq!(cells(Decrypt::Read), (96, 96 - 5 * 9));
}

#[test]
fn an_arm_without_named_columns_finds_nothing_to_decrypt() {
    let input = order(&mut inputs(&tables(StatementKind::Prepared)));
    let encryption = encryption(ColumnFeature::InResults, ColumnSelection::None);
    let (operation, _) = transact(&encryption, StatementKind::Prepared, &input, answer);
    assert_eq!(operation.unwrap().counts, [0; 5]);
}

#[test]
fn a_cell_that_is_plaintext_or_was_changed_is_an_error_that_names_its_column_and_nothing_of_it() {
    let input = order(&mut inputs(&tables(StatementKind::Text)));
    let named = ColumnSelection::Named(vec!["customer.c_last".to_owned(), "stock.s_quantity".to_owned()]);
    let encryption = encryption(ColumnFeature::InResults, named);
    let (plain, _) = transact(&encryption, StatementKind::Text, &input, answer);
    let message = plain.unwrap_err().message().to_owned();
    let is_hidden = message.starts_with("customer.c_last ") && !message.contains("BARBARBAR");
    assert!(is_hidden, "{message}");
    for cut in [false, true] {
        let cells = with_cells(&encryption, digits);
        let (changed, _) = transact(&encryption, StatementKind::Text, &input, move |asked| {
            let rows = cells(asked);
            let (sql, _) = values(asked);
            match rows {
                Rows::Read(mut rows) if sql.starts_with("SELECT s_i_id") => {
                    let Value::Text(cell) = &mut rows[0][2] else {
                        panic!()
                    };
                    match cut {
                        true => cell.truncate(cell.len() / 2),
                        false => {
                            let last = cell.len() - 6;
                            let other = if cell.as_bytes()[last] == b'A' { "B" } else { "A" };
                            cell.replace_range(last..=last, other);
                        }
                    }
                    Rows::Read(rows)
                }
                rows => rows,
            }
        });
        let message = changed.unwrap_err().message().to_owned();
        assert!(message.starts_with("stock.s_quantity "), "{message}");
    }
}

#[test]
fn what_is_stored_is_encrypted_in_every_statement_that_writes_or_compares_it() {
    let tables = tables(StatementKind::Prepared);
    let encryption = ColumnEncryption {
        mode: CellMode::Deterministic,
        ..encryption(ColumnFeature::Stored, ColumnSelection::Payload)
    };
    let input = order(&mut inputs(&tables));
    let Input::NewOrder(order) = &input else { panic!() };
    let (operation, asked) = transact(
        &encryption,
        StatementKind::Prepared,
        &input,
        with_cells(&encryption, digits),
    );
    let [encrypted, decrypted, named, ..] = operation.unwrap().counts;
    // Date, count and whether all are local of the order; quantity, amount, supplier and information of each line, where they are
    // no keys.
    assert_eq!(named, encrypted + decrypted);
    let mut decrypting = CellCipher::open(&encryption, &key()).unwrap();
    let mut found = Vec::new();
    for asked in &asked {
        let Asked::Execute(sql, values) = asked else {
            continue;
        };
        if !sql.starts_with("INSERT INTO order_line") {
            continue;
        }
        for value in values {
            let mut plaintext = Vec::new();
            if let Value::Text(text) = value
                && decrypting.decrypt(text.as_bytes(), &mut plaintext).is_ok()
            {
                found.push(String::from_utf8(plaintext).unwrap());
            }
        }
    }
    let info = format!("info of {:02}", order.district);
    assert_eq!(found.iter().filter(|text| **text == info).count(), 5, "{found:?}");
}

#[test]
fn bearers_of_a_name_are_sorted_by_the_client_where_first_names_are_cells() {
    let tables = tables(StatementKind::Text);
    let encryption = encryption(
        ColumnFeature::Stored,
        ColumnSelection::Named(vec!["customer.c_first".to_owned()]),
    );
    let mut inputs = inputs(&tables);
    let payment = std::iter::repeat_with(|| inputs.payment())
        .find(|payment| matches!(payment.customer, crate::sql::tpcc::inputs::Customer::LastName(_)))
        .unwrap();
    let cipher = cipher(&encryption);
    let first_name = move |name: &str| {
        let mut cell = Vec::new();
        cipher
            .lock()
            .unwrap()
            .encrypt(CellKind(253), name.as_bytes(), &mut cell)
            .unwrap();
        Value::Text(String::from_utf8(cell).unwrap())
    };
    let cells = with_cells(&encryption, digits);
    let (operation, asked) = transact(
        &encryption,
        StatementKind::Text,
        &Input::Payment(payment),
        move |asked| match values(asked).0.starts_with("SELECT c_id, c_first") {
            true => Rows::Read(
                [(4, "d"), (1, "a"), (3, "c"), (2, "b")]
                    .map(|(number, name)| vec![Value::Integer(number), first_name(name)])
                    .into(),
            ),
            false => cells(asked),
        },
    );
    operation.unwrap();
    let payer = asked
        .iter()
        .map(|asked| values(asked).0)
        .find(|sql| sql.starts_with("SELECT c_first, c_middle"));
    assert!(payer.unwrap().ends_with("AND c_id = 2 FOR UPDATE"));
}
