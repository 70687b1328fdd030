//! Roles of threads: those that serve sessions, and others.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::round::SeenThread;
use super::thread::Who;

/// Threads that are remembered before those that have ended are forgotten.
const MOST_REMEMBERED: usize = 4096;

/// The functions in which a thread's own work begins, by their names: those behind what the system's libraries do to begin it.
pub(super) type Begin = [Box<str>; 2];

/// What the stacks of a thread tell of it.
#[derive(Debug, Clone, Default)]
pub(super) struct StacksOfThread {
    /// Where it begins, by those that are complete.
    pub(super) begins: HashSet<Begin>,
    /// True if it was seen waiting for something else than a client.
    pub(super) has_waited: bool,
}

/// What is known of threads, over the slices.
#[derive(Debug)]
pub(super) struct Roles {
    threads: HashMap<Key, Role>,
    begins: HashSet<Begin>,
    names: HashSet<Box<str>>,
    most: usize,
}

impl Default for Roles {
    fn default() -> Self {
        Self {
            threads: HashMap::new(),
            begins: HashSet::new(),
            names: HashSet::new(),
            most: MOST_REMEMBERED,
        }
    }
}

/// Process, thread, and when the thread began.
type Key = (u32, u32, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It serves sessions.
    Session,
    /// It serves none.
    Background,
}

impl Roles {
    /// The roles of threads that were seen in a slice, by them and their stacks.
    pub(super) fn of(&mut self, threads: &[SeenThread], stacks: &[StacksOfThread]) -> Vec<Role> {
        let name_of_main = |thread: &SeenThread| {
            let main = threads.iter().find(|main| main.who.tid == thread.who.root)?;
            Some(main.who.name.as_ref())
        };
        for (thread, stacks) in threads.iter().zip(stacks) {
            let Who {
                process, root, tid, ..
            } = thread.who;
            if process == root && tid != root && thread.idle > 0 {
                self.begins.extend(stacks.begins.iter().cloned());
                let name = without_number(&thread.who.name);
                if name_of_main(thread).is_some_and(|main| main != name) {
                    self.names.insert(name.into());
                }
            }
        }
        let each = threads.iter().zip(stacks);
        let roles = each.map(|(thread, stacks)| {
            let has_own_name = name_of_main(thread).is_some_and(|main| main != thread.who.name.as_ref());
            self.role(thread, stacks, has_own_name)
        });
        let roles: Vec<Role> = roles.collect();
        self.forget_ended();
        roles
    }

    fn role(&mut self, thread: &SeenThread, stacks: &StacksOfThread, has_own_name: bool) -> Role {
        let who = &thread.who;
        if who.tid == who.root {
            return Role::Background;
        }
        if who.process != who.root {
            return match who.has_client {
                true => Role::Session,
                false => Role::Background,
            };
        }
        let key = (who.process, who.tid, who.start);
        let known = self.threads.get(&key).copied();
        let serves = known == Some(Role::Session)
            || thread.idle > 0
            || self.names.contains(without_number(&who.name))
            || !has_own_name && !self.begins.is_disjoint(&stacks.begins);
        let role = match serves {
            true => Some(Role::Session),
            false if stacks.has_waited => Some(Role::Background),
            false => known,
        };
        match role {
            Some(role) if !thread.has_ended => self.threads.insert(key, role),
            _ => self.threads.remove(&key),
        };
        // What waits for nothing, ever, is busy for a client: threads of the server's own mostly wait.
        role.unwrap_or(Role::Session)
    }

    fn forget_ended(&mut self) {
        if self.threads.len() > self.most {
            self.threads
                .retain(|(process, tid, _), _| Path::new(&format!("/proc/{process}/task/{tid}")).exists());
            self.most = MOST_REMEMBERED.max(2 * self.threads.len());
        }
    }
}

/// `conn` of `conn123`.
fn without_number(name: &str) -> &str {
    name.trim_end_matches(|character: char| character.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(root: u32, tid: u32, name: &str) -> Who {
        Who {
            process: root,
            root,
            tid,
            start: 7,
            name: name.into(),
            has_client: false,
        }
    }

    /// Process 1, whose main thread is number 1.
    fn thread(tid: u32, name: &str, idle: u64) -> SeenThread {
        SeenThread {
            who: who(1, tid, name),
            idle,
            ..SeenThread::default()
        }
    }

    fn stacks(begin: Option<&str>) -> StacksOfThread {
        StacksOfThread {
            begins: begin
                .map(|begin| ["spawn".into(), begin.into()])
                .into_iter()
                .collect(),
            has_waited: begin.is_some(),
        }
    }

    fn are_sessions(roles: &mut Roles, threads: &[(SeenThread, StacksOfThread)]) -> Vec<bool> {
        let (threads, stacks): (Vec<_>, Vec<_>) = threads
            .iter()
            .map(|(thread, stacks)| {
                (
                    SeenThread {
                        who: thread.who.clone(),
                        ..*thread
                    },
                    stacks.clone(),
                )
            })
            .unzip();
        let roles = roles.of(&threads, &stacks);
        roles.into_iter().map(|role| role == Role::Session).collect()
    }

    #[test]
    fn who_was_idle_once_is_a_session_until_it_ends_and_its_number_is_given_again() {
        let mut roles = Roles::default();
        let main = || (thread(1, "server", 0), stacks(Some("main")));
        let first = [
            main(),
            (thread(2, "server", 1), stacks(None)),
            (thread(3, "server", 0), stacks(Some("purge"))),
        ];
        assert_eq!(are_sessions(&mut roles, &first), [false, true, false]);
        let second = [
            main(),
            (thread(2, "server", 0), stacks(Some("unknown"))),
            (thread(3, "server", 0), stacks(None)),
        ];
        assert_eq!(are_sessions(&mut roles, &second), [false, true, false]);
        let mut other = thread(2, "server", 0);
        other.who.start = 8;
        let found = are_sessions(&mut roles, &[main(), (other, stacks(Some("purge")))]);
        assert_eq!(found, [false, false]);
    }

    #[test]
    fn who_begins_as_a_session_does_is_one_unless_its_name_says_otherwise() {
        let threads = [
            (thread(1, "server", 0), stacks(Some("main"))),
            (thread(2, "server", 3), stacks(Some("serve"))),
            (thread(3, "server", 0), stacks(Some("serve"))),
            (thread(4, "server", 0), stacks(Some("purge"))),
            (thread(5, "cleaner", 0), stacks(Some("serve"))),
        ];
        let found = are_sessions(&mut Roles::default(), &threads);
        assert_eq!(found, [false, true, true, false, false]);
    }

    #[test]
    fn who_is_called_as_a_session_is_one() {
        let threads = [
            (thread(1, "mongod", 0), stacks(None)),
            (thread(2, "conn1", 3), stacks(None)),
            (thread(3, "conn27", 0), stacks(Some("begin"))),
            (thread(4, "ftdc", 0), stacks(Some("begin"))),
        ];
        let found = are_sessions(&mut Roles::default(), &threads);
        assert_eq!(found, [false, true, true, false]);
    }

    #[test]
    fn who_never_waits_is_busy_for_a_client() {
        let mut roles = Roles::default();
        let main = || (thread(1, "server", 0), stacks(Some("main")));
        let busy = || (thread(2, "server", 0), stacks(None));
        assert_eq!(are_sessions(&mut roles, &[main(), busy()]), [false, true]);
        let waits = (thread(2, "server", 0), stacks(Some("purge")));
        assert_eq!(are_sessions(&mut roles, &[main(), waits]), [false, false]);
        let found = are_sessions(&mut roles, &[main(), busy()]);
        assert_eq!(found, [false, false], "it was seen waiting");
    }

    #[test]
    fn processes_that_began_with_a_connection_are_sessions_and_others_are_not() {
        let child = |has_client| {
            let who = Who {
                root: 1,
                has_client,
                ..who(9, 9, "postgres")
            };
            let child = SeenThread {
                who,
                ..SeenThread::default()
            };
            (child, stacks(Some("main")))
        };
        let found = are_sessions(&mut Roles::default(), &[child(true), child(false)]);
        assert_eq!(found, [true, false]);
    }

    #[test]
    fn threads_that_have_ended_are_forgotten() {
        let mut roles = Roles::default();
        for tid in 2..100 {
            let mut gone = thread(tid, "server", 1);
            // No process has this number.
            gone.who = who(u32::MAX, tid, "server");
            roles.most = 10;
            are_sessions(&mut roles, &[(gone, stacks(None))]);
        }
        assert!(roles.threads.len() <= 11, "{}", roles.threads.len());
    }
}
