//! A document against the JSON schema of [`Study`]: unknown keys, missing keys, wrong types and wrong names, all of them.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::document::{Content, Entry, Fault, Node, Origin, Table, parse_setting};
use crate::problem::{hint, list, nearest, removed};
use crate::study::Study;

/// Poolers that stand before MySQL and are in no package that a package client here has, by the name that a study may
/// give them, and what they are called.
const UNAVAILABLE: [(&str, &str); 2] = [("proxysql", "ProxySQL"), ("maxscale", "MaxScale")];

static SCHEMA: LazyLock<Value> = LazyLock::new(|| schemars::schema_for!(Study).to_value());

/// Values in the place of those that every study has, where they are missing or wrong.
const ESSENTIALS: [(&str, &str); 5] = [
    ("name", "''"),
    ("question", "''"),
    ("time_s", "1"),
    ("arm", "[]"),
    ("cell", "[]"),
];

/// Finds all faults of shape. What is unknown or wrong is taken out, with the arm or cell that it is in, so that the rest can
/// still be looked at; false if anything is missing then.
pub(super) fn check(study: &mut Table, faults: &mut Vec<Fault>) -> bool {
    let Shape::Table(expected) = shape(&SCHEMA) else {
        return true;
    };
    let is_whole = check_table(&expected, study, None, faults);
    for (key, value) in ESSENTIALS {
        study.entry(key.to_owned()).or_insert_with(|| {
            let node = parse_setting(value, 0);
            let origin = node.origin;
            Entry { origin, node }
        });
    }
    is_whole
}

/// What the schema wants at one place.
enum Shape<'a> {
    Table(TableShape<'a>),
    /// One of several names, some of which take a value of their own.
    Choice(Vec<Choice<'a>>),
    /// One of several names, or a list of values of this schema.
    ChoiceOrList(Vec<Choice<'a>>, &'a Value),
    /// A list of values of this schema.
    List(&'a Value),
    Text,
    WholeOrText,
    Whole {
        least: i64,
        most: i64,
    },
    Number,
    Boolean,
    /// Something that is left to the types.
    Any,
}

struct TableShape<'a> {
    known: &'a Map<String, Value>,
    required: Vec<&'a str>,
    /// False if any other key is welcome.
    is_closed: bool,
}

struct Choice<'a> {
    name: &'a str,
    /// The schema of its value, in `name = { choice = value }`; `None` for a choice that is only its name.
    value: Option<&'a Value>,
}

fn shape(schema: &'static Value) -> Shape<'static> {
    if let Some(reference) = schema["$ref"].as_str() {
        return match SCHEMA.pointer(reference.trim_start_matches('#')) {
            Some(schema) => shape(schema),
            None => Shape::Any,
        };
    }
    if let Some(alternatives) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        if let [first, second] = &alternatives[..]
            && (&first["type"], &second["type"]) == (&"integer".into(), &"string".into())
        {
            return Shape::WholeOrText;
        }
        let mut alternatives = alternatives.iter().filter(|schema| schema["type"] != "null");
        return match (alternatives.next(), alternatives.next()) {
            (Some(only), None) => shape(only),
            _ => choices_or_list(schema),
        };
    }
    if !schema["const"].is_null() || !schema["enum"].is_null() {
        return names(schema).map_or(Shape::Any, Shape::Choice);
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => &kinds[..],
        kind => std::slice::from_ref(kind),
    };
    let mut kinds = kinds
        .iter()
        .filter_map(Value::as_str)
        .filter(|kind| *kind != "null");
    match (kinds.next(), kinds.next()) {
        (Some("object"), None) => table_shape(schema).map_or(Shape::Any, Shape::Table),
        (Some("array"), None) => Shape::List(&schema["items"]),
        (Some("string"), None) => Shape::Text,
        (Some("integer"), None) => whole(schema),
        (Some("number"), None) => Shape::Number,
        (Some("boolean"), None) => Shape::Boolean,
        _ => Shape::Any,
    }
}

fn table_shape(schema: &'static Value) -> Option<TableShape<'static>> {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    Some(TableShape {
        known: schema["properties"].as_object()?,
        required: required.iter().filter_map(Value::as_str).collect(),
        is_closed: schema["additionalProperties"] == false,
    })
}

/// The range of a whole number; the schema names the type where it gives no bound of its own.
fn whole(schema: &Value) -> Shape<'static> {
    let (least, most) = match schema["format"].as_str() {
        Some("uint8") => (0, u8::MAX.into()),
        Some("uint16") => (0, u16::MAX.into()),
        Some("uint32") => (0, u32::MAX.into()),
        Some("uint64" | "uint") => (0, i64::MAX),
        Some("int32") => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    };
    Shape::Whole {
        least: schema["minimum"].as_i64().unwrap_or(least).max(least),
        most: schema["maximum"].as_i64().unwrap_or(most).min(most),
    }
}

/// The variants of an enumeration, one of which may be a list without a name.
fn choices_or_list(schema: &'static Value) -> Shape<'static> {
    let alternatives = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    let (lists, rest): (Vec<&Value>, Vec<&Value>) = alternatives
        .into_iter()
        .flatten()
        .partition(|alternative| alternative["type"] == "array");
    match (choices(rest), &lists[..]) {
        (Some(choices), []) => Shape::Choice(choices),
        (Some(choices), [list]) => Shape::ChoiceOrList(choices, &list["items"]),
        _ => Shape::Any,
    }
}

/// The variants of an enumeration; `None` if these are none.
fn choices(alternatives: Vec<&'static Value>) -> Option<Vec<Choice<'static>>> {
    let mut choices = Vec::new();
    for alternative in alternatives {
        if alternative["type"] == "null" {
            continue;
        }
        // One variant of several without a value may be an enumeration of its own.
        if let Some(more) = alternative["oneOf"].as_array() {
            choices.extend(self::choices(more.iter().collect())?);
            continue;
        }
        if let Some(more) = names(alternative) {
            choices.extend(more);
            continue;
        }
        let properties = alternative["properties"].as_object()?;
        let (name, value) = properties.iter().next().filter(|_| properties.len() == 1)?;
        choices.push(Choice {
            name,
            value: Some(value),
        });
    }
    Some(choices)
}

/// Choices that are only their names.
fn names(schema: &'static Value) -> Option<Vec<Choice<'static>>> {
    let names = match (&schema["const"], &schema["enum"]) {
        (Value::String(_), _) => std::slice::from_ref(&schema["const"]),
        (_, Value::Array(names)) => &names[..],
        _ => return None,
    };
    let choice = |name: &'static Value| name.as_str().map(|name| Choice { name, value: None });
    names.iter().filter(|name| !name.is_null()).map(choice).collect()
}

/// True if the value is understood; `what` it is called in a message.
fn check_value(schema: &'static Value, node: &mut Node, what: &str, faults: &mut Vec<Fault>) -> bool {
    let kind = node.kind();
    let wrong = |expected: &str| format!("{what} must be {expected}, not {kind}");
    let message = match (shape(schema), &mut node.content) {
        (Shape::Any, _)
        | (Shape::Text | Shape::WholeOrText, Content::Scalar(toml::Value::String(_)))
        | (Shape::WholeOrText, Content::Scalar(toml::Value::Integer(_)))
        | (Shape::Boolean, Content::Scalar(toml::Value::Boolean(_)))
        | (Shape::Number, Content::Scalar(toml::Value::Integer(_) | toml::Value::Float(_))) => return true,
        (Shape::Whole { least, most }, Content::Scalar(toml::Value::Integer(value))) => {
            if (least..=most).contains(value) {
                return true;
            }
            format!("{what} is {value}; it must lie between {least} and {most}")
        }
        (Shape::Table(expected), Content::Table(table)) => {
            return check_table(&expected, table, Some(node.origin), faults);
        }
        (Shape::List(items) | Shape::ChoiceOrList(_, items), Content::List(nodes)) => {
            let what = format!("an entry of {what}");
            let count = nodes.len();
            nodes.retain_mut(|node| check_value(items, node, &what, faults));
            return nodes.len() == count;
        }
        (Shape::Choice(choices), _) => return check_choice(&choices, "one", node, what, faults),
        (Shape::ChoiceOrList(choices, _), _) => {
            return check_choice(&choices, "a list or one", node, what, faults);
        }
        (Shape::Table(expected), Content::Scalar(toml::Value::String(name))) => {
            let known: Vec<&str> = expected.known.keys().map(String::as_str).collect();
            unavailable(name, &known).unwrap_or_else(|| wrong("a table"))
        }
        (Shape::Table(_), _) => wrong("a table"),
        (Shape::List(items), Content::Table(_)) if matches!(shape(items), Shape::Table(_)) => {
            let name = what.trim_matches('"');
            wrong(&format!("a list of tables, each headed [[{name}]]"))
        }
        (Shape::List(_), _) => wrong("a list"),
        (Shape::Text, _) => wrong("a string"),
        (Shape::WholeOrText, _) => wrong("a whole number or a string"),
        (Shape::Whole { .. }, _) => wrong("a whole number"),
        (Shape::Number, _) => wrong("a number"),
        (Shape::Boolean, _) => wrong("true or false"),
    };
    faults.push(Fault::at(node.origin, message));
    false
}

/// True if all of the table is understood but for keys that do not exist; `at` is where it begins, `None` for the whole
/// document.
fn check_table(
    expected: &TableShape<'static>,
    table: &mut Table,
    at: Option<Origin>,
    faults: &mut Vec<Fault>,
) -> bool {
    let known: Vec<&str> = expected.known.keys().map(String::as_str).collect();
    let mut meant = Vec::new();
    let mut wrong = Vec::new();
    table.retain(|key, entry| {
        if let Some(schema) = expected.known.get(key) {
            let is_right = check_value(schema, &mut entry.node, &format!("{key:?}"), faults);
            if !is_right {
                wrong.push(key.clone());
            }
            // A list is there without its wrong entries.
            return is_right
                || matches!(
                    (shape(schema), &entry.node.content),
                    (Shape::List(_), Content::List(_))
                );
        }
        if expected.is_closed {
            let (message, near) = unknown_key(key, &known);
            faults.push(Fault::at(entry.origin, message));
            meant.extend(near);
        }
        !expected.is_closed
    });
    let lacking = expected.required.iter().filter(|key| !table.contains_key(**key));
    let lacking: Vec<&&str> = lacking.collect();
    // A key that was misspelt or has a wrong value is there, and told already.
    let is_told = |key: &str| meant.contains(&key) || wrong.iter().any(|wrong| wrong == key);
    for key in lacking.iter().filter(|key| !is_told(key)) {
        let message = format!("key {key:?} is missing");
        faults.push(Fault { origin: at, message });
    }
    lacking.is_empty() && wrong.is_empty()
}

/// What to say of the name of a pooler that cannot be had, where poolers are `known`.
fn unavailable(name: &str, known: &[&str]) -> Option<String> {
    let (_, what) = UNAVAILABLE.iter().find(|(other, _)| *other == name)?;
    let is_of_poolers = known.contains(&"pool_mode") || known.contains(&"pgbouncer");
    is_of_poolers.then(|| {
        format!(
            "{what} is not available, since no package client here has it; pgbouncer is, before PostgreSQL, and mysqlrouter before MySQL"
        )
    })
}

/// What to say of a key that is not `known`, and which were probably meant.
fn unknown_key<'a>(key: &str, known: &[&'a str]) -> (String, Vec<&'a str>) {
    if let Some(message) = unavailable(key, known) {
        return (message, known.to_vec());
    }
    if let Some(message) = removed(key) {
        return (message, Vec::new());
    }
    (
        format!("unknown key {key:?}{}", hint(key, known)),
        nearest(key, known.iter().copied()).into_iter().collect(),
    )
}

fn unknown_choice(what: &str, name: &str, known: &[&str]) -> String {
    if let Some(message) = unavailable(name, known) {
        return message;
    }
    let refused = format!("{what} cannot be {name:?}");
    match removed(name) {
        Some(removed) => format!("{refused}: {removed}"),
        None => refused + &hint(name, known),
    }
}

/// True if it is one of these; `one` is what may stand there, before "of" and the choices.
fn check_choice(
    choices: &[Choice<'static>],
    one: &str,
    node: &mut Node,
    what: &str,
    faults: &mut Vec<Fault>,
) -> bool {
    let known: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
    let find = |name: &str| choices.iter().find(|choice| choice.name == name);
    let origin = node.origin;
    let kind = node.kind();
    let message = match &mut node.content {
        Content::Scalar(toml::Value::String(name)) => match find(name) {
            Some(Choice { value: None, .. }) => return true,
            Some(Choice { value: Some(_), .. }) => {
                format!("{name:?} needs a value: write {what} as {{ {name} = … }}")
            }
            None => unknown_choice(what, name, &known),
        },
        Content::Table(table) => match (table.len(), table.iter_mut().next()) {
            (1, Some((key, entry))) => match find(key) {
                Some(Choice {
                    value: Some(schema), ..
                }) => {
                    return check_value(schema, &mut entry.node, &format!("{key:?}"), faults);
                }
                Some(Choice { name, value: None }) => {
                    format!("{name:?} takes no value: write {what} as {name:?}")
                }
                None => unknown_choice(what, key, &known),
            },
            _ => format!("{what} must be exactly one of {}", list(&known)),
        },
        _ => format!("{what} must be {one} of {}, not {kind}", list(&known)),
    };
    faults.push(Fault::at(origin, message));
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema that is not understood would let everything pass.
    #[test]
    fn every_part_of_the_schema_is_understood() {
        let mut seen = 0;
        let mut open = vec![(String::from("study"), &*SCHEMA)];
        while let Some((name, schema)) = open.pop() {
            seen += 1;
            let more: Vec<(String, &'static Value)> = match shape(schema) {
                Shape::Any => panic!("{name} is not understood: {schema}"),
                Shape::Table(table) => table
                    .known
                    .iter()
                    .map(|(key, schema)| (key.clone(), schema))
                    .collect(),
                Shape::List(items) => vec![(format!("entry of {name}"), items)],
                Shape::ChoiceOrList(_, items) => vec![(format!("entry of {name}"), items)],
                Shape::Choice(choices) => {
                    let values = choices
                        .iter()
                        .filter_map(|choice| Some((choice.name, choice.value?)));
                    values.map(|(name, schema)| (name.to_owned(), schema)).collect()
                }
                _ => Vec::new(),
            };
            open.extend(more);
        }
        assert!(seen > 40, "only {seen} parts were seen");
    }
}
