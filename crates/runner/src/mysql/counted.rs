//! What a server counted while a program ran.

use std::collections::BTreeMap;

use crate::database::Counted;

/// From the counters at the end and their change. Since an arm was proved before, a server that has not counted any handshake
/// yet, counts none.
pub(super) fn counted(at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Counted {
    let of = |name: &str| change.get(name).copied().unwrap_or(0);
    let counts_handshakes = at_the_end.get("Ssl_accepts").is_some_and(|all| *all > 0);
    Counted {
        connections: Some(of("Connections")),
        handshakes: counts_handshakes.then(|| of("Ssl_accepts")),
        completed: of("Ssl_finished_accepts"),
        logins: None,
        // But for the one that asked for these counts.
        queries: (of("Questions") - 1).max(0).unsigned_abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_for_the_counts_is_none_of_the_programs() {
        let change = BTreeMap::from([("Connections".to_owned(), 1), ("Questions".to_owned(), 8)]);
        assert_eq!(counted(&change, &change).queries, 7);
        assert_eq!(counted(&BTreeMap::new(), &BTreeMap::new()).queries, 0);
    }

    #[test]
    fn a_server_that_never_counted_a_handshake_counts_none() {
        let counters = |accepts| BTreeMap::from([("Ssl_accepts".to_owned(), accepts)]);
        assert_eq!(counted(&counters(0), &counters(0)).handshakes, None);
        assert_eq!(counted(&counters(9), &counters(4)).handshakes, Some(4));
    }
}
