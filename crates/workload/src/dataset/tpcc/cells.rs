//! Which columns of a table hold cells, and what makes them.

use ciphertax_columns::{CellCipher, CellError, CellKind, KeyError, MasterKey};
use ciphertax_model::tpcc::TpccColumn;
use ciphertax_model::{CellEncoding, CellFormat, ColumnEncryption};

use super::table::Table;
use super::writer::Cell;

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
