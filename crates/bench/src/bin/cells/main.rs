//! CPU time of an encrypted cell, beside what OpenSSL takes for its cipher alone.

mod measure;
mod raw;

use std::process::ExitCode;
use std::time::Duration;

use ciphertax_bench::{Document, Repeats, Table};
use ciphertax_model::CellAlgorithm;
use clap::Parser;

use measure::{Cells, Result};

/// Lengths of values: numbers, a code, a name, a line, a text.
const LENGTHS: [usize; 6] = [4, 8, 24, 64, 256, 500];
/// The length that the bars are for.
const BAR_LENGTH: usize = 24;
/// What a cell of that length may take at most either way, in nanoseconds: a twelfth of EncJDBC's and a third of the Go client's.
const BARS: [(CellAlgorithm, f64); 2] = [(CellAlgorithm::Sm4Gcm, 1000.0), (CellAlgorithm::Aes128Gcm, 350.0)];
const ALGORITHMS: [CellAlgorithm; 3] = [
    CellAlgorithm::Sm4Gcm,
    CellAlgorithm::Aes128Gcm,
    CellAlgorithm::Wrapped,
];

/// CPU time per encrypted cell, beside OpenSSL's: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each figure is measured
    #[arg(long, default_value_t = 21)]
    repeats: u32,
    /// Length of one measurement in milliseconds
    #[arg(long, default_value_t = 20)]
    milliseconds: u64,
}

/// One algorithm and one length: its cells, and what they took.
struct Measured {
    algorithm: CellAlgorithm,
    length: usize,
    cells: Cells,
    encrypt: Repeats,
    decrypt: Repeats,
    raw_encrypt: Repeats,
    raw_decrypt: Repeats,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let Arguments {
            repeats,
            milliseconds,
        } = Arguments::parse();
        let mut document = Document::new("CPU time of an encrypted cell", "cells");
        let asked = format!(
            "cells of EncDB as Base64 with random vectors, {repeats} repeats of {milliseconds} ms in turns, on one thread"
        );
        document.fact("asked", asked);
        let measured = in_turns(repeats, Duration::from_millis(milliseconds))?;
        document.paragraph(
            "A cell is made of a value, or a value of a cell, with all that belongs to it: vector, tag, both checks, Base64. *Raw* is \
             OpenSSL alone, asked as sparingly as it can be: a context that is kept, a vector that is counted up, one update, the \
             tag. A wrapped cell is the same without its cipher; it protects nothing.",
        );
        document.table("Bars", &bars(&measured));
        for (heading, direction) in [
            ("Encrypting", Direction::Encrypt),
            ("Decrypting", Direction::Decrypt),
        ] {
            document.table(heading, &table(&measured, direction));
        }
        print!("{document}");
        Ok(())
    })
}

#[derive(Clone, Copy)]
enum Direction {
    Encrypt,
    Decrypt,
}

impl Measured {
    fn new(algorithm: CellAlgorithm, length: usize) -> Result<Self> {
        Ok(Self {
            algorithm,
            length,
            cells: Cells::new(algorithm, length)?,
            encrypt: Repeats::default(),
            decrypt: Repeats::default(),
            raw_encrypt: Repeats::default(),
            raw_decrypt: Repeats::default(),
        })
    }

    fn measure(&mut self, duration: Duration) -> Result<()> {
        let nanoseconds = self.cells.measure(duration)?;
        self.encrypt.push(nanoseconds.encrypt);
        self.decrypt.push(nanoseconds.decrypt);
        self.raw_encrypt.push(nanoseconds.raw_encrypt);
        self.raw_decrypt.push(nanoseconds.raw_decrypt);
        Ok(())
    }

    fn name(&self) -> &'static str {
        self.algorithm.into()
    }

    /// Ours and OpenSSL's.
    fn of(&self, direction: Direction) -> (&Repeats, &Repeats) {
        match direction {
            Direction::Encrypt => (&self.encrypt, &self.raw_encrypt),
            Direction::Decrypt => (&self.decrypt, &self.raw_decrypt),
        }
    }
}

fn in_turns(repeats: u32, duration: Duration) -> Result<Vec<Measured>> {
    let mut measured = Vec::new();
    for algorithm in ALGORITHMS {
        for length in LENGTHS {
            let mut cells = Measured::new(algorithm, length)?;
            cells.cells.measure(duration)?;
            measured.push(cells);
        }
    }
    for repeat in 0..repeats {
        for cells in &mut measured {
            cells.measure(duration)?;
        }
        eprintln!("repeat {} of {repeats}", repeat + 1);
    }
    Ok(measured)
}

fn bars(measured: &[Measured]) -> Table {
    let mut table = Table::new(&["cell of 24 bytes", "ns", "bar ns", "met", "ours / raw", "raw ns"]);
    for (algorithm, bar) in BARS {
        let of_bar = |cells: &&Measured| cells.algorithm == algorithm && cells.length == BAR_LENGTH;
        for cells in measured.iter().filter(of_bar) {
            for (what, direction) in [("encrypt", Direction::Encrypt), ("decrypt", Direction::Decrypt)] {
                let (ours, raw) = cells.of(direction);
                table.row([
                    format!("{}, {what}", cells.name()),
                    format!("{ours:.0}"),
                    format!("≤ {bar:.0}"),
                    if ours.median() <= bar { "yes" } else { "**no**" }.to_owned(),
                    format!("{:.2}", ours.over(raw)),
                    format!("{raw:.0}"),
                ]);
            }
        }
    }
    table
}

fn table(measured: &[Measured], direction: Direction) -> Table {
    let mut table = Table::new(&["algorithm, bytes", "ns", "ours / raw", "raw ns"]);
    for cells in measured {
        let (ours, raw) = cells.of(direction);
        let (ratio, raw) = match cells.algorithm {
            CellAlgorithm::Wrapped => ("–".to_owned(), "–".to_owned()),
            _ => (format!("{:.2}", ours.over(raw)), format!("{raw:.0}")),
        };
        table.row([
            format!("{}, {}", cells.name(), cells.length),
            format!("{ours:.0}"),
            ratio,
            raw,
        ]);
    }
    table
}
