//! Which process started which.

use std::collections::BTreeMap;

use procfs::process::all_processes;
use rustix::process::{Pid, Signal, kill_process};

/// The children of `pid`, their children, and so on, as far as they still run. A process that ends while this looks may
/// be among them.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (child, parent) in processes_with_parents() {
        children.entry(parent).or_default().push(child);
    }
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        // Removed, so that no pid counts twice.
        let here = children.remove(&pid).unwrap_or_default();
        open.extend_from_slice(&here);
        found.extend(here);
    }
    found.sort_unstable();
    found
}

/// Kills all descendants of this process that it may kill.
pub(crate) fn kill_descendants() {
    for pid in descendants(std::process::id()) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// All processes that have not ended.
fn processes_with_parents() -> Vec<(u32, u32)> {
    let Ok(processes) = all_processes() else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|process| {
            // It may end meanwhile.
            let stat = process.stat().ok()?;
            let has_ended = matches!(stat.state, 'Z' | 'X');
            (!has_ended).then_some((stat.pid.cast_unsigned(), stat.ppid.cast_unsigned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn grandchildren_are_found() {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "cat; exit"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        while descendants(child.id()).is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let grandchildren = descendants(child.id());
        assert_eq!(grandchildren.len(), 1);
        let ours = descendants(std::process::id());
        assert!(ours.contains(&child.id()) && ours.contains(&grandchildren[0]));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(descendants(child.id()), [0; 0]);
    }
}
