//! Rounds of looks, one after the other, and what was seen in a slice.

use std::sync::atomic::{AtomicBool, Ordering};

use super::call::Call;
use super::copies::{Copies, Random, StackCopy};
use super::thread::{Look, MOST_STACK, OpenFiles, Process, Thread, Who};

/// Stacks of threads that wait for their clients that are copied in a slice, to see where such threads begin.
const MOST_IDLE_COPIES: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Rounds in which all threads were looked at.
    pub(super) rounds: u64,
    pub(super) threads: Vec<SeenThread>,
    /// The stacks of those that waited.
    pub(super) copies: Copies,
    idle_copies: usize,
}

#[derive(Debug, Default)]
pub(super) struct SeenThread {
    pub(super) who: Who,
    pub(super) has_ended: bool,
    /// Looks that found it running.
    pub(super) running: u64,
    /// Looks that found it waiting for a client.
    pub(super) idle: u64,
    /// Looks after which it went on before its stack was copied.
    pub(super) inconsistent: u64,
    /// Looks that could not copy its stack.
    pub(super) unreadable: u64,
    /// The stack that was copied last, as an index.
    pub(super) last_copy: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Rounds {
    /// Of this round, from 1.
    number: u64,
    buffer: Vec<u8>,
    /// What this round found: which process and thread, and what.
    found: Vec<(usize, u32, Look)>,
    random: Random,
}

impl Rounds {
    pub(super) fn new(random: Random) -> Self {
        Self {
            number: 0,
            buffer: vec![0; MOST_STACK],
            found: Vec::new(),
            random,
        }
    }

    /// Looks at all threads, unless it is stopped before it has, or nobody is left: then it was no round.
    pub(super) fn look(
        &mut self,
        processes: &mut [Process],
        files: &OpenFiles,
        seen: &mut Seen,
        is_stopped: &AtomicBool,
    ) {
        self.found.clear();
        self.number += 1;
        for (index, process) in processes.iter_mut().enumerate() {
            let is_listed = process.list_changed(files);
            let Some(has_lost) = self.look_at(index, process, is_stopped) else {
                return;
            };
            if has_lost && !is_listed {
                // Others may have begun instead.
                process.list(files);
                if self.look_at(index, process, is_stopped).is_none() {
                    return;
                }
            }
        }
        for (index, tid, look) in std::mem::take(&mut self.found) {
            self.add(&mut processes[index], tid, look, seen);
        }
        if processes.iter().any(|process| !process.threads.is_empty()) {
            seen.rounds += 1;
        }
    }

    /// Looks at the threads of a process that were not looked at in this round. Says whether any has ended; `None` if it was
    /// stopped.
    fn look_at(&mut self, index: usize, process: &mut Process, is_stopped: &AtomicBool) -> Option<bool> {
        let mut has_lost = false;
        for thread in process
            .threads
            .values_mut()
            .filter(|thread| thread.round != self.number)
        {
            if is_stopped.load(Ordering::Relaxed) {
                return None;
            }
            thread.round = self.number;
            let Who {
                process: pid, tid, ..
            } = thread.who;
            let serves_one = pid != process.pid;
            // The thread that a server begins with starts others, and listens for clients.
            let may_serve = serves_one || tid != process.pid;
            let sockets = &process.sockets;
            let look = thread.look(&mut self.buffer, |call| {
                may_serve && sockets.awaits_client(pid, serves_one, call)
            });
            has_lost |= matches!(look, Look::Ended);
            self.found.push((index, tid, look));
        }
        Some(has_lost)
    }

    fn add(&mut self, process: &mut Process, tid: u32, look: Look, seen: &mut Seen) {
        let Some(thread) = process.threads.get_mut(&tid) else {
            return;
        };
        if matches!(look, Look::Ended) {
            if let Some(index) = thread.seen_as {
                seen.threads[index].has_ended = true;
            }
            process.threads.remove(&tid);
            return;
        }
        let index = *thread.seen_as.get_or_insert_with(|| {
            seen.threads.push(SeenThread {
                who: thread.who.clone(),
                ..SeenThread::default()
            });
            seen.threads.len() - 1
        });
        let of_thread = &mut seen.threads[index];
        match look {
            Look::Running => of_thread.running += 1,
            Look::Inconsistent => of_thread.inconsistent += 1,
            Look::Unreadable => of_thread.unreadable += 1,
            Look::AsBefore => {
                if let Some(copy) = of_thread.last_copy {
                    seen.copies.saw_again(copy);
                }
            }
            Look::Waiting(call, stack) => {
                let copy = StackCopy {
                    thread: index,
                    call,
                    stack,
                    seen: 1,
                };
                let copy = self.keep(copy, seen);
                seen.threads[index].last_copy = Some(copy);
            }
            Look::Idle(call) => {
                of_thread.idle += 1;
                if of_thread.idle == 1 && seen.idle_copies < MOST_IDLE_COPIES {
                    self.keep_idle(thread, &call, index, seen);
                }
            }
            Look::Nothing | Look::Ended => {}
        }
    }

    /// Keeps the stack of a thread that waits for a client, as an example.
    fn keep_idle(&mut self, thread: &Thread, call: &Call, index: usize, seen: &mut Seen) {
        if let Some(stack) = thread.stack(call, &mut self.buffer) {
            seen.idle_copies += 1;
            let copy = StackCopy {
                thread: index,
                call: *call,
                stack,
                seen: 0,
            };
            self.keep(copy, seen);
        }
    }

    fn keep(&mut self, copy: StackCopy, seen: &mut Seen) -> usize {
        if seen.copies.is_full() {
            let now = seen.copies.halve(|| self.random.next());
            for thread in &mut seen.threads {
                thread.last_copy = thread.last_copy.map(|former| now[former]);
            }
        }
        seen.copies.add(copy)
    }
}
