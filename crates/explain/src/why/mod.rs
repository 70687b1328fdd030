//! Why: from profiles and waits to where CPU time goes, what sessions wait for, and what bounds a cell.

mod bound;
pub mod categories;
mod counted;
mod differences;
mod states;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use bound::in_words;
pub(crate) use counted::by_rules;

use ciphertax_estimate::{EstimateError, looking, slices};
use ciphertax_records::why::{Looks, Why};
use ciphertax_records::{Head, Results, Run, Samples};

use self::counted::{Classify, Profiles};
use self::states::Seen;

/// Why the arms cost what they do; `results` are those of the same samples so far.
///
/// # Errors
/// When samples or looks are damaged.
pub(crate) fn why(
    classify: &Classify<'_>,
    head: &Head,
    results: &Results,
    samples: &(impl Samples + ?Sized),
    looks: &dyn Looks,
    confirming: Option<&Run>,
) -> Result<Why, EstimateError> {
    if looks.profiles().next().is_none() && looks.waits().next().is_none() {
        return Ok(Why::default());
    }
    let cells = slices::read(head, samples)?;
    let profiles = Profiles::read(head, &cells, looks, classify)?;
    let seen = Seen::read(head, &cells, looks)?;
    let mut why = Why::default();
    for (index, cell) in cells.iter().enumerate() {
        let differences = differences::of_cell(index, cell, &profiles, results)?;
        why.categories.extend(differences.categories);
        why.differences.extend(differences.sides);
        let by_state = states::blocks(&seen.by_state, index, cell);
        why.states
            .extend(states::rows(cell, by_state, |state| state.name())?);
        let by_event = states::blocks(&seen.by_wait_event, index, cell);
        why.wait_events
            .extend(states::rows(cell, by_event, |of_type| of_type)?);
        let bounds = bound::of_cell(index, cell, &seen, &profiles, (head, results), confirming)?;
        why.bounds.extend(bounds);
        why.costs.extend(looking::costs(cell)?);
    }
    Ok(why)
}
