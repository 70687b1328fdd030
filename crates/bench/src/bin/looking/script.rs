//! What `perf script` prints.

use std::collections::HashMap;
use std::io::BufRead;
use std::rc::Rc;

use ciphertax_bench::Result;

use crate::frame::Frame;

/// One record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A stack.
    Sample(Sample),
    /// A thread was given a CPU, at this time in nanoseconds.
    In { thread: u32, time_ns: u64 },
    /// It has it no more; it would have gone on if it was preempted.
    Out {
        thread: u32,
        time_ns: u64,
        is_preempted: bool,
    },
    /// So many records are not there, since the ring was full.
    Lost(u64),
}

/// A stack, innermost function first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) thread: u32,
    /// When it was taken.
    pub(crate) time_ns: u64,
    pub(crate) frames: Vec<Rc<Frame>>,
}

impl Sample {
    /// Functions and modules, as the rules want them.
    pub(crate) fn names(&self) -> Vec<(&str, &str)> {
        self.frames
            .iter()
            .map(|frame| (frame.function.as_str(), frame.module.as_str()))
            .collect()
    }

    /// True if it was unwound to the begin of its thread.
    pub(crate) fn is_complete(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.is_begin())
    }
}

/// Reads it.
#[derive(Default)]
pub(crate) struct Script {
    /// Each function that was printed, by what was printed of it.
    frames: HashMap<String, Rc<Frame>>,
}

impl Script {
    /// Calls `each` for every record.
    pub(crate) fn read(&mut self, lines: impl BufRead, mut each: impl FnMut(Record)) -> Result<()> {
        let mut sample: Option<Sample> = None;
        for line in lines.lines() {
            let line = line?;
            if line.starts_with('\t') {
                if let Some(sample) = &mut sample {
                    sample.frames.extend(self.frame(&line));
                }
                continue;
            }
            if let Some(sample) = sample.take() {
                each(Record::Sample(sample));
            }
            match head(&line) {
                Some(Head::Sample { thread, time_ns }) => {
                    sample = Some(Sample {
                        thread,
                        time_ns,
                        frames: Vec::new(),
                    });
                }
                Some(Head::Record(record)) => each(record),
                None => {}
            }
        }
        if let Some(sample) = sample {
            each(Record::Sample(sample));
        }
        Ok(())
    }

    /// `    cf545 clock_nanosleep@GLIBC_2.2.5 (/usr/lib/libc.so.6)`
    fn frame(&mut self, line: &str) -> Option<Rc<Frame>> {
        let (_, text) = line.trim_start().split_once(' ')?;
        if let Some(known) = self.frames.get(text) {
            return Some(Rc::clone(known));
        }
        let frame = Rc::new(Frame::of_perf(text));
        self.frames.insert(text.to_owned(), Rc::clone(&frame));
        Some(frame)
    }
}

/// A line that begins a record.
enum Head {
    Sample { thread: u32, time_ns: u64 },
    Record(Record),
}

/// ` 9250  1024.820419218: PERF_RECORD_SWITCH OUT preempt`, or `: cpu-clock: ` in place of what follows the time.
fn head(line: &str) -> Option<Head> {
    if let Some((_, lost)) = line.split_once(": PERF_RECORD_LOST") {
        let count = lost.split_whitespace().rev().find_map(|word| word.parse().ok());
        return Some(Head::Record(Record::Lost(count.unwrap_or(1))));
    }
    let mut words = line.split_whitespace();
    let thread = words.next()?.parse().ok()?;
    let time_ns = nanoseconds(words.next()?.strip_suffix(':')?)?;
    if words.next()? != "PERF_RECORD_SWITCH" {
        return Some(Head::Sample { thread, time_ns });
    }
    Some(Head::Record(match words.next()? {
        "IN" => Record::In { thread, time_ns },
        _ => Record::Out {
            thread,
            time_ns,
            is_preempted: words.next() == Some("preempt"),
        },
    }))
}

/// Of seconds with nine decimals.
fn nanoseconds(seconds: &str) -> Option<u64> {
    let (whole, decimals) = seconds.split_once('.')?;
    let scale = 10_u64.pow(9_u32.checked_sub(decimals.len() as u32)?);
    Some(whole.parse::<u64>().ok()? * 1_000_000_000 + decimals.parse::<u64>().ok()? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = " 9250  1024.820419218: PERF_RECORD_SWITCH IN         
 9250  1024.853813201: context-switches: 
\tffffffff821fb643 schedule ([kernel.kallsyms])
\t          109 clone3 (/usr/lib/libc.so.6)

 9250  1024.856924757: PERF_RECORD_SWITCH OUT preempt
10755  1025.000000001: PERF_RECORD_SWITCH OUT        
    0     0.000000000: PERF_RECORD_LOST lost 17
10755  1025.000000002: cpu-clock: 
\t            7f [unknown] ([unknown])

";

    #[test]
    fn stacks_switches_and_losses_are_read() {
        let mut records = Vec::new();
        Script::default()
            .read(PRINTED.as_bytes(), |record| records.push(record))
            .unwrap();
        let out = |thread, time_ns, is_preempted| Record::Out {
            thread,
            time_ns,
            is_preempted,
        };
        assert_eq!(records.len(), 6);
        assert_eq!(
            records[0],
            Record::In {
                thread: 9250,
                time_ns: 1_024_820_419_218
            }
        );
        let Record::Sample(sample) = &records[1] else {
            panic!("{:?}", records[1]);
        };
        assert!(sample.is_complete());
        assert_eq!(
            sample.names(),
            [("schedule", "[kernel]"), ("clone3", "libc.so.6")]
        );
        assert_eq!(records[2], out(9250, 1_024_856_924_757, true));
        assert_eq!(records[3], out(10755, 1_025_000_000_001, false));
        assert_eq!(records[4], Record::Lost(17));
        let Record::Sample(sample) = &records[5] else {
            panic!("{:?}", records[5]);
        };
        assert!(!sample.is_complete());
    }
}
