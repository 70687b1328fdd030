//! A row of which the disk beneath a server's file system is searched.

use super::at_rest::Asked;
use crate::error::Result;
use crate::server::family::Running;

/// Of its own, so that it is gone without a trace.
const SCHEMA: &str = "ciphertax_canary";

/// Writes it to a table, and the table and the binary log to the disk.
pub(super) fn write(server: &Running<'_>, canary: &str) -> Result<()> {
    run(
        server,
        &[
            format!("CREATE DATABASE {SCHEMA}"),
            format!("CREATE TABLE {SCHEMA}.t (v VARCHAR(250)) ENGINE=InnoDB"),
            format!("INSERT INTO {SCHEMA}.t VALUES ('{canary}')"),
            format!("FLUSH TABLES {SCHEMA}.t FOR EXPORT"),
            "UNLOCK TABLES".into(),
            "FLUSH BINARY LOGS".into(),
        ],
    )
}

/// Writes it to a table, put together by the server from these two. What a node commits, the others have seen.
pub(super) fn write_replicated(server: &Running<'_>, [first, second]: [&str; 2]) -> Result<()> {
    run(
        server,
        &[
            format!("CREATE DATABASE {SCHEMA}"),
            format!("CREATE TABLE {SCHEMA}.t (id INT PRIMARY KEY, v VARCHAR(250)) ENGINE=InnoDB"),
            format!("INSERT INTO {SCHEMA}.t VALUES (1, CONCAT('{first}', '{second}'))"),
        ],
    )
}

/// Removes it, if it is there.
pub(super) fn remove(server: &Running<'_>) -> Result<()> {
    run(server, &[format!("DROP DATABASE IF EXISTS {SCHEMA}")])
}

fn run(server: &Running<'_>, statements: &[String]) -> Result<()> {
    let asked = Asked {
        server: server.entry.name,
        // Every server of this family has one.
        socket: server.socket.unwrap_or("".as_ref()),
        account: server.account,
    };
    asked.run(async |_, session| {
        for statement in statements {
            session.query(statement).await?;
        }
        Ok(())
    })
}
