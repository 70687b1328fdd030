//! Whether the schedule of an open loop was kept.

use std::time::Duration;

use ciphertax_engine::LATE;
use ciphertax_records::OpenLoopSample;
use ciphertax_stats::histogram::decode;

/// Share of the operations that the load generator began too late from which on the 99th percentile of the response times,
/// which is compared, may be its own.
const MOST_LATE: f64 = 0.01;
/// Where that percentile is so many times as long as operations typically were late, lateness does not matter: so it is
/// where operations wait for a server that is too slow, whose many connections the load threads must serve too.
const NEGLIGIBLE: u32 = 10;

/// Why a schedule was not kept; `None` if it was. That operations waited for busy connections is no reason: it is what the
/// response times tell. A single late operation is none either, or short slices would be void for one turn of the scheduler.
pub(crate) fn missed(open_loop: &OpenLoopSample) -> Option<String> {
    let OpenLoopSample {
        planned,
        not_begun,
        late,
        delay_sum_ns,
        ..
    } = *open_loop;
    if not_begun > 0 {
        return Some(format!(
            "{not_begun} of {planned} operations had not begun ten seconds after the end of the slice: the rate is more than \
             this arm can do"
        ));
    }
    let is_often_late = late > 1 && late as f64 > MOST_LATE * planned as f64;
    let typically = LATE.max(Duration::from_nanos(delay_sum_ns / late.max(1)));
    (is_often_late && slowest(open_loop) < typically * NEGLIGIBLE).then(|| {
        format!(
            "{late} of {planned} operations began more than {} ms late by the load generator's own fault: it was too slow",
            LATE.as_millis()
        )
    })
}

/// The 99th percentile of the response times.
fn slowest(open_loop: &OpenLoopSample) -> Duration {
    let histogram = decode(&open_loop.response);
    Duration::from_nanos(histogram.map_or(0, |histogram| histogram.value_at_quantile(0.99)))
}

#[cfg(test)]
mod tests {
    use ciphertax_stats::histogram::{empty, encode};
    use ciphertax_testkit::says;

    use super::*;

    /// A slice of 1,000 operations whose response times are all alike, and so late.
    fn of_1000(not_begun: u64, late: u64, response: Duration) -> Option<String> {
        late_by(not_begun, late, Duration::from_millis(11), response)
    }

    fn late_by(not_begun: u64, late: u64, by: Duration, response: Duration) -> Option<String> {
        let mut histogram = empty();
        histogram.saturating_record_n(response.as_nanos() as u64, 1_000);
        missed(&OpenLoopSample {
            planned: 1_000,
            not_begun,
            late,
            delay_sum_ns: late * by.as_nanos() as u64,
            response_sum_ns: 0,
            response: encode(&histogram),
        })
    }

    #[test]
    fn a_server_that_is_slow_misses_no_schedule() {
        assert_eq!(of_1000(0, 0, Duration::from_secs(5)), None);
    }

    #[test]
    fn a_load_generator_that_is_late_does_unless_hardly_ever_or_negligibly() {
        let short = Duration::from_millis(30);
        assert_eq!(of_1000(0, 10, short), None);
        let reason = of_1000(0, 11, short).unwrap();
        says(&reason, "11 of 1000 … 10 ms late");
        assert_eq!(of_1000(0, 11, Duration::from_millis(200)), None);
    }

    #[test]
    fn lateness_does_not_excuse_itself_by_the_response_times_that_it_makes_longer() {
        let stall = Duration::from_millis(120);
        let reason = late_by(0, 32, stall, stall + Duration::from_millis(5)).unwrap();
        says(&reason, "32 of 1000");
    }

    #[test]
    fn a_backlog_that_is_never_cleared_does() {
        let reason = of_1000(1, 0, Duration::from_secs(5)).unwrap();
        says(&reason, "1 of 1000 operations had not begun");
    }
}
