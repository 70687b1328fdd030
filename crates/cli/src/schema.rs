//! `ciphertax schema`.

use ciphertax_model::nearest;
use ciphertax_report::schema::{SCHEMAS, Schema, schema};

use crate::arguments::SchemaArguments;
use crate::exit::Exit;
use crate::show;

pub(crate) fn run(arguments: &SchemaArguments) -> Result<Exit, String> {
    let text = match &arguments.name {
        Some(name) => schema(name).ok_or_else(|| unknown(name))?.text(),
        None => SCHEMAS.iter().map(line).collect(),
    };
    show::print(&text).map(|()| Exit::Done)
}

fn line(schema: &Schema) -> String {
    format!("{:<10}  {}\n", schema.name, schema.describes)
}

fn unknown(name: &str) -> String {
    let names = || SCHEMAS.iter().map(|schema| schema.name);
    let hint = nearest(name, names()).map(|near| format!("; did you mean {near}?"));
    format!(
        "unknown schema {name:?}{} Known are {}",
        hint.unwrap_or_else(|| ".".to_owned()),
        names().collect::<Vec<_>>().join(", ")
    )
}
