//! Words for the user.

use std::fmt;
use std::io::{self, Write};

use ciphertax_records::harmless_lines;

/// Writes a line to standard error, or several; what servers and files say in it cannot rule a terminal. Where nobody reads it any
/// more, or there is no room, it is lost: nothing may depend on it.
pub fn say(line: impl fmt::Display) {
    let text = harmless_lines(&line.to_string());
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}
