//! Global variables that are set while a server runs.

use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::stop;
use ciphertax_wire::WireError;

use super::clients::MySql;
use crate::database::{Control, Variable};
use crate::error::RunError;

/// `ER_INCORRECT_GLOBAL_LOCAL_VAR`: the variable is global alone, sessions have none of their own.
const IS_GLOBAL: u16 = 1238;
/// How long a server may take until a variable has its value: the buffer pool changes its size in the background.
const TAKES_AT_MOST: Duration = Duration::from_secs(10);
/// How often it is asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(10);
/// The variable whose change goes on when it is set, and the counter that says how far it is.
const RESIZED: &str = "innodb_buffer_pool_size";
const RESIZE_STATUS: &str = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'";

impl Control<MySql> {
    /// What a global variable is. The name is one of [`ciphertax_model::Probe::is_name`].
    ///
    /// # Errors
    /// The server's own, and if the value is no number and no plain text.
    pub(super) fn variable(&mut self, name: &str) -> Result<Variable, RunError> {
        let rows = self.pairs(&format!("SELECT @@GLOBAL.{name}, 0"))?;
        let now = rows.into_keys().next().unwrap_or_default();
        Variable::read(&now)
            .ok_or_else(|| self.unusable(format!("{name} is {now:?}, which could not be put back")))
    }

    /// Sets a global variable, and waits until it has its value.
    ///
    /// # Errors
    /// The server's own, and if the variable has another value afterwards.
    pub(super) fn set_variable(&mut self, name: &str, value: &Variable) -> Result<(), RunError> {
        self.run(&format!("SET GLOBAL {name} = {}", literal(value)))?;
        let deadline = Instant::now() + TAKES_AT_MOST;
        loop {
            let now = self.variable(name)?;
            if now == *value && !self.is_resizing(name)? {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(self.unusable(format!("{name} is {now} when it has been set to {value}")));
            }
            if stop::is_requested() {
                return Err(RunError::Stopped);
            }
            thread::sleep(ASK_EVERY);
        }
    }

    /// True if every session has a value of its own.
    ///
    /// # Errors
    /// If the server does not answer.
    pub(super) fn has_session_value(&mut self, name: &str) -> Result<bool, RunError> {
        let sql = format!("SELECT @@SESSION.{name}, 0");
        self.ask(async |session| match session.query(&sql).await {
            Ok(_) => Ok(true),
            Err(WireError::Server { code: IS_GLOBAL, .. }) => Ok(false),
            Err(error) => Err(error),
        })
    }

    fn is_resizing(&mut self, name: &str) -> Result<bool, RunError> {
        if !name.eq_ignore_ascii_case(RESIZED) {
            return Ok(false);
        }
        let status = self
            .pairs(RESIZE_STATUS)?
            .into_values()
            .next()
            .unwrap_or_default();
        let is_over =
            |words: &str| words.is_empty() || words.starts_with("Completed") || words.contains("not started");
        Ok(!is_over(&status))
    }
}

/// A value as it stands in a statement: it is a number, or text without anything to escape.
fn literal(value: &Variable) -> String {
    match value {
        Variable::Number(number) => number.clone(),
        Variable::Text(text) => format!("'{text}'"),
    }
}
