//! The sets of tables on a server, and what was asked of each.

use ciphertax_base::Proof;
use ciphertax_columns::MasterKey;
use ciphertax_model::workload::{Tables as Asks, Vocabulary};
use ciphertax_model::{Study, Workload};
use ciphertax_records::Yield;
use ciphertax_workload::dataset::Contents;
use ciphertax_workload::dataset::tpcc::{ConditionResult, TableNames, When};

use super::asked::Asked;
use super::contents;
use super::verdict::proof;

/// The sets of tables on a server, and what was asked of each.
pub(crate) struct Tables {
    /// These tables alone.
    pub(super) contents: Contents,
    /// How often a list of transactions is played against one set.
    repeats: u32,
    sets: Vec<Set>,
    /// True if something was asked that nobody counted.
    is_unknown: bool,
}

#[derive(Default)]
struct Set {
    /// Since it was loaded.
    asked: Asked,
    /// Transactions before it was restored.
    before: u64,
    restored: u32,
    held: Vec<ConditionResult>,
    /// How many other sets hold the same.
    same: usize,
}

impl Tables {
    /// Those that a study's cells ask; `None` for none.
    pub(crate) fn of(study: &Study, spoken: &[Vocabulary], key: Option<&MasterKey>) -> Option<Self> {
        let tpcc = contents(study, spoken, key).tpcc?;
        let sets = tpcc.sets.iter().map(|_| Set::default()).collect();
        let shared = tpcc.sets.len() == 1;
        let of_batches = study.cells.iter().filter(|cell| {
            cell.workload.descriptor().tables == Some(Asks::Tpcc) && cell.load.batch.is_some()
        });
        let arms = of_batches.map(|cell| study.measured_arms_of(cell).len() as u32);
        Some(Self {
            repeats: arms.filter(|_| shared).max().unwrap_or(1),
            contents: Contents {
                tpcc: Some(tpcc),
                ..Contents::NONE
            },
            sets,
            is_unknown: study.cells.iter().any(|cell| cell.workload == Workload::Command),
        })
    }

    /// Hears what a slice asked of the set with this number; there may be one for all.
    pub(crate) fn count(&mut self, set: u32, load: &Yield, unfinished: Option<u64>) {
        let index = self.index_of(set);
        self.sets[index].asked.add(load, unfinished.unwrap_or(0));
        self.is_unknown |= unfinished.is_none();
    }

    /// True if they are to be restored, which is done to all of them at once.
    pub(crate) fn have_grown(&self) -> bool {
        let tpcc = self.contents.tpcc.as_ref();
        tpcc.is_some_and(|tpcc| self.sets.iter().any(|set| set.asked.has_grown(&tpcc.tables)))
    }

    /// What must be true of each set now.
    pub(super) fn when(&self) -> Vec<When> {
        let counted = |set: &Set| When::AfterRun((!self.is_unknown).then(|| set.asked.counted(self.repeats)));
        self.sets.iter().map(counted).collect()
    }

    /// Sets that were asked the same, and so must hold the same.
    pub(super) fn alike(&self) -> Vec<Vec<TableNames>> {
        let Some(tpcc) = self.contents.tpcc.as_ref().filter(|_| !self.is_unknown) else {
            return Vec::new();
        };
        let mut alike: Vec<(Asked, Vec<TableNames>)> = Vec::new();
        for (set, tables) in self.sets.iter().zip(&tpcc.sets) {
            if set.asked.counted(self.repeats).undecided > 0 {
                continue;
            }
            match alike.iter_mut().find(|(asked, _)| *asked == set.asked) {
                Some((_, names)) => names.push(tables.names),
                None => alike.push((set.asked, vec![tables.names])),
            }
        }
        let several = alike.into_iter().map(|(_, names)| names);
        several.filter(|names| names.len() > 1).collect()
    }

    /// Hears what held of each set.
    pub(super) fn held(&mut self, held: Vec<Vec<ConditionResult>>, alike: &[Vec<TableNames>]) {
        let names: Vec<TableNames> = self
            .contents
            .tpcc
            .iter()
            .flat_map(|tpcc| &tpcc.sets)
            .map(|set| set.names)
            .collect();
        for ((set, held), names) in self.sets.iter_mut().zip(held).zip(names) {
            set.held = held;
            let same = alike.iter().find(|alike| alike.contains(&names));
            set.same = same.map_or(0, |alike| alike.len() - 1);
        }
    }

    /// Hears that they are as they were loaded.
    pub(super) fn restored(&mut self) {
        for set in &mut self.sets {
            set.before += set.asked.transactions;
            set.asked = Asked::default();
            set.restored += 1;
        }
    }

    /// What held of a set at the end; `None` where nothing was asked of it.
    pub(crate) fn proof(&self, set: u32) -> Option<Proof> {
        let set = &self.sets[self.index_of(set)];
        let transactions = set.before + set.asked.transactions;
        (!set.held.is_empty()).then(|| proof(&set.held, transactions, set.restored, set.same))
    }

    fn index_of(&self, set: u32) -> usize {
        match self.sets.len() {
            1 => 0,
            _ => set as usize,
        }
    }
}
