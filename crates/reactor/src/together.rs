//! Several futures of one task at a time.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Futures that one task waits for together. Whatever one of them waits for wakes the task, which looks at all: it is
/// for a few, and not for what is measured.
pub struct Together<F: Future> {
    running: Vec<Option<Pin<Box<F>>>>,
}

impl<F: Future> Together<F> {
    /// All of these.
    pub fn new(futures: impl IntoIterator<Item = F>) -> Self {
        Self {
            running: futures.into_iter().map(|future| Some(Box::pin(future))).collect(),
        }
    }

    /// The output of the next that ends, and its place among those given; `None` when all have ended.
    pub async fn next(&mut self) -> Option<(usize, F::Output)> {
        poll_fn(|context| {
            let mut is_over = true;
            for (place, slot) in self.running.iter_mut().enumerate() {
                let Some(future) = slot else { continue };
                is_over = false;
                if let Poll::Ready(output) = future.as_mut().poll(context) {
                    *slot = None;
                    return Poll::Ready(Some((place, output)));
                }
            }
            match is_over {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        })
        .await
    }

    /// The first that succeeds, while the others are given up; the last failure when none does, and `None` of no
    /// futures.
    pub async fn first_ok<T, E>(mut self) -> Option<Result<T, E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        let mut failure = None;
        while let Some((_, outcome)) = self.next().await {
            match outcome {
                Ok(found) => return Some(Ok(found)),
                Err(error) => failure = Some(Err(error)),
            }
        }
        failure
    }
}
