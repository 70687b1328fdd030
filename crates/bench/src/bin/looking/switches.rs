//! Time that threads spent off the CPU, from records of every switch and the stacks of some.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::script::{Record, Sample};
use crate::turns::{Now, Thread, Waited};

/// Every so manieth switch from the CPU has a stack: a prime, so that each of the waits of an operation has its turn.
pub(crate) const ONE_IN: u32 = 13;

/// What threads did in a window of time.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct OffCpu {
    /// What the threads of sessions waited for, by state, in the switches that have a stack.
    pub(crate) states: BTreeMap<String, Waited>,
    /// What they waited in all switches, with a stack or without.
    pub(crate) of_sessions: Waited,
    /// What they had a CPU for.
    pub(crate) on_cpu_ns: u64,
    /// What they lost the CPU for although they would have gone on.
    pub(crate) preempted_ns: u64,
    /// The last, and how often one was woken up, of all threads.
    pub(crate) all_preempted_ns: u64,
    pub(crate) all_woken: u64,
    /// Records that are not there.
    pub(crate) lost: u64,
}

/// Reads the records of a window.
pub(crate) struct Switches<F> {
    /// What a stack waits for.
    name: F,
    /// By the records' clock, in nanoseconds.
    window: Range<u64>,
    threads: HashMap<u32, Thread>,
    lost: u64,
}

impl<F: Fn(&Sample) -> String> Switches<F> {
    pub(crate) fn new(window: Range<u64>, name: F) -> Self {
        Self {
            name,
            window,
            threads: HashMap::new(),
            lost: 0,
        }
    }

    /// Takes the next record.
    pub(crate) fn take(&mut self, record: Record) {
        match record {
            Record::Lost(count) => self.lost += count,
            Record::Sample(sample) => {
                let state = (self.name)(&sample);
                let thread = self.threads.entry(sample.thread).or_default();
                thread.serves_session |= serves_session(&sample);
                thread.next = Some((sample.time_ns, state));
            }
            Record::In { thread, time_ns } => {
                let thread = self.threads.entry(thread).or_default();
                thread.next = None;
                thread.turn(&self.window, time_ns, Now::Runs(time_ns));
            }
            Record::Out {
                thread,
                time_ns,
                is_preempted,
            } => {
                let thread = self.threads.entry(thread).or_default();
                let (time_ns, state) = match thread.next.take() {
                    Some((since, state)) => (since, Some(state)),
                    None => (time_ns, None),
                };
                let now = match is_preempted {
                    true => Now::Preempted(time_ns),
                    false => Now::Waits(time_ns, state),
                };
                thread.turn(&self.window, time_ns, now);
            }
        }
    }

    /// What all of them come to.
    pub(crate) fn finish(mut self) -> OffCpu {
        let mut all = OffCpu {
            lost: self.lost,
            ..OffCpu::default()
        };
        for thread in self.threads.values_mut() {
            thread.turn(&self.window, self.window.end, Now::Unknown);
            all.all_preempted_ns += thread.preempted_ns;
            all.all_woken += thread.waited.times;
            if !thread.serves_session {
                continue;
            }
            all.on_cpu_ns += thread.on_cpu_ns;
            all.preempted_ns += thread.preempted_ns;
            all.of_sessions.add(thread.waited);
            for (state, waited) in &thread.states {
                all.states.entry(state.clone()).or_default().add(*waited);
            }
        }
        all
    }
}

/// True of a thread that serves a connection, by a function that its whole stack is below.
fn serves_session(sample: &Sample) -> bool {
    let mut frames = sample.frames.iter();
    frames
        .any(|frame| ["handle_one_connection", "do_handle_one_connection"].contains(&frame.function.as_str()))
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::frame::Frame;

    fn sample(time_ns: u64, functions: &[&str]) -> Record {
        let frame = |function: &&str| {
            Rc::new(Frame {
                function: (*function).to_owned(),
                module: "mysqld".to_owned(),
            })
        };
        Record::Sample(Sample {
            thread: 7,
            time_ns,
            frames: functions.iter().map(frame).collect(),
        })
    }

    #[test]
    fn time_off_the_cpu_goes_to_the_stack_that_was_taken_before_as_far_as_it_is_in_the_window() {
        let mut switches = Switches::new(100..200, |sample: &Sample| sample.frames[0].function.clone());
        let gone = |time_ns, is_preempted| Record::Out {
            thread: 7,
            time_ns,
            is_preempted,
        };
        let back = |time_ns| Record::In { thread: 7, time_ns };
        let records = [
            sample(90, &["redo", "handle_one_connection"]),
            gone(90, false),
            back(110),
            gone(120, true),
            back(125),
            sample(130, &["binary log"]),
            gone(132, false),
            back(150),
            gone(160, false),
            back(170),
            gone(190, false),
        ];
        records.into_iter().for_each(|record| switches.take(record));
        let off = switches.finish();
        assert_eq!(off.states["redo"], Waited { ns: 10, times: 1 });
        assert_eq!(off.states["binary log"], Waited { ns: 20, times: 1 });
        assert_eq!(off.of_sessions, Waited { ns: 50, times: 3 });
        assert_eq!((off.on_cpu_ns, off.preempted_ns, off.all_woken), (45, 5, 3));
    }

    #[test]
    fn threads_of_the_server_itself_are_no_sessions() {
        let mut switches = Switches::new(0..100, |_: &Sample| "wait".to_owned());
        switches.take(sample(5, &["io_handler_thread"]));
        switches.take(Record::In {
            thread: 7,
            time_ns: 10,
        });
        let off = switches.finish();
        assert!(off.states.is_empty());
        assert_eq!(off.on_cpu_ns, 0);
    }
}
