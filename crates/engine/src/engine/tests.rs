//! How slices begin, end and are cut short, with workloads that ask nobody.

use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ciphertax_reactor::Reactor;

use super::*;
use crate::workload::{Context, Deal, Failure, Operation, Slot};

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

    const RENEWS: bool = true;

    const KINDS: &'static [&'static str] = &["nothing"];

    async fn open(&self, _reactor: &Rc<Reactor>, slot: Slot) -> Result<u32, Failure> {
        assert_eq!(slot.of, LOAD.connections);
        self.taken.lock().unwrap().push(slot.index);
        Ok(slot.index)
    }

    async fn operate(&self, index: &mut u32, _: &Context) -> Result<Operation, Failure> {
        if self.breaking.contains(index) {
            return Err(Failure::Error("it breaks".into()));
        }
        Ok(Operation::default())
    }
}

/// Refuses the connection of one slot, once.
struct Refusing {
    slot: u32,
    has_refused: AtomicBool,
    opened: Arc<Mutex<Vec<u32>>>,
}

impl Workload for Refusing {
    type Connection = u32;

    const KINDS: &'static [&'static str] = &["nothing"];

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<u32, Failure> {
        reactor
            .sleep_until(Instant::now() + Duration::from_millis(1))
            .await;
        if slot.index == self.slot && !self.has_refused.swap(true, Ordering::Relaxed) {
            return Err(Failure::Error("no room".into()));
        }
        self.opened.lock().unwrap().push(slot.index);
        Ok(slot.index)
    }

    async fn operate(&self, _index: &mut u32, _: &Context) -> Result<Operation, Failure> {
        Ok(Operation::default())
    }
}

#[test]
fn one_that_is_refused_costs_no_connection_that_is_open() {
    let opened = Arc::new(Mutex::new(Vec::new()));
    let workload = Refusing {
        slot: 139,
        has_refused: AtomicBool::new(false),
        opened: Arc::clone(&opened),
    };
    let load = Load {
        workers: Some(1),
        ..Load::closed(300)
    };
    let mut engine = Engine::start(vec![workload], &load, 1).unwrap();
    assert_eq!(engine.prepare(0).unwrap(), Err(Failure::Error("no room".into())));
    let open = opened.lock().unwrap().len();
    assert!((100..200).contains(&open), "{open}");
    assert_eq!(engine.prepare(0).unwrap(), Ok(()));
    let mut opened = opened.lock().unwrap().clone();
    opened.sort_unstable();
    assert_eq!(opened, (0..300).collect::<Vec<u32>>());
}

#[test]
fn connections_that_were_closed_are_opened_anew_all_of_them_once() {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let workload = Slots {
        taken: Arc::clone(&taken),
        breaking: &[],
    };
    let mut engine = Engine::start(vec![workload], &LOAD, 1).unwrap();
    for _ in 0..3 {
        engine.prepare(0).unwrap().unwrap();
        let mut slots = std::mem::take(&mut *taken.lock().unwrap());
        slots.sort_unstable();
        assert_eq!(slots, (0..LOAD.connections).collect::<Vec<_>>());
        engine.prepare(0).unwrap().unwrap();
        assert!(taken.lock().unwrap().is_empty());
        assert!(engine.close(0).unwrap() && !engine.is_prepared(0));
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
            assert!(!engine.is_prepared(0));
            engine.prepare(0).unwrap().unwrap();
            assert_eq!(newly_taken(), breaking);
        }
    }
}

/// Counts how often it is checked; `CHECKS` says whether it should be.
struct Checked<const CHECKS: bool>(Arc<Mutex<u64>>);

impl<const CHECKS: bool> Workload for Checked<CHECKS> {
    type Connection = ();

    const KINDS: &'static [&'static str] = &["nothing"];

    const CHECKS: bool = CHECKS;

    async fn open(&self, _reactor: &Rc<Reactor>, _slot: Slot) -> Result<(), Failure> {
        Ok(())
    }

    async fn operate(&self, (): &mut (), _: &Context) -> Result<Operation, Failure> {
        Ok(Operation::default())
    }

    async fn check(&self, _reactor: &Rc<Reactor>) -> Result<(), Failure> {
        *self.0.lock().unwrap() += 1;
        Ok(())
    }
}

/// How often a workload is checked in three slices of two arms, and whether the first arm is prepared after each.
fn checked<const CHECKS: bool>() -> (u64, [bool; 3]) {
    let checks = Arc::default();
    let arms = vec![Checked::<CHECKS>(Arc::clone(&checks)), Checked(Arc::default())];
    let mut engine = Engine::start(arms, &LOAD, 1).unwrap();
    assert!(!engine.is_prepared(0) && !engine.is_prepared(1));
    assert!(!engine.close(0).unwrap(), "it did not ask for that");
    let is_prepared = [(); 3].map(|()| {
        engine.prepare(0).unwrap().unwrap();
        engine.slice(0, Duration::from_millis(1)).unwrap();
        engine.is_prepared(0)
    });
    assert!(!engine.is_prepared(1));
    let checks = *checks.lock().unwrap();
    (checks, is_prepared)
}

#[test]
fn an_arm_stays_prepared_unless_its_workload_checks_something_before_every_slice() {
    assert_eq!(checked::<false>(), (0, [true; 3]));
    assert_eq!(checked::<true>(), (3, [false; 3]));
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

    async fn operate(&self, (): &mut (), context: &Context) -> Result<Operation, Failure> {
        let began = Instant::now();
        self.began.lock().unwrap().push(began);
        context.reactor.sleep_until(began + self.take).await;
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

    async fn operate(&self, left: &mut u64, context: &Context) -> Result<Operation, Failure> {
        *left += 1;
        context
            .reactor
            .sleep_until(Instant::now() + Duration::from_millis(1))
            .await;
        Ok(Operation::default())
    }

    async fn settle(&self, left: &mut u64, _: &Context) {
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
    // Those that have begun have half a second, which a machine that stands still lets pass; or it lets none begin.
    let is_disturbed = |yielded: &SliceYield| {
        let is_out_of_time = yielded.unfinished > 0 && yielded.duration_ns > 600_000_000;
        is_out_of_time || yielded.operations[0].count == 0
    };
    let yielded = (0..10)
        .map(|_| {
            cut_short(
                Sleeps::that_take(Duration::from_millis(20)),
                &load,
                Duration::ZERO,
            )
        })
        .find(|yielded| !is_disturbed(yielded))
        .expect("operations that begin and end");
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
    stop::with_flag(&flag, || {
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
        let is_in_time = began >= yielded.began + Duration::from_millis(5) * number;
        assert!(is_in_time, "{number}");
    }
}

#[test]
fn response_times_count_from_the_intended_start_when_operations_are_slow() {
    // Every 10 ms one, each of which takes 20 ms on the only connection: the n-th waits for n × 10 ms at least.
    let load = Load {
        rate: Some(100),
        ..Load::closed(1)
    };
    let begun_in_time = |_| {
        let sleeps = Sleeps::that_take(Duration::from_millis(20));
        let began = Arc::clone(&sleeps.began);
        let yielded = slice(sleeps, &load, Duration::from_millis(200));
        let first = began.lock().unwrap()[0];
        (first - yielded.began <= Duration::from_millis(10)).then_some(yielded)
    };
    // Where the first begins late, so do those that wait for it.
    let yielded = (0..10).find_map(begun_in_time).expect("a first that is in time");
    let open_loop = yielded.open_loop.as_ref().unwrap();
    let operations = &yielded.operations[0];
    let counts = (operations.count, open_loop.planned, open_loop.not_begun);
    assert_eq!(counts, (20, 20, 0));
    let waited_ns: u64 = (0..20).map(|number| number * 10_000_000).sum();
    assert!(open_loop.response_sum_ns >= operations.latency_sum_ns + waited_ns);
    // All but the first found the connection busy, which is not the load generator's fault.
    assert!(open_loop.late <= 1, "{open_loop:?}");
    let responses = ciphertax_stats::histogram::decode(&open_loop.response).unwrap();
    assert_eq!(responses.len(), 20);
    assert!(responses.max() >= 210_000_000);
}

const COUNTED: [&str; 5] = ["once", "twice", "thrice", "none", "five times"];

/// Deals its operations, and notes what each connection did by which deal. Some take longer than others.
struct Dealt {
    done: Arc<Mutex<Vec<(u32, Deal, u64)>>>,
}

/// A connection, its deal, and how many operations it has done by it.
type Hand = (u32, Option<Deal>, u64);

impl Workload for Dealt {
    type Connection = Hand;

    const KINDS: &'static [&'static str] = &["deal"];
    const COUNTS: &'static [&'static str] = &COUNTED;
    const DEALT: bool = true;

    async fn open(&self, _reactor: &Rc<Reactor>, slot: Slot) -> Result<Hand, Failure> {
        Ok((slot.index, None, 0))
    }

    fn begin(&self, (_, dealt, done): &mut Hand, deal: Deal) {
        (*dealt, *done) = (Some(deal), 0);
    }

    async fn operate(&self, (index, _, done): &mut Hand, context: &Context) -> Result<Operation, Failure> {
        *done += 1;
        context
            .reactor
            .sleep_until(Instant::now() + Duration::from_micros(u64::from(*index) * 200))
            .await;
        Ok(Operation {
            counts: [1, 2, 3, 0, 5],
            ..Operation::default()
        })
    }

    async fn settle(&self, (index, deal, done): &mut Hand, _: &Context) {
        self.done.lock().unwrap().push((*index, deal.unwrap(), *done));
    }
}

#[test]
fn a_dealt_batch_gives_every_connection_of_every_arm_the_same_to_do() {
    let done = Arc::new(Mutex::new(Vec::new()));
    let arm = || Dealt {
        done: Arc::clone(&done),
    };
    let load = Load {
        batch: Some(37),
        ..LOAD
    };
    let mut engine = Engine::start(vec![arm(), arm()], &load, 1).unwrap();
    for arm in 0..2 {
        engine.prepare(arm).unwrap().unwrap();
    }
    for seed in [5, 6] {
        let mut of_arms = Vec::new();
        for arm in 0..2 {
            let yielded = engine.slice_of(seed, arm, Duration::ZERO).unwrap();
            assert_eq!(yielded.operations[0].count, 37);
            assert_eq!(yielded.counts_of(COUNTED), [37, 2 * 37, 3 * 37, 0, 5 * 37]);
            assert!(!yielded.counts.contains_key("none"), "there is nothing to write");
            let mut done = std::mem::take(&mut *done.lock().unwrap());
            done.sort_by_key(|(index, ..)| *index);
            of_arms.push(done);
        }
        assert_eq!(of_arms[0], of_arms[1]);
        let expected = |index| {
            let share = if index < 2 { 6 } else { 5 };
            let operations = Some(share);
            (index, Deal { seed, operations }, share)
        };
        assert_eq!(of_arms[0], (0..7).map(expected).collect::<Vec<_>>());
    }
    // For as long as a slice, nothing is dealt.
    let mut engine = Engine::start(vec![arm()], &LOAD, 1).unwrap();
    engine.prepare(0).unwrap().unwrap();
    engine.slice_of(7, 0, Duration::from_millis(20)).unwrap();
    let deals = std::mem::take(&mut *done.lock().unwrap());
    assert_eq!(deals.len(), 7);
    assert!(
        deals
            .iter()
            .all(|(_, deal, _)| (deal.seed, deal.operations) == (7, None))
    );
}

#[test]
fn a_dealt_batch_is_cut_short_when_told_to_stop() {
    let flag = Arc::new(AtomicBool::new(false));
    stop::with_flag(&flag, || {
        let done = Arc::default();
        let load = Load {
            batch: Some(10_000_000),
            ..LOAD
        };
        let mut engine = Engine::start(vec![Dealt { done }], &load, 1).unwrap();
        engine.prepare(0).unwrap().unwrap();
        let later = Arc::clone(&flag);
        let stopper = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            later.store(true, Ordering::Relaxed);
        });
        let yielded = engine.slice(0, Duration::ZERO).unwrap();
        stopper.join().unwrap();
        assert!(yielded.interrupted);
    });
}

/// Rests before every operation, for longer and longer, and notes when operations began.
struct Rests {
    pause: Duration,
    began: Arc<Mutex<Vec<Instant>>>,
}

impl Workload for Rests {
    type Connection = u32;

    const KINDS: &'static [&'static str] = &["rest"];

    async fn open(&self, _reactor: &Rc<Reactor>, _slot: Slot) -> Result<u32, Failure> {
        Ok(0)
    }

    fn pause(&self, times: &mut u32) -> Duration {
        *times += 1;
        self.pause * *times
    }

    async fn operate(&self, _times: &mut u32, _: &Context) -> Result<Operation, Failure> {
        self.began.lock().unwrap().push(Instant::now());
        Ok(Operation::default())
    }
}

#[test]
fn pauses_go_before_operations_and_are_no_part_of_their_latency() {
    for (load, duration) in [
        (Load::closed(1), Duration::from_millis(65)),
        (
            Load {
                batch: Some(3),
                ..Load::closed(1)
            },
            Duration::ZERO,
        ),
    ] {
        let pause = Duration::from_millis(10);
        let began = Arc::new(Mutex::new(Vec::new()));
        let rests = Rests {
            pause,
            began: Arc::clone(&began),
        };
        let mut engine = Engine::start(vec![rests], &load, 1).unwrap();
        engine.prepare(0).unwrap().unwrap();
        let yielded = engine.slice(0, duration).unwrap();
        let began = began.lock().unwrap();
        let operations = &yielded.operations[0];
        // At 10, 30 and 60 ms; a fourth would be at 100. A machine that stands still lets fewer begin, but for a batch.
        assert!(began.len() <= 3, "{}", began.len());
        assert!(began.len() == 3 || load.batch.is_none());
        assert_eq!((operations.count, yielded.unfinished), (began.len() as u64, 0));
        let mut paused = Duration::ZERO;
        for (number, began) in (1..).zip(began.iter()) {
            paused += pause * number;
            assert!(*began >= yielded.began + paused);
        }
        let measured = Duration::from_nanos(operations.latency_sum_ns);
        let fits = paused + measured <= Duration::from_nanos(yielded.duration_ns);
        assert!(fits, "{yielded:?}");
    }
}

#[test]
fn a_long_pause_ends_with_its_slice() {
    let pause = Duration::from_secs(3600);
    let rests = Rests {
        pause,
        began: Arc::default(),
    };
    let mut engine = Engine::start(vec![rests], &Load::closed(3), 1).unwrap();
    engine.prepare(0).unwrap().unwrap();
    let yielded = engine.slice(0, Duration::from_millis(50)).unwrap();
    assert_eq!((yielded.operations[0].count, yielded.unfinished), (0, 0));
    assert!(Duration::from_nanos(yielded.duration_ns) < pause);
}
