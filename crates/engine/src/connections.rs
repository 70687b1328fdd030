//! An arm's connections on one load thread, as a trait object: all else of the engine is compiled once, and not for every workload.
//! What is called through it is called once a connection and slice, not once an operation.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ciphertax_reactor::{Reactor, Task};

use crate::course::{Pacer, Turn};
use crate::recorder::Recorder;
use crate::workload::{Context, Deal, MOST_COUNTS, Result, Slot, Workload};

/// What comes of opening connections, or of a check.
pub(crate) type Attempt<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// Makes an arm's connections on a load thread: so many, none of which is open.
pub(crate) type Connector = Arc<dyn Fn(usize) -> Box<dyn Connections> + Send + Sync>;

/// That of an arm with this workload.
pub(crate) fn connector<W: Workload>(workload: W) -> Connector {
    const { assert!(W::COUNTS.len() <= MOST_COUNTS) };
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
    /// Counts what they do in a slice, and keeps every single operation where `keep` says so.
    fn recorder(&self, keep: bool) -> Recorder;

    /// [`Workload::DEALT`].
    fn are_dealt(&self) -> bool;

    /// [`Workload::check`].
    fn check<'a>(&'a self, reactor: &'a Rc<Reactor>) -> Attempt<'a>;

    fn is_open(&self, place: usize) -> bool;

    /// [`Workload::close`], of those that are open.
    fn close(&self) -> Attempt<'_>;

    /// [`Workload::open`].
    fn open<'a>(&'a self, reactor: &'a Rc<Reactor>, place: usize, slot: Slot) -> Attempt<'a>;

    /// [`Workload::begin`], where the connection is open.
    fn begin(&self, place: usize, deal: Deal);

    /// An open connection's part of a slice; it is open again afterwards unless an operation failed or did not end.
    fn work<'a>(&'a self, place: usize, slice: &'a Slice<'a>, turn: Turn) -> Task<'a>;
}

/// What the connections of a load thread work on.
pub(crate) struct Slice<'a> {
    pub(crate) context: Context,
    pub(crate) pacer: Pacer<'a>,
}

struct OfWorkload<W: Workload> {
    workload: Arc<W>,
    /// `None` for a connection that must be opened first, or that is at work in a slice.
    slots: Vec<RefCell<Option<W::Connection>>>,
}

impl<W: Workload> Connections for OfWorkload<W> {
    fn recorder(&self, keep: bool) -> Recorder {
        Recorder::new(W::KINDS, W::COUNTS, keep)
    }

    fn are_dealt(&self) -> bool {
        W::DEALT
    }

    fn check<'a>(&'a self, reactor: &'a Rc<Reactor>) -> Attempt<'a> {
        Box::pin(self.workload.check(reactor))
    }

    fn is_open(&self, place: usize) -> bool {
        self.slots[place].borrow().is_some()
    }

    fn close(&self) -> Attempt<'_> {
        Box::pin(async move {
            for slot in &self.slots {
                if let Some(connection) = slot.take() {
                    self.workload.close(connection).await;
                }
            }
            Ok(())
        })
    }

    fn open<'a>(&'a self, reactor: &'a Rc<Reactor>, place: usize, slot: Slot) -> Attempt<'a> {
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

    fn work<'a>(&'a self, place: usize, slice: &'a Slice<'a>, turn: Turn) -> Task<'a> {
        Box::pin(work(&*self.workload, &self.slots[place], slice, turn))
    }
}

/// What [`Connections::work`] says.
async fn work<W: Workload>(
    workload: &W,
    slot: &RefCell<Option<W::Connection>>,
    slice: &Slice<'_>,
    mut turn: Turn,
) {
    let Some(mut connection) = slot.take() else {
        return;
    };
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
        match workload.operate(&mut connection, &slice.context).await {
            Ok(operation) => {
                now = Instant::now();
                slice.context.recorder.borrow_mut().record(operation, now - began);
            }
            Err(failure) => {
                slice.context.recorder.borrow_mut().fail(failure);
                return;
            }
        }
        slice.pacer.end(&mut turn, now);
    }
    workload.settle(&mut connection, &slice.context).await;
    slot.replace(Some(connection));
}
