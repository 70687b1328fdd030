//! What it costs to look at a server, and what is seen: ciphertax beside `perf`, pt-pmp's gdb and records of switches.

mod beside;
mod frame;
mod gdb;
mod looker;
mod ours;
mod peers;
mod perf;
mod program;
mod script;
mod sessions;
mod states;
mod switches;
mod turns;
mod waiting;
mod way;

use std::process::ExitCode;

use ciphertax_bench::Document;
use clap::Parser;

/// Looking at a server beside perf and gdb: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// Slices of each way to look
    #[arg(long, default_value_t = 30)]
    blocks: u32,
    /// Slices in which the wait sampler and records of switches look at once
    #[arg(long, default_value_t = 20)]
    slices: u32,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        let mut document = Document::new("What looking costs, and what is seen", "looking");
        let perf = perf::version().unwrap_or_else(|error| error.to_string());
        document.fact("perf", perf);
        document.paragraph(
            "Changes are those of slices in which somebody looks against slices in which nobody does, paired by block, with their 95 % \
             interval; what a tool does before and after a slice (reading symbols, unwinding) is not in it. A stack is complete if it \
             was unwound to the function that its thread begins in. A category is what the product's rules say of the names that the \
             tool found, demangled where it did not do that; the kernel's part of a stack is enough for one. Cryptography has a purpose \
             if the stack goes up to what calls it: records, handshakes, logins. Stacks of gdb and of waits are those of all threads, \
             most of which wait, so they have no category. gdb stops the server while it looks, for the seconds given. Lost are samples \
             that a tool's buffer had no room for.",
        );
        beside::measure(&mut document, arguments.blocks)?;
        waiting::measure(&mut document, arguments.slices)?;
        print!("{document}");
        Ok(())
    })
}
