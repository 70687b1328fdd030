//! Shows where the CPU time of processes goes: `stacks SECONDS PID…`, with the processes that they begin. Each sample counts for
//! each function of its stack in the first table; the second has whole stacks.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use ciphertax_profile::{CpuProfiler, Stacks, Watched};
use ciphertax_records::SliceId;
use ciphertax_records::why::{SideProfile, SymbolTable};

const HZ: u32 = 997;
const FUNCTIONS: usize = 60;
const STACKS: usize = 12;

fn main() -> ExitCode {
    let arguments: Option<Vec<u32>> = std::env::args().skip(1).map(|word| word.parse().ok()).collect();
    let Some([seconds, pids @ ..]) = arguments.as_deref() else {
        eprintln!("stacks SECONDS PID…");
        return ExitCode::from(2);
    };
    match show(Duration::from_secs(u64::from(*seconds)), pids) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn show(time: Duration, pids: &[u32]) -> Result<(), Box<dyn Error>> {
    let (mut stacks, mut symbols) = (Stacks::default(), SymbolTable::default());
    let mut profiler = CpuProfiler::open(HZ, time)?;
    let watched = Watched {
        server: pids.to_vec(),
        with_children: true,
        client: Vec::new(),
    };
    profiler.begin(&watched, &mut stacks)?;
    thread::sleep(time);
    profiler.stop();
    let slice = SliceId {
        cell: String::new(),
        block: 0,
        position: 0,
        arm: String::new(),
    };
    let profile = profiler.profile(slice, &mut stacks, &mut symbols)?;
    for side in profile.sides.values() {
        println!(
            "{} samples at {} Hz, {} complete, {} lost, {:?}",
            side.samples, side.hz, side.complete, side.lost, side.comprises
        );
        functions(side, &symbols);
        whole(side, &symbols);
    }
    Ok(())
}

fn functions(side: &SideProfile, symbols: &SymbolTable) {
    let mut all: HashMap<(&str, &str), (u64, u64)> = HashMap::new();
    for (stack, count) in &side.stacks {
        if let Some(first) = symbols.names(*stack).next() {
            all.entry(first).or_default().0 += count;
        }
        for function in symbols.names(*stack).collect::<BTreeSet<_>>() {
            all.entry(function).or_default().1 += count;
        }
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|(_, (own, with_callees))| (std::cmp::Reverse(*own), std::cmp::Reverse(*with_callees)));
    println!("   own    all");
    for ((name, module), (own, with_callees)) in all.into_iter().take(FUNCTIONS) {
        println!("{own:6} {with_callees:6}  {name}  {module}");
    }
}

fn whole(side: &SideProfile, symbols: &SymbolTable) {
    let mut all: Vec<_> = side.stacks.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (stack, count) in all.into_iter().take(STACKS) {
        let names: Vec<&str> = symbols.names(*stack).map(|(name, _)| name).collect();
        println!("{count:6}  {}", names.join(" < "));
    }
}
