//! A row of which the disk beneath a server's file system is searched.

use std::io;

use super::client;
use crate::error::{Error, Result};
use crate::server::family::Running;

/// Of its own, so that it is gone without a trace.
const TABLE: &str = "ciphertax_file_system";

/// Writes it to a table, and all tables to the disk.
pub(super) fn write(server: &Running<'_>, canary: &str) -> Result<()> {
    run(
        server,
        &[
            format!("CREATE TABLE {TABLE} (v text)"),
            format!("INSERT INTO {TABLE} VALUES ('{canary}')"),
        ],
    )?;
    run(server, &["CHECKPOINT".into()])
}

/// Removes it, if it is there.
pub(super) fn remove(server: &Running<'_>) -> Result<()> {
    run(server, &[format!("DROP TABLE IF EXISTS {TABLE}")])
}

fn run(server: &Running<'_>, statements: &[String]) -> Result<()> {
    // Every server of this family has a socket.
    let socket = server.socket.unwrap_or("".as_ref());
    client::run(socket, statements).map_err(|problem: io::Error| Error::SetUp {
        server: server.entry.name,
        problem: problem.to_string(),
    })
}
