//! Waits of a thread, which end when somebody wants to stop.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a waiting thread looks whether it is to stop.
pub const LOOK: Duration = Duration::from_millis(100);

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs `work`. Whatever this thread waits for within it, by a reactor or by the functions below, ends soon after
/// `flag` becomes true, as if its time were up.
pub fn with_flag<T>(flag: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let _until_the_end = Restore(FLAG.replace(Some(Arc::clone(flag))));
    work()
}

/// The flag that this thread looks at now, for threads that work for it.
pub fn current_flag() -> Option<Arc<AtomicBool>> {
    FLAG.with_borrow(Clone::clone)
}

/// True if this thread is to stop.
pub fn is_requested() -> bool {
    FLAG.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

/// True if nothing more is to be waited for: the deadline has passed, or this thread is to stop.
pub fn is_over(deadline: Instant) -> bool {
    Instant::now() > deadline || is_requested()
}

/// Sleeps; not longer than until this thread is to stop.
pub fn sleep(time: Duration) {
    let deadline = Instant::now() + time;
    while !is_over(deadline) {
        thread::sleep(LOOK.min(deadline.saturating_duration_since(Instant::now())));
    }
}

/// Puts the flag back that was looked at before.
struct Restore(Option<Arc<AtomicBool>>);

impl Drop for Restore {
    fn drop(&mut self) {
        FLAG.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_looked_at_by_its_thread_within_its_work_alone() {
        let (flag, other) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        let far = Instant::now() + Duration::from_secs(3600);
        assert!(!is_requested() && !is_over(far));
        with_flag(&flag, || {
            assert!(is_requested() && is_over(far));
            with_flag(&other, || assert!(!is_requested()));
            assert!(is_requested());
            assert!(thread::spawn(current_flag).join().unwrap().is_none());
            sleep(Duration::from_secs(3600));
        });
        assert!(!is_requested() && current_flag().is_none());
    }

    #[test]
    fn a_panic_ends_it_too() {
        let flag = Arc::new(AtomicBool::new(true));
        let panics = std::panic::AssertUnwindSafe(|| with_flag(&flag, || panic!("as it should")));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert!(!is_requested());
    }
}
