//! Where a figure or a budget cannot be.

use super::found::{Found, Path};
use crate::nearest::hint;
use crate::study::Study;

/// Of an arm and a cell of the study; `None` means any of them.
pub(super) fn check_place(
    study: &Study,
    arm: Option<&str>,
    cell: Option<&str>,
    path: &Path,
    found: &mut Found,
) {
    let variants: Vec<&str> = study.variants().map(|arm| arm.name.as_str()).collect();
    let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    if let Some(arm) = arm.filter(|arm| !variants.contains(arm)) {
        let message = format!("{arm:?} is no variant of the study{}", hint(arm, &variants));
        found.add(path.key("arm"), message);
    }
    if let Some(cell) = cell.filter(|cell| !cells.contains(cell)) {
        let message = format!("unknown cell {cell:?}{}", hint(cell, &cells));
        found.add(path.key("cell"), message);
    }
    let is_there = match cell {
        Some(cell) => cells.contains(&cell),
        None => !cells.is_empty(),
    };
    if let Some(arm) = arm.filter(|arm| variants.contains(arm))
        && is_there
        && !study.measures(cell, Some(arm))
    {
        let message = match cell {
            Some(cell) => format!("arm {arm:?} is not measured in cell {cell:?}"),
            None => format!("arm {arm:?} is measured in no cell"),
        };
        found.add(path.key("arm"), message);
    }
}
