//! Whether the sessions that a program made were what its arm says, by the server's own count.

use std::collections::BTreeMap;

/// What the server counted while a program ran.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Counted {
    /// Connections, failed ones too; `None` where the server does not say.
    pub(crate) connections: Option<i64>,
    /// TLS handshakes begun; `None` where the server counts none.
    pub(crate) handshakes: Option<i64>,
    pub(crate) completed: i64,
    /// Logins that succeeded, by method; `None` where the server counts none.
    pub(crate) logins: Option<BTreeMap<String, i64>>,
    /// Statements or other queries, but for those that asked for these counts.
    pub(crate) queries: u64,
}

/// What the sessions of an arm must be.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) is_encrypted: bool,
    /// True if the server counts TLS handshakes. Where it does not, the trial of a program is relied on.
    pub(crate) is_counted: bool,
    /// The method of every login, by the server's name for it; `None` where the arm does not say.
    pub(crate) login: Option<String>,
    /// How else than by the environment a program is configured.
    pub(crate) programs_read: &'static str,
    /// Whom the server shows its counters to.
    pub(crate) counters_need: &'static str,
}

impl Counted {
    /// In a plain arm nobody may have asked for TLS, in a TLS arm everybody must have got it; and whoever logged in did so as
    /// the arm says.
    pub(crate) fn check(&self, expected: &Expected) -> Result<(), String> {
        let read = expected.programs_read;
        let Some(connections) = self.connections else {
            return Err(format!(
                "the server does not say how many connections there were, so nobody can tell what the program's were; it \
                 needs {}, and one server alone",
                expected.counters_need
            ));
        };
        if connections <= 0 {
            return Err(format!(
                "the program made no connection to the server; it finds host, port and user in the environment variables \
                 CIPHERTAX_…, in {read}, or as {{host}} in its arguments"
            ));
        }
        match (expected.is_encrypted, self.handshakes) {
            (false, None | Some(0)) => self.check_logins(expected),
            (false, Some(handshakes)) => Err(format!(
                "of {connections} connections of the program {handshakes} asked for TLS, in a plaintext arm; many clients do so \
                 by themselves: tell this one not to, by CIPHERTAX_SSL_MODE or {read}"
            )),
            (true, None) if !expected.is_counted => self.check_logins(expected),
            (true, None) => Err(
                "the server does not count TLS handshakes, so nobody can tell what the program's connections were; measure this \
                 program on another server"
                    .into(),
            ),
            (true, Some(_)) if self.completed == connections => self.check_logins(expected),
            (true, Some(_)) => Err(format!(
                "of {connections} connections of the program {} were over TLS, in a TLS arm; tell it to use TLS on all, by \
                 CIPHERTAX_SSL_MODE and CIPHERTAX_SSL_CA or {read}",
                self.completed
            )),
        }
    }

    fn check_logins(&self, expected: &Expected) -> Result<(), String> {
        let (Some(logins), Some(method)) = (&self.logins, &expected.login) else {
            return Ok(());
        };
        let mut made = logins.iter().filter(|(_, count)| **count > 0);
        if let Some((other, count)) = made.clone().find(|(other, _)| *other != method) {
            return Err(format!(
                "of the program's logins {count} were by {other}; the arm's are by {method}, as CIPHERTAX_URL says"
            ));
        }
        let needs_one = logins.contains_key(method);
        match needs_one && made.next().is_none() {
            true => Err(format!(
                "the program did not log in; the arm's sessions do by {method}, as CIPHERTAX_URL says"
            )),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(connections: i64, begun: i64, completed: i64) -> Counted {
        Counted {
            connections: Some(connections),
            handshakes: Some(begun),
            completed,
            ..Counted::default()
        }
    }

    fn expected(is_encrypted: bool) -> Expected {
        Expected {
            is_encrypted,
            is_counted: true,
            login: Some("SCRAM-SHA-256".into()),
            programs_read: "its file",
            counters_need: "a user who may count",
        }
    }

    #[test]
    fn a_plain_arm_knows_no_handshake_and_a_tls_arm_nothing_else() {
        for (seen, plain, encrypted) in [
            (counted(4, 0, 0), true, false),
            (counted(4, 4, 4), false, true),
            (counted(4, 1, 0), false, false),
            (counted(4, 3, 3), false, false),
            (counted(0, 0, 0), false, false),
            (Counted::default(), false, false),
        ] {
            assert_eq!(seen.check(&expected(false)).is_ok(), plain, "{seen:?}");
            assert_eq!(seen.check(&expected(true)).is_ok(), encrypted, "{seen:?}");
        }
    }

    #[test]
    fn a_server_that_does_not_count_proves_no_tls() {
        let seen = Counted {
            handshakes: None,
            ..counted(4, 0, 0)
        };
        assert!(
            seen.check(&expected(true))
                .unwrap_err()
                .contains("does not count")
        );
        // Unless no such server does, and the trial of the program has seen what it does.
        let in_trial = Expected {
            is_counted: false,
            ..expected(true)
        };
        assert_eq!(seen.check(&in_trial), Ok(()));
    }

    #[test]
    fn logins_are_by_the_method_of_the_arm_where_they_are_counted() {
        let by = |logins: &[(&str, i64)]| Counted {
            logins: Some(
                logins
                    .iter()
                    .map(|(method, count)| ((*method).to_owned(), *count))
                    .collect(),
            ),
            ..counted(4, 0, 0)
        };
        let check = |seen: Counted| seen.check(&expected(false));
        assert_eq!(check(by(&[("SCRAM-SHA-1", 0), ("SCRAM-SHA-256", 2)])), Ok(()));
        let other = check(by(&[("SCRAM-SHA-1", 1), ("SCRAM-SHA-256", 2)])).unwrap_err();
        assert!(other.contains("1 were by SCRAM-SHA-1"), "{other}");
        let none = check(by(&[("SCRAM-SHA-1", 0), ("SCRAM-SHA-256", 0)])).unwrap_err();
        assert!(none.contains("did not log in"), "{none}");
        let open = Expected {
            login: Some("none".into()),
            ..expected(false)
        };
        assert_eq!(by(&[("SCRAM-SHA-256", 0)]).check(&open), Ok(()));
        assert!(by(&[("SCRAM-SHA-256", 1)]).check(&open).is_err());
    }
}
