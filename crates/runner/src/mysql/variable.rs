//! Global variables that are set while a server runs.

use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::stop;
use ciphertax_wire::WireError;
use ciphertax_wire::sql::SqlSession as _;

use super::clients::MySql;
use crate::database::{Control, Variable, Variables};
use crate::error::{Result, RunError};

/// `ER_INCORRECT_GLOBAL_LOCAL_VAR`: the variable is global alone, sessions have none of their own.
const IS_GLOBAL: u16 = 1238;
/// How long a server may take until a variable has its value: the buffer pool changes its size in the background.
const TAKES_AT_MOST: Duration = Duration::from_secs(10);
/// How often it is asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(10);
/// The variable whose change goes on when it is set, and the counter that says how far it is.
const RESIZED: &str = "innodb_buffer_pool_size";
const RESIZE_STATUS: &str = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'";

/// The names are those of [`ciphertax_model::Probe::is_name`].
pub(super) const VARIABLES: Variables<MySql> = Variables {
    read,
    set,
    is_per_session: |control, name| {
        let sql = format!("SELECT @@SESSION.{name}, 0");
        control.ask(async |session| match session.query(&sql).await {
            Ok(_) => Ok(true),
            Err(WireError::Server { code: IS_GLOBAL, .. }) => Ok(false),
            Err(error) => Err(error),
        })
    },
};

fn read(control: &mut Control<MySql>, name: &str) -> Result<Variable> {
    let rows = control.pairs(&format!("SELECT @@GLOBAL.{name}, 0"))?;
    let now = rows.into_keys().next().unwrap_or_default();
    Variable::read(&now)
        .ok_or_else(|| control.unusable(format!("{name} is {now:?}, which could not be put back")))
}

fn set(control: &mut Control<MySql>, name: &str, value: &Variable) -> Result<()> {
    // It is a number, or text without anything to escape.
    let literal = match value {
        Variable::Number(number) => number.clone(),
        Variable::Text(text) => format!("'{text}'"),
    };
    control.run(&format!("SET GLOBAL {name} = {literal}"))?;
    let deadline = Instant::now() + TAKES_AT_MOST;
    loop {
        let now = read(control, name)?;
        if now == *value && !is_resizing(control, name)? {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(control.unusable(format!("{name} is {now} when it has been set to {value}")));
        }
        if stop::is_requested() {
            return Err(RunError::Stopped);
        }
        thread::sleep(ASK_EVERY);
    }
}

fn is_resizing(control: &mut Control<MySql>, name: &str) -> Result<bool> {
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
