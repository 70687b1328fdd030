//! An arm's connections on one load thread, behind a trait of objects: all else of the engine is compiled once, and not for every
//! workload. A call costs a slice what it costs a connection, and an operation nothing.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;

use crate::operation::Failure;
use crate::pacer::{Pacer, Turn};
use crate::recorder::Recorder;
use crate::workload::{Deal, Slot, Workload};

/// What a load thread waits for.
pub(crate) type Task<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Makes an arm's connections on a load thread: so many, none of which is open.
pub(crate) type Arm = Arc<dyn Fn(usize) -> Box<dyn Connections> + Send + Sync>;

/// The arm of a workload.
pub(crate) fn arm<W: Workload>(workload: W) -> Arm {
    let workload = Arc::new(workload);
    Arc::new(move |connections| {
        Box::new(OfWorkload {
            workload: Arc::clone(&workload),
            slots: (0..connections).map(|_| RefCell::new(None)).collect(),
        })
    })
}

/// An arm's connections on one load thread, by place.
pub(crate) trait Connections {
    /// [`Workload::KINDS`].
    fn kinds(&self) -> &'static [&'static str];

    /// [`Workload::DEALT`].
    fn are_dealt(&self) -> bool;

    /// [`Workload::check`].
    fn check<'a>(&'a self, reactor: &'a Rc<Reactor>) -> Task<'a, Result<(), Failure>>;

    fn is_open(&self, place: usize) -> bool;

    /// [`Workload::open`].
    fn open<'a>(
        &'a self,
        reactor: &'a Rc<Reactor>,
        place: usize,
        slot: Slot,
    ) -> Task<'a, Result<(), Failure>>;

    /// [`Workload::begin`], where the connection is open.
    fn begin(&self, place: usize, deal: Deal);

    /// The part of a slice of a connection that is open, and stays so if all goes well.
    fn work<'a>(&'a self, place: usize, slice: &'a Slice<'a>, turn: Turn) -> Task<'a, ()>;
}

/// What the connections of a load thread work on.
pub(crate) struct Slice<'a> {
    pub(crate) reactor: &'a Rc<Reactor>,
    pub(crate) recorder: RefCell<Recorder>,
    pub(crate) pacer: Pacer<'a>,
}

struct OfWorkload<W: Workload> {
    workload: Arc<W>,
    /// `None` for a connection that must be opened first, or that works.
    slots: Vec<RefCell<Option<W::Connection>>>,
}

impl<W: Workload> Connections for OfWorkload<W> {
    fn kinds(&self) -> &'static [&'static str] {
        W::KINDS
    }

    fn are_dealt(&self) -> bool {
        W::DEALT
    }

    fn check<'a>(&'a self, reactor: &'a Rc<Reactor>) -> Task<'a, Result<(), Failure>> {
        Box::pin(self.workload.check(reactor))
    }

    fn is_open(&self, place: usize) -> bool {
        self.slots[place].borrow().is_some()
    }

    fn open<'a>(
        &'a self,
        reactor: &'a Rc<Reactor>,
        place: usize,
        slot: Slot,
    ) -> Task<'a, Result<(), Failure>> {
        Box::pin(async move {
            let connection = self.workload.open(reactor, slot).await?;
            *self.slots[place].borrow_mut() = Some(connection);
            Ok(())
        })
    }

    fn begin(&self, place: usize, deal: Deal) {
        if let Some(connection) = &mut *self.slots[place].borrow_mut() {
            self.workload.begin(connection, deal);
        }
    }

    fn work<'a>(&'a self, place: usize, slice: &'a Slice<'a>, turn: Turn) -> Task<'a, ()> {
        let connection = self.slots[place].take();
        Box::pin(async move {
            if let Some(connection) = connection {
                *self.slots[place].borrow_mut() = work(&*self.workload, slice, turn, connection).await;
            }
        })
    }
}

/// One connection's part of the slice; returns the connection if it can be used again.
async fn work<W: Workload>(
    workload: &W,
    slice: &Slice<'_>,
    mut turn: Turn,
    mut connection: W::Connection,
) -> Option<W::Connection> {
    // The end of an operation is the beginning of the next: one look at the clock serves both.
    let mut now = Instant::now();
    while slice.pacer.take(&mut turn, now) {
        let pause = match slice.pacer.lets_rest() {
            true => workload.pause(&mut connection),
            false => Duration::ZERO,
        };
        let Some(began) = slice.pacer.begin(&mut turn, now, pause).await else {
            break;
        };
        let outcome = workload
            .operate(slice.reactor, &mut connection, &slice.recorder)
            .await;
        match outcome {
            Ok(operation) => {
                now = Instant::now();
                slice.recorder.borrow_mut().record(operation, now - began);
            }
            Err(failure) => {
                slice.recorder.borrow_mut().fail(failure);
                return None;
            }
        }
        slice.pacer.end(&mut turn, now);
    }
    workload.settle(&mut connection, &slice.recorder).await;
    Some(connection)
}
