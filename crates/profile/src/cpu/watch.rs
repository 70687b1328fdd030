//! The processes and threads whose samples are taken.

use std::collections::{BTreeSet, HashMap, HashSet};

use ciphertax_observe::{children, threads};
use ciphertax_records::why::ProfiledSide;

use super::event::{self, Record};
use crate::Watched;

/// The processes and threads of a slice, among them those that begin while it runs.
#[derive(Debug, Default)]
pub(super) struct Watch {
    own: u32,
    client: HashSet<u32>,
    server: HashSet<u32>,
    /// True if processes that begin must be followed.
    pub(super) with_children: bool,
    /// From whom a process that began meanwhile has its memory.
    parents: HashMap<u32, u32>,
    ended: HashSet<u32>,
}

impl Watch {
    /// Those of a server that run now, with their children if these belong to it.
    pub(super) fn new(watched: &Watched) -> Self {
        let mut server: HashSet<u32> = watched.server.iter().copied().collect();
        if watched.with_children {
            let mut unseen: Vec<u32> = watched.server.clone();
            while let Some(pid) = unseen.pop() {
                unseen.extend(children(pid).into_iter().filter(|child| server.insert(*child)));
            }
        }
        Self {
            own: std::process::id(),
            client: watched.client.iter().copied().collect(),
            server,
            with_children: watched.with_children,
            parents: HashMap::new(),
            ended: HashSet::new(),
        }
    }

    pub(super) fn sides(&self) -> impl Iterator<Item = ProfiledSide> {
        let server = (!self.server.is_empty()).then_some(ProfiledSide::Server);
        let client = (!self.client.is_empty()).then_some(ProfiledSide::Client);
        server.into_iter().chain(client)
    }

    /// The server's processes.
    pub(super) fn server(&self) -> impl Iterator<Item = u32> {
        self.server.iter().copied()
    }

    /// The load threads.
    pub(super) fn client(&self) -> impl Iterator<Item = u32> {
        self.client.iter().copied()
    }

    pub(super) fn without_server(&mut self) {
        self.server.clear();
    }

    /// On which side a thread is; `None` for one that is nobody's.
    pub(super) fn side(&self, pid: u32, tid: u32) -> Option<ProfiledSide> {
        if pid == self.own && self.client.contains(&tid) {
            return Some(ProfiledSide::Client);
        }
        self.server.contains(&pid).then_some(ProfiledSide::Server)
    }

    pub(super) fn follow(&mut self, record: &Record<'_>) {
        match record {
            Record::Began { parent, child }
                if self.with_children && parent != child && self.server.contains(parent) =>
            {
                self.server.insert(*child);
                self.parents.insert(*child, *parent);
                self.ended.remove(child);
            }
            Record::BecameProgram(pid) => {
                self.parents.remove(pid);
            }
            Record::Ended(pid) if self.server.contains(pid) => {
                self.ended.insert(*pid);
            }
            _ => {}
        }
    }

    pub(super) fn has_ended(&self, pid: u32) -> bool {
        self.ended.contains(&pid)
    }

    /// From whom a process has its memory, if it began meanwhile and is still the same program.
    pub(super) fn parent(&self, pid: u32) -> Option<u32> {
        self.parents.get(&pid).copied()
    }

    /// The processes that began meanwhile.
    pub(super) fn began(&self) -> impl Iterator<Item = u32> {
        self.parents.keys().copied()
    }

    /// The CPUs on which anybody watched may run; `None` if that is not known.
    pub(super) fn cpus(&self) -> Option<BTreeSet<u32>> {
        let mut all = BTreeSet::new();
        for tid in self.server().flat_map(threads).flatten().chain(self.client()) {
            // A thread that has ended needs none.
            all.extend(event::cpus_of_thread(tid).unwrap_or_default());
        }
        // Whoever may run where it likes may be moved to a CPU that is switched on meanwhile: such are not sampled.
        (!all.is_empty()).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(with_children: bool) -> Watch {
        Watch::new(&Watched {
            server: vec![i32::MAX as u32],
            with_children,
            client: vec![5, 6],
        })
    }

    const SERVER: u32 = i32::MAX as u32;

    #[test]
    fn load_threads_are_this_processes_own_and_all_of_a_server_is_the_servers() {
        let watch = watch(false);
        let own = std::process::id();
        assert_eq!(watch.side(own, 5), Some(ProfiledSide::Client));
        assert_eq!(watch.side(own, 7), None);
        assert_eq!(watch.side(own + 1, 5), None);
        assert_eq!(watch.side(SERVER, 5), Some(ProfiledSide::Server));
    }

    #[test]
    fn children_are_the_servers_where_it_is_said_and_so_are_their_own() {
        for is_followed in [false, true] {
            let mut watch = watch(is_followed);
            watch.follow(&Record::Began {
                parent: SERVER,
                child: 100,
            });
            watch.follow(&Record::Began {
                parent: 100,
                child: 101,
            });
            watch.follow(&Record::Began {
                parent: 99,
                child: 102,
            });
            watch.follow(&Record::Ended(100));
            let expected = is_followed.then_some(ProfiledSide::Server);
            let sides = [100, 101, 102].map(|pid| watch.side(pid, pid));
            assert_eq!(sides, [expected, expected, None]);
            assert_eq!(watch.has_ended(100), is_followed);
            assert_eq!(watch.parent(101), is_followed.then_some(100));
            watch.follow(&Record::BecameProgram(101));
            assert_eq!(watch.parent(101), None);
            assert_eq!(watch.side(101, 101), expected);
        }
    }
}
