//! Stacks as lines, as `flamegraph.pl` and `inferno` take them.

use std::io::{self, Write};

use ciphertax_records::Run;
use ciphertax_records::why::Looks;

use super::words::side_word;
use super::{Chosen, stacks};

/// A line a stack: its functions, the outermost first, and its CPU time in microseconds. Before them come the cell and the arm,
/// where not one alone is chosen, and the side.
///
/// # Errors
/// When the looks are damaged, or nothing can be written.
pub fn collapsed(run: &Run, looks: &dyn Looks, chosen: Chosen<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (of, stacks) in stacks::of_cpu(run, looks, chosen)? {
        let mut begin = String::new();
        for (chosen, name) in [(chosen.cells, &of.cell), (chosen.arms, &of.arm)] {
            if chosen.is_none_or(|chosen| chosen.len() != 1) {
                begin.push_str(&frame(name));
                begin.push(';');
            }
        }
        begin.push_str(side_word(of.side));
        for (stack, us) in stacks {
            let mut line = begin.clone();
            for (name, _) in looks.symbols().names(stack).rev() {
                line.push(';');
                line.push_str(&frame(name));
            }
            writeln!(out, "{line} {us:.0}")?;
        }
    }
    Ok(())
}

/// A name in which nothing ends the frame or the line.
fn frame(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            ';' => ':',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}
