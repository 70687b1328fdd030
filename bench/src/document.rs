//! The Markdown that a benchmark leaves in `record/`.

use std::fmt;
use std::path::Path;

/// One document: what was measured, where, with what, and the tables.
pub struct Document {
    title: &'static str,
    facts: Vec<(String, String)>,
    body: String,
}

impl Document {
    /// Begins a document about this machine and this moment. `program` is the one that writes it.
    pub fn new(title: &'static str, program: &str) -> Self {
        // Where other programs lie says nothing to a reader.
        let arguments: Vec<String> = std::env::args()
            .skip(1)
            .map(|argument| match Path::new(&argument).file_name() {
                Some(name) => name.to_string_lossy().into_owned(),
                None => argument,
            })
            .collect();
        let mut command = format!("cargo run --release --manifest-path bench/Cargo.toml --bin {program}");
        if !arguments.is_empty() {
            command = format!("{command} -- {}", arguments.join(" "));
        }
        let host = ciphertax_observe::host();
        let machine = format!(
            "{}, kernel {}, {} × {}, {:.0} GiB, hypervisor: {}",
            host.os,
            host.kernel,
            host.cpus,
            host.cpu,
            host.memory_bytes as f64 / f64::from(1 << 30),
            host.virtualization
        );
        let mut document = Self {
            title,
            facts: Vec::new(),
            body: String::new(),
        };
        document.fact("command", format!("`{command}`"));
        document.fact("date", jiff::Zoned::now().strftime("%Y-%m-%d").to_string());
        document.fact("machine", machine);
        let (version, library) = (env!("CARGO_PKG_VERSION"), ciphertax_wire::tls::library_version());
        document.fact("ciphertax", format!("{version}, {library}"));
        document
    }

    /// Adds what a reader must know to judge the figures, for example a version.
    pub fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.facts.push((name.to_owned(), value.into()));
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.body += &format!("\n{text}\n");
    }

    /// Adds a heading and a table.
    pub fn table(&mut self, heading: &str, table: &Table) {
        self.body += &format!("\n## {heading}\n\n{table}");
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}\n\n| | |\n|---|---|", self.title)?;
        for (name, value) in &self.facts {
            writeln!(f, "| {name} | {value} |")?;
        }
        writeln!(
            f,
            "\nClient and server share the machine, over loopback. Absolute figures are this machine's at that hour: only \
             ratios within one run carry over. Figures are the median of the repeats, the lowest and the highest in brackets."
        )?;
        f.write_str(&self.body)
    }
}

/// A table in Markdown; its first column is text, the others are numbers.
pub struct Table {
    columns: usize,
    lines: String,
}

impl Table {
    /// A table with these column heads, which are written as in Markdown: `what | µs`.
    pub fn new(heads: &str) -> Self {
        let columns = columns(heads);
        Self {
            columns,
            lines: format!("| {heads} |\n|---{}|\n", "|--:".repeat(columns - 1)),
        }
    }

    /// Adds a row, with its cells as the heads are written.
    pub fn row(&mut self, cells: &str) {
        assert_eq!(columns(cells), self.columns, "a row has a cell for every column");
        self.lines += &format!("| {cells} |\n");
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines)
    }
}

fn columns(cells: &str) -> usize {
    cells.split(" | ").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_markdown() {
        let mut table = Table::new("what | µs");
        table.row("ours | 1.0");
        assert_eq!(table.to_string(), "| what | µs |\n|---|--:|\n| ours | 1.0 |\n");
    }
}
