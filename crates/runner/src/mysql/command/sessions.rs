//! Whether the sessions that a program made were what its arm says, by the server's own count.

use std::collections::BTreeMap;

/// What the server counted while a program ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    /// Connections, failed ones too (`Connections`).
    pub(super) connections: i64,
    /// TLS handshakes begun (`Ssl_accepts`); `None` where the server counts none.
    handshakes: Option<i64>,
    /// TLS handshakes completed (`Ssl_finished_accepts`).
    completed: i64,
    /// Statements (`Questions`), but for the one that asked for these counts.
    pub(super) queries: u64,
}

impl Counted {
    /// From the counters at the end and their change. Since an arm was proved before, a server that has not counted any
    /// handshake yet, counts none.
    pub(super) fn of(at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Self {
        let of = |name: &str| change.get(name).copied().unwrap_or(0);
        let counts_handshakes = at_the_end.get("Ssl_accepts").is_some_and(|all| *all > 0);
        Self {
            connections: of("Connections"),
            handshakes: counts_handshakes.then(|| of("Ssl_accepts")),
            completed: of("Ssl_finished_accepts"),
            queries: (of("Questions") - 1).max(0).unsigned_abs(),
        }
    }

    /// In a plain arm nobody may have asked for TLS, in a TLS arm everybody must have got it.
    ///
    /// # Errors
    /// Says what was seen and what to do.
    pub(super) fn check(&self, is_encrypted: bool) -> Result<(), String> {
        let connections = self.connections;
        if connections <= 0 {
            return Err("the program made no connection to the server; it finds host, port and user in the \
                        environment variables CIPHERTAX_…, in the file {my_cnf}, or as {host} in its arguments"
                .into());
        }
        match (is_encrypted, self.handshakes) {
            (false, None | Some(0)) => Ok(()),
            (false, Some(handshakes)) => Err(format!(
                "of {connections} connections of the program {handshakes} asked for TLS, in an arm in clear; many clients \
                 do so by themselves: tell this one not to, by CIPHERTAX_SSL_MODE (now DISABLED) or the file {{my_cnf}}"
            )),
            (true, None) => Err(
                "the server does not count TLS handshakes, so nobody can tell what the program's connections were; \
                 measure this program on another server"
                    .into(),
            ),
            (true, Some(_)) if self.completed == connections => Ok(()),
            (true, Some(_)) => Err(format!(
                "of {connections} connections of the program {} were over TLS, in a TLS arm; tell it to use TLS on all, by \
                 CIPHERTAX_SSL_MODE and CIPHERTAX_SSL_CA or the file {{my_cnf}}",
                self.completed
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(connections: i64, begun: i64, completed: i64) -> Counted {
        let counters = |values: [i64; 4]| {
            let names = ["Connections", "Ssl_accepts", "Ssl_finished_accepts", "Questions"];
            names.into_iter().map(str::to_owned).zip(values).collect()
        };
        Counted::of(
            &counters([9, 9, 9, 99]),
            &counters([connections, begun, completed, 8]),
        )
    }

    #[test]
    fn the_question_for_the_counts_is_none_of_the_programs() {
        assert_eq!(counted(1, 0, 0).queries, 7);
        assert_eq!(Counted::of(&BTreeMap::new(), &BTreeMap::new()).queries, 0);
    }

    #[test]
    fn a_plain_arm_knows_no_handshake_and_a_tls_arm_nothing_else() {
        for (seen, plain, encrypted) in [
            (counted(4, 0, 0), true, false),
            (counted(4, 4, 4), false, true),
            (counted(4, 1, 0), false, false),
            (counted(4, 3, 3), false, false),
            (counted(0, 0, 0), false, false),
        ] {
            assert_eq!(seen.check(false).is_ok(), plain, "{seen:?}");
            assert_eq!(seen.check(true).is_ok(), encrypted, "{seen:?}");
        }
    }

    #[test]
    fn a_server_that_does_not_count_proves_no_tls() {
        let change = BTreeMap::from([("Connections".to_owned(), 4)]);
        let seen = Counted::of(&BTreeMap::from([("Ssl_accepts".to_owned(), 0)]), &change);
        assert!(seen.check(true).unwrap_err().contains("does not count"));
    }
}
