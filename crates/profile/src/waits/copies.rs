//! Copies of stacks of other processes, which go on running, in bounded memory.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::time::Duration;

use super::call::Call;

/// Bytes that the copies of a slice may take.
const MOST_BYTES: usize = 64 << 20;
/// Copies that a slice may have.
const MOST_COPIES: usize = 1 << 16;

/// The stack of a thread that waited.
#[derive(Debug, Clone)]
pub(super) struct StackCopy {
    /// Whose, as an index among the threads that were seen.
    pub(super) thread: usize,
    pub(super) call: Call,
    /// Its memory from the stack pointer upwards.
    pub(super) stack: Box<[u8]>,
    /// How many looks it stands for; 0 for one that only shows where a session's thread began.
    pub(super) seen: u64,
}

/// The copies of a slice. When there is no more room, every second one goes and the one beside it, which waits in the same place
/// where there is such a one, stands for both: no look is lost.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) all: Vec<StackCopy>,
    bytes: usize,
    most_bytes: usize,
    most_copies: usize,
}

impl Default for Copies {
    fn default() -> Self {
        Self::with_room(MOST_BYTES, MOST_COPIES)
    }
}

impl Copies {
    fn with_room(most_bytes: usize, most_copies: usize) -> Self {
        Self {
            all: Vec::new(),
            bytes: 0,
            most_bytes,
            most_copies,
        }
    }

    /// True if the next copy needs others to [go](Self::halve).
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= self.most_bytes || self.all.len() >= self.most_copies
    }

    pub(super) fn add(&mut self, copy: StackCopy) -> usize {
        self.bytes += copy.stack.len();
        self.all.push(copy);
        self.all.len() - 1
    }

    /// One more look has found the thread as it was.
    pub(super) fn saw_again(&mut self, index: usize) {
        if let Some(copy) = self.all.get_mut(index) {
            copy.seen += 1;
        }
    }

    /// Lets about every second copy go, each with a chance that is the other's share of their looks: then the looks of a stack
    /// are right on average, and those of a call always. `random` gives numbers of which all are as likely. Returns the new
    /// index of every copy that there was.
    pub(super) fn halve(&mut self, mut random: impl FnMut() -> u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by_key(|index| {
            let StackCopy { call, thread, .. } = &self.all[*index];
            (call.number, call.instruction_pointer, *thread, call.stack_pointer)
        });
        let mut now = vec![0; self.all.len()];
        let mut old: Vec<Option<StackCopy>> = std::mem::take(&mut self.all).into_iter().map(Some).collect();
        self.bytes = 0;
        for pair in order.chunks(2) {
            let [one, other] =
                [pair.first(), pair.get(1)].map(|index| index.and_then(|index| old[*index].take()));
            let stays = match (one, other) {
                (Some(one), Some(other)) if one.call.number == other.call.number => one.or(other, random()),
                (one, other) => {
                    // Both stay where the calls differ, and the last one where their number is odd.
                    if let Some((copy, index)) = other.zip(pair.get(1)) {
                        now[*index] = self.add(copy);
                    }
                    if let Some((copy, index)) = one.zip(pair.first()) {
                        now[*index] = self.add(copy);
                    }
                    continue;
                }
            };
            let index = self.add(stays);
            for former in pair {
                now[*former] = index;
            }
        }
        now
    }
}

impl StackCopy {
    /// One of the two, for both.
    fn or(self, other: Self, random: u64) -> Self {
        let seen = self.seen + other.seen;
        let is_other = seen > 0 && random % seen < other.seen;
        let stays = if is_other { other } else { self };
        Self { seen, ..stays }
    }
}

/// Copies what another process has at an address, without stopping it: as much of `into` as is mapped there, from its begin.
/// Returns how many bytes that was.
pub(super) fn read_memory(pid: u32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let process = i32::try_from(pid).map_err(io::Error::other)?;
    let address = usize::try_from(address).map_err(io::Error::other)?;
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let remote = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address),
        iov_len: into.len(),
    };
    // SAFETY: both lists have one element; the local one is a slice that nobody else has, and the other process's is the
    // kernel's to check.
    let copied = unsafe { libc::process_vm_readv(process, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(copied).map_err(|_| io::Error::last_os_error())
}

/// A generator of numbers that are in step with nothing, and that nobody has to be unable to guess.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    /// One that differs from all others.
    pub(super) fn new() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    /// Any number below 2^32.
    pub(super) fn next(&mut self) -> u64 {
        // Knuth's constants of MMIX; the upper half is the better one.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }

    pub(super) fn below(&mut self, time: Duration) -> Duration {
        time.mul_f64(self.next() as f64 / 2_f64.powi(32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(thread: usize, number: i64, instruction_pointer: u64) -> StackCopy {
        StackCopy {
            thread,
            call: Call {
                number,
                arguments: [0; 6],
                stack_pointer: 8,
                instruction_pointer,
            },
            stack: vec![0; 1000].into(),
            seen: 1,
        }
    }

    #[test]
    fn no_look_is_lost_when_copies_go() {
        let mut copies = Copies::with_room(100_000, 1_000_000);
        let mut seed = 1_u64;
        let mut looks = [0_u64; 3];
        let mut last = Vec::new();
        for round in 0..2000_usize {
            let kind = round % 3;
            if copies.is_full() {
                let now = copies.halve(|| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    seed >> 33
                });
                last = last.into_iter().map(|index: usize| now[index]).collect();
            }
            last.push(copies.add(copy(round % 7, kind as i64, 10)));
            copies.saw_again(last[last.len() / 2]);
            looks[kind] += 1;
            assert!(copies.bytes <= 101_000);
        }
        let all = copies.all;
        assert!((50..=100).contains(&all.len()), "{}", all.len());
        let seen: u64 = all.iter().map(|copy| copy.seen).sum();
        assert_eq!(seen, 4000);
        assert!(last.iter().all(|index| *index < all.len()));
    }

    #[test]
    fn a_stack_stays_as_often_as_it_was_seen() {
        let mut kept = 0;
        for random in 0..400 {
            let mut copies = Copies::default();
            for instruction_pointer in [10, 10] {
                copies.add(copy(0, 1, instruction_pointer));
            }
            copies.all[0].stack = vec![1].into();
            copies.saw_again(0);
            copies.saw_again(0);
            copies.halve(|| random);
            let [stays] = &copies.all[..] else {
                panic!("one stays");
            };
            assert_eq!(stays.seen, 4);
            kept += u64::from(stays.stack.len() == 1);
        }
        assert_eq!(kept, 300, "three of four");
    }

    #[test]
    fn threads_in_different_calls_never_stand_for_each_other() {
        let mut copies = Copies::default();
        let one = copies.add(copy(0, 1, 10));
        let other = copies.add(copy(1, 2, 10));
        let now = copies.halve(|| 0);
        assert_eq!(copies.all[now[one]].call.number, 1);
        assert_eq!(copies.all[now[other]].call.number, 2);
    }

    #[test]
    fn what_is_mapped_is_copied_and_nothing_beyond() {
        let own = std::process::id();
        let words = [1_u8, 2, 3, 4];
        let mut copy = [0; 4];
        let found = read_memory(own, words.as_ptr().addr() as u64, &mut copy).unwrap();
        assert_eq!(found, 4);
        assert_eq!(copy, words);
        let holds = read_memory(own, 8, &mut copy).is_err();
        assert!(holds, "nobody has the first page");
        assert!(read_memory(own, u64::MAX - 1, &mut copy).is_err());
        assert!(read_memory(u32::MAX, 8, &mut copy).is_err());
    }

    #[test]
    fn a_copy_ends_where_the_mapping_ends() {
        let map = memmap2::MmapMut::map_anon(3 * 4096).unwrap();
        let base = map.as_ptr();
        // SAFETY: the last page of a mapping of three, which nothing refers to; unmapping the rest is the kernel's matter.
        unsafe {
            assert_eq!(
                libc::mprotect(base.add(8192).cast_mut().cast(), 4096, libc::PROT_NONE),
                0
            )
        };
        let mut copy = vec![0; 32768];
        let from = base.addr() as u64 + 100;
        let found = read_memory(std::process::id(), from, &mut copy).unwrap();
        assert_eq!(found, 8192 - 100);
    }
}
