//! What differs between PgBouncer's releases.

use std::fmt;

use ciphertax_supervise::guard::Ending;

use crate::error::Result;
use crate::tunnel::program::Program;

/// Major and minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u32, u32);

/// Since this, SIGTERM waits for clients.
const WAITS_FOR_CLIENTS: Version = Version(1, 23);

/// Since this, its lists of connections say whether they replicate, in a column before the state.
const SAYS_REPLICATION: Version = Version(1, 23);

/// Since this, it knows which statements a client has prepared.
const KEEPS_PREPARED_STATEMENTS: Version = Version(1, 21);

impl Version {
    /// `PgBouncer 1.18.0`
    pub(super) fn of(program: &Program) -> Result<Self> {
        let said = program.says("--version", "PgBouncer ")?;
        Ok(Self::parse(&said))
    }

    /// What cannot be read is as good as the oldest.
    fn parse(text: &str) -> Self {
        let mut numbers = text.trim().split('.').map(|number| number.parse().unwrap_or(0));
        Self(numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }

    /// Where the lists of clients and servers have the address of a connection (`ptr`), from 0; that of its counterpart
    /// (`link`), the process of its peer and its TLS follow it.
    pub(super) fn column_of_address(self) -> usize {
        13 + usize::from(self >= SAYS_REPLICATION)
    }

    pub(super) fn keeps_prepared_statements(self) -> bool {
        self >= KEEPS_PREPARED_STATEMENTS
    }

    /// How it is made to end at once.
    pub(super) fn ending(self) -> Ending {
        if self >= WAITS_FOR_CLIENTS {
            Ending::Quit
        } else {
            Ending::Terminate
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PgBouncer {}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_releases_wait_for_clients_and_keep_statements() {
        let old = Version::parse("1.18.0\n");
        assert_eq!(
            (old.ending(), old.keeps_prepared_statements()),
            (Ending::Terminate, false)
        );
        let new = Version::parse("1.25.1");
        assert_eq!(
            (new.ending(), new.keeps_prepared_statements()),
            (Ending::Quit, true)
        );
        assert_eq!(new.to_string(), "PgBouncer 1.25");
        assert_eq!((old.column_of_address(), new.column_of_address()), (13, 14));
        assert!(Version::parse("unknown") < old);
    }
}
