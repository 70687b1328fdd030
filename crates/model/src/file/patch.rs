//! Changes to a document: settings of the command line and scales, both as a tree of what is to be different.
//!
//! A patch is merged table by table. Its keys are the study's, but for arms and cells, which it knows by name, and for
//! `tls`, `authentication` and `load`, which stand for those of all arms and cells they make sense for.

use super::document::{Content, Entry, Fault, Node, Origin, Table, as_written, get, names, parse_setting};
use crate::problem::hint;

/// Deeper than any key of a study.
const DEEPEST: usize = 8;

/// Whether a patch may add arms and cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Additions {
    Allowed,
    Refused,
}

/// Parses `key=value` into a patch of `study`.
pub(super) fn from_setting(text: &str, index: usize, study: &Table) -> Result<Table, Fault> {
    let origin = Origin::Setting(index);
    let Some((key, value)) = text.split_once('=') else {
        let message = "a setting is written key=value, for example time_s=60";
        return Err(Fault::at(origin, message));
    };
    let mut keys = keys(key.trim(), study);
    if keys.len() > DEEPEST || keys.iter().any(String::is_empty) {
        let message = format!("{key:?} is no key; keys are names joined by dots, for example link.rtt_ms");
        return Err(Fault::at(origin, message));
    }
    let mut patch = Table::default();
    let mut node = parse_setting(value.trim(), index);
    while let Some(key) = keys.pop() {
        patch = Table::from([(key, Entry { origin, node })]);
        node = Node {
            origin,
            content: Content::Table(patch.clone()),
        };
    }
    Ok(patch)
}

pub(super) fn apply(study: &mut Table, patch: &Table, additions: Additions, faults: &mut Vec<Fault>) {
    for axis in AXES {
        if let Some(entry) = patch.get(axis.key) {
            axis.apply(study, entry, faults);
        }
    }
    for (key, entry) in patch {
        match key.as_str() {
            "arm" | "cell" => apply_by_name(study, key, entry, additions, faults),
            key if AXES.iter().any(|axis| axis.key == key) => {}
            _ => merge_entry(study, key, entry),
        }
    }
}

/// A key that stands for that of every arm or cell.
struct Axis {
    key: &'static str,
    list: &'static str,
    /// Which of the list it makes sense for.
    concerns: fn(&Table) -> bool,
    /// What to say if it makes sense for none.
    nobody: &'static str,
}

const AXES: [Axis; 3] = [
    Axis {
        key: "tls",
        list: "arm",
        concerns: |arm| get(arm, "transport").and_then(Node::as_str) != Some("plain"),
        nobody: "no arm of the study uses TLS",
    },
    Axis {
        key: "authentication",
        list: "arm",
        concerns: |_| true,
        nobody: "the study has no arm",
    },
    Axis {
        key: "load",
        list: "cell",
        concerns: |cell| get(cell, "workload").and_then(Node::as_str) != Some("command"),
        nobody: "no cell of the study has a load of ciphertax's own",
    },
];

impl Axis {
    fn apply(&self, study: &mut Table, entry: &Entry, faults: &mut Vec<Fault>) {
        let mut concerned = 0;
        for table in tables_mut(study, self.list).filter(|table| (self.concerns)(table)) {
            merge_entry(table, self.key, entry);
            concerned += 1;
        }
        if concerned == 0 {
            faults.push(Fault::at(entry.origin, self.nobody));
        }
    }
}

/// Changes the arms or cells that `patch` names.
fn apply_by_name(
    study: &mut Table,
    kind: &str,
    patch: &Entry,
    additions: Additions,
    faults: &mut Vec<Fault>,
) {
    let Some(named) = patch.node.as_table() else {
        let message = format!("{kind:?} must be followed by the name of one: {kind}.NAME.KEY");
        faults.push(Fault::at(patch.node.origin, message));
        return;
    };
    for (name, Entry { origin, node }) in as_written(named) {
        let Some(changes) = node.as_table() else {
            let message = format!("{kind}.{name} must be followed by a key: {kind}.{name}.KEY");
            faults.push(Fault::at(node.origin, message));
            continue;
        };
        let is_named = |table: &Table| get(table, "name").and_then(Node::as_str) == Some(name);
        if let Some(table) = tables_mut(study, kind).find(|table| is_named(table)) {
            merge(table, changes);
        } else if additions == Additions::Allowed && is_whole(kind, changes) {
            add(study, kind, name, *origin, node.origin, changes);
        } else {
            let message = format!("unknown {kind} {name:?}{}", hint(name, &names(study, kind)));
            faults.push(Fault::at(*origin, message));
        }
    }
}

/// True if a table says what an arm or cell must say, so that it is one more and not a misspelt name.
fn is_whole(kind: &str, changes: &Table) -> bool {
    let essential = if kind == "arm" { "transport" } else { "workload" };
    changes.contains_key(essential)
}

fn add(study: &mut Table, kind: &str, name: &str, name_origin: Origin, origin: Origin, changes: &Table) {
    let mut table = changes.clone();
    let named = Entry {
        origin: name_origin,
        node: Node {
            origin: name_origin,
            content: Content::Scalar(toml::Value::String(name.to_owned())),
        },
    };
    table.insert("name".to_owned(), named);
    let content = Content::Table(table);
    if let Some(Content::List(nodes)) = study.get_mut(kind).map(|entry| &mut entry.node.content) {
        nodes.push(Node { origin, content });
    }
}

fn merge(table: &mut Table, changes: &Table) {
    for (key, entry) in changes {
        merge_entry(table, key, entry);
    }
}

fn merge_entry(table: &mut Table, key: &str, change: &Entry) {
    let Some(old) = table.get_mut(key) else {
        table.insert(key.to_owned(), change.clone());
        return;
    };
    match (&mut old.node.content, &change.node.content) {
        (Content::Table(old), Content::Table(changes)) => merge(old, changes),
        _ => old.node = change.node.clone(),
    }
}

fn tables_mut<'a>(study: &'a mut Table, key: &str) -> impl Iterator<Item = &'a mut Table> {
    let nodes = match study.get_mut(key).map(|entry| &mut entry.node.content) {
        Some(Content::List(nodes)) => &mut nodes[..],
        _ => &mut [],
    };
    nodes.iter_mut().filter_map(|node| match &mut node.content {
        Content::Table(table) => Some(table),
        _ => None,
    })
}

/// Splits a key at its dots. Names of arms and cells may hold dots; they need no quotes, but may have them.
fn keys(key: &str, study: &Table) -> Vec<String> {
    for kind in ["arm", "cell"] {
        let Some(rest) = key.strip_prefix(kind).and_then(|rest| rest.strip_prefix('.')) else {
            continue;
        };
        let matching = names(study, kind).into_iter().filter_map(|name| {
            let quoted = [format!("\"{name}\""), format!("'{name}'"), name.to_owned()];
            let rest = quoted
                .iter()
                .find_map(|quoted| rest.strip_prefix(quoted.as_str()))?;
            (rest.is_empty() || rest.starts_with('.')).then_some((name, rest))
        });
        if let Some((name, rest)) = matching.max_by_key(|(name, _)| name.len()) {
            let rest = rest.split('.').skip(1).map(str::to_owned);
            return [kind.to_owned(), name.to_owned()]
                .into_iter()
                .chain(rest)
                .collect();
        }
    }
    key.split('.').map(str::to_owned).collect()
}
