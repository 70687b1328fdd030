//! What a hypervisor takes.

use std::fs;

/// CPU time that the hypervisor gave to others while this CPU, or all of them, had work to do, since the machine started: in
/// nanoseconds, to a tick of 10 ms (`man 5 proc_stat`).
pub fn stolen_ns(cpu: Option<usize>) -> u64 {
    const STEAL: usize = 8;
    const TICK_NS: u64 = 10_000_000;
    let name = cpu.map_or("cpu".to_owned(), |cpu| format!("cpu{cpu}"));
    let text = fs::read_to_string("/proc/stat").unwrap();
    let mut lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|words| words.first() == Some(&&*name)).unwrap();
    line[STEAL].parse::<u64>().unwrap() * TICK_NS
}
