//! What a budget cannot be of.

use super::found::{Found, Path};
use super::place::check_place;
use crate::budget::Budget;
use crate::metric::Metric;
use crate::study::Study;

pub(super) fn check_budget(study: &Study, budget: &Budget, path: &Path, found: &mut Found) {
    check_place(study, budget.arm.as_deref(), budget.cell.as_deref(), path, found);
    if Metric::MEASURED_ALONE.contains(&budget.metric) {
        found.add(path.key("metric"), Budget::not_compared(budget.metric));
    }
    if let Some(problem) = budget.problem() {
        found.add(path.key("at_most"), problem);
    }
}
