//! What stays readable on the disk.

use ciphertax_records::{Readability, Run};
use ciphertax_stats::format::ABSENT;

use super::page::{Page, Tone, left, right};
use crate::readable::{meaning, tables};

/// Kinds of files down, arms across; nothing where no arm is about the disk.
pub(super) fn readable(page: &mut Page, run: &Run) {
    let tables = tables(run);
    if tables.is_empty() {
        return;
    }
    page.heading("What stays readable on the disk");
    page.paragraph(&meaning(run), Tone::Plain);
    for of_server in &tables {
        if let Some(server) = of_server.server {
            page.blank();
            page.paragraph(&format!("{server}:"), Tone::Plain);
        }
        let arms: Vec<String> = of_server.columns.iter().map(|arms| arms.join(", ")).collect();
        let header = std::iter::once("").chain(arms.iter().map(String::as_str));
        let mut table = page.table(header);
        for (kind, found) in &of_server.rows {
            let word = |found: &Option<Readability>| {
                right(found.map_or_else(|| ABSENT.into(), |found| found.to_string()))
            };
            table.add_row(std::iter::once(left(kind)).chain(found.iter().map(word)));
        }
        page.add_table(&table);
    }
}
