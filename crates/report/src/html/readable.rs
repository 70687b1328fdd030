//! What stays readable on the disk.

use ciphertax_records::{Readability, Run};
use serde::Serialize;

use super::figure::ArmName;
use crate::readable::{meaning, tables};

/// The tables, and what their words mean.
#[derive(Serialize)]
pub(super) struct ReadableView {
    meaning: String,
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct Table {
    /// Empty where there is only one.
    server: String,
    columns: Vec<Vec<ArmName>>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    kind: String,
    cells: Vec<Option<Cell>>,
}

#[derive(Serialize)]
struct Cell {
    word: String,
    /// By which readers of the page tell it at a glance.
    is_encrypted: bool,
}

impl ReadableView {
    /// `None` where no arm is about the disk.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let name = |arm: &str| ArmName::of(run, arm);
        let cell = |readability: Readability| Cell {
            word: readability.to_string(),
            is_encrypted: readability == Readability::Encrypted,
        };
        let tables: Vec<Table> = tables(run)
            .into_iter()
            .map(|table| Table {
                server: table.server.unwrap_or_default().to_owned(),
                columns: table
                    .columns
                    .iter()
                    .map(|arms| arms.iter().copied().map(name).collect())
                    .collect(),
                rows: table
                    .rows
                    .into_iter()
                    .map(|(kind, found)| Row {
                        kind: kind.to_owned(),
                        cells: found.into_iter().map(|found| found.map(cell)).collect(),
                    })
                    .collect(),
            })
            .collect();
        (!tables.is_empty()).then_some(Self {
            meaning: meaning(run),
            tables,
        })
    }
}
