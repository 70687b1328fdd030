//! Rows on their way to PostgreSQL, in the text format of `COPY`.

use crate::sql::Query;

/// A statement `COPY … FROM STDIN`, and the lines that follow it.
pub struct CopyRows {
    statement: String,
    lines: Vec<u8>,
}

impl CopyRows {
    pub(super) fn statement(&self) -> &str {
        &self.statement
    }

    pub(super) fn lines(&self) -> &[u8] {
        &self.lines
    }
}

/// The text is that of the lines.
impl Query for CopyRows {
    /// No lines of this statement.
    fn new(text: &str) -> Self {
        Self {
            statement: text.to_owned(),
            lines: Vec::new(),
        }
    }

    fn length(&self) -> usize {
        self.lines.len()
    }

    fn truncate(&mut self, length: usize) {
        self.lines.truncate(length);
    }

    fn push(&mut self, text: &[u8]) {
        self.lines.extend_from_slice(text);
    }

    fn push_blank(&mut self, length: usize) -> &mut [u8] {
        let first = self.lines.len();
        self.lines.resize(first + length, b' ');
        &mut self.lines[first..]
    }
}
