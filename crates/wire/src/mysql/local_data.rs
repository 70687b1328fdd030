//! Loading rows that come from the client (`LOAD DATA LOCAL INFILE`).
//!
//! The server answers such a statement by asking for a file. Any server could ask for any file, after any statement
//! (<https://dev.mysql.com/doc/refman/8.4/en/load-data-local-security.html>): so this client knows no files at all. It
//! sends what its caller has in memory, and only where the server asks for the very name that was made up for it.

use mysql_common::constants::CapabilityFlags;

use super::framing::{Framed, HEADER};
use super::result::{Accepted, server_error};
use crate::error::WireError;

/// The name of the file that there is not.
const NAME: &str = "ciphertax-rows";
/// Rows travel in packets of so many bytes at most.
const CHUNK: usize = 64 << 10;

/// The statement that loads rows of tab-separated values into these columns of a table, as `t (a, b)`. Bytes are taken as
/// they are: whoever wrote the values wrote them for the columns' character sets.
pub(super) fn statement(table_and_columns: &str) -> String {
    let columns = table_and_columns.find('(').unwrap_or(table_and_columns.len());
    let (table, columns) = table_and_columns.split_at(columns);
    format!("LOAD DATA LOCAL INFILE '{NAME}' INTO TABLE {table} CHARACTER SET binary {columns}")
}

/// Reads what the server says to that statement, gives it the rows if it asks for them, and reads how it took them.
pub(super) async fn answer<'a>(
    framed: &mut Framed,
    capabilities: CapabilityFlags,
    rows: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Accepted, WireError> {
    match framed.read().await? {
        [0xFB, name @ ..] => {
            if name != NAME.as_bytes() {
                let name = String::from_utf8_lossy(&name[..name.len().min(200)]).into_owned();
                return Err(WireError::protocol(format!(
                    "it asks for the file {name:?} of this machine, which nobody has offered"
                )));
            }
            if !capabilities.contains(CapabilityFlags::CLIENT_LOCAL_FILES) {
                return Err(WireError::protocol(
                    "it asks for rows of a client that has said that it gives none",
                ));
            }
        }
        payload @ [0xFF, ..] => return Err(server_error(payload, capabilities)),
        _ => return Err(WireError::protocol("it loads rows without asking for them")),
    }
    let mut packet = Vec::with_capacity(HEADER + CHUNK);
    for piece in rows.into_iter().flat_map(|rows| rows.chunks(CHUNK)) {
        packet.clear();
        packet.extend_from_slice(&[0; HEADER]);
        packet.extend_from_slice(piece);
        framed.reply(&mut packet).await?;
    }
    // An empty packet ends them.
    framed.reply(&mut [0; HEADER]).await?;
    match framed.read().await? {
        [0x00, rest @ ..] => Accepted::read(rest),
        payload @ [0xFF, ..] => Err(server_error(payload, capabilities)),
        _ => Err(WireError::protocol("it does not say whether it took the rows")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_set_stands_between_table_and_columns() {
        assert_eq!(
            statement("t (a, b)"),
            "LOAD DATA LOCAL INFILE 'ciphertax-rows' INTO TABLE t  CHARACTER SET binary (a, b)"
        );
        assert!(statement("t").ends_with("INTO TABLE t CHARACTER SET binary "));
    }
}
