//! Names and stacks that an agent has seen, by the numbers that a run gives them.

use std::collections::BTreeMap;

use ciphertax_base::harmless;
use ciphertax_records::SliceId;
use ciphertax_records::why::{
    Blocked, ModuleId, ModuleRecord, Profile, ProfiledSide, SideProfile, StackId, StackRecord, SymbolId,
    SymbolRecord, SymbolTable, Waits,
};
use serde::{Deserialize, Serialize};

use crate::schedule::Looked;

/// So many bytes of names go into one message, about; a message may have twice as many.
const BYTES: usize = 400 << 10;
/// What a number takes in a message, with its comma.
const NUMBER_BYTES: usize = 8;
/// What a name takes besides its characters.
const BESIDE_NAME: usize = 80;

/// How many are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Known {
    modules: usize,
    symbols: usize,
    stacks: usize,
}

impl Known {
    pub(super) fn all_of(table: &SymbolTable) -> Self {
        Self {
            modules: table.modules().len(),
            symbols: table.symbols().len(),
            stacks: table.stacks().len(),
        }
    }
}

/// Those that follow the known ones, as many as fit into a message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Names {
    modules: Vec<ModuleRecord>,
    symbols: Vec<SymbolRecord>,
    stacks: Vec<StackRecord>,
}

impl Names {
    /// The next of a table. What a symbol or a stack is made of comes before it.
    pub(super) fn after(known: Known, table: &SymbolTable) -> Self {
        let mut room = BYTES;
        let modules = fitting(table.modules(), known.modules, &mut room, |module| {
            BESIDE_NAME + module.name.len()
        });
        let symbols = fitting(table.symbols(), known.symbols, &mut room, |symbol| {
            BESIDE_NAME + symbol.name.len()
        });
        let stacks = fitting(table.stacks(), known.stacks, &mut room, |stack| {
            NUMBER_BYTES * (stack.len() + 1)
        });
        Self {
            modules,
            symbols,
            stacks,
        }
    }
}

/// Those from a place on that fit, of which the first does in any case; nothing follows what did not fit.
fn fitting<T: Clone>(all: &[T], from: usize, room: &mut usize, bytes: impl Fn(&T) -> usize) -> Vec<T> {
    let mut taken = Vec::new();
    for one in all.get(from..).unwrap_or_default() {
        if *room == 0 {
            break;
        }
        *room = room.saturating_sub(bytes(one));
        taken.push(one.clone());
    }
    taken
}

/// The run's number of each module, symbol and stack of an agent.
#[derive(Debug, Default)]
pub(super) struct Translation {
    modules: Vec<ModuleId>,
    symbols: Vec<SymbolId>,
    stacks: Vec<StackId>,
}

impl Translation {
    /// What need not be told again.
    pub(super) fn known(&self) -> Known {
        Known {
            modules: self.modules.len(),
            symbols: self.symbols.len(),
            stacks: self.stacks.len(),
        }
    }

    /// Gives what is told numbers in the run's table; `None` if it is made of what was not told.
    pub(super) fn learn(&mut self, names: Names, table: &mut SymbolTable) -> Option<()> {
        for module in names.modules {
            self.modules.push(table.module(ModuleRecord {
                name: harmless(&module.name),
                build_id: module.build_id.as_deref().map(harmless),
            }));
        }
        for symbol in names.symbols {
            let module = *self.modules.get(symbol.module as usize)?;
            let name = harmless(&symbol.name);
            self.symbols.push(table.symbol(SymbolRecord { module, name }));
        }
        for stack in names.stacks {
            let own = stack
                .iter()
                .map(|symbol| self.symbols.get(*symbol as usize).copied());
            let own: Vec<SymbolId> = own.collect::<Option<_>>()?;
            self.stacks.push(table.stack(&own));
        }
        Some(())
    }

    /// What an agent saw of its server in a slice, by the run's numbers; `None` if it has stacks that were not told.
    pub(super) fn translate(&self, seen: Looked, slice: &SliceId) -> Option<Looked> {
        let profile = match seen.profile {
            Some(profile) => Some(self.profile(profile, slice)?),
            None => None,
        };
        let waits = match seen.waits {
            Some(waits) => Some(self.waits(waits, slice)?),
            None => None,
        };
        Some(Looked { profile, waits })
    }

    fn profile(&self, mut profile: Profile, slice: &SliceId) -> Option<Profile> {
        let mut sides = BTreeMap::new();
        if let Some(side) = profile.sides.remove(&ProfiledSide::Server) {
            let mut stacks = BTreeMap::new();
            for (stack, count) in side.stacks {
                let seen: &mut u64 = stacks.entry(self.stack(stack)?).or_default();
                *seen = seen.saturating_add(count);
            }
            sides.insert(ProfiledSide::Server, SideProfile { stacks, ..side });
        }
        Some(Profile {
            slice: slice.clone(),
            sides,
        })
    }

    fn waits(&self, waits: Waits, slice: &SliceId) -> Option<Waits> {
        let blocked = waits.blocked.into_iter().map(|blocked| {
            Some(Blocked {
                stack: self.stack(blocked.stack)?,
                call: harmless(&blocked.call),
                object: blocked.object.as_deref().map(harmless),
                ..blocked
            })
        });
        Some(Waits {
            slice: slice.clone(),
            blocked: blocked.collect::<Option<_>>()?,
            ..waits
        })
    }

    fn stack(&self, stack: StackId) -> Option<StackId> {
        self.stacks.get(stack as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with so many stacks of two functions each, of two modules.
    fn table(stacks: u32) -> SymbolTable {
        let mut table = SymbolTable::default();
        for number in 0..stacks {
            let module = table.module(ModuleRecord {
                name: format!("lib{}.so", number % 2),
                build_id: None,
            });
            let names = [format!("inner{number}"), format!("outer{}", number % 3)];
            let symbols = names.map(|name| table.symbol(SymbolRecord { module, name }));
            table.stack(&symbols);
        }
        table
    }

    fn words(table: &SymbolTable, stack: StackId) -> Vec<(String, String)> {
        let names = table.names(stack);
        names
            .map(|(name, module)| (name.to_owned(), module.to_owned()))
            .collect()
    }

    /// Tells all, and in how many messages.
    fn tell(there: &SymbolTable, translation: &mut Translation, here: &mut SymbolTable) -> usize {
        let mut messages = 0;
        while translation.known() != Known::all_of(there) {
            let names = Names::after(translation.known(), there);
            assert!(serde_json::to_vec(&names).unwrap().len() < 2 * BYTES);
            translation.learn(names, here).unwrap();
            messages += 1;
        }
        messages
    }

    #[test]
    fn stacks_are_the_same_by_other_numbers_however_many_messages_it_takes() {
        let there = table(20_000);
        let mut here = SymbolTable::default();
        let own = here.module(ModuleRecord {
            name: "own".into(),
            build_id: None,
        });
        let symbol = here.symbol(SymbolRecord {
            module: own,
            name: "main".into(),
        });
        here.stack(&[symbol]);
        let mut translation = Translation::default();
        assert!(tell(&there, &mut translation, &mut here) > 2);
        assert_eq!(tell(&there, &mut translation, &mut here), 0);
        let slice = SliceId::default();
        let side = SideProfile {
            stacks: [(0, 3), (19_999, 5)].into(),
            ..SideProfile::default()
        };
        let profile = Profile {
            slice: SliceId {
                cell: "another".into(),
                ..SliceId::default()
            },
            sides: [(ProfiledSide::Server, side.clone()), (ProfiledSide::Client, side)].into(),
        };
        let seen = Looked {
            profile: Some(profile),
            waits: None,
        };
        let profile = translation.translate(seen, &slice).unwrap().profile.unwrap();
        assert_eq!(profile.slice, slice);
        // The load is here, and nobody else knows of it.
        assert_eq!(profile.sides.len(), 1);
        for (stack, there_stack, count) in [(1, 0, 3), (20_000, 19_999, 5)] {
            assert_eq!(profile.sides[&ProfiledSide::Server].stacks[&stack], count);
            assert_eq!(words(&here, stack), words(&there, there_stack));
        }
    }

    #[test]
    fn numbers_that_were_not_told_are_refused_and_names_cannot_rule_the_terminal() {
        let mut here = SymbolTable::default();
        let mut translation = Translation::default();
        let names = Names {
            modules: vec![ModuleRecord {
                name: "lib\u{1b}[2J\u{202e}.so".into(),
                build_id: None,
            }],
            ..Names::default()
        };
        translation.learn(names, &mut here).unwrap();
        assert_eq!(here.modules()[0].name, "lib\u{fffd}[2J\u{fffd}.so");
        let symbol = SymbolRecord {
            module: 1,
            name: "f".into(),
        };
        let of_no_module = Names {
            symbols: vec![symbol],
            ..Names::default()
        };
        assert_eq!(translation.learn(of_no_module, &mut here), None);
        let of_no_symbol = Names {
            stacks: vec![[0].into()],
            ..Names::default()
        };
        assert_eq!(translation.learn(of_no_symbol, &mut here), None);
        let side = SideProfile {
            stacks: [(0, 1)].into(),
            ..SideProfile::default()
        };
        let seen = Looked {
            profile: Some(Profile {
                slice: SliceId::default(),
                sides: [(ProfiledSide::Server, side)].into(),
            }),
            waits: None,
        };
        assert!(translation.translate(seen, &SliceId::default()).is_none());
    }
}
