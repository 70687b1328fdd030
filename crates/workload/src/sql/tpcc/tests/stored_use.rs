//! What the statements have the server do with each column is what the table of columns says: policies rest on it.

use std::collections::{BTreeMap, BTreeSet};

use ciphertax_model::tpcc::{COLUMNS, StoredUse};
use ciphertax_model::{ColumnFeature, ColumnSelection};

use super::cells::{digits, encryption, key, with_cells};
use super::*;

#[test]
fn statements_have_the_server_do_what_the_columns_say_and_no_more() {
    let mut used: BTreeMap<&str, BTreeSet<Use>> = BTreeMap::new();
    for sql in &statements() {
        for (column, what) in uses(sql) {
            used.entry(column).or_default().insert(what);
        }
    }
    for column in COLUMNS {
        let found = used.remove(column.column).unwrap_or_default();
        let most = found.iter().next_back().copied().unwrap_or(Use::Kept);
        let declared = match column.stored_use {
            StoredUse::Payload => [Use::Kept].as_slice(),
            StoredUse::Equality => &[Use::Compared],
            StoredUse::Order | StoredUse::Arithmetic => &[Use::Ordered, Use::Computed],
        };
        // Some keys are written, and never asked for.
        let is_more_careful = declared == [Use::Compared] && most == Use::Kept;
        let holds = declared.contains(&most) || is_more_careful;
        assert!(holds, "{}: {found:?}", column.column);
    }
}

/// What a statement has the server do with a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Kept,
    Compared,
    Ordered,
    Computed,
}

/// All statements of a session whose payload is stored in cells.
fn statements() -> BTreeSet<String> {
    let encryption = encryption(ColumnFeature::Stored, ColumnSelection::Payload);
    let mock = Mock::<false>::new();
    mock.answers(Box::new(with_cells(&encryption, digits)));
    let columns = ArmColumns {
        set: 0,
        encryption: Some((encryption, key())),
    };
    let tables = tables(StatementKind::Prepared);
    let mut session = run(terminals(&mock, tables, columns).ask_over(mock.session())).unwrap();
    let mut inputs = inputs(&tables);
    for _ in 0..500 {
        run(session.transact(&inputs.draw())).unwrap();
    }
    let prepared = mock.asked().into_iter().filter_map(|asked| match asked {
        Asked::Prepare(sql) => Some(sql),
        Asked::Execute(..) | Asked::Text(_) => None,
    });
    let prepared: BTreeSet<String> = prepared.collect();
    assert!(prepared.len() > 30, "{prepared:?}");
    prepared
}

/// What a statement does with each column that it names.
fn uses(sql: &str) -> Vec<(&'static str, Use)> {
    assert!(!sql.contains("LIKE") && !sql.contains("BETWEEN"), "{sql}");
    let tokens = tokens(sql);
    let at = |place: Option<usize>| {
        place
            .and_then(|place| tokens.get(place))
            .copied()
            .unwrap_or_default()
    };
    let mut clause = "";
    let mut found = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        if [
            "SELECT", "INSERT", "DELETE", "ON", "WHERE", "SET", "ORDER", "GROUP",
        ]
        .contains(token)
        {
            clause = token;
        }
        let Some(column) = COLUMNS.iter().find(|column| column.column == *token) else {
            continue;
        };
        let (before, after) = (at(place.checked_sub(1)), at(place.checked_add(1)));
        let neighbours = [before, after];
        let is_beside = |symbols: &[&str]| neighbours.iter().any(|token| symbols.contains(token));
        let what = match clause {
            "SELECT" if before == "(" && at(place.checked_sub(2)) == "SUM" => Use::Computed,
            "SELECT" if before == "DISTINCT" => Use::Compared,
            "SELECT" | "INSERT" => Use::Kept,
            "SET" if after == "=" => Use::Kept,
            "SET" => Use::Computed,
            _ if is_beside(&["+", "-", "*"]) => Use::Computed,
            _ if is_beside(&["<", ">", "<=", ">="]) => Use::Ordered,
            // The order in which rows are locked: any will do, if it is the same for all.
            "ORDER" if ["s_w_id", "s_i_id"].contains(token) => Use::Compared,
            "ORDER" => Use::Ordered,
            _ => Use::Compared,
        };
        found.push((column.column, what));
    }
    found
}

/// Words and symbols.
fn tokens(sql: &str) -> Vec<&str> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut tokens = Vec::new();
    let mut rest = sql.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            first if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            '<' | '>' if rest[1..].starts_with('=') => 2,
            first => first.len_utf8(),
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

#[test]
fn uses_are_found_where_they_are() {
    let found = uses(
        "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ? WHERE s_w_id = ? AND (s_i_id, s_w_id) IN ((?,?)) \
         AND ol_o_id >= d_next_o_id - 20 ORDER BY c_first",
    );
    assert_eq!(
        found,
        [
            ("s_quantity", Use::Kept),
            ("s_ytd", Use::Kept),
            ("s_ytd", Use::Computed),
            ("s_w_id", Use::Compared),
            ("s_i_id", Use::Compared),
            ("s_w_id", Use::Compared),
            ("ol_o_id", Use::Ordered),
            ("d_next_o_id", Use::Computed),
            ("c_first", Use::Ordered),
        ]
    );
    assert_eq!(
        uses("SELECT SUM(ol_amount), COUNT(DISTINCT s_i_id), c_data FROM customer"),
        [
            ("ol_amount", Use::Computed),
            ("s_i_id", Use::Compared),
            ("c_data", Use::Kept),
        ]
    );
}
