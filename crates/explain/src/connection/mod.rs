//! Connections taken apart: who computes what in them, and what would be cheaper.

mod certificates;
mod findings;
mod work;

use ciphertax_base::Phase;
use ciphertax_records::ConnectionRecord;

/// Adds to the figures of connections who computes what, and what would be cheaper.
pub fn explain(record: &mut ConnectionRecord) {
    // Over a Unix socket there is no name to look up, over TCP there always is, be it an address.
    let is_over_socket = !record.phases.iter().any(|row| row.phase == Phase::Resolve);
    record.work = work::work(&record.facts, record.chain.len(), is_over_socket);
    record.findings = findings::all(record);
}

#[cfg(test)]
mod tests;
