//! Accounts whose passwords the server does not remember.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::WireError;

/// Accounts with one password between them, none of which has logged in since the server last forgot what it knew.
/// Every connect takes the next, so that every login goes the full path while the server forgets nothing.
#[derive(Debug)]
pub struct ColdAccounts {
    users: Vec<String>,
    taken: AtomicUsize,
}

impl ColdAccounts {
    /// Accounts with these names, none of which the server remembers.
    pub fn new(users: Vec<String>) -> Self {
        Self {
            users,
            taken: AtomicUsize::new(0),
        }
    }

    /// Notes that the server has forgotten them all.
    pub fn forgotten(&self) {
        self.taken.store(0, Ordering::Relaxed);
    }

    /// The next account.
    ///
    /// # Errors
    /// If all have logged in.
    pub(super) fn take(&self) -> Result<&str, WireError> {
        let next = self.taken.fetch_add(1, Ordering::Relaxed);
        let user = self.users.get(next).ok_or_else(|| {
            WireError::Request(format!(
                "more logins than the {} accounts whose passwords the server did not remember: make slices shorter",
                self.users.len()
            ))
        })?;
        Ok(user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_logs_in_once_until_all_are_forgotten() {
        let accounts = ColdAccounts::new(vec!["a".into(), "b".into()]);
        assert_eq!(accounts.take().unwrap(), "a");
        assert_eq!(accounts.take().unwrap(), "b");
        let exhausted = accounts.take().unwrap_err().to_string();
        assert!(exhausted.contains("2 accounts"), "{exhausted}");
        accounts.forgotten();
        assert_eq!(accounts.take().unwrap(), "a");
    }
}
