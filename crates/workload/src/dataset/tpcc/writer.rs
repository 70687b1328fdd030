//! Rows written into a buffer, as lines or as values of a statement; some of their columns as cells.

use ciphertax_columns::{CellCipher, CellError, CellKind, KeyError, MasterKey};
use ciphertax_model::tpcc::TpccColumn;
use ciphertax_model::{CellEncoding, CellFormat, ColumnEncryption};

use super::table::Table;
use crate::digits::{Digits, hexadecimal};
use crate::sql::BytesInLines;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Lines as `LOAD DATA` and `COPY` read them if nobody says otherwise: values parted by tabs, special bytes behind backslashes,
    /// NULL as `\N`.
    Lines(BytesInLines),
    /// `(…),(…)` after an `INSERT`; what stands around the hexadecimal digits of bytes.
    Values([&'static str; 2]),
}

/// Writes the rows of one table. No text that is written has quotes, backslashes or control characters in it.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    form: Form,
    /// `None` where no column of the table has any.
    cells: Option<&'a mut Cells>,
    date: &'a [u8],
    column: usize,
    rows: u32,
    failure: Option<CellError>,
}

impl<'a> Writer<'a> {
    /// Rows after what is in `out`; their dates are all this one.
    pub(super) fn new(out: &'a mut Vec<u8>, form: Form, cells: Option<&'a mut Cells>, date: &'a str) -> Self {
        Self {
            out,
            form,
            cells,
            date: date.as_bytes(),
            column: 0,
            rows: 0,
            failure: None,
        }
    }

    /// Bytes in the buffer.
    pub(super) fn length(&self) -> usize {
        self.out.len()
    }

    /// How many rows were written.
    pub(super) fn finish(self) -> Result<u32, CellError> {
        self.failure.map_or(Ok(self.rows), Err)
    }

    pub(super) fn begin_row(&mut self) {
        if matches!(self.form, Form::Values(_)) {
            self.out
                .extend_from_slice(if self.rows > 0 { b",(" } else { b"(" });
        }
        self.column = 0;
        self.rows += 1;
    }

    pub(super) fn end_row(&mut self) {
        self.out.push(match self.form {
            Form::Lines(_) => b'\n',
            Form::Values(_) => b')',
        });
    }

    pub(super) fn null(&mut self) {
        self.separate();
        self.out.extend_from_slice(match self.form {
            Form::Lines(_) => br"\N",
            Form::Values(_) => b"NULL",
        });
        self.column += 1;
    }

    pub(super) fn number(&mut self, number: u32) {
        self.decimal(number, 0);
    }

    pub(super) fn numbers(&mut self, numbers: &[u32]) {
        for number in numbers {
            self.number(*number);
        }
    }

    /// A number of units of the last of so many places behind the point.
    pub(super) fn decimal(&mut self, units: u32, places: u32) {
        self.value(false, |out| {
            out.extend_from_slice(Digits::of(units.into(), places).as_bytes())
        });
    }

    /// A number that is the same in every row.
    pub(super) fn constant(&mut self, number: &str) {
        self.value(false, |out| out.extend_from_slice(number.as_bytes()));
    }

    /// The date of all rows.
    pub(super) fn date(&mut self) {
        let date = self.date;
        self.value(true, |out| out.extend_from_slice(date));
    }

    pub(super) fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.value(true, write);
    }

    #[inline]
    fn value(&mut self, is_quoted: bool, write: impl FnOnce(&mut Vec<u8>)) {
        self.separate();
        let kind = match &self.cells {
            None => None,
            Some(cells) => cells.kind(self.column),
        };
        self.column += 1;
        if let Some(kind) = kind {
            return self.cell(kind, write);
        }
        let is_quoted = is_quoted && matches!(self.form, Form::Values(_));
        if is_quoted {
            self.out.push(b'\'');
        }
        write(self.out);
        if is_quoted {
            self.out.push(b'\'');
        }
    }

    fn cell(&mut self, kind: CellKind, write: impl FnOnce(&mut Vec<u8>)) {
        let Some(cells) = &mut self.cells else { return };
        let cell = match cells.encrypt(kind, write) {
            Ok(cell) => cell,
            Err(failure) => {
                self.failure.get_or_insert(failure);
                return;
            }
        };
        match (self.form, cell) {
            (Form::Lines(_), Cell::Text(text)) => self.out.extend_from_slice(text),
            (Form::Values(_), Cell::Text(text)) => {
                self.out.push(b'\'');
                self.out.extend_from_slice(text);
                self.out.push(b'\'');
            }
            (Form::Lines(BytesInLines::Escaped), Cell::Bytes(bytes)) => push_escaped(self.out, bytes),
            (Form::Lines(BytesInLines::Hexadecimal), Cell::Bytes(bytes)) => {
                self.out.extend_from_slice(br"\\x");
                push_hexadecimal(self.out, bytes);
            }
            (Form::Values([before, after]), Cell::Bytes(bytes)) => {
                self.out.extend_from_slice(before.as_bytes());
                push_hexadecimal(self.out, bytes);
                self.out.extend_from_slice(after.as_bytes());
            }
        }
    }

    fn separate(&mut self) {
        if self.column > 0 {
            self.out.push(match self.form {
                Form::Lines(_) => b'\t',
                Form::Values(_) => b',',
            });
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    /// Text of ASCII, without quotes and backslashes.
    Text(&'a [u8]),
    Bytes(&'a [u8]),
}

fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(br"\\"),
            b'\t' => out.extend_from_slice(br"\t"),
            b'\n' => out.extend_from_slice(br"\n"),
            0 => out.extend_from_slice(br"\0"),
            _ => out.push(byte),
        }
    }
}

fn push_hexadecimal(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes.iter().flat_map(|byte| hexadecimal(*byte)));
}

/// Makes the cells of a set's tables, for one session.
pub(super) struct Cells {
    cipher: CellCipher,
    encryption: ColumnEncryption,
    /// Of the table that is loaded, by column.
    kinds: Vec<Option<CellKind>>,
    plaintext: Vec<u8>,
    cell: Vec<u8>,
}

impl Cells {
    pub(super) fn open(encryption: &ColumnEncryption, key: &MasterKey) -> Result<Self, KeyError> {
        Ok(Self {
            cipher: CellCipher::open(encryption, key)?,
            encryption: encryption.clone(),
            kinds: Vec::new(),
            plaintext: Vec::new(),
            cell: Vec::new(),
        })
    }

    /// From now on for the rows of this table.
    pub(super) fn begin(&mut self, table: Table) {
        let columns = table.columns();
        let kind = |column: &TpccColumn| {
            let is_cell = column.is_in(&self.encryption.columns);
            is_cell.then(|| CellKind(column.sql_type.protocol_type()))
        };
        self.kinds = columns.map(kind).collect();
    }

    /// What the plaintext of this column is; `None` if it stays plain.
    pub(super) fn kind(&self, column: usize) -> Option<CellKind> {
        self.kinds.get(column).copied().flatten()
    }

    /// The cell of a plaintext that is written as its text.
    pub(super) fn encrypt(
        &mut self,
        kind: CellKind,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Cell<'_>, CellError> {
        self.plaintext.clear();
        self.cell.clear();
        write(&mut self.plaintext);
        self.cipher.encrypt(kind, &self.plaintext, &mut self.cell)?;
        Ok(match self.encryption.encoding {
            CellEncoding::Base64 => Cell::Text(&self.cell),
            CellEncoding::Binary => Cell::Bytes(&self.cell),
        })
    }
}

/// The most bytes of a cell, as it lies in its table, of a plaintext of at most so many.
pub(super) fn cell_length(encryption: &ColumnEncryption, plaintext: u32) -> u32 {
    // Padded to whole blocks, of which one may be of padding alone.
    let padded = plaintext + 16;
    let bytes = match encryption.format {
        // Its header, check and the byte of the plaintext's own, a vector and a tag.
        CellFormat::Encdb => 12 + 1 + 16 + 16 + padded,
        // Its header, a vector, a MAC, and what BSON's string has around it.
        CellFormat::Csfle => 18 + 16 + 32 + 5 + padded,
        CellFormat::AeadCbcHmac => 1 + 32 + 16 + padded,
    };
    match encryption.encoding {
        CellEncoding::Base64 => bytes.div_ceil(3) * 4,
        CellEncoding::Binary => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: Form) -> String {
        let mut out = Vec::new();
        let mut rows = Writer::new(&mut out, form, None, "2026-11-23 06:20:51");
        for number in [1, 20] {
            rows.begin_row();
            rows.number(number);
            rows.decimal(5, 2);
            rows.constant("-10.00");
            rows.text(|out| out.extend_from_slice(b"ab"));
            rows.null();
            rows.date();
            rows.end_row();
        }
        assert_eq!(rows.finish(), Ok(2));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_are_lines_or_values_of_a_statement() {
        assert_eq!(
            written(Form::Lines(BytesInLines::Escaped)),
            "1\t0.05\t-10.00\tab\t\\N\t2026-11-23 06:20:51\n20\t0.05\t-10.00\tab\t\\N\t2026-11-23 06:20:51\n"
        );
        let expected = "(1,0.05,-10.00,'ab',NULL,'2026-11-23 06:20:51'),(20,0.05,-10.00,'ab',NULL,'2026-11-23 06:20:51')";
        assert_eq!(written(Form::Values(["X'", "'"])), expected);
    }

    #[test]
    fn bytes_are_escaped_or_hexadecimal() {
        let mut out = Vec::new();
        push_escaped(&mut out, b"a\0b\tc\nd\\e\r\xff");
        assert_eq!(out, b"a\\0b\\tc\\nd\\\\e\r\xff");
        out.clear();
        push_hexadecimal(&mut out, &[0, 0x1f, 0xff]);
        assert_eq!(out, b"001fff");
    }
}
