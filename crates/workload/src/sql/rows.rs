//! Rows that are written many at a time, as the database wants them.

use super::Loading;
use super::session::Query;
use crate::digits::Digits;

struct Syntax {
    /// Before the table with its columns, and after them.
    around_table: [&'static str; 2],
    /// Before the first row, and before every other.
    before_row: [&'static [u8]; 2],
    between: &'static [u8],
    quote: &'static [u8],
    after_row: &'static [u8],
}

const fn syntax(loading: Loading) -> Syntax {
    const VALUES: Syntax = Syntax {
        around_table: ["INSERT INTO ", " VALUES"],
        before_row: [b"(", b",("],
        between: b",",
        quote: b"'",
        after_row: b")",
    };
    match loading {
        Loading::Insert => VALUES,
        Loading::Replace => Syntax {
            around_table: ["REPLACE INTO ", " VALUES"],
            ..VALUES
        },
        Loading::Copy => Syntax {
            around_table: ["COPY ", " FROM STDIN\n"],
            before_row: [b"", b""],
            between: b"\t",
            quote: b"",
            after_row: b"\n",
        },
    }
}

/// Rows of one table in a buffer, which begins with the statement that they are part of.
pub(crate) struct Rows<'a> {
    pub(crate) buffer: &'a mut Query,
    syntax: Syntax,
    has_row: bool,
    has_value: bool,
}

/// The statement that rows of a table are part of; of all its columns unless they stand after its name.
pub(crate) fn statement(loading: Loading, table: &str) -> String {
    let [before, after] = syntax(loading).around_table;
    format!("{before}{table}{after}")
}

impl<'a> Rows<'a> {
    /// Rows after the statement in `buffer`.
    pub(crate) fn after(loading: Loading, buffer: &'a mut Query) -> Self {
        Self {
            buffer,
            syntax: syntax(loading),
            has_row: false,
            has_value: false,
        }
    }

    pub(crate) fn begin_row(&mut self) {
        let [first, other] = self.syntax.before_row;
        self.buffer.push(if self.has_row { other } else { first });
        self.has_row = true;
        self.has_value = false;
    }

    pub(crate) fn number(&mut self, value: u32) {
        self.begin_value();
        self.buffer.push(Digits::of(value.into(), 0).as_bytes());
    }

    /// A text of so many bytes, neither quotes, backslashes nor control characters among them.
    pub(crate) fn text(&mut self, length: usize, write: impl FnOnce(&mut [u8])) {
        self.text_in(["", ""], length, write);
    }

    /// The same with something around it, in its quotes, which rows that are copied cannot have.
    pub(crate) fn text_in(
        &mut self,
        [before, after]: [&str; 2],
        length: usize,
        write: impl FnOnce(&mut [u8]),
    ) {
        self.begin_value();
        self.buffer.push(before.as_bytes());
        self.buffer.push(self.syntax.quote);
        write(self.buffer.push_blank(length));
        self.buffer.push(self.syntax.quote);
        self.buffer.push(after.as_bytes());
    }

    pub(crate) fn end_row(&mut self) {
        self.buffer.push(self.syntax.after_row);
    }

    fn begin_value(&mut self) {
        if self.has_value {
            self.buffer.push(self.syntax.between);
        }
        self.has_value = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(loading: Loading) -> String {
        let mut query = Query::new(&statement(loading, "t(id, name)"));
        let mut rows = Rows::after(loading, &mut query);
        for id in [1, 20] {
            rows.begin_row();
            rows.number(id);
            rows.text(2, |text| text.copy_from_slice(b"ab"));
            rows.end_row();
        }
        String::from_utf8(query.text().to_vec()).unwrap()
    }

    #[test]
    fn rows_are_values_of_a_statement_or_lines_to_copy() {
        let expected = "INSERT INTO t(id, name) VALUES(1,'ab'),(20,'ab')";
        assert_eq!(written(Loading::Insert), expected);
        let expected = "REPLACE INTO t(id, name) VALUES(1,'ab'),(20,'ab')";
        assert_eq!(written(Loading::Replace), expected);
        let expected = "COPY t(id, name) FROM STDIN\n1\tab\n20\tab\n";
        assert_eq!(written(Loading::Copy), expected);
    }
}
