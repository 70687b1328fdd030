//! Servers on which every TLS connection is a full handshake.

use ciphertax_records::{ConnectRow, Finding, Handshakes, Run, Severity};

use super::finding::finding;

/// Where PostgreSQL switches it off: tickets by `SSL_CTX_set_options(SSL_OP_NO_TICKET)` and the cache of sessions by
/// `SSL_SESS_CACHE_OFF`, in every version (`be_tls_init` in `src/backend/libpq/be-secure-openssl.c`).
const SOURCE: &str =
    "PostgreSQL switches session tickets and the session cache off (be_tls_init), in every version";

/// Of a server that resumes no session by design: nobody needs to look for the setting.
pub(super) fn no_resumption(run: &Run) -> Option<Finding> {
    let is_of_postgresql = |row: &&ConnectRow| {
        let server = run.cell(&row.cell).and_then(|cell| run.server_of(cell.found));
        server.is_some_and(|server| server.product == "PostgreSQL")
    };
    let connects = run.results.connects.iter().filter(is_of_postgresql);
    let mut all = Handshakes::default();
    for handshakes in connects.filter_map(|row| row.handshakes) {
        all += handshakes;
    }
    (all.count > 0).then(|| {
        of_postgresql(&format!(
            "{} of {} handshakes were resumed",
            all.resumed, all.count
        ))
    })
}

/// That PostgreSQL resumes no session, with what was seen of it.
pub(crate) fn of_postgresql(seen: &str) -> Finding {
    finding(
        "no-resumption",
        Severity::Advice,
        "PostgreSQL resumes no TLS session: every new connection pays for a full handshake, whatever the client keeps. Keep \
         connections open, in the client or by a pooler."
            .into(),
        format!("{seen}; {SOURCE}"),
    )
}
