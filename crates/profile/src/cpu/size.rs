//! How large rings are.

use std::time::Duration;

use super::event::RECORD_BYTES;

/// The largest ring of a CPU: half of it holds half a second at 997 samples a second.
const MOST_PER_CPU: usize = 32 << 20;
/// All rings together, on however many CPUs.
const MOST: usize = 128 << 20;
/// The smallest ring, which holds seven samples.
pub(super) const LEAST: usize = 256 << 10;

/// Bytes of the ring of each of so many CPUs: enough that a slice fills no more than half of it, at which it would have to be read
/// while the slice runs, or as much as may be.
pub(super) fn ring(cpus: usize, hz: u32, slice: Duration) -> usize {
    let samples = (slice.as_secs_f64() * f64::from(hz)).ceil();
    // Numbers that no memory has become the largest, which is bounded next.
    let wanted = (2.0 * samples * RECORD_BYTES as f64) as usize;
    let most = MOST_PER_CPU.min(MOST / cpus.max(1));
    let rounded_down = 1 << most.max(1).ilog2();
    wanted.min(MOST).next_power_of_two().min(rounded_down).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_ring_holds_a_slice_as_long_as_all_of_them_are_bounded() {
        let half = Duration::from_millis(500);
        assert_eq!(ring(2, 997, half), 32 * MIB);
        assert_eq!(ring(2, 997, Duration::from_millis(100)), 8 * MIB);
        assert_eq!(ring(2, 997, Duration::from_secs(10)), 32 * MIB);
        assert_eq!(ring(64, 997, half), 2 * MIB);
        assert_eq!(ring(48, 997, half), 2 * MIB);
        assert_eq!(ring(10_000, 997, half), LEAST);
        assert_eq!(ring(1, u32::MAX, Duration::MAX), 32 * MIB);
        assert_eq!(ring(1, 1, Duration::ZERO), LEAST);
    }
}
