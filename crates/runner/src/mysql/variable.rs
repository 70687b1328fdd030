//! Global variables that are set while a server runs.

use std::time::Duration;

use super::clients::MySql;
use crate::database::{Control, Variable};
use crate::error::RunError;

/// `ER_INCORRECT_GLOBAL_LOCAL_VAR`: the variable is global alone, sessions have none of their own.
pub(super) const IS_GLOBAL: u16 = 1238;
/// How long a server may take until a variable has its value: the buffer pool changes its size in the background.
pub(super) const TAKES_AT_MOST: Duration = Duration::from_secs(10);
/// How often it is asked meanwhile.
pub(super) const ASK_EVERY: Duration = Duration::from_millis(10);
/// The variable whose change goes on when it is set, and the counter that says how far it is.
const RESIZED: &str = "innodb_buffer_pool_size";
const RESIZE_STATUS: &str = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'";

pub(super) fn is_resizing(control: &mut Control<MySql>, name: &str) -> Result<bool, RunError> {
    if !name.eq_ignore_ascii_case(RESIZED) {
        return Ok(false);
    }
    let status = control
        .pairs(RESIZE_STATUS)?
        .into_values()
        .next()
        .unwrap_or_default();
    let is_over =
        |words: &str| words.is_empty() || words.starts_with("Completed") || words.contains("not started");
    Ok(!is_over(&status))
}

/// A value as it stands in a statement: it is a number, or text without anything to escape.
pub(super) fn literal(value: &Variable) -> String {
    match value {
        Variable::Number(number) => number.clone(),
        Variable::Text(text) => format!("'{text}'"),
    }
}
