//! Parts of a study, and what is left of it on a server of the user's own.

use std::collections::{HashMap, HashSet};

use super::{Cell, Placement, Study};
use crate::storage::Storage;

impl Study {
    /// The same study on a server that somebody else runs: it has the certificate it has, and its threads stay where
    /// they are. Cells that differ in nothing but their private server are one; it is named for what is left.
    #[must_use]
    pub fn on_external_server(mut self) -> Self {
        self.placement = Placement::Free;
        self.replica_set = None;
        self.nodes = None;
        self.node_link = None;
        self.storage = Storage::default();
        let mut cells: Vec<Cell> = Vec::new();
        let mut renamed = HashSet::new();
        let mut names = HashMap::new();
        for mut cell in std::mem::take(&mut self.cells) {
            let old_name = cell.name.clone();
            let anywhere = Cell {
                server: None,
                certificate: None,
                replica_set: None,
                nodes: None,
                node_link: None,
                storage: None,
                ..cell.clone()
            };
            if cell != anywhere {
                cell = anywhere;
                cell.name = name_without_server(&cell);
            }
            cell.name = unused(cell.name, &cells);
            let is_renamed = cell.name != old_name;
            let same = cells.iter().find(|other| other.measures_the_same(&cell));
            let name = same.unwrap_or(&cell).name.clone();
            names.insert(old_name.clone(), name);
            if is_renamed {
                renamed.insert(old_name);
            }
            if same.is_none() {
                cells.push(cell);
            }
        }
        self.cells = cells;
        for cell in self.budgets.iter_mut().filter_map(|budget| budget.cell.as_mut()) {
            if let Some(name) = names.get(cell) {
                cell.clone_from(name);
            }
        }
        // What was published is of the server that the cell had.
        self.published.retain(|row| !renamed.contains(&row.cell));
        self
    }

    /// The same study without these arms, and without the cells in which nothing is left to be compared.
    #[must_use]
    pub fn without_arms(&self, names: &[&str]) -> Self {
        let is_left = |name: &String| !names.contains(&name.as_str());
        let mut study = self.clone();
        study.arms.retain(|arm| is_left(&arm.name));
        for arms in study.cells.iter_mut().filter_map(|cell| cell.arms.as_mut()) {
            arms.retain(is_left);
        }
        let mut cells = std::mem::take(&mut study.cells);
        cells.retain(|cell| study.arms_of(cell).count() > 1);
        study.cells = cells;
        study.forget_what_is_not_measured();
        study
    }

    /// The same study with these cells alone.
    #[must_use]
    pub fn with_cells(&self, is_kept: impl Fn(&str) -> bool) -> Self {
        let mut study = self.clone();
        study.cells.retain(|cell| is_kept(&cell.name));
        study.forget_what_is_not_measured();
        study
    }

    /// Leaves out published figures and budgets of arms and cells that are not there, and of arms that no cell meant measures.
    fn forget_what_is_not_measured(&mut self) {
        let mut published = std::mem::take(&mut self.published);
        let mut budgets = std::mem::take(&mut self.budgets);
        published.retain(|row| self.measures(Some(&row.cell), Some(&row.arm)));
        budgets.retain(|budget| self.measures(budget.cell.as_deref(), budget.arm.as_deref()));
        (self.published, self.budgets) = (published, budgets);
    }
}

impl Cell {
    fn measures_the_same(&self, other: &Self) -> bool {
        let renamed = Self {
            name: self.name.clone(),
            ..other.clone()
        };
        *self == renamed
    }
}

/// `connect at 45 ms`
fn name_without_server(cell: &Cell) -> String {
    let workload = cell.workload.name();
    match cell.link {
        Some(link) => format!("{workload} at {} ms", link.rtt_ms),
        None => workload.to_owned(),
    }
}

/// The name, with a number if a cell has it already.
fn unused(name: String, cells: &[Cell]) -> String {
    let is_used = |name: &String| cells.iter().any(|cell| cell.name == *name);
    let numbered = (2..).map(|number| format!("{name} {number}"));
    let mut candidates = std::iter::once(name.clone()).chain(numbered);
    candidates.find(|name| !is_used(name)).unwrap_or(name)
}
