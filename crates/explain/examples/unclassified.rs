//! Says how many samples of recorded runs have a category, and which stacks have none: `unclassified RUN_FOLDER…`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use ciphertax_explain::why::categories::Rules;
use ciphertax_records::why::{Looks, ProfiledSide, StackId};
use ciphertax_records::{Head, Recorded};

/// Stacks that are shown of each arm.
const SHOWN: usize = 10;

fn main() -> ExitCode {
    for folder in std::env::args().skip(1) {
        if let Err(error) = show(Path::new(&folder)) {
            eprintln!("{folder}: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn show(folder: &Path) -> Result<(), Box<dyn Error>> {
    let recorded = Recorded::open(folder)?;
    let looks = recorded.looks()?;
    let mut seen: BTreeMap<(String, String, ProfiledSide), BTreeMap<StackId, u64>> = BTreeMap::new();
    for profile in looks.profiles() {
        let profile = profile?;
        for (side, of_side) in &profile.sides {
            let slice = &profile.slice;
            let stacks = seen
                .entry((slice.cell.clone(), slice.arm.clone(), *side))
                .or_default();
            for (stack, count) in &of_side.stacks {
                *stacks.entry(*stack).or_default() += count;
            }
        }
    }
    for ((cell, arm, side), stacks) in seen {
        let rules = match side {
            ProfiledSide::Server => Rules::of_server(&product(&recorded.head, &cell)),
            ProfiledSide::Client => Rules::of_client(),
        };
        let all: u64 = stacks.values().sum();
        let mut unknown: Vec<(u64, Vec<(&str, &str)>)> = Vec::new();
        for (stack, count) in stacks {
            let names: Vec<_> = looks.symbols().names(stack).collect();
            if rules.category(&names).is_none() {
                unknown.push((count, names));
            }
        }
        unknown.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let without: u64 = unknown.iter().map(|(count, _)| count).sum();
        let known = (all - without) as f64 * 100.0 / all.max(1) as f64;
        println!("{cell}, {arm}, {side:?}: {known:.1} % of {all} samples have a category");
        for (count, stack) in unknown.into_iter().take(SHOWN) {
            let names: Vec<&str> = stack.into_iter().map(|(name, _)| name).collect();
            println!("{count:8}  {}", names.join(" < "));
        }
    }
    Ok(())
}

/// What the server of a cell says of itself.
fn product(head: &Head, cell: &str) -> String {
    let mut servers = head.servers.iter();
    let of_cell = servers.find(|server| server.cells.iter().any(|name| name == cell));
    of_cell.map_or_else(String::new, |server| {
        format!("{} {}", server.product, server.version)
    })
}
