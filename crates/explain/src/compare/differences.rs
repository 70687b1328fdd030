//! What differs between runs besides the cost: versions, ciphers, the machine.

use std::collections::BTreeMap;

use ciphertax_records::{HeadDifference, Run};

use super::Named;
use crate::facts::{self, Fact};

/// Something about a run, or about one of its cells, or about an arm in it.
struct PlaceFact {
    place: Place,
    what: String,
    value: String,
}

impl PlaceFact {
    fn of(Fact { what, value }: Fact, place: &Place) -> Self {
        Self {
            place: place.clone(),
            what,
            value,
        }
    }
}

/// What a fact is about; the whole run where it has neither.
#[derive(Clone, Default, PartialEq)]
struct Place {
    cell: Option<String>,
    arm: Option<String>,
}

impl Place {
    /// True if a run has it: of what it has not, there is nothing to differ.
    fn is_in(&self, run: &Run) -> bool {
        let Some(name) = &self.cell else {
            return true;
        };
        let Some(cell) = run.cell(name) else {
            return false;
        };
        let mut arms = run.head.arms.iter();
        let is_measured =
            |arm: &String| arms.any(|there| there.name == *arm && there.sessions_in(cell.found).is_some());
        self.arm.as_ref().is_none_or(is_measured)
    }
}

/// What it is, how it is in each run, and the cells of which that is so.
struct Found<'a> {
    what: &'a str,
    /// `None` for a run that has no such cell or arm.
    values: Vec<Option<Option<String>>>,
    cells: Vec<&'a str>,
}

impl Found<'_> {
    /// True if it is not the same in all runs that have the cell and the arm.
    fn differs(&self) -> bool {
        let mut there = self.values.iter().flatten();
        let first = there.next();
        there.any(|value| Some(value) != first)
    }
}

/// Everything in which the runs differ, what matters most first. What differs alike in all cells is said once; of a cell or arm that
/// one run alone has, nothing.
pub(crate) fn differences(runs: &[Named<'_>]) -> Vec<HeadDifference> {
    let facts: Vec<Vec<PlaceFact>> = runs.iter().map(|named| facts(named.run)).collect();
    let mut order: Vec<(&str, &Place)> = Vec::new();
    for fact in facts.iter().flatten() {
        let key = (fact.what.as_str(), &fact.place);
        let there = runs.iter().filter(|named| fact.place.is_in(named.run));
        if !order.contains(&key) && there.count() > 1 {
            order.push(key);
        }
    }
    let value = |(run, facts): (&Named<'_>, &Vec<PlaceFact>), what: &str, place: &Place| {
        let mut facts = facts.iter();
        let fact = facts.find(|fact| fact.what == what && fact.place == *place);
        let value = fact.map(|fact| fact.value.clone());
        place.is_in(run.run).then_some(value)
    };
    let mut found: Vec<Found<'_>> = Vec::new();
    let mut cells_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (what, place) in order {
        *cells_of.entry(what).or_default() += 1;
        let cell = place.cell.as_deref();
        let values = runs.iter().zip(&facts).map(|run| value(run, what, place));
        let values: Vec<_> = values.collect();
        let known = found
            .iter_mut()
            .find(|known| known.what == what && known.values == values);
        match known {
            Some(known) => known.cells.extend(cell),
            None => found.push(Found {
                what,
                values,
                cells: cell.into_iter().collect(),
            }),
        }
    }
    found.retain(Found::differs);
    let difference = |found: Found<'_>| HeadDifference {
        what: match found.cells.is_empty() || found.cells.len() == cells_of[found.what] {
            true => found.what.to_owned(),
            false => format!("{}, {}", found.what, found.cells.join(", ")),
        },
        values: found.values.into_iter().map(Option::flatten).collect(),
    };
    found.into_iter().map(difference).collect()
}

fn facts(run: &Run) -> Vec<PlaceFact> {
    let (head, study) = (&run.head, &run.head.study);
    let mut facts = Vec::new();
    for cell in run.cells() {
        let place = Place {
            cell: Some(cell.found.name.clone()),
            arm: None,
        };
        let of_place = |place: &Place, found: Vec<Fact>| {
            let place = place.clone();
            found.into_iter().map(move |fact| PlaceFact::of(fact, &place))
        };
        if let Some(server) = run.server_of(cell.found) {
            facts.extend(of_place(&place, facts::of_server(server)));
        }
        for arm in head.arms_once() {
            let sessions = arm.sessions_in(cell.found);
            let of_session = sessions.map_or_else(Vec::new, |sessions| facts::of_session(&sessions.facts));
            let named = of_session.into_iter().map(|fact| Fact {
                what: format!("{} of {}", fact.what, arm.name),
                ..fact
            });
            let place = Place {
                arm: Some(arm.name.clone()),
                ..place.clone()
            };
            facts.extend(of_place(&place, named.collect()));
        }
        facts.extend(of_place(&place, facts::of_storage(study, cell.asked)));
    }
    let names = |what: &str, names: Vec<&str>| Fact {
        what: what.to_owned(),
        value: names.join(", "),
    };
    let of_run = [
        facts::of_machine(head),
        vec![
            names("study", vec![study.name.as_str()]),
            names("arms", study.arms.iter().map(|arm| arm.name.as_str()).collect()),
            names(
                "cells",
                study.cells.iter().map(|cell| cell.name.as_str()).collect(),
            ),
        ],
        facts::of_method(study),
    ];
    facts.extend(
        of_run
            .into_iter()
            .flatten()
            .map(|fact| PlaceFact::of(fact, &Place::default())),
    );
    facts
}
