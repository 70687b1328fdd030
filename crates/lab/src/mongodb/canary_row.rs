//! A document of which the disk beneath a server's file system is searched.

use ciphertax_wire::WireError;
use ciphertax_wire::mongodb::Session;
use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};

use super::set_up::{connect, find_primary, login, run};
use crate::error::Result;
use crate::server::family::Running;

/// Of its own, so that it is gone without a trace.
const DATABASE: &str = "ciphertax_file_system";

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
