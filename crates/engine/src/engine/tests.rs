//! How slices begin, end and are cut short, with workloads that ask nobody.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ciphertax_reactor::Reactor;

use super::*;
use crate::operation::Operation;
use crate::recorder::Recorder;
use crate::workload::Slot;

const LOAD: Load = Load {
    workers: Some(3),
    ..Load::closed(7)
};

/// Notes the slots that are taken. The connections of some break at their first operation.
struct Slots {
    taken: Arc<Mutex<Vec<u32>>>,
    breaking: &'static [u32],
}

impl Workload for Slots {
    type Connection = u32;

    const KINDS: &'static [&'static str] = &["nothing"];

    async fn open(&self, _reactor: &Rc<Reactor>, slot: Slot) -> Result<u32, Failure> {
        assert_eq!(slot.of, LOAD.connections);
        self.taken.lock().unwrap().push(slot.index);
        Ok(slot.index)
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        index: &mut u32,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        if self.breaking.contains(index) {
            return Err(Failure::Error("it breaks".into()));
        }
        Ok(Operation::default())
    }
}

#[test]
fn every_connection_has_a_slot_of_its_own_and_leaves_it_to_the_one_that_takes_its_place() {
    // The threads have the slots 0 to 2, 3 to 4 and 5 to 6. One that does not break leaves no time to those after it,
    // since it never waits.
    for breaking in [[0, 3].as_slice(), &[0, 1, 5], &[0, 1, 2, 3, 4, 5, 6]] {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let workload = Slots {
            taken: Arc::clone(&taken),
            breaking,
        };
        let newly_taken = || {
            let mut slots = std::mem::take(&mut *taken.lock().unwrap());
            slots.sort_unstable();
            slots
        };
        let mut engine = Engine::start(vec![workload], &LOAD, 1).unwrap();
        engine.prepare(0).unwrap().unwrap();
        assert_eq!(newly_taken(), (0..LOAD.connections).collect::<Vec<_>>());
        for _ in 0..2 {
            let yielded = engine.slice(0, Duration::from_millis(200)).unwrap();
            assert_eq!(yielded.failures, breaking.len() as u64);
            engine.prepare(0).unwrap().unwrap();
            assert_eq!(newly_taken(), breaking);
        }
    }
}

/// Operations that take so long, and note when they began.
struct Sleeps {
    take: Duration,
    began: Arc<Mutex<Vec<Instant>>>,
}

impl Sleeps {
    fn that_take(take: Duration) -> Self {
        Self {
            take,
            began: Arc::default(),
        }
    }
}

impl Workload for Sleeps {
    type Connection = ();

    const KINDS: &'static [&'static str] = &["sleep"];

    async fn open(&self, _reactor: &Rc<Reactor>, _seat: Slot) -> Result<(), Failure> {
        Ok(())
    }

    async fn operate(
        &self,
        reactor: &Rc<Reactor>,
        (): &mut (),
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let began = Instant::now();
        self.began.lock().unwrap().push(began);
        reactor.sleep_until(began + self.take).await;
        Ok(Operation::default())
    }
}

/// Operations that leave something to be brought to its end, and count what was.
struct Leaves {
    settled: Arc<Mutex<u64>>,
}

impl Workload for Leaves {
    type Connection = u64;

    const KINDS: &'static [&'static str] = &["leave"];

    async fn open(&self, _reactor: &Rc<Reactor>, _slot: Slot) -> Result<u64, Failure> {
        Ok(0)
    }

    async fn operate(
        &self,
        reactor: &Rc<Reactor>,
        left: &mut u64,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        *left += 1;
        reactor
            .sleep_until(Instant::now() + Duration::from_millis(1))
            .await;
        Ok(Operation::default())
    }

    async fn settle(&self, left: &mut u64, _recorder: &RefCell<Recorder>) {
        *self.settled.lock().unwrap() += std::mem::take(left);
    }
}

#[test]
fn what_operations_leave_is_brought_to_its_end_within_their_slice() {
    for load in [
        LOAD,
        Load {
            batch: Some(50),
            ..LOAD
        },
        Load {
            rate: Some(200),
            ..LOAD
        },
    ] {
        let settled = Arc::new(Mutex::new(0));
        let workload = Leaves {
            settled: Arc::clone(&settled),
        };
        let mut engine = Engine::start(vec![workload], &load, 1).unwrap();
        engine.prepare(0).unwrap().unwrap();
        for _ in 0..2 {
            let yielded = engine.slice(0, Duration::from_millis(100)).unwrap();
            let count = yielded.operations[0].count;
            assert!(count > 0);
            assert_eq!(std::mem::take(&mut *settled.lock().unwrap()), count, "{load:?}");
        }
    }
}

fn slice(sleeps: Sleeps, load: &Load, duration: Duration) -> SliceYield {
    let mut engine = Engine::start(vec![sleeps], load, 1).unwrap();
    engine.prepare(0).unwrap().unwrap();
    engine.slice(0, duration).unwrap()
}

#[test]
fn a_batch_is_as_many_operations_as_it_says_however_many_threads_share_it() {
    for (batch, take) in [(7, 0), (100, 1), (1_000, 0)] {
        let load = Load {
            batch: Some(batch),
            ..LOAD
        };
        let sleeps = Sleeps::that_take(Duration::from_millis(take));
        let yielded = slice(sleeps, &load, Duration::ZERO);
        assert_eq!(yielded.operations[0].count, u64::from(batch));
        assert!(yielded.open_loop.is_none() && !yielded.interrupted);
        // Seven at a time.
        let least = Duration::from_millis(u64::from(batch.div_ceil(7)) * take);
        let duration = Duration::from_nanos(yielded.duration_ns);
        assert!(duration >= least, "{duration:?}");
    }
}

#[test]
fn a_batch_is_cut_short_when_told_to_stop() {
    let load = Load {
        batch: Some(1_000_000),
        ..LOAD
    };
    let sleeps = Sleeps::that_take(Duration::from_millis(20));
    let yielded = cut_short(sleeps, &load, Duration::ZERO);
    assert!(yielded.interrupted);
    assert!((1..1_000_000).contains(&yielded.operations[0].count));
    assert_eq!((yielded.failures, yielded.unfinished), (0, 0));
}

#[test]
fn operations_that_nobody_answers_are_not_waited_for_when_told_to_stop() {
    let hour = Duration::from_secs(3600);
    for load in [
        Load::closed(3),
        Load {
            batch: Some(9),
            ..LOAD
        },
        Load {
            rate: Some(100),
            ..LOAD
        },
    ] {
        let yielded = cut_short(Sleeps::that_take(hour), &load, hour);
        assert!(yielded.interrupted && yielded.unfinished > 0, "{load:?}");
    }
}

/// A slice during which somebody wants to stop.
fn cut_short(sleeps: Sleeps, load: &Load, duration: Duration) -> SliceYield {
    let flag = Arc::new(AtomicBool::new(false));
    stop::heed(&flag, || {
        let mut engine = Engine::start(vec![sleeps], load, 1).unwrap();
        engine.prepare(0).unwrap().unwrap();
        let later = Arc::clone(&flag);
        let stopper = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            later.store(true, Ordering::Relaxed);
        });
        let yielded = engine.slice(0, duration).unwrap();
        stopper.join().unwrap();
        yielded
    })
}

#[test]
fn in_open_loop_operations_begin_in_order_and_none_before_its_time() {
    let load = Load {
        rate: Some(200),
        ..LOAD
    };
    let sleeps = Sleeps::that_take(Duration::from_millis(3));
    let began = Arc::clone(&sleeps.began);
    let yielded = slice(sleeps, &load, Duration::from_millis(200));
    let open_loop = yielded.open_loop.as_ref().unwrap();
    assert_eq!((open_loop.planned, open_loop.not_begun), (40, 0));
    assert_eq!(yielded.operations[0].count, 40);
    let mut began = std::mem::take(&mut *began.lock().unwrap());
    began.sort_unstable();
    assert_eq!(began.len(), 40);
    for (number, began) in (0..).zip(began) {
        assert!(
            began >= yielded.began + Duration::from_millis(5) * number,
            "{number}"
        );
    }
}

#[test]
fn response_times_count_from_the_intended_start_when_operations_are_slow() {
    // Every 10 ms one, each of which takes 20 ms on the only connection: the n-th waits for n × 10 ms at least.
    let load = Load {
        rate: Some(100),
        ..Load::closed(1)
    };
    let sleeps = Sleeps::that_take(Duration::from_millis(20));
    let yielded = slice(sleeps, &load, Duration::from_millis(200));
    let open_loop = yielded.open_loop.as_ref().unwrap();
    let operations = &yielded.operations[0];
    assert_eq!(
        (operations.count, open_loop.planned, open_loop.not_begun),
        (20, 20, 0)
    );
    let waited_ns: u64 = (0..20).map(|number| number * 10_000_000).sum();
    assert!(open_loop.response_sum_ns >= operations.latency_sum_ns + waited_ns);
    // All but the first found the connection busy, which is not the load generator's fault.
    assert!(open_loop.late <= 1, "{open_loop:?}");
    let responses = ciphertax_stats::histogram::decode(&open_loop.response).unwrap();
    assert_eq!(responses.len(), 20);
    assert!(responses.max() >= 210_000_000);
}
