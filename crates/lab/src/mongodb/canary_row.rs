//! A document of which the disk beneath a server's file system is searched.

use ciphertax_wire::WireError;
use ciphertax_wire::mongodb::Session;
use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};

use super::set_up::{connect, find_primary, login, run};
use crate::error::Result;
use crate::server::family::Running;

/// Of its own, so that it is gone without a trace.
const DATABASE: &str = "ciphertax_canary";

/// Writes it to a collection, and all collections to the disk.
pub(super) fn write(server: &Running<'_>, canary: &str) -> Result<()> {
    let document = rawdoc! { "v": canary };
    command(
        server,
        &[
            rawdoc! { "insert": "t", "documents": [document], "$db": DATABASE },
            rawdoc! { "fsync": 1_i32, "$db": "admin" },
        ],
    )
}

/// Writes it to a collection, put together by the primary from these two, and waits until all members have it.
pub(super) fn write_replicated(server: &Running<'_>, [first, second]: [&str; 2]) -> Result<()> {
    let update = rawdoc! {
        "q": { "_id": 1_i32 },
        "u": [{ "$set": { "v": { "$concat": [first, second] } } }],
        "upsert": true,
    };
    // There are six at most.
    let all = i32::try_from(server.addresses.len()).unwrap_or(i32::MAX);
    command(
        server,
        &[rawdoc! { "update": "t", "updates": [update], "writeConcern": { "w": all }, "$db": DATABASE }],
    )
}

/// Removes it, if it is there.
pub(super) fn remove(server: &Running<'_>) -> Result<()> {
    command(server, &[rawdoc! { "dropDatabase": 1_i32, "$db": DATABASE }])
}

fn command(server: &Running<'_>, commands: &[RawDocumentBuf]) -> Result<()> {
    run(server.entry, async |reactor| {
        let primary = find_primary(reactor, &server.addresses, |_| true).await?;
        let mut session: Session = connect(reactor, primary, login(server.account)?).await?;
        for command in commands {
            session.command(command).await?;
        }
        Ok::<(), WireError>(())
    })
}
