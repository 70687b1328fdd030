//! Why: cell by cell what bounds it, where CPU time goes, what sessions wait for, and the stacks of both arms.

mod bars;
mod flame;

use ciphertax_base::format;
use ciphertax_records::Run;
use ciphertax_records::why::{Course, Pictures};
use serde::Serialize;

use super::figure::ArmName;
use crate::why::{
    bound_in_words, confirmation_in_words, costs_in_words, course_figure, course_label, in_sentences,
    is_again,
};
use bars::{Categories, States};
use flame::FlameView;

/// All cells, and what looking into them cost.
#[derive(Serialize)]
pub(super) struct WhyView {
    /// Of what each cost consists, and whether it shows.
    sentences: Vec<String>,
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
const BOXES: usize = 1_500;

impl WhyView {
    /// `None` where nothing was looked into and nothing is said of it.
    pub(super) fn of(run: &Run, pictures: &Pictures) -> Option<Self> {
        let why = &run.results.why;
        let boxes = BOXES / pictures.flames.len().max(1);
        let cells = run
            .cells()
            .map(|cell| CellWhy::of(run, &cell.found.name, pictures, boxes));
        let view = Self {
            sentences: in_sentences(run),
            cells: cells.filter(|cell| !cell.is_empty()).collect(),
            costs: costs_in_words(why.costs.iter()),
            not_explained: run.head.not_explained.clone(),
        };
        let is_empty = view.sentences.is_empty()
            && view.cells.is_empty()
            && view.costs.is_empty()
            && view.not_explained.is_none();
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
                    tried: confirmation_in_words(row.confirmation),
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

/// Device and server in the course of a run: the figures of one cell.
#[derive(Serialize)]
struct Courses {
    cell: String,
    lines: Vec<CourseLine>,
    from: String,
    to: String,
}

/// One figure as a line.
#[derive(Serialize)]
struct CourseLine {
    label: String,
    /// In thousandths of width and height.
    path: String,
    most: String,
    words: String,
}

impl Courses {
    /// `None` where none was recorded, as of a short run.
    fn of(cell: &str, pictures: &Pictures) -> Option<Self> {
        let courses: Vec<&Course> = pictures
            .courses
            .iter()
            .filter(|course| course.cell == cell && course.points.len() > 1)
            .collect();
        let times = || {
            courses
                .iter()
                .flat_map(|course| course.points.iter().map(|[time, _]| *time))
        };
        let (from, to) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
        (to > from).then(|| Self {
            cell: cell.to_owned(),
            lines: courses.iter().map(|course| line(course, from, to)).collect(),
            from: format::span(from),
            to: format::span(to),
        })
    }
}

fn line(course: &Course, from: f64, to: f64) -> CourseLine {
    let values = || course.points.iter().map(|[_, value]| *value);
    let most = values().fold(0.0, f64::max);
    let least = values().fold(f64::INFINITY, f64::min);
    let place = |[time, value]: &[f64; 2]| {
        let x = 1000.0 * (time - from) / (to - from);
        let y = match most > 0.0 {
            true => 980.0 - 960.0 * (value / most).clamp(0.0, 1.0),
            false => 980.0,
        };
        format!("{x:.0} {y:.0}")
    };
    let places: Vec<String> = course.points.iter().map(place).collect();
    let (label, most) = (course_label(&course.of), course_figure(&course.of, most));
    CourseLine {
        path: format!("M{}", places.join("L")),
        words: format!(
            "{label}: {} at least, {most} at most",
            course_figure(&course.of, least)
        ),
        label,
        most,
    }
}
