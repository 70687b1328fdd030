//! Samples of a slice, kept until it is over.

use ciphertax_records::why::ProfiledSide;

use super::record::Sample;
use crate::stacks::Registers;

/// Bytes of all samples of a slice. It is about 10,000 of a database server, whose stacks are some 14 KiB deep: the
/// shares of so many are off by half a percentage point.
const MOST_BYTES: usize = 128 << 20;

/// One sample, as it came.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) side: ProfiledSide,
    pub(super) pid: u32,
    /// Addresses of the kernel's functions, innermost first.
    pub(super) kernel: Box<[u64]>,
    pub(super) user: User,
}

/// What a sample has of the program.
#[derive(Debug)]
pub(super) enum User {
    /// Nothing, since there is nothing: the thread was about to end.
    None,
    /// Nothing, although there is something: a program of 32 bits.
    Unreadable,
    /// Registers, and the stack from the stack pointer upwards.
    Stack(Registers, Box<[u8]>),
}

impl Taken {
    fn bytes(&self) -> usize {
        let stack = match &self.user {
            User::Stack(_, stack) => stack.len(),
            User::None | User::Unreadable => 0,
        };
        size_of::<Self>() + size_of_val(&*self.kernel) + stack
    }
}

/// The samples of a slice: all of them, or where that would be too much every second, fourth, …, so that those that stay are
/// spread over the slice as all were.
#[derive(Debug)]
pub(super) struct Samples {
    taken: Vec<Taken>,
    bytes: usize,
    most_bytes: usize,
    seen: u64,
    one_in: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self::up_to(MOST_BYTES)
    }
}

impl Samples {
    fn up_to(most_bytes: usize) -> Self {
        Self {
            taken: Vec::new(),
            bytes: 0,
            most_bytes,
            seen: 0,
            one_in: 1,
        }
    }

    /// Takes a sample of one side, or passes it over.
    pub(super) fn take(&mut self, side: ProfiledSide, sample: &Sample<'_>) {
        let is_passed_over = !self.seen.is_multiple_of(self.one_in);
        self.seen += 1;
        if is_passed_over {
            return;
        }
        let user = match &sample.registers {
            Some(registers) => User::Stack(*registers, sample.stack.into()),
            None if sample.has_user_part => User::Unreadable,
            None => User::None,
        };
        let taken = Taken {
            side,
            pid: sample.pid,
            kernel: sample.kernel().collect(),
            user,
        };
        self.bytes += taken.bytes();
        self.taken.push(taken);
        while self.bytes > self.most_bytes && self.taken.len() > 1 {
            self.halve();
        }
    }

    /// Every how manieth was kept.
    pub(super) fn one_in(&self) -> u64 {
        self.one_in
    }

    pub(super) fn into_taken(self) -> Vec<Taken> {
        self.taken
    }

    fn halve(&mut self) {
        let mut is_kept = false;
        self.taken.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.bytes = self.taken.iter().map(Taken::bytes).sum();
        self.one_in *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::record::tests::{RecordedSample, sample_record};
    use crate::cpu::record::{Record, parse};

    #[test]
    fn what_would_be_too_much_is_thinned_evenly() {
        let mut samples = Samples::up_to(100_000);
        for number in 0..1000 {
            let record = sample_record(&RecordedSample {
                pid: number,
                stack: vec![0; 4000],
                ..RecordedSample::default()
            });
            let Some(Record::Sample(sample)) = parse(&record) else {
                panic!()
            };
            samples.take(ProfiledSide::Server, &sample);
        }
        assert_eq!(samples.one_in(), 64);
        let kept: Vec<u32> = samples.into_taken().iter().map(|taken| taken.pid).collect();
        let expected: Vec<u32> = (0..1000).step_by(64).collect();
        assert_eq!(kept, expected);
    }
}
