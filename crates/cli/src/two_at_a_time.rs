//! Work on two things at once.

use std::panic::resume_unwind;
use std::thread;

/// What `work` makes of each, in their order. Two are worked on at once and no more: a run of many hours takes seconds to read, and
/// some hundred megabytes meanwhile.
pub(crate) fn two_at_a_time<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let mut done = Vec::with_capacity(items.len());
    for pair in items.chunks(2) {
        match pair {
            [one, other] => thread::scope(|scope| {
                let beside = scope.spawn(|| work(other));
                done.push(work(one));
                done.push(beside.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }),
            few => done.extend(few.iter().map(&work)),
        }
    }
    done
}
