//! Bounds as a reader says them.

use ciphertax_records::why::Bound;

/// What an arm is bound by, after "bound by".
pub(crate) fn in_words(bound: Bound, of: Option<&str>) -> String {
    match (bound, of) {
        (Bound::ClientCpu, _) => "the load generator's CPU".to_owned(),
        (Bound::OtherPrograms, _) => "other programs on this machine".to_owned(),
        (Bound::ServerCpu, None) => "the server's CPU".to_owned(),
        (Bound::ServerCpu, Some(category)) => format!("the server's CPU, most of all {category}"),
        (Bound::Spinning, None) => "the server's CPU, spinning for a lock".to_owned(),
        (Bound::Spinning, Some(lock)) => format!("the server's CPU, spinning for {lock}"),
        (Bound::LogFlush, None) => "the log's flush".to_owned(),
        (Bound::LogFlush, Some(part)) => format!("the log's flush ({part})"),
        (Bound::Replication, None) => "replication".to_owned(),
        (Bound::Replication, Some(part)) => format!("replication ({part})"),
        (Bound::DeviceReads, _) => "reads from the disk".to_owned(),
        (Bound::Lock, None) => "a lock".to_owned(),
        (Bound::Lock, Some(lock)) => format!("a lock ({lock})"),
        (Bound::RoundTrips, _) => "round trips to the server".to_owned(),
        (Bound::Schedule, _) => "the configured rate".to_owned(),
        (Bound::Mixed, _) => "several things at once".to_owned(),
    }
}
