//! Looking into a server on another machine, by its agent.

use std::time::Duration;

use ciphertax_records::SliceId;
use ciphertax_records::why::{SymbolTable, Waits};

use super::meter::{AgentMeter, NOT_ASKED};
use super::names::Known;
use super::protocol::{Answer, Request};
use crate::schedule::Looked;

/// So many messages with names are taken after a slice; an agent that has more to say is none.
const MOST_MESSAGES: usize = 200;

/// What cannot be seen is no fault of the slice: its clocks are read apart from it, and an agent that is gone is noticed there.
impl AgentMeter {
    pub(crate) fn begin_to_look(&self) {
        self.ask(&Request::Begin);
    }

    /// Ends that; for how long it looked.
    pub(crate) fn stop_looking(&self) -> Duration {
        match self.ask(&Request::Stop) {
            Some(Answer::Stopped { looked_ns }) => Duration::from_nanos(looked_ns),
            _ => Duration::ZERO,
        }
    }

    /// What was seen of the server in the slice that was stopped, by the numbers of the run's own names and stacks. It was looked
    /// at for so long, and the slice took so long of it.
    pub(crate) fn seen(
        &self,
        slice: &SliceId,
        (looked, took): (Duration, Duration),
        symbols: &mut SymbolTable,
    ) -> Looked {
        let Some(Answer::Seen(seen)) = self.ask(&Request::Seen(slice.clone())) else {
            return Looked::default();
        };
        let known = self.learn(seen.names, symbols);
        let mut state = self.state.borrow_mut();
        let seen = known.and_then(|()| state.translation.translate(seen.looked, slice));
        let Some(mut seen) = seen else {
            if state.way.is_some() {
                state.lose(NOT_ASKED.to_owned());
            }
            return Looked::default();
        };
        if let Some(waits) = &mut seen.waits {
            leave_out_the_way(waits, (looked, took));
        }
        seen
    }

    /// Asks for the names that are new, until all of those there are known; `None` if they make no sense.
    fn learn(&self, there: Known, symbols: &mut SymbolTable) -> Option<()> {
        for _ in 0..MOST_MESSAGES {
            let known = self.state.borrow().translation.known();
            if known == there {
                return Some(());
            }
            let Some(Answer::Names(names)) = self.ask(&Request::Names(known)) else {
                return None;
            };
            self.state.borrow_mut().translation.learn(names, symbols)?;
        }
        None
    }
}

/// Leaves out the rounds before the slice and after it, half a way there and back each, in which all sessions waited for their client:
/// a sample of CPU time is of what runs, but of threads that wait the rounds are counted.
fn leave_out_the_way(waits: &mut Waits, (looked, took): (Duration, Duration)) {
    let share = took.as_secs_f64() / looked.as_secs_f64();
    if !(0.0..1.0).contains(&share) {
        return;
    }
    let part = |count: u64| (count as f64 * share).round() as u64;
    let in_sessions = waits.blocked.iter().filter(|blocked| !blocked.background);
    let looks = waits.running
        + waits.idle
        + waits.inconsistent
        + waits.unreadable
        + in_sessions.map(|blocked| blocked.seen).sum::<u64>();
    waits.idle = waits.idle.saturating_sub(looks - part(looks));
    waits.rounds = part(waits.rounds);
    waits.background_running = part(waits.background_running);
    for blocked in waits.blocked.iter_mut().filter(|blocked| blocked.background) {
        blocked.seen = part(blocked.seen);
        blocked.complete = part(blocked.complete);
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_records::why::Blocked;

    use super::*;

    #[test]
    fn sessions_that_wait_for_the_way_there_and_back_are_left_out() {
        let blocked = |background, seen| Blocked {
            call: "futex".into(),
            object: None,
            stack: 0,
            seen,
            complete: seen,
            background,
        };
        // Four sessions were looked at a hundred times; in a slice of 60 of these rounds they never waited for their client.
        let mut waits = Waits {
            rounds: 100,
            running: 180,
            background_running: 50,
            idle: 160,
            blocked: vec![blocked(false, 60), blocked(true, 100)],
            ..Waits::unseen(SliceId::default())
        };
        let times = (Duration::from_millis(100), Duration::from_millis(60));
        leave_out_the_way(&mut waits, times);
        assert_eq!((waits.rounds, waits.idle, waits.running), (60, 0, 180));
        assert_eq!((waits.blocked[0].seen, waits.blocked[1].seen), (60, 60));
        assert_eq!(waits.background_running, 30);
        let before = waits.clone();
        leave_out_the_way(&mut waits, (Duration::ZERO, Duration::from_millis(60)));
        assert_eq!(waits, before);
    }
}
