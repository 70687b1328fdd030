//! Prints the stacks of a recorded run that no rule knows, the most frequent first: `unclassified RUN_FOLDER`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use ciphertax_explain::why::categories::Rules;
use ciphertax_records::Recorded;
use ciphertax_records::why::{Looks, ProfiledSide};

/// Stacks that are shown.
const SHOWN: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("unclassified RUN_FOLDER")?;
    let recorded = Recorded::open(Path::new(&folder))?;
    let looks = recorded.looks()?;
    let (mut all, mut unknown) = (0, BTreeMap::<String, u64>::new());
    for profile in looks.profiles() {
        let profile = profile?;
        for (side, of_side) in &profile.sides {
            let is_of_cell = |name: &String| *name == profile.slice.cell;
            let mut servers = recorded.head.servers.iter();
            let server = servers.find(|server| server.cells.iter().any(is_of_cell));
            let product = server.map_or_else(String::new, |server| {
                format!("{} {}", server.product, server.version)
            });
            let rules = match side {
                ProfiledSide::Server => Rules::of_server(&product),
                ProfiledSide::Client => Rules::of_client(),
            };
            for (stack, count) in &of_side.stacks {
                let names: Vec<(&str, &str)> = looks.symbols().names(*stack).collect();
                all += count;
                if rules.category(&names).is_none() {
                    let names: Vec<&str> = names.into_iter().map(|(name, _)| name).collect();
                    *unknown.entry(names.join(" < ")).or_default() += count;
                }
            }
        }
    }
    println!(
        "{} of {all} samples have no category",
        unknown.values().sum::<u64>()
    );
    let mut unknown: Vec<_> = unknown.into_iter().collect();
    unknown.sort_by_key(|(_, count)| Reverse(*count));
    for (stack, count) in unknown.into_iter().take(SHOWN) {
        println!("{count:8}  {stack}");
    }
    Ok(())
}
