//! `ciphertax schema`.

use ciphertax_model::unknown;
use ciphertax_report::schema::{SCHEMAS, Schema, schema};

use crate::arguments::SchemaArguments;
use crate::exit::Exit;
use crate::show;

pub(crate) fn run(arguments: &SchemaArguments) -> Result<Exit, String> {
    let text = match &arguments.name {
        Some(name) => schema(name)
            .ok_or_else(|| unknown("schema", name, &SCHEMAS.map(|schema| schema.name)))?
            .text(),
        None => SCHEMAS.iter().map(line).collect(),
    };
    show::print(&text).map(|()| Exit::Done)
}

fn line(schema: &Schema) -> String {
    format!("{:<10}  {}\n", schema.name, schema.describes)
}
