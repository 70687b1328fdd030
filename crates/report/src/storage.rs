//! Storage of a server as the outputs print it: what it had in memory, what it read and wrote of the rest, and which kinds of files stay
//! readable on the disk, kinds down and arms across.

use ciphertax_base::format;
use ciphertax_model::AtRest;
use ciphertax_records::{
    ArmRecord, ArmRole, DiskRecord, Readability, Run, ServerId, SessionRecord, StorageRow,
};

/// One figure of an arm: its label, the number, and as a reader wants it.
pub(crate) struct StorageFigure {
    pub(crate) label: &'static str,
    pub(crate) value: f64,
    pub(crate) is_share: bool,
    pub(crate) text: String,
}

/// A figure's label, where a row has it, and how it is written.
type FigureColumn = (&'static str, fn(&StorageRow) -> Option<f64>, Written);

enum Written {
    Bytes,
    Number,
    Share,
}

/// How busy a device was, in tables and in the course of a run.
pub(crate) const DEVICE_BUSY: &str = "device busy (all programs)";
/// Of a server all its connections share it.
const MEMORY: &str = "cache memory";

const FIGURE_COLUMNS: [FigureColumn; 10] = [
    (
        "data and indexes",
        |row| row.data_bytes.map(|bytes| bytes as f64),
        Written::Bytes,
    ),
    (
        "size on the disk",
        |row| row.disk_bytes.map(|bytes| bytes as f64),
        Written::Bytes,
    ),
    (
        MEMORY,
        |row| row.memory_bytes.map(|bytes| bytes as f64),
        Written::Bytes,
    ),
    ("data to memory", |row| row.data_to_memory, Written::Number),
    ("cache hit rate", |row| row.hit_rate, Written::Share),
    ("pages read per operation", |row| row.pages_read, Written::Number),
    (
        "pages written per operation",
        |row| row.pages_written,
        Written::Number,
    ),
    ("log written per operation", |row| row.log_bytes, Written::Bytes),
    (DEVICE_BUSY, |row| row.device_busy, Written::Share),
    (
        "device traffic per second (all programs)",
        |row| row.device_bytes_per_s,
        Written::Bytes,
    ),
];

/// The figures that an arm has in a cell, in the order of all reports.
pub(crate) fn figures(run: &Run, cell: &str, arm: &str) -> Vec<StorageFigure> {
    let Some(row) = run.results.storage(cell, arm) else {
        return Vec::new();
    };
    let figure = |(label, value, written): &FigureColumn| {
        let value = value(row)?;
        Some(StorageFigure {
            label: label_in(run, label),
            value,
            is_share: matches!(written, Written::Share),
            text: match written {
                Written::Bytes => format::bytes(value),
                Written::Number => format::fine(value),
                Written::Share => format::fine_share(value),
            },
        })
    };
    FIGURE_COLUMNS.iter().filter_map(figure).collect()
}

/// The labels of all figures of which any of these arms has anything in a cell.
pub(crate) fn labels<'a>(run: &Run, cell: &str, arms: impl Iterator<Item = &'a str>) -> Vec<&'static str> {
    let known: Vec<&str> = arms
        .flat_map(|arm| figures(run, cell, arm))
        .filter(|figure| figure.value != 0.0)
        .map(|figure| figure.label)
        .collect();
    let labels = FIGURE_COLUMNS.iter().map(|(label, ..)| label_in(run, label));
    labels.filter(|label| known.contains(label)).collect()
}

/// A database that runs in its client has a cache in each connection.
fn label_in(run: &Run, label: &'static str) -> &'static str {
    match label {
        MEMORY if run.head.is_embedded() => "cache memory of each connection",
        other => other,
    }
}

/// One table for each server that a baseline was measured on, beside those of the other arms.
pub(crate) struct ReadableTable<'a> {
    /// The baseline's server; `None` where there is but one.
    pub(crate) server: Option<&'a str>,
    /// The arms whose disk is one, side by side.
    pub(crate) columns: Vec<Vec<&'a str>>,
    /// Every kind of file, and whether rows can be read in it; `None` where a server has none of that kind.
    pub(crate) rows: Vec<(&'a str, Vec<Option<Readability>>)>,
}

/// What the words of the tables mean, in sentences.
pub(crate) fn meaning(run: &Run) -> String {
    let has = |of_arm: fn(&AtRest) -> bool| run.head.study.arms.iter().any(|arm| of_arm(&arm.at_rest));
    let whose = match run.head.is_embedded() {
        true => IN_A_FILE,
        false => IN_A_SERVER,
    };
    let sentences = [
        Some(SEARCHED),
        Some(whose),
        Some(WORDS),
        has(|at_rest| at_rest.file_system.is_some()).then_some(OF_FILE_SYSTEMS),
        has(|at_rest| at_rest.columns.is_some()).then_some(OF_COLUMNS),
    ];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

const SEARCHED: &str =
    "Before measuring, ciphertax wrote a canary row and searched the disk of every arm for it.";

const IN_A_FILE: &str = "The row is in its own file beside the arm's, opened in the same way.";

const IN_A_SERVER: &str = "For servers that keep rows in memory, a second one like it was searched, with so little memory that all rows \
     reach the disk.";

const WORDS: &str = "Readable: files of this kind show the canary. Encrypted: they do not. Not encrypted: nothing protects these files, \
     but the canary was not in them. A dash: no such files.";

const OF_FILE_SYSTEMS: &str = "Files on the disk and names of files: what a thief of the disk sees. On the running machine the file \
     system decrypts them for whoever has the rights.";

const OF_COLUMNS: &str = "Statements carry plaintext fields to the server that encrypts them, so a log of statements would show them; \
     these servers have no such log, and no binary log.";

/// The tables of a run; none where no arm is about the disk.
pub(crate) fn tables(run: &Run) -> Vec<ReadableTable<'_>> {
    let mut sides: Vec<Side<'_>> = Vec::new();
    for (arm, session, disk) in searched(run) {
        let baselines = session.beside_id.as_ref().unwrap_or(&session.server_id);
        let name = session.beside.as_ref().unwrap_or(&session.server);
        let at = sides.iter().position(|side| side.baselines == baselines);
        let at = at.unwrap_or_else(|| {
            sides.push(Side {
                baselines,
                name,
                columns: Vec::new(),
            });
            sides.len() - 1
        });
        let columns = &mut sides[at].columns;
        let is_same =
            |column: &&mut DiskColumn<'_>| column.id == &session.server_id && column.disk.files == disk.files;
        match columns.iter_mut().find(is_same) {
            Some(column) => column.arms.push(&arm.name),
            None => columns.push(DiskColumn {
                id: &session.server_id,
                arms: vec![&arm.name],
                disk,
            }),
        }
    }
    let several = sides.len() > 1;
    let tables = sides.into_iter().map(|side| side.table(several));
    tables.collect()
}

/// A baseline's server, and those that are compared with it.
struct Side<'a> {
    baselines: &'a ServerId,
    name: &'a str,
    columns: Vec<DiskColumn<'a>>,
}

struct DiskColumn<'a> {
    id: &'a ServerId,
    arms: Vec<&'a str>,
    disk: &'a DiskRecord,
}

impl<'a> Side<'a> {
    fn table(self, is_named: bool) -> ReadableTable<'a> {
        let of = |kind| self.columns.iter().map(|column| column.disk.of(kind)).collect();
        ReadableTable {
            server: is_named.then_some(self.name),
            rows: self.kinds().into_iter().map(|kind| (kind, of(kind))).collect(),
            columns: self.columns.into_iter().map(|column| column.arms).collect(),
        }
    }

    /// Every kind of file that one of them has, each once.
    fn kinds(&self) -> Vec<&'a str> {
        let mut kinds: Vec<&str> = Vec::new();
        for files in self.columns.iter().flat_map(|column| &column.disk.files) {
            if !kinds.contains(&files.kind.as_str()) {
                kinds.push(&files.kind);
            }
        }
        kinds
    }
}

/// Of the repeated baseline there is nothing else to say.
fn searched(run: &Run) -> impl Iterator<Item = (&ArmRecord, &SessionRecord, &DiskRecord)> {
    let arms = run.head.arms.iter();
    let arms = arms.filter(|arm| arm.role != ArmRole::BaselineAgain);
    arms.flat_map(|arm| {
        let sessions = arm.sessions.iter();
        sessions.filter_map(move |session| Some((arm, session, session.disk.as_ref()?)))
    })
}
