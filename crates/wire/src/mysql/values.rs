//! The values of a row, of text and of prepared statements, which carry each type in a form of its own
//! (<https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>).

use std::fmt;

use mysql_common::constants::ColumnType;

use super::result::{Receiver, text};
use crate::error::{Result, WireError};
use crate::value::{MOST_VALUES, Places, Scratch, Value, check_columns};

/// What is kept from one answer to the next to read values with.
#[derive(Debug, Default)]
pub(super) struct ValueReader {
    columns: Vec<Column>,
    scratch: Scratch,
}

impl ValueReader {
    /// Takes the answer to a text statement.
    pub(super) fn text<F>(&mut self, on_row: F) -> Values<'_, F> {
        self.values(Encoding::Text, on_row)
    }

    /// Takes the answer to a prepared statement, in which `text_columns` have texts whatever their types.
    pub(super) fn binary<F>(&mut self, text_columns: u64, on_row: F) -> Values<'_, F> {
        self.values(Encoding::Binary { text_columns }, on_row)
    }

    fn values<F>(&mut self, encoding: Encoding, on_row: F) -> Values<'_, F> {
        self.columns.clear();
        Values {
            reader: self,
            encoding,
            on_row,
        }
    }
}

#[derive(Clone, Copy)]
enum Encoding {
    Text,
    Binary { text_columns: u64 },
}

/// Hands over the values of each row.
pub(super) struct Values<'r, F> {
    reader: &'r mut ValueReader,
    encoding: Encoding,
    on_row: F,
}

impl<F: FnMut(&[Value<'_>]) -> Result<()>> Receiver for Values<'_, F> {
    fn column(&mut self, definition: &[u8]) -> Result<()> {
        let index = self.reader.columns.len();
        check_columns(index + 1)?;
        let mut column = Column::of(definition)?;
        if let Encoding::Binary { text_columns } = self.encoding
            && text_columns & (1 << index) != 0
        {
            column.form = Form::Text;
        }
        self.reader.columns.push(column);
        Ok(())
    }

    fn row(&mut self, payload: &[u8]) -> Result<()> {
        let ValueReader { columns, scratch } = &mut *self.reader;
        let mut room = [Value::Null; MOST_VALUES];
        let values = &mut room[..columns.len()];
        let rest = match self.encoding {
            Encoding::Text => read_text(payload, values)?,
            Encoding::Binary { .. } => {
                read_binary(payload, columns, &mut scratch.places(columns.len()), values)?
            }
        };
        if !rest.is_empty() {
            return Err(WireError::protocol("a row that is longer than its columns"));
        }
        (self.on_row)(values)
    }
}

/// Reads as many values as there are columns; what follows them.
fn read_text<'a>(mut payload: &'a [u8], values: &mut [Value<'a>]) -> Result<&'a [u8]> {
    for value in values {
        payload = match payload {
            [0xFB, rest @ ..] => rest,
            _ => {
                let (read, rest) = text(payload)?;
                *value = Value::Text(read);
                rest
            }
        };
    }
    Ok(payload)
}

/// The same for a row of a prepared statement: a zero, a bit for each column that is NULL, of which two are reserved,
/// and the values that are not.
fn read_binary<'a>(
    payload: &'a [u8],
    columns: &[Column],
    places: &mut Places<'a>,
    values: &mut [Value<'a>],
) -> Result<&'a [u8]> {
    let nulls = (columns.len() + 2).div_ceil(8);
    let Some(([0, nulls @ ..], mut rest)) = payload.split_at_checked(1 + nulls) else {
        return Err(WireError::protocol("a row that is not of a prepared statement"));
    };
    for (index, (column, value)) in columns.iter().zip(values).enumerate() {
        let bit = index + 2;
        if nulls[bit / 8] & (1 << (bit % 8)) == 0 {
            (*value, rest) = column.read(rest, places)?;
        }
    }
    Ok(rest)
}

/// How a column's values travel in rows of prepared statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Column {
    form: Form,
    unsigned: bool,
    /// Digits of a fraction of a second, where it is such a column.
    decimals: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Tiny,
    Short,
    Long,
    LongLong,
    Float,
    Double,
    Date,
    DateTime,
    Time,
    /// Always NULL.
    Nothing,
    Text,
}

const UNSIGNED: u8 = 0x20;
/// Digits of microseconds.
const MOST_DECIMALS: u8 = 6;

impl Column {
    /// A definition ends with its fixed part, whose length goes before it: collation (2), length (4), type, flags (2),
    /// decimals, and two bytes of nothing.
    fn of(definition: &[u8]) -> Result<Self> {
        let Some((_, &[12, _, _, _, _, _, _, kind, flags, _, decimals, _, _])) =
            definition.split_last_chunk::<13>()
        else {
            return Err(WireError::protocol(
                "the definition of a column that cannot be read",
            ));
        };
        Ok(Self {
            form: Form::of(kind),
            unsigned: flags & UNSIGNED != 0,
            decimals,
        })
    }

    /// A value, and what follows it.
    fn read<'a>(self, bytes: &'a [u8], places: &mut Places<'a>) -> Result<(Value<'a>, &'a [u8])> {
        let (value, rest) = match self.form {
            Form::Tiny => self.integer::<1>(bytes, places),
            Form::Short => self.integer::<2>(bytes, places),
            Form::Long => self.integer::<4>(bytes, places),
            Form::LongLong => self.integer::<8>(bytes, places),
            Form::Float => bytes.split_first_chunk().and_then(|(value, rest)| {
                let value = f32::from_le_bytes(*value);
                Some((places.write(|text| text.number(value, value.abs().into()))?, rest))
            }),
            Form::Double => bytes.split_first_chunk().and_then(|(value, rest)| {
                let value = f64::from_le_bytes(*value);
                Some((places.write(|text| text.number(value, value.abs()))?, rest))
            }),
            Form::Date | Form::DateTime | Form::Time => self.moment(bytes, places),
            Form::Nothing => Some((Value::Null, bytes)),
            Form::Text => return text(bytes).map(|(value, rest)| (Value::Text(value), rest)),
        }
        .ok_or_else(|| WireError::protocol("a value that is not of its column's type"))?;
        Ok((value, rest))
    }

    /// An integer; one that is too large for [`Value::Integer`] is handed over as text.
    fn integer<'a, const WIDTH: usize>(
        self,
        bytes: &'a [u8],
        places: &mut Places<'a>,
    ) -> Option<(Value<'a>, &'a [u8])> {
        let (value, rest) = bytes.split_first_chunk::<WIDTH>()?;
        let fill = if value[WIDTH - 1] >= 0x80 && !self.unsigned {
            0xFF
        } else {
            0
        };
        let mut wide = [fill; 8];
        wide[..WIDTH].copy_from_slice(value);
        let value = i64::from_le_bytes(wide);
        if self.unsigned && value < 0 {
            let value = value.cast_unsigned();
            return Some((
                places.write(|text| fmt::write(text, format_args!("{value}")))?,
                rest,
            ));
        }
        Some((Value::Integer(value), rest))
    }

    /// A date, a date with a time, or a time, as the text protocol has it. What is zero at its end does not travel.
    fn moment<'a>(self, bytes: &'a [u8], places: &mut Places<'a>) -> Option<(Value<'a>, &'a [u8])> {
        let (&length, rest) = bytes.split_first()?;
        let (sent, rest) = rest.split_at_checked(length.into())?;
        let mut parts = [0; 12];
        parts.get_mut(..sent.len())?.copy_from_slice(sent);
        let value = match (self.form, length) {
            (Form::Time, 0 | 8 | 12) => places.write(|text| self.time(&parts, text)),
            (Form::Date, 0 | 4) => places.write(|text| date(&parts, text)),
            (Form::DateTime, 0 | 4 | 7 | 11) => places.write(|text| {
                date(&parts, text)?;
                text.push(b" ")?;
                let [hour, minute, second, micros @ ..] = &parts[4..11] else {
                    return Err(fmt::Error);
                };
                text.digits(u32::from(*hour), 2)?;
                self.below_hours([*minute, *second], micros, text)
            }),
            _ => None,
        };
        Some((value?, rest))
    }

    fn time(self, parts: &[u8; 12], text: &mut crate::value::Text<'_>) -> fmt::Result {
        let [
            negative,
            day0,
            day1,
            day2,
            day3,
            hour,
            minute,
            second,
            micros @ ..,
        ] = parts;
        if *negative != 0 {
            text.push(b"-")?;
        }
        let days = u32::from_le_bytes([*day0, *day1, *day2, *day3]);
        let hours = days
            .checked_mul(24)
            .and_then(|hours| hours.checked_add((*hour).into()));
        let hours = hours.ok_or(fmt::Error)?;
        text.digits(hours, if hours < 100 { 2 } else { 3 })?;
        self.below_hours([*minute, *second], micros, text)
    }

    fn below_hours(
        self,
        [minute, second]: [u8; 2],
        micros: &[u8],
        text: &mut crate::value::Text<'_>,
    ) -> fmt::Result {
        text.push(b":")?;
        text.digits(minute.into(), 2)?;
        text.push(b":")?;
        text.digits(second.into(), 2)?;
        let micros = u32::from_le_bytes(micros.try_into().map_err(|_| fmt::Error)?);
        let decimals = match self.decimals {
            decimals @ ..=MOST_DECIMALS => decimals,
            _ if micros == 0 => 0,
            _ => MOST_DECIMALS,
        };
        if decimals == 0 {
            return Ok(());
        }
        text.push(b".")?;
        text.digits(
            micros / 10_u32.pow((MOST_DECIMALS - decimals).into()),
            decimals.into(),
        )
    }
}

fn date(parts: &[u8; 12], text: &mut crate::value::Text<'_>) -> fmt::Result {
    let [year0, year1, month, day, ..] = parts;
    text.digits(u16::from_le_bytes([*year0, *year1]).into(), 4)?;
    text.push(b"-")?;
    text.digits((*month).into(), 2)?;
    text.push(b"-")?;
    text.digits((*day).into(), 2)
}

impl Form {
    fn of(kind: u8) -> Self {
        match ColumnType::try_from(kind) {
            Ok(ColumnType::MYSQL_TYPE_TINY) => Self::Tiny,
            Ok(ColumnType::MYSQL_TYPE_SHORT | ColumnType::MYSQL_TYPE_YEAR) => Self::Short,
            Ok(ColumnType::MYSQL_TYPE_LONG | ColumnType::MYSQL_TYPE_INT24) => Self::Long,
            Ok(ColumnType::MYSQL_TYPE_LONGLONG) => Self::LongLong,
            Ok(ColumnType::MYSQL_TYPE_FLOAT) => Self::Float,
            Ok(ColumnType::MYSQL_TYPE_DOUBLE) => Self::Double,
            Ok(ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE) => Self::Date,
            Ok(ColumnType::MYSQL_TYPE_DATETIME | ColumnType::MYSQL_TYPE_TIMESTAMP) => Self::DateTime,
            Ok(ColumnType::MYSQL_TYPE_TIME) => Self::Time,
            Ok(ColumnType::MYSQL_TYPE_NULL) => Self::Nothing,
            // Decimals, texts, bytes, and what there will be one day.
            _ => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn definition(kind: ColumnType, flags: u8, decimals: u8) -> Vec<u8> {
        let mut definition = b"\x03def\0\0\0\x01c\0\x0C\x2D\0\xFF\0\0\0".to_vec();
        definition.extend([kind as u8, flags, 0, decimals, 0, 0]);
        definition
    }

    /// What is handed over of a row of a prepared statement with one column.
    fn read(kind: ColumnType, flags: u8, decimals: u8, value: &[u8]) -> Result<String> {
        let mut reader = ValueReader::default();
        let mut found = String::new();
        let mut values = reader.binary(0, |values: &[Value<'_>]| {
            found = match values {
                [Value::Integer(value)] => value.to_string(),
                [Value::Text(text)] => String::from_utf8_lossy(text).into_owned(),
                other => panic!("{other:?}"),
            };
            Ok(())
        });
        values.column(&definition(kind, flags, decimals))?;
        values.row(&[&[0, 0], value].concat())?;
        Ok(found)
    }

    #[test]
    fn cells_in_place_of_values_are_read_as_texts_whatever_the_types_of_their_columns() {
        let integer = definition(ColumnType::MYSQL_TYPE_LONG, 0, 0);
        let row = b"\0\0\x07\0\0\0\x04cell";
        let mut reader = ValueReader::default();
        let mut rows = 0;
        let mut values = reader.binary(0b10, |values: &[Value<'_>]| {
            assert_eq!(values, [Value::Integer(7), Value::Text(b"cell")]);
            rows += 1;
            Ok(())
        });
        for _ in 0..2 {
            values.column(&integer).unwrap();
        }
        values.row(row).unwrap();
        assert_eq!(rows, 1);
    }

    #[test]
    fn moments_are_what_the_server_writes() {
        use ColumnType::{MYSQL_TYPE_DATE as DATE, MYSQL_TYPE_DATETIME as DATETIME, MYSQL_TYPE_TIME as TIME};
        let micros = b"\x0B\xEA\x07\x01\x1F\x0C\x1E\x05\x40\xE2\x01\x00";
        for (kind, decimals, value, text) in [
            (DATE, 0, b"\0".as_slice(), "0000-00-00"),
            (DATE, 0, b"\x04\xEA\x07\x01\x1F", "2026-01-31"),
            (DATETIME, 0, b"\x04\xEA\x07\x01\x1F", "2026-01-31 00:00:00"),
            (
                DATETIME,
                3,
                b"\x07\xEA\x07\x01\x1F\x0C\x1E\x05",
                "2026-01-31 12:30:05.000",
            ),
            (DATETIME, 6, micros, "2026-01-31 12:30:05.123456"),
            (DATETIME, 39, micros, "2026-01-31 12:30:05.123456"),
            (TIME, 0, b"\0", "00:00:00"),
            (TIME, 0, b"\x08\x01\x22\0\0\0\x16\x3B\x3B", "-838:59:59"),
        ] {
            assert_eq!(read(kind, 0, decimals, value).unwrap(), text);
        }
        for (kind, value) in [
            (DATE, b"\x07\xEA\x07\x01\x1F\0\0\0".as_slice()),
            (DATE, b"\x04\xEA\x07\x64\x1F"),
            (DATE, b"\x04\xFF\xFF\x01\x1F"),
            (DATETIME, b"\x05\xEA\x07\x01\x1F\0"),
            (DATETIME, b"\xFF\xEA\x07\x01\x1F\0"),
            (TIME, b"\x08\0\xFF\xFF\xFF\xFF\x16\x3B\x3B"),
            (TIME, b"\x08\0\0\0"),
        ] {
            assert!(read(kind, 0, 6, value).is_err());
        }
    }

    #[test]
    fn integers_of_all_widths_keep_their_sign_and_size() {
        use ColumnType::{
            MYSQL_TYPE_LONGLONG as LONGLONG, MYSQL_TYPE_SHORT as SHORT, MYSQL_TYPE_TINY as TINY,
        };
        for (kind, flags, value, text) in [
            (TINY, 0, [0xFF].as_slice(), "-1"),
            (TINY, UNSIGNED, &[0xFF], "255"),
            (SHORT, 0, &[0, 0x80], "-32768"),
            (SHORT, UNSIGNED, &[0, 0x80], "32768"),
            (LONGLONG, 0, &[0xFF; 8], "-1"),
            (LONGLONG, UNSIGNED, &[0xFF; 8], "18446744073709551615"),
        ] {
            assert_eq!(read(kind, flags, 0, value).unwrap(), text);
        }
        assert!(read(SHORT, 0, 0, &[1]).is_err());
        assert!(read(SHORT, 0, 0, &[1, 2, 3]).is_err());
    }

    #[test]
    fn more_columns_than_can_be_handed_over_are_refused() {
        let mut reader = ValueReader::default();
        for _ in 0..2 {
            let mut values = reader.text(|_: &[Value<'_>]| Ok(()));
            let definition = definition(ColumnType::MYSQL_TYPE_LONG, 0, 0);
            for _ in 0..MOST_VALUES {
                values.column(&definition).unwrap();
            }
            assert!(values.column(&definition).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            definitions in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 0..64),
            row in prop::collection::vec(prop_oneof![Just(0_u8), Just(4), Just(7), Just(11), any::<u8>()], 0..600),
            cut in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut reader = ValueReader::default();
            for encoding in [Encoding::Text, Encoding::Binary { text_columns: 0 }] {
                let mut values = reader.values(encoding, |_: &[Value<'_>]| Ok(()));
                let _ = values.column(&cut);
                for (kind, flags, decimals) in &definitions {
                    let mut fixed = vec![12; 13];
                    (fixed[7], fixed[8], fixed[10]) = (*kind, *flags, *decimals);
                    let _ = values.column(&fixed);
                }
                let _ = values.row(&row);
                let nulls = [&[0], row.as_slice()].concat();
                let _ = values.row(&nulls);
            }
        }

        #[test]
        fn what_is_null_and_what_is_not_is_told_apart(texts in prop::collection::vec(prop::option::of("[a-z]{0,250}"), 1..64)) {
            let nulls = (texts.len() + 2).div_ceil(8);
            let mut binary = vec![0; 1 + nulls];
            let mut plain = Vec::new();
            for (index, value) in texts.iter().enumerate() {
                match value {
                    None => {
                        binary[1 + (index + 2) / 8] |= 1 << ((index + 2) % 8);
                        plain.push(0xFB);
                    }
                    Some(value) => for row in [&mut binary, &mut plain] {
                        row.push(value.len() as u8);
                        row.extend_from_slice(value.as_bytes());
                    },
                }
            }
            let mut reader = ValueReader::default();
            for (encoding, row) in [(Encoding::Text, plain), (Encoding::Binary { text_columns: 0 }, binary)] {
                let mut found = Vec::new();
                let mut values = reader.values(encoding, |values: &[Value<'_>]| {
                    found.extend(values.iter().map(|value| match value {
                        Value::Null => None,
                        Value::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                        Value::Integer(_) => panic!("an integer"),
                    }));
                    Ok(())
                });
                for _ in &texts {
                    values.column(&definition(ColumnType::MYSQL_TYPE_VAR_STRING, 0, 0)).unwrap();
                }
                values.row(&row).unwrap();
                prop_assert_eq!(&found, &texts);
            }
        }
    }
}
