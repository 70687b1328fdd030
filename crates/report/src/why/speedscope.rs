//! Stacks as a file of speedscope: <https://www.speedscope.app/file-format-schema.json>.

use std::io::{self, Write};

use ciphertax_records::Run;
use ciphertax_records::why::{Looks, StackId, SymbolTable};
use serde::Serialize;

use super::words::side_word;
use super::{Chosen, stacks};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// The whole file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Speedscope<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: &'a str,
    exporter: String,
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: Vec<Sampled>,
}

/// What all profiles name by its place.
#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

/// A function.
#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    file: &'a str,
}

/// The stacks of one side of one arm, each once, with its weight.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    start_value: f64,
    end_value: f64,
    samples: Vec<Vec<u32>>,
    weights: Vec<f64>,
}

/// Writes a profile for each side of every arm in every cell, in microseconds of CPU time, and one of what its sessions waited
/// for, in times that a thread was seen so.
///
/// # Errors
/// When the looks are damaged, or nothing can be written.
pub fn speedscope(run: &Run, looks: &dyn Looks, chosen: Chosen<'_>, out: &mut dyn Write) -> io::Result<()> {
    let table = looks.symbols();
    let cpu = stacks::of_cpu(run, looks, chosen)?
        .into_iter()
        .map(|(of, stacks)| {
            let name = format!("{}, {}: CPU time of the {}", of.cell, of.arm, side_word(of.side));
            Sampled::of(table, name, "microseconds", stacks.into_iter())
        });
    let waits = stacks::of_waits(run, looks, chosen)?
        .into_iter()
        .map(|((cell, arm), stacks)| {
            let name = format!("{cell}, {arm}: waiting threads of sessions");
            let stacks = stacks.into_iter().map(|(stack, seen)| (stack, seen as f64));
            Sampled::of(table, name, "none", stacks)
        });
    let file = Speedscope {
        schema: SCHEMA,
        name: &run.head.study.name,
        exporter: format!("ciphertax {}", env!("CARGO_PKG_VERSION")),
        active_profile_index: 0,
        shared: Shared {
            frames: frames(table),
        },
        profiles: cpu.chain(waits).collect(),
    };
    serde_json::to_writer(&mut *out, &file)?;
    out.write_all(b"\n")
}

fn frames(table: &SymbolTable) -> Vec<Frame<'_>> {
    let module = |id: u32| table.modules().get(id as usize).map_or("", |module| &module.name);
    table
        .symbols()
        .iter()
        .map(|symbol| Frame {
            name: &symbol.name,
            file: module(symbol.module),
        })
        .collect()
}

impl Sampled {
    fn of(
        table: &SymbolTable,
        name: String,
        unit: &'static str,
        stacks: impl Iterator<Item = (StackId, f64)>,
    ) -> Self {
        let (samples, weights): (Vec<_>, Vec<_>) = stacks
            .map(|(stack, weight)| {
                let symbols = table.stacks().get(stack as usize);
                let outermost_first = symbols.into_iter().flat_map(|symbols| symbols.iter().rev());
                (outermost_first.copied().collect::<Vec<u32>>(), weight)
            })
            .unzip();
        Self {
            r#type: "sampled",
            name,
            unit,
            start_value: 0.0,
            end_value: weights.iter().sum(),
            samples,
            weights,
        }
    }
}
