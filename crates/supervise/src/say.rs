//! Words for the user.

use std::fmt;
use std::io::{self, Write};

/// Writes a line to standard error. Where nobody reads it any more, or there is no room, it is lost:
/// nothing may depend on it.
pub fn say(line: impl fmt::Display) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
