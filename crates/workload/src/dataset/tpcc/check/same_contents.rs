//! Whether several sets of tables hold the same, as they must after the same transactions.

use super::super::names::TableNames;
use crate::dataset::mark::{DatasetError, SCHEMA};
use crate::sql::session::SqlSession;

/// Tables with their columns that are summed up, or counted where they are not NULL. What depends on the order in which concurrent
/// transactions came is none of them: which orders are delivered, and so balances and dates.
const SUMS: [(&str, &[&str]); 9] = [
    ("warehouse", &["w_ytd", "w_tax"]),
    ("district", &["d_ytd", "d_tax", "d_next_o_id"]),
    (
        "customer",
        &["c_ytd_payment", "c_payment_cnt", "c_delivery_cnt", "c_discount"],
    ),
    ("history", &["h_amount"]),
    ("new_order", &["no_o_id"]),
    ("oorder", &["o_id", "o_c_id", "o_ol_cnt", "o_all_local"]),
    (
        "order_line",
        &[
            "ol_number",
            "ol_i_id",
            "ol_supply_w_id",
            "ol_quantity",
            "ol_amount",
        ],
    ),
    ("item", &["i_im_id", "i_price"]),
    ("stock", &["s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt"]),
];

/// Makes sure that sets of tables hold the same, by counts and sums of the columns that hold cells in none of them: `encrypted` are
/// those that do in any, each with its table. Nobody may write meanwhile.
///
/// # Errors
/// [`DatasetError::Inconsistent`] with what differs; or the server refuses.
pub async fn same_contents(
    session: &mut impl SqlSession,
    sets: &[TableNames],
    encrypted: &[(&str, &str)],
) -> Result<(), DatasetError> {
    let Some((first, others)) = sets.split_first() else {
        return Ok(());
    };
    let mut differences = Vec::new();
    for (table, columns) in SUMS {
        let is_plain = |column: &&&str| !encrypted.contains(&(table, **column));
        let sums = columns
            .iter()
            .filter(is_plain)
            .map(|column| format!("SUM({column})"));
        let asked: Vec<String> = std::iter::once("COUNT(*)".to_owned()).chain(sums).collect();
        let expected = sums_of(session, *first, table, &asked).await?;
        for other in others {
            let found = sums_of(session, *other, table, &asked).await?;
            let all = asked.iter().zip(expected.iter().zip(&found));
            let differing = all.filter(|(_, (expected, found))| expected != found);
            differences.extend(differing.map(|(what, (expected, found))| {
                let (here, there) = (first.of(table), other.of(table));
                format!("{what} is {expected} of {here}, {found} of {there}")
            }));
        }
    }
    match differences.is_empty() {
        true => Ok(()),
        false => {
            differences.truncate(5);
            Err(DatasetError::Inconsistent {
                condition: "all sets of tables hold the same after the same transactions",
                clause: "4.3.3.1",
                rows: differences,
                others: Vec::new(),
            })
        }
    }
}

async fn sums_of(
    session: &mut impl SqlSession,
    set: TableNames,
    table: &'static str,
    asked: &[String],
) -> Result<Vec<String>, DatasetError> {
    let name = set.of(table);
    let rows = session
        .query(&format!("SELECT {} FROM {SCHEMA}.{name}", asked.join(", ")))
        .await?;
    let text = |column| rows.first().map(|row| row.text(column)).unwrap_or_default();
    Ok((0..asked.len()).map(text).collect())
}
