//! What is refused whatever the machine and the server: the rules that every study is held to, which its types allow to break.

mod arm;
mod cell;
mod columns;
mod study;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::arm::Arm;
use crate::problem::{Position, StudyError, StudyProblem, hint};
use crate::refusal::Refusal;
use crate::study::{Cell, Study};

/// Every rule, by what it is about.
const RULES: [&[Rule]; 4] = [study::RULES, arm::RULES, columns::RULES, cell::RULES];

/// A refusal and the keys that lead to what it is about, joined by dots; entries of lists by their numbers.
pub(crate) type Located = (String, Refusal);

/// One thing that is refused.
struct Rule {
    /// What it refuses, as no other rule does.
    #[cfg_attr(not(test), expect(dead_code, reason = "its tests and the reference name it"))]
    id: Key,
    /// The key that it is about, from the arm or cell on; empty where the refusals say it.
    key: Key,
    applies: Applies,
}

/// What a rule looks at. What needs more than one value of the study says nothing as long as others of them are not understood.
#[derive(Clone, Copy)]
enum Applies {
    /// Values of the study, each by itself.
    Values(fn(&Study) -> Vec<Located>),
    /// An arm by itself.
    Arm(fn(&Arm) -> Option<Refusal>),
    /// A cell by itself.
    Cell(fn(&Cell) -> Option<Refusal>),
    /// All of the study.
    Study(fn(&Study) -> Vec<Located>),
    /// A cell of the study.
    CellIn(fn(&Study, &Cell) -> Option<Refusal>),
    /// An arm in a cell that measures it.
    ArmIn(fn(&Study, &Cell, &Arm) -> Option<Refusal>),
}

type Key = &'static str;

const fn of_values(id: Key, key: Key, find: fn(&Study) -> Vec<Located>) -> Rule {
    Rule::new(id, key, Applies::Values(find))
}

const fn of_arm(id: Key, key: Key, find: fn(&Arm) -> Option<Refusal>) -> Rule {
    Rule::new(id, key, Applies::Arm(find))
}

const fn of_cell(id: Key, key: Key, find: fn(&Cell) -> Option<Refusal>) -> Rule {
    Rule::new(id, key, Applies::Cell(find))
}

const fn of_study(id: Key, key: Key, find: fn(&Study) -> Vec<Located>) -> Rule {
    Rule::new(id, key, Applies::Study(find))
}

const fn of_cell_in(id: Key, key: Key, find: fn(&Study, &Cell) -> Option<Refusal>) -> Rule {
    Rule::new(id, key, Applies::CellIn(find))
}

const fn of_arm_in(id: Key, key: Key, find: fn(&Study, &Cell, &Arm) -> Option<Refusal>) -> Rule {
    Rule::new(id, key, Applies::ArmIn(find))
}

impl Rule {
    const fn new(id: Key, key: Key, applies: Applies) -> Self {
        Self { id, key, applies }
    }

    fn refusals(&self, study: &Study, is_whole: bool) -> Vec<Located> {
        match self.applies {
            Applies::Values(find) => find(study),
            Applies::Arm(find) => arms(study)
                .filter_map(|(place, arm)| Some(place.at(self.key, find(arm)?)))
                .collect(),
            Applies::Cell(find) => cells(study)
                .filter_map(|(place, cell)| Some(place.at(self.key, find(cell)?)))
                .collect(),
            _ if !is_whole => Vec::new(),
            Applies::Study(find) => find(study),
            Applies::CellIn(find) => cells(study)
                .filter_map(|(place, cell)| Some(place.at(self.key, find(study, cell)?)))
                .collect(),
            Applies::ArmIn(find) => cells(study)
                .flat_map(|(place, cell)| {
                    study.arms_of(cell).filter_map(move |arm| {
                        let (path, refusal) = place.at(self.key, find(study, cell, arm)?);
                        let subject = format!("arm {:?} in {}", arm.name, refusal.subject);
                        Some((path, refusal.about(subject)))
                    })
                })
                .collect(),
        }
    }
}

/// All that is refused of a study; of one that is not whole, because some of its values are not understood, what the others are
/// refused for by themselves.
pub(crate) fn refusals(study: &Study, is_whole: bool) -> Vec<Located> {
    let rules = RULES.into_iter().flatten();
    rules.flat_map(|rule| rule.refusals(study, is_whole)).collect()
}

impl Study {
    /// Checks what the types alone cannot.
    ///
    /// # Errors
    /// Names all that is refused.
    pub fn validated(self) -> Result<Self, StudyError> {
        let name = format!("study {}", self.name);
        let problem = |(_, refusal): Located| StudyProblem {
            position: Position::Study(name.clone()),
            message: refusal.to_string(),
        };
        let problems: Vec<StudyProblem> = refusals(&self, true).into_iter().map(problem).collect();
        match problems.is_empty() {
            true => Ok(self),
            false => Err(StudyError::new(name, problems)),
        }
    }
}

/// A part of a study: where it is, and what it is called in messages.
struct Place {
    path: String,
    subject: String,
}

impl Place {
    /// The study itself.
    const STUDY: Self = Self {
        path: String::new(),
        subject: String::new(),
    };

    fn of(kind: &str, index: usize, name: &str) -> Self {
        Self {
            path: format!("{kind}.{index}."),
            subject: format!("{kind} {name:?}"),
        }
    }

    /// An entry of a list that has no name.
    fn unnamed(kind: &str, index: usize) -> Self {
        Self {
            path: format!("{kind}.{index}."),
            subject: String::new(),
        }
    }

    /// The refusal of what is there under a key.
    fn at(&self, key: &str, refusal: Refusal) -> Located {
        (format!("{}{key}", self.path), refusal.about(&self.subject))
    }

    /// The refusal of a value that is there and outside its bounds.
    fn outside<T: PartialOrd + Display>(
        &self,
        key: &str,
        value: impl Into<Option<T>>,
        bounds: RangeInclusive<T>,
    ) -> Option<Located> {
        let value = value.into().filter(|value| !bounds.contains(value))?;
        let (least, most) = bounds.into_inner();
        let why = format!("{key} is {value}; it must lie between {least} and {most}");
        Some(self.at(key, Refusal::new(why)))
    }
}

fn arms(study: &Study) -> impl Iterator<Item = (Place, &Arm)> {
    let arms = study.arms.iter().enumerate();
    arms.map(|(index, arm)| (Place::of("arm", index, &arm.name), arm))
}

fn cells(study: &Study) -> impl Iterator<Item = (Place, &Cell)> {
    let cells = study.cells.iter().enumerate();
    cells.map(|(index, cell)| (Place::of("cell", index, &cell.name), cell))
}

/// The refusal of a name that is none of those that are known.
fn unknown(kind: &str, name: &str, known: &[&str]) -> Refusal {
    Refusal::new(format!("unknown {kind} {name:?}{}", hint(name, known)))
}
