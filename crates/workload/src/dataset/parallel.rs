//! Work that several sessions do side by side.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use ciphertax_reactor::stop;

use super::mark::{DatasetError, Result};

type Worker<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// Deals `jobs` out to `sessions`, each of which takes the next when it is done with one. The first error ends it.
/// Where somebody wants to stop, those that were begun are ended and no other is.
pub(super) async fn each<S, J>(
    sessions: &mut [S],
    jobs: impl IntoIterator<Item = J>,
    work: impl AsyncFn(&mut S, J) -> Result<()>,
) -> Result<()> {
    let jobs = RefCell::new(jobs.into_iter());
    let next = || match stop::is_requested() {
        true => None,
        false => jobs.borrow_mut().next(),
    };
    let work_on = async |session: &mut S| {
        while let Some(job) = next() {
            work(session, job).await?;
        }
        Ok(())
    };
    let worker = |session| Box::pin(work_on(session)) as Worker<'_>;
    all(sessions.iter_mut().map(worker).collect()).await?;
    match stop::is_requested() {
        true => Err(DatasetError::Stopped),
        false => Ok(()),
    }
}

/// The same for work that says how much it has done; `counted` hears that each time.
pub(super) async fn each_counted<S, J>(
    sessions: &mut [S],
    jobs: impl IntoIterator<Item = J>,
    work: impl AsyncFn(&mut S, J) -> Result<u64>,
    counted: &mut dyn FnMut(u64),
) -> Result<()> {
    let counted = RefCell::new(counted);
    each(sessions, jobs, async |session, job| {
        let count = work(session, job).await?;
        counted.borrow_mut()(count);
        Ok(())
    })
    .await
}

/// Drives futures side by side: whenever one of their sockets wakes the task, each is polled.
async fn all(mut futures: Vec<Worker<'_>>) -> Result<()> {
    poll_fn(|context| {
        let mut outcome = Ok(());
        futures.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(done) => {
                outcome = std::mem::replace(&mut outcome, Ok(())).and(done);
                false
            }
        });
        if outcome.is_err() || futures.is_empty() {
            Poll::Ready(outcome)
        } else {
            Poll::Pending
        }
    })
    .await
}
