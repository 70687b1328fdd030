//! A data set that all load generators write together. What one of them could not write the conductor finds missing, and writes it.

use std::panic::resume_unwind;
use std::thread;

use ciphertax_engine::Part;
use ciphertax_reactor::{Reactor, stop};
use ciphertax_workload::dataset::Contents;

use super::conduct::Ranks;
use super::protocol::{Loading, Request};
use crate::database::Database;
use crate::error::RunError;
use crate::patience::wait_for;

/// Has all load generators write their part of the rows of tables that are there. `progress` hears how many all have written, as far as
/// they are as fast as this one.
///
/// # Errors
/// Who is gone, or that somebody wants to stop.
pub(crate) fn load_together<D: Database>(
    ranks: &Ranks,
    access: &D::Access,
    contents: &Contents,
    loading: Loading,
    progress: &mut dyn FnMut(u64),
) -> Result<(), RunError> {
    let loading = Box::new(loading);
    ranks.tell(|told| Request::Load {
        part: told.part,
        loading: loading.clone(),
    })?;
    let all = u64::from(ranks.count());
    let stop = stop::heeded();
    thread::scope(|scope| {
        // The others say every second that they live, which nobody may leave unheard for as long as this one works.
        let answers = scope.spawn(|| match &stop {
            Some(stop) => stop::heed(stop, || ranks.answers_unless_stopped()),
            None => ranks.answers_unless_stopped(),
        });
        let written = load_part::<D>(access, contents, ranks.own_part(), &mut |rows| {
            progress(rows * all)
        });
        let answered = answers.join().unwrap_or_else(|panic| resume_unwind(panic));
        match written {
            Err(RunError::Stopped) => Err(RunError::Stopped),
            // What is wrong with the server the conductor says when it makes the rest.
            _ => answered.map(drop),
        }
    })
}

/// Writes a part of the rows of tables that are there.
///
/// # Errors
/// When the server refuses, or somebody wants to stop.
pub(super) fn load_part<D: Database>(
    access: &D::Access,
    contents: &Contents,
    part: Part,
    progress: &mut dyn FnMut(u64),
) -> Result<(), RunError> {
    let reactor = Reactor::new().map_err(|error| RunError::Rank(error.to_string()))?;
    let task = D::load_part(&reactor, access, contents, part, progress);
    wait_for(&reactor, "the server", contents.patience(), task)?.map_err(RunError::from)
}
