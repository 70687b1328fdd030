//! Names and stacks, each once.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The number of a module, from 0.
pub type ModuleId = u32;
/// The number of a symbol, from 0.
pub type SymbolId = u32;
/// The number of a stack, from 0.
pub type StackId = u32;

/// A program, a library, or the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModuleRecord {
    /// The name of its file without folders, such as `libcrypto.so.3`; `[kernel]` for the kernel and all of its modules,
    /// `[vdso]` for what it gives every program, `[unknown]` for code that belongs to no file.
    pub name: String,
    /// Its build ID in hexadecimal digits, which tells builds apart; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SymbolRecord {
    /// Where it is.
    pub module: ModuleId,
    /// Its name, demangled and without the types of its arguments; for a function without a name the module's name and where it
    /// begins there, such as `libcrypto.so.3+0x2424c0`.
    pub name: String,
}

/// The functions of a stack, the one that ran or waited first, its caller second. One that was not unwound to its end has
/// fewer.
pub type StackRecord = Box<[SymbolId]>;

/// Modules, symbols and stacks by number. Numbers are given once and stay.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SymbolTable {
    modules: Vec<ModuleRecord>,
    symbols: Vec<SymbolRecord>,
    stacks: Vec<StackRecord>,
    module_ids: HashMap<ModuleRecord, ModuleId>,
    symbol_ids: HashMap<SymbolRecord, SymbolId>,
    stack_ids: HashMap<StackRecord, StackId>,
}

impl SymbolTable {
    /// The number of a module.
    pub fn module(&mut self, module: ModuleRecord) -> ModuleId {
        number_of(module, &mut self.modules, &mut self.module_ids)
    }

    /// The number of a symbol, whose module must have one.
    pub fn symbol(&mut self, symbol: SymbolRecord) -> SymbolId {
        number_of(symbol, &mut self.symbols, &mut self.symbol_ids)
    }

    /// The number of a stack, whose symbols must have theirs.
    pub fn stack(&mut self, stack: &[SymbolId]) -> StackId {
        match self.stack_ids.get(stack) {
            Some(id) => *id,
            None => number_of(stack.into(), &mut self.stacks, &mut self.stack_ids),
        }
    }

    /// All modules, by number.
    pub fn modules(&self) -> &[ModuleRecord] {
        &self.modules
    }

    /// All symbols, by number.
    pub fn symbols(&self) -> &[SymbolRecord] {
        &self.symbols
    }

    /// All stacks, by number.
    pub fn stacks(&self) -> &[StackRecord] {
        &self.stacks
    }

    /// The names of a stack and of their modules, the function that ran or waited first; none for a number that was not given.
    pub fn names(&self, stack: StackId) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        let symbols = self
            .stacks
            .get(stack as usize)
            .map_or(&[][..], |stack| &stack[..]);
        symbols.iter().filter_map(|symbol| {
            let symbol = self.symbols.get(*symbol as usize)?;
            let module = self.modules.get(symbol.module as usize)?;
            Some((symbol.name.as_str(), module.name.as_str()))
        })
    }
}

fn number_of<T: Clone + Eq + std::hash::Hash>(value: T, all: &mut Vec<T>, ids: &mut HashMap<T, u32>) -> u32 {
    *ids.entry(value).or_insert_with_key(|value| {
        all.push(value.clone());
        all.len() as u32 - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_has_the_same_number_and_its_names_are_found_again() {
        let mut table = SymbolTable::default();
        let module = |name: &str| ModuleRecord {
            name: name.to_owned(),
            build_id: None,
        };
        let (ssl, server) = (
            table.module(module("libssl.so.3")),
            table.module(module("mariadbd")),
        );
        let symbol = |module, name: &str| SymbolRecord {
            module,
            name: name.to_owned(),
        };
        let write = table.symbol(symbol(ssl, "SSL_write"));
        let query = table.symbol(symbol(server, "dispatch_command"));
        let stack = table.stack(&[write, query]);
        assert_eq!(table.module(module("libssl.so.3")), ssl);
        assert_eq!(table.symbol(symbol(ssl, "SSL_write")), write);
        assert_eq!(table.stack(&[write, query]), stack);
        assert_ne!(table.stack(&[query]), stack);
        let names: Vec<_> = table.names(stack).collect();
        assert_eq!(
            names,
            [("SSL_write", "libssl.so.3"), ("dispatch_command", "mariadbd")]
        );
        assert_eq!(table.names(99).count(), 0);
    }
}
