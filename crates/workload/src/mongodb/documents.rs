//! Records as documents: how they and the commands about them are written, and whether what was read is right.

use ciphertax_engine::{Failure, Result};
use ciphertax_model::YcsbTable;
use ciphertax_wire::mongodb::bson::raw::{CStr, CString, RawBsonRef, RawDocument, cstr};
use ciphertax_wire::mongodb::bson::spec::BinarySubtype;
use ciphertax_wire::mongodb::{DocumentWriter, Reply, Request};

use super::DATABASE;
use crate::driver::failure;
use crate::ycsb::fields::{Fields, FieldsCheck};
use crate::ycsb::records::{Value, at_most_one, changed, key_that_came};
use crate::ycsb::{Key, Table};

/// Writes a command on a table anew.
pub(super) fn write_command(
    request: &mut Request,
    name: &CStr,
    table: Table,
    more: impl FnOnce(&mut DocumentWriter<'_>),
) {
    request.command(|command| {
        command.string(name, table.name());
        more(command);
        command.string(cstr!("$db"), &DATABASE);
    });
}

pub(super) fn write_find_one(
    request: &mut Request,
    table: Table,
    key: &Key,
    read_mode: Option<&'static str>,
) {
    write_command(request, cstr!("find"), table, |find| {
        find.document(cstr!("filter"), |filter| {
            filter.string(cstr!("_id"), key.as_str())
        });
        find.int32(cstr!("limit"), 1);
        find.boolean(cstr!("singleBatch"), true);
        write_read_mode(find, read_mode);
    });
}

pub(super) fn write_read_mode(find: &mut DocumentWriter<'_>, read_mode: Option<&'static str>) {
    if let Some(mode) = read_mode {
        find.document(cstr!("$readPreference"), |preference| {
            preference.string(cstr!("mode"), mode);
        });
    }
}

pub(super) fn write_record(
    document: &mut DocumentWriter<'_>,
    key: &Key,
    names: &[CString],
    fields: &mut Fields,
) -> Result<()> {
    document.string(cstr!("_id"), key.as_str());
    for (number, name) in (0..).zip(names) {
        write_field(document, name, number, Value::inserted(key, number), fields)?;
    }
    Ok(())
}

pub(super) fn write_field(
    document: &mut DocumentWriter<'_>,
    name: &CStr,
    field: u16,
    value: Value,
    fields: &mut Fields,
) -> Result<()> {
    let length = fields.length(field);
    let blank = match fields.is_cell(field) {
        true => document.blank_encrypted(name, length),
        false => document.blank_binary(name, length),
    };
    fields.write(field, value, blank)
}

/// Bytes of a record without its key.
pub(super) fn record_size(names: &[CString], fields: &Fields) -> usize {
    let mut record = Request::new();
    let empty = record.size();
    record.command(|document| {
        document.string(cstr!("_id"), "");
        for (field, name) in (0..).zip(names) {
            document.blank_binary(name, fields.length(field));
        }
    });
    // An empty document has five bytes.
    record.size() - empty + 5
}

/// Makes sure that what was found is one record, and is right by this check; false if nothing was found.
pub(super) fn check_one(
    reply: Reply<'_>,
    names: &[CString],
    key: &Key,
    fields: &mut Fields,
    check: impl for<'a> Fn(&'a mut Fields, Key) -> FieldsCheck<'a>,
) -> Result<bool> {
    let mut records = 0;
    for document in reply.batch().map_err(failure)? {
        let document = document.map_err(failure)?;
        key_of(document, Some(key))?;
        check_fields(document, names, *key, check(fields, *key))?;
        records += 1;
    }
    at_most_one(key, records)
}

/// The key of a record, which is `expected` if it is known which.
pub(super) fn key_of(document: &RawDocument, expected: Option<&Key>) -> Result<Key> {
    let id = document.iter_elements().next().transpose().map_err(broken)?;
    match id.map(|id| id.value()).transpose().map_err(broken)? {
        Some(RawBsonRef::String(id)) => key_that_came(id.as_bytes(), expected),
        _ => key_that_came(b"", expected),
    }
}

/// Checks what follows a record's key.
pub(super) fn check_fields(
    document: &RawDocument,
    names: &[CString],
    key: Key,
    mut check: FieldsCheck<'_>,
) -> Result<()> {
    for element in document.iter_elements().skip(1) {
        let element = element.map_err(broken)?;
        let field = usize::from(check.next);
        let name = element.key();
        if names.get(field).is_some_and(|expected| &**expected != name) {
            let name = name.as_str();
            return Err(changed(
                &key,
                format_args!("has {name:?} in the place of field{field}"),
            ));
        }
        let (subtype, expected) = match check.is_next_cell() {
            true => (BinarySubtype::Encrypted, "encrypted"),
            false => (BinarySubtype::Generic, "binary"),
        };
        match element.value().map_err(broken)? {
            RawBsonRef::Binary(value) if value.subtype == subtype => check.field(value.bytes)?,
            _ => {
                return Err(changed(
                    &key,
                    format_args!("has a field{field} that is not {expected}"),
                ));
            }
        }
    }
    check.end()
}

fn broken(error: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("a record that cannot be read: {error}"))
}

pub(super) fn field_names(table: &YcsbTable) -> Vec<CString> {
    (0..table.field_count)
        .filter_map(|field| CString::try_from(format!("field{field}")).ok())
        .collect()
}

/// A count in an answer, of whichever type the server chose.
pub(super) fn number(document: &RawDocument, name: &str) -> Result<u64> {
    let found = document.get(name).ok().flatten();
    let number = match found {
        Some(RawBsonRef::Int32(number)) => Some(number.into()),
        Some(RawBsonRef::Int64(number)) => Some(number),
        Some(RawBsonRef::Double(number)) if number.fract() == 0.0 => Some(number as i64),
        _ => None,
    };
    number
        .and_then(|number| u64::try_from(number).ok())
        .ok_or_else(|| Failure::Error(format!("an answer without the number {name}")))
}
