//! The meter of a server, which reads whoever serves its connections.

use std::time::Duration;

use ciphertax_observe::{self as observe, HardwareCounters, Meter, ProcessMeter, ProcessTree, Usage};
use serde::{Deserialize, Serialize};

/// Who serves the connections of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServedBy {
    /// Threads of its one process.
    Threads,
    /// Processes that it starts, one for each connection.
    Processes,
}

#[derive(Debug)]
pub(crate) struct ServerMeter {
    /// Its first process.
    pub(crate) root: ProcessMeter,
    /// That one with those it starts, where they serve the connections.
    tree: Option<ProcessTree>,
    /// `None` where the CPU shows none.
    hardware: Option<HardwareCounters>,
}

impl ServerMeter {
    /// That of the server whose process, or whose first process, is `pid`.
    pub(crate) fn open(served_by: ServedBy, pid: u32) -> observe::Result<Self> {
        let tree = match served_by {
            ServedBy::Threads => None,
            ServedBy::Processes => Some(ProcessTree::open(&[pid])?),
        };
        let members = || match &tree {
            None => vec![pid],
            Some(tree) => tree.members().unwrap_or_default(),
        };
        let hardware = HardwareCounters::of_processes(members);
        Ok(Self {
            root: ProcessMeter::open(pid)?,
            tree,
            hardware,
        })
    }

    /// The processes that a server has now, where it starts others than its first.
    pub(crate) fn members(&self) -> observe::Result<Vec<u32>> {
        self.tree
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), ProcessTree::members)
    }

    pub(crate) fn served_by(&self) -> ServedBy {
        match self.tree {
            Some(_) => ServedBy::Processes,
            None => ServedBy::Threads,
        }
    }

    fn meter(&self) -> &dyn Meter {
        match &self.tree {
            Some(tree) => tree,
            None => &self.root,
        }
    }
}

impl Meter for ServerMeter {
    fn read(&self) -> observe::Result<Usage> {
        let usage = self.meter().read()?;
        let hardware = self.hardware.as_ref().and_then(HardwareCounters::read);
        Ok(usage.with_hardware(hardware))
    }

    fn settle(&self, quiet_for: Duration, at_most: Duration) -> observe::Result<bool> {
        self.meter().settle(quiet_for, at_most)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell that serves each line with a process of its own, and waits for its end.
    fn forking_server() -> Child {
        let serve =
            "while read line; do (i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); echo served; done";
        Command::new("sh")
            .args(["-c", serve])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    #[test]
    fn a_server_that_forks_is_read_with_what_it_starts_and_lives_as_long_as_its_first_process() {
        let mut server = forking_server();
        let tree = ServerMeter::open(ServedBy::Processes, server.id()).unwrap();
        let process = ServerMeter::open(ServedBy::Threads, server.id()).unwrap();
        let before = (tree.read().unwrap(), process.read().unwrap());
        server.stdin.as_mut().unwrap().write_all(b"one\n").unwrap();
        let mut answer = String::new();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        output.read_line(&mut answer).unwrap();
        assert_eq!(answer, "served\n");
        let used =
            |meter: &ServerMeter, before: &Usage| meter.read().unwrap().since(before).cpu.unwrap().total_ns;
        let (all, first) = (used(&tree, &before.0), used(&process, &before.1));
        let holds = all > 5 * first;
        assert!(holds, "{all} ns in all, {first} ns of them of the first process");

        assert!(tree.root.is_alive() && process.root.is_alive());
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(!tree.root.is_alive() && !process.root.is_alive());
        assert!(tree.read().is_err());
    }
}
