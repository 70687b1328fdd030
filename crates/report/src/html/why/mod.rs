//! Why: cell by cell what bounds it, where CPU time goes, what sessions wait for, and the stacks of both arms.

mod categories;
mod courses;
mod flame;
mod states;

use ciphertax_records::Run;
use ciphertax_records::why::Pictures;
use serde::Serialize;

use super::figure::ArmName;
use crate::why::words::{bound_in_words, confirmation_word, costs_in_words, is_again};
use categories::Categories;
use courses::Courses;
use flame::FlameView;
use states::States;

/// All cells, and what looking into them cost.
#[derive(Serialize)]
pub(super) struct WhyView {
    cells: Vec<CellWhy>,
    costs: Vec<String>,
    /// Why the run was not looked into as far as it was asked.
    not_explained: Option<String>,
}

/// One cell.
#[derive(Serialize)]
struct CellWhy {
    name: String,
    bounds: Vec<BoundView>,
    categories: Vec<Categories>,
    /// Those of further variants.
    more: Vec<Categories>,
    states: Option<States>,
    wait_events: Option<States>,
    flames: Vec<FlameView>,
    courses: Option<Courses>,
}

/// What bounds an arm.
#[derive(Serialize)]
struct BoundView {
    arm: ArmName,
    word: String,
    evidence: Vec<String>,
    follows: Option<String>,
    tried: &'static str,
}

/// So many categories of a cell are seen before anything is unfolded: those of both sides of a variant.
const OPEN: usize = 2;
/// Boxes of all flame graphs together.
const BOXES: usize = 9_000;

impl WhyView {
    /// `None` where nothing was looked into and nothing is said of it.
    pub(super) fn of(run: &Run, pictures: &Pictures) -> Option<Self> {
        let why = &run.results.why;
        let boxes = BOXES / pictures.flames.len().max(1);
        let cells = run
            .cells()
            .map(|cell| CellWhy::of(run, &cell.found.name, pictures, boxes));
        let view = Self {
            cells: cells.filter(|cell| !cell.is_empty()).collect(),
            costs: costs_in_words(why.costs.iter()),
            not_explained: run.head.not_explained.clone(),
        };
        let is_empty = view.cells.is_empty() && view.costs.is_empty() && view.not_explained.is_none();
        (!is_empty).then_some(view)
    }
}

impl CellWhy {
    fn of(run: &Run, cell: &str, pictures: &Pictures, boxes: usize) -> Self {
        let mut categories = Categories::all(run, cell);
        let more = categories.split_off(OPEN.min(categories.len()));
        let bounds = run.results.why.bounds.iter();
        let flames = pictures.flames.iter().filter(|flame| flame.cell == cell);
        Self {
            name: cell.to_owned(),
            bounds: bounds
                .filter(|row| row.cell == cell && !is_again(run, &row.arm))
                .map(|row| BoundView {
                    arm: ArmName::of(run, &row.arm),
                    word: bound_in_words(row),
                    evidence: row.evidence.clone(),
                    follows: row.follows.clone(),
                    tried: confirmation_word(row.confirmation),
                })
                .collect(),
            categories,
            more,
            states: States::of(run, cell),
            wait_events: States::wait_events(run, cell),
            flames: flames
                .filter_map(|flame| FlameView::of(run, flame, boxes))
                .collect(),
            courses: Courses::of(cell, pictures),
        }
    }

    fn is_empty(&self) -> bool {
        self.bounds.is_empty()
            && self.categories.is_empty()
            && self.states.is_none()
            && self.wait_events.is_none()
            && self.flames.is_empty()
            && self.courses.is_none()
    }
}
