//! Which servers cells cannot come from, or be stored on.

use super::super::found::{Found, Path};
use crate::arm::Arm;
use crate::columns::{CellFormat, ColumnEncryption, ColumnFeature};
use crate::study::{Cell, Study};

/// The databases whose private servers' names begin so; all others are of MySQL's family.
const OTHERS: [(&str, &str); 3] = [
    ("mongodb", "MongoDB"),
    ("postgresql", "PostgreSQL"),
    ("sqlite", "SQLite"),
];

/// `path` is that of the cell.
pub(super) fn check_server(
    study: &Study,
    cell: &Cell,
    arm: &Arm,
    columns: &ColumnEncryption,
    path: &Path,
    found: &mut Found,
) {
    let server = cell.server.as_ref().unwrap_or(&study.server);
    let other = OTHERS
        .into_iter()
        .find(|(beginning, _)| server.starts_with(beginning));
    let database = other.map_or("MySQL's family", |(_, database)| database);
    let is_mongodb = database == "MongoDB";
    let path = match cell.server {
        Some(_) => path.key("server"),
        None => path.key("workload"),
    };
    let (name, arm) = (&cell.name, &arm.name);
    if columns.feature == ColumnFeature::InResults && other.is_some() {
        let message = format!(
            "cell {name:?}: arm {arm:?} has cells in results, which are made over MySQL's protocol alone so far, and {server} is \
             {database}; leave the arm out with arms = […]"
        );
        found.add(path, message);
    } else if columns.format == CellFormat::Csfle && !is_mongodb {
        let message = format!(
            "cell {name:?}: cells of csfle are stored in MongoDB alone, and {server} is of {database}; in arm {arm:?} take another \
             format, or leave it out with arms = […]"
        );
        found.add(path, message);
    } else if columns.format != CellFormat::Csfle && is_mongodb {
        let format: &str = columns.format.into();
        let message = format!(
            "cell {name:?}: cells in MongoDB are those of csfle, and not of {format}; in arm {arm:?} take format = \"csfle\", or leave \
             it out with arms = […]"
        );
        found.add(path, message);
    }
}
