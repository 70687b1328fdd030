//! Members that accepted a connection and said nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::address::Address;

/// How long a member that was waited for in vain is not to be waited for again.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Since when which members are silent. The whole process shares it: whoever opens one connection after the other looks
/// at the set each time, and is not to wait each time.
static SILENCE: Mutex<Silence> = Mutex::new(Silence(BTreeMap::new()));

pub(super) struct Silence(BTreeMap<Address, Instant>);

impl Silence {
    /// Notes a member that was waited for in vain; one that is known already is forgotten none the later.
    pub(super) fn note(address: &Address) {
        Self::current()
            .0
            .entry(address.clone())
            .or_insert_with(Instant::now);
    }

    /// Notes a member that has answered.
    pub(super) fn is_over(address: &Address) {
        Self::current().0.remove(address);
    }

    /// True if the member was waited for in vain within the last minute.
    pub(super) fn is_known(address: &Address) -> bool {
        Self::current().0.contains_key(address)
    }

    /// Without what is to be forgotten.
    fn current() -> MutexGuard<'static, Self> {
        let mut silence = SILENCE.lock().unwrap_or_else(PoisonError::into_inner);
        silence.0.retain(|_, since| since.elapsed() < REMEMBERED);
        silence
    }
}
