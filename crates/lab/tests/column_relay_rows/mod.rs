//! Rows of MySQL's protocol, read by their types alone.

/// How a value stands in a binary row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// In so many bytes.
    Fixed(usize),
    /// After a byte that tells its length.
    Short,
    /// After a number that tells its length.
    Counted,
}

/// The values of a text row; `None` for NULL.
pub(crate) fn text_values(mut row: &[u8], columns: usize) -> Vec<Option<&[u8]>> {
    let values = (0..columns).map(|_| match row {
        [0xFB, rest @ ..] => {
            row = rest;
            None
        }
        _ => Some(counted(&mut row)),
    });
    let values = values.collect();
    assert_eq!(row, b"");
    values
}

/// The values of a binary row, each as it stands there without a length before it; `None` for NULL.
pub(crate) fn binary_values<'a>(row: &'a [u8], kinds: &[Kind]) -> Vec<Option<&'a [u8]>> {
    let (nulls, mut rest) = row[1..].split_at((kinds.len() + 9) / 8);
    assert_eq!(row[0], 0);
    let values = kinds.iter().enumerate().map(|(index, kind)| {
        if nulls[(index + 2) / 8] & 1 << ((index + 2) % 8) != 0 {
            return None;
        }
        Some(match kind {
            Kind::Fixed(length) => take(&mut rest, *length),
            Kind::Short => {
                let length = take(&mut rest, 1)[0].into();
                take(&mut rest, length)
            }
            Kind::Counted => counted(&mut rest),
        })
    });
    let values = values.collect();
    assert_eq!(rest, b"");
    values
}

fn counted<'a>(row: &mut &'a [u8]) -> &'a [u8] {
    let length = match take(row, 1)[0] {
        length @ ..=0xFA => length.into(),
        0xFC => little(take(row, 2)),
        0xFD => little(take(row, 3)),
        other => panic!("a length that begins with {other}"),
    };
    take(row, length)
}

fn little(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | usize::from(*byte))
}

fn take<'a>(row: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (begin, rest) = row.split_at(length);
    *row = rest;
    begin
}
