//! Whether the schedule of an open loop was kept.

use ciphertax_engine::LATE;
use ciphertax_model::record::OpenLoopSample;

/// Share of the operations that the load generator began too late from which on the response times, whose 99th percentile is
/// compared, may be its own.
const MOST_LATE: f64 = 0.01;

/// Why a schedule was not kept; `None` if it was. That operations waited for busy connections is no reason: it is what the
/// response times tell. A single late operation is none either, or short slices would be void for one turn of the scheduler.
pub(crate) fn missed(open_loop: &OpenLoopSample) -> Option<String> {
    let OpenLoopSample {
        planned,
        not_begun,
        late,
        ..
    } = *open_loop;
    if not_begun > 0 {
        return Some(format!(
            "{not_begun} of {planned} operations had not begun ten seconds after the end of the slice: the rate is more than \
             this arm can do"
        ));
    }
    (late > 1 && late as f64 > MOST_LATE * planned as f64).then(|| {
        format!(
            "{late} of {planned} operations began more than {} ms late although a connection was free: the load generator \
             was too slow",
            LATE.as_millis()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_1000(not_begun: u64, late: u64) -> Option<String> {
        missed(&OpenLoopSample {
            planned: 1_000,
            not_begun,
            late,
            // However long operations waited for the server.
            delay_sum_ns: u64::MAX,
            response_sum_ns: u64::MAX,
            response: Default::default(),
        })
    }

    #[test]
    fn a_server_that_is_slow_misses_no_schedule() {
        assert_eq!(of_1000(0, 0), None);
    }

    #[test]
    fn a_load_generator_that_is_late_does_unless_hardly_ever() {
        assert_eq!(of_1000(0, 10), None);
        let reason = of_1000(0, 11).unwrap();
        assert!(
            reason.contains("11 of 1000") && reason.contains("10 ms late"),
            "{reason}"
        );
        let of_20 = |late| {
            missed(&OpenLoopSample {
                planned: 20,
                not_begun: 0,
                late,
                delay_sum_ns: 0,
                response_sum_ns: 0,
                response: Default::default(),
            })
        };
        assert!(of_20(1).is_none() && of_20(2).is_some());
    }

    #[test]
    fn a_backlog_that_is_never_cleared_does() {
        let reason = of_1000(1, 0).unwrap();
        assert!(reason.contains("1 of 1000 operations had not begun"), "{reason}");
    }
}
