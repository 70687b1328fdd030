//! Fields of YCSB's table as they lie in it: plain, or cells that the client encrypts and decrypts.

use ciphertax_columns::{CellCipher, CellKind, MasterKey};
use ciphertax_engine::{Failure, Result};
use ciphertax_model::{CellEncoding, ColumnEncryption, YcsbTable};

use super::key_value::Table;
use super::keys::Key;
use super::records::{Value, changed};
use crate::digits::hexadecimal;
use crate::driver::ArmColumns;

/// BLOB: values of fields are bytes, as in YCSB's own binding for MongoDB.
const BYTES: CellKind = CellKind(252);

/// Which fields of YCSB's table the client encrypts, how, and by which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldEncryption {
    encryption: ColumnEncryption,
    key: MasterKey,
}

impl FieldEncryption {
    /// What an arm stores; `None` where that is plain.
    pub fn of(columns: &ArmColumns) -> Option<Self> {
        let (encryption, key) = columns.encryption.as_ref()?;
        Self::stored(Some(encryption), Some(key))
    }

    /// The same by what the arm says and the key of the run.
    pub fn stored(encryption: Option<&ColumnEncryption>, key: Option<&MasterKey>) -> Option<Self> {
        Some(Self {
            encryption: encryption.filter(|encryption| encryption.stores())?.clone(),
            key: key?.clone(),
        })
    }

    /// A number that changes with what is encrypted and with the key, so that what was stored with another is not taken for
    /// right.
    pub(crate) fn fingerprint(&self) -> String {
        // Whoever cannot tell them apart makes them anew.
        let unknown = |_| "of an unknown key".to_owned();
        self.key
            .fingerprint(&self.encryption.to_string())
            .unwrap_or_else(unknown)
    }
}

/// The fields of one session.
pub(crate) struct Fields {
    /// What every record has.
    pub(crate) shape: YcsbTable,
    table: Table,
    cells: Option<Cells>,
}

/// Those that are cells, with buffers that are kept.
struct Cells {
    cipher: CellCipher,
    is_encrypted: Vec<bool>,
    /// Whether cells are bytes, and not text.
    are_bytes: bool,
    /// Bytes of a cell: all values have one length.
    length: usize,
    plaintext: Vec<u8>,
    cell: Vec<u8>,
    named: u64,
}

impl Fields {
    /// As they are encrypted; `None` for plain ones.
    pub(crate) fn open(
        shape: &YcsbTable,
        table: Table,
        encryption: Option<&FieldEncryption>,
    ) -> Result<Self> {
        let open = |encryption| Cells::open(shape, encryption).map_err(Failure::Error);
        Ok(Self {
            cells: encryption.map(open).transpose()?,
            ..Self::plain(shape, table)
        })
    }

    /// All in plaintext.
    pub(crate) fn plain(shape: &YcsbTable, table: Table) -> Self {
        Self {
            shape: *shape,
            table,
            cells: None,
        }
    }

    pub(crate) fn is_cell(&self, field: u16) -> bool {
        let cells = self.cells.as_ref();
        cells.is_some_and(|cells| cells.is_encrypted.get(usize::from(field)) == Some(&true))
    }

    /// True if a field is a cell of bytes, and not of text.
    pub(crate) fn are_bytes(&self, field: u16) -> bool {
        self.is_cell(field) && self.cells.as_ref().is_some_and(|cells| cells.are_bytes)
    }

    /// Bytes of a field as it lies in the table.
    pub(crate) fn length(&self, field: u16) -> usize {
        match &self.cells {
            Some(cells) if self.is_cell(field) => cells.length,
            _ => self.shape.field_length as usize,
        }
    }

    /// Writes a value as it lies in the table over as many bytes.
    pub(crate) fn write(&mut self, field: u16, value: Value, bytes: &mut [u8]) -> Result<()> {
        match &mut self.cells {
            Some(cells) if cells.is_encrypted[usize::from(field)] => {
                cells.named += 1;
                cells.plaintext.resize(self.shape.field_length as usize, 0);
                value.write(&mut cells.plaintext);
                let cell = cells.encrypt().map_err(|problem| {
                    Failure::Error(format!("{}.field{field} {problem}", self.table.name()))
                })?;
                bytes.copy_from_slice(cell);
            }
            _ => value.write(bytes),
        }
        Ok(())
    }

    /// The same in hexadecimal digits, twice as many bytes.
    pub(crate) fn write_digits(&mut self, field: u16, value: Value, digits: &mut [u8]) -> Result<()> {
        let (bytes, _) = digits.split_at_mut(digits.len() / 2);
        self.write(field, value, bytes)?;
        // From behind, where each byte was read before its place is written.
        for at in (0..digits.len() / 2).rev() {
            let of_byte = hexadecimal(digits[at]);
            digits[2 * at..2 * at + 2].copy_from_slice(&of_byte);
        }
        Ok(())
    }

    /// Begins to check a record that was read.
    pub(crate) fn check(&mut self, key: Key) -> FieldsCheck<'_> {
        FieldsCheck {
            shape: self.shape,
            key,
            table: self.table,
            cells: self.cells.as_mut(),
            next: 0,
        }
    }

    /// The same, with every byte compared.
    pub(crate) fn check_all(&mut self, key: Key) -> FieldsCheck<'_> {
        let mut check = self.check(key);
        check.shape.verify = true;
        check
    }

    /// Cells so far, in the order of [`CELLS`](ciphertax_model::workload::CELLS).
    pub(crate) fn counts(&self) -> [u64; 3] {
        self.cells.as_ref().map_or([0; 3], |cells| {
            let counts = cells.cipher.counts();
            [counts.encrypted, counts.decrypted, cells.named]
        })
    }
}

impl Cells {
    fn open(shape: &YcsbTable, with: &FieldEncryption) -> Result<Self, String> {
        let is_encrypted = with.encryption.columns.ycsb_fields(shape.field_count)?;
        let mut cells = Self {
            cipher: CellCipher::open(&with.encryption, &with.key).map_err(|error| error.to_string())?,
            is_encrypted,
            are_bytes: with.encryption.encoding == CellEncoding::Binary,
            length: 0,
            plaintext: vec![0; shape.field_length as usize],
            cell: Vec::new(),
            // That which its length is known by.
            named: 1,
        };
        cells.length = cells.encrypt()?.len();
        Ok(cells)
    }

    /// The cell of what is in `plaintext`.
    fn encrypt(&mut self) -> Result<&[u8], String> {
        self.cell.clear();
        let encrypted = self.cipher.encrypt(BYTES, &self.plaintext, &mut self.cell);
        encrypted.map_err(|error| error.to_string())?;
        if self.length != 0 && self.cell.len() != self.length {
            let (made, expected) = (self.cell.len(), self.length);
            return Err(format!("has a cell of {made} bytes; expected {expected}"));
        }
        Ok(&self.cell)
    }

    fn decrypt(&mut self, cell: &[u8]) -> Result<&[u8], String> {
        self.plaintext.clear();
        let decrypted = self.cipher.decrypt(cell, &mut self.plaintext);
        decrypted.map_err(|error| error.to_string())?;
        Ok(&self.plaintext)
    }
}

/// The fields of a record that was read, one after the other, as they lie in the table.
pub(crate) struct FieldsCheck<'a> {
    shape: YcsbTable,
    key: Key,
    table: Table,
    cells: Option<&'a mut Cells>,
    pub(crate) next: u16,
}

impl FieldsCheck<'_> {
    pub(crate) fn is_next_cell(&self) -> bool {
        let cells = self.cells.as_ref();
        cells.is_some_and(|cells| cells.is_encrypted.get(usize::from(self.next)) == Some(&true))
    }

    /// Checks the next field, after it was decrypted.
    pub(crate) fn field(&mut self, value: &[u8]) -> Result<()> {
        let field = self.next;
        let value = match &mut self.cells {
            Some(cells) if cells.is_encrypted.get(usize::from(field)) == Some(&true) => {
                cells.named += 1;
                cells.decrypt(value).map_err(|problem| {
                    let (table, key) = (self.table.name(), self.key.as_str());
                    Failure::Error(format!("{table}.field{field} of record {key} {problem}"))
                })?
            }
            _ => value,
        };
        let YcsbTable {
            field_count,
            field_length,
            ..
        } = self.shape;
        if field == field_count {
            let problem = format_args!("has more than {field_count} fields");
            return Err(changed(&self.key, problem));
        }
        let length = value.len();
        if length != field_length as usize {
            let problem = format_args!("has {length} bytes in field{field}; expected {field_length}");
            return Err(changed(&self.key, problem));
        }
        if self.shape.verify && !Value::is(&self.key, field, value) {
            let problem = format_args!("has other bytes in field{field} than were written");
            return Err(changed(&self.key, problem));
        }
        self.next += 1;
        Ok(())
    }

    /// Checks that there were all fields.
    pub(crate) fn end(self) -> Result<()> {
        let (fields, expected) = (self.next, self.shape.field_count);
        match fields == expected {
            true => Ok(()),
            false => Err(changed(
                &self.key,
                format_args!("has {fields} fields; expected {expected}"),
            )),
        }
    }
}
