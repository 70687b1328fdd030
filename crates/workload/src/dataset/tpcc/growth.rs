//! How much larger the tables have become.

use ciphertax_model::Tpcc;

use super::names::TableNames;
use super::table::Table;
use crate::dataset::DatasetError;
use crate::dataset::mark::SCHEMA;
use crate::sql::SqlSession;

/// From what growth on tables are to be restored: lines have doubled then.
pub const GROWN: f64 = 2.0;

/// How many times as many orders there are as were loaded, and so lines, of which each order has ten in the mean; 1 before anything
/// was asked. It is read from the counters of the districts, whatever the tables' size.
///
/// # Errors
/// When there are no tables, or the server refuses.
pub async fn growth(session: &mut impl SqlSession, names: TableNames) -> Result<f64, DatasetError> {
    let district = names.of(Table::District.name());
    let rows = session
        .query(&format!(
            "SELECT SUM(d_next_o_id - 1), COUNT(*) FROM {SCHEMA}.{district}"
        ))
        .await?;
    let number = |column| rows.first().and_then(|row| row.text(column).parse::<f64>().ok());
    match (number(0), number(1)) {
        (Some(orders), Some(districts)) if districts > 0.0 => {
            Ok(orders / districts / f64::from(Tpcc::ORDERS))
        }
        _ => Err(DatasetError::Wrong(format!("{district} counts no orders"))),
    }
}
