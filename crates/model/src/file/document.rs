//! TOML as a tree whose every value knows where it was written.

use std::collections::BTreeMap;

use toml::de::{DeInteger, DeTable, DeValue};
use toml::{Spanned, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// At this byte of the text.
    Text(usize),
    /// In the setting with this index.
    Setting(usize),
}

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) origin: Origin,
    pub(super) content: Content,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Table(Table),
    List(Vec<Node>),
    /// Neither table nor list.
    Scalar(Value),
}

pub(super) type Table = BTreeMap<String, Entry>;

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) origin: Origin,
    pub(super) node: Node,
}

/// What is wrong, and where; `None` for the whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fault {
    pub(super) origin: Option<Origin>,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn at(origin: Origin, message: impl Into<String>) -> Self {
        Self {
            origin: Some(origin),
            message: message.into(),
        }
    }
}

/// Parses a document. Syntax is all that can be wrong; one fault a line is told, because the others follow from it.
pub(super) fn parse(text: &str) -> Result<Table, Vec<Fault>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(table(document.into_inner(), &Origin::Text));
    }
    let mut faults: Vec<Fault> = errors
        .iter()
        .map(|error| Fault {
            origin: error.span().map(|span| Origin::Text(span.start)),
            message: syntax(error.message()),
        })
        .collect();
    faults.sort();
    faults.dedup_by_key(|fault| match fault.origin {
        Some(Origin::Text(at)) => Some(line_and_column(text, at).0),
        _ => None,
    });
    Err(faults)
}

/// The parser's word for what is wrong. It takes every word that begins with t or f for a boolean.
fn syntax(message: &str) -> String {
    match message.starts_with("invalid boolean") {
        true => "string values must be quoted".to_owned(),
        false => message.replace('\n', ", "),
    }
}

/// Parses the value of a setting: as TOML, or where it is none as a string, so that nobody has to quote twice.
pub(super) fn parse_setting(text: &str, index: usize) -> Node {
    let at = |_| Origin::Setting(index);
    match DeValue::parse(text) {
        Ok(value) => node(value, &at),
        Err(_) => Node {
            origin: Origin::Setting(index),
            content: Content::Scalar(Value::String(text.to_owned())),
        },
    }
}

/// Line and column of a byte, both from 1; columns are characters.
pub(super) fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

impl Node {
    /// The same without its places.
    pub(super) fn to_value(&self) -> Value {
        match &self.content {
            Content::Table(table) => Value::Table(to_value(table)),
            Content::List(nodes) => Value::Array(nodes.iter().map(Self::to_value).collect()),
            Content::Scalar(value) => value.clone(),
        }
    }

    pub(super) fn as_table(&self) -> Option<&Table> {
        match &self.content {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(value) => value.as_str(),
            _ => None,
        }
    }

    /// What it is, in words for a reader.
    pub(super) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Table(_) => "a table",
            Content::List(_) => "a list",
            Content::Scalar(Value::String(_)) => "a string",
            Content::Scalar(Value::Integer(_)) => "a whole number",
            Content::Scalar(Value::Float(_)) => "a number with a fraction",
            Content::Scalar(Value::Boolean(_)) => "true or false",
            Content::Scalar(_) => "a date",
        }
    }
}

pub(super) fn as_written(table: &Table) -> Vec<(&String, &Entry)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(_, entry)| entry.origin);
    entries
}

pub(super) fn get<'a>(table: &'a Table, key: &str) -> Option<&'a Node> {
    table.get(key).map(|entry| &entry.node)
}

/// The names of the tables of the list under `key`; none if there is no such list.
pub(super) fn names<'a>(table: &'a Table, key: &str) -> Vec<&'a str> {
    let nodes = match get(table, key).map(|node| &node.content) {
        Some(Content::List(nodes)) => &nodes[..],
        _ => &[],
    };
    let tables = nodes.iter().filter_map(Node::as_table);
    tables.filter_map(|table| get(table, "name")?.as_str()).collect()
}

pub(super) fn to_value(table: &Table) -> toml::Table {
    let entries = table.iter();
    entries
        .map(|(key, entry)| (key.clone(), entry.node.to_value()))
        .collect()
}

fn table(table: DeTable<'_>, at: &impl Fn(usize) -> Origin) -> Table {
    let entries = table.into_iter().map(|(key, value)| {
        let entry = Entry {
            origin: at(key.span().start),
            node: node(value, at),
        };
        (key.into_inner().into_owned(), entry)
    });
    entries.collect()
}

fn node(value: Spanned<DeValue<'_>>, at: &impl Fn(usize) -> Origin) -> Node {
    let origin = at(value.span().start);
    let content = match value.into_inner() {
        DeValue::Table(entries) => Content::Table(table(entries, at)),
        DeValue::Array(values) => Content::List(values.iter().map(|value| node(value.clone(), at)).collect()),
        DeValue::String(text) => Content::Scalar(Value::String(text.into_owned())),
        DeValue::Integer(integer) => Content::Scalar(whole(&integer)),
        // The parser has seen that it is a number.
        DeValue::Float(float) => Content::Scalar(Value::Float(float.as_str().parse().unwrap_or(f64::NAN))),
        DeValue::Boolean(boolean) => Content::Scalar(Value::Boolean(boolean)),
        DeValue::Datetime(datetime) => Content::Scalar(Value::Datetime(datetime)),
    };
    Node { origin, content }
}

/// A whole number; one that is too large for 64 bits as the nearest number that is not.
fn whole(integer: &DeInteger<'_>) -> Value {
    match i64::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(integer) => Value::Integer(integer),
        Err(_) => Value::Float(integer.as_str().parse().unwrap_or(f64::INFINITY)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_where_it_was_written() {
        let text = "a = 1\n[b]\n  'größe' = [2, 3]\n[[c]]\nd.e = \"f\"\n";
        let document = parse(text).unwrap();
        let at = |node: &Node| match node.origin {
            Origin::Text(byte) => line_and_column(text, byte),
            Origin::Setting(_) => panic!("there is no setting"),
        };
        assert_eq!(at(get(&document, "a").unwrap()), (1, 5));
        let b = get(&document, "b").unwrap();
        assert_eq!(at(b), (2, 1));
        assert_eq!(at(get(b.as_table().unwrap(), "größe").unwrap()), (3, 13));
        let Content::List(c) = &get(&document, "c").unwrap().content else {
            panic!("a list");
        };
        let d = get(c[0].as_table().unwrap(), "d").unwrap();
        assert_eq!(at(get(d.as_table().unwrap(), "e").unwrap()), (5, 7));
        assert_eq!(toml::from_str::<toml::Table>(text).unwrap(), to_value(&document));
    }

    #[test]
    fn syntax_is_told_line_by_line() {
        let faults = parse("a = tls\nb = \"x\"\nc = [1\nd == 3\n").unwrap_err();
        let lines: Vec<Option<Origin>> = faults.iter().map(|fault| fault.origin).collect();
        assert_eq!(lines[0], Some(Origin::Text(4)), "{faults:?}");
        assert!(lines.len() >= 2, "{faults:?}");
    }

    #[test]
    fn the_value_of_a_setting_is_toml_or_else_a_string() {
        let value = |text: &str| parse_setting(text, 0).to_value();
        assert_eq!(value("60"), Value::Integer(60));
        assert_eq!(value("0.5"), Value::Float(0.5));
        assert_eq!(value("\"60\""), Value::String("60".into()));
        assert_eq!(value("P-384"), Value::String("P-384".into()));
        assert_eq!(value("mysql-5.6"), Value::String("mysql-5.6".into()));
        assert_eq!(value(""), Value::String(String::new()));
        assert_eq!(value("[\"a\"]"), Value::Array(vec![Value::String("a".into())]));
        assert_eq!(value("99999999999999999999"), Value::Float(1e20));
    }
}
