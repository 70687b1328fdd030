//! What an owner asks of its guard: a word and its arguments, separated by zeros.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A program that a guard is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// The program and its arguments.
    pub command_line: Vec<OsString>,
    /// The file in the private folder that its output is added to.
    pub log: String,
    /// Whom it runs as.
    pub user: User,
    /// The network namespace it runs in; `None` for that of the guard.
    pub namespace: Option<PathBuf>,
}

/// Whom a program runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Who started the guard.
    Owner,
    /// Nobody, which only root can become (see [`crate::privilege`]).
    Nobody,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Start a program after all others have been ended.
    Replace(Helper),
    /// Start a program beside the others.
    Add(Helper),
    /// End the program with this process number.
    End(u32),
}

const REPLACE: &[u8] = b"replace";
const ADD: &[u8] = b"add";
const END: &[u8] = b"end";

const OWNER: &[u8] = b"owner";
const NOBODY: &[u8] = b"nobody";

impl Order {
    pub(super) fn encode(&self) -> Vec<u8> {
        let word = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        let words = match self {
            Self::Replace(helper) => helper.words(REPLACE),
            Self::Add(helper) => helper.words(ADD),
            Self::End(pid) => vec![word(END), pid.to_string().into()],
        };
        words.join(OsStr::from_bytes(b"\0")).into_vec()
    }

    pub(super) fn decode(message: &[u8]) -> io::Result<Self> {
        let mut words = message.split(|byte| *byte == 0);
        match words.next() {
            Some(REPLACE) => Helper::from_words(words).map(Self::Replace),
            Some(ADD) => Helper::from_words(words).map(Self::Add),
            Some(END) => words
                .next()
                .and_then(|pid| str::from_utf8(pid).ok()?.parse().ok())
                .map(Self::End),
            _ => None,
        }
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

impl Helper {
    fn words(&self, order: &[u8]) -> Vec<OsString> {
        let user = match self.user {
            User::Owner => OWNER,
            User::Nobody => NOBODY,
        };
        let mut words = vec![
            OsStr::from_bytes(order).to_owned(),
            OsStr::from_bytes(user).to_owned(),
            OsString::from(&self.log),
            self.namespace.clone().unwrap_or_default().into(),
        ];
        words.extend_from_slice(&self.command_line);
        words
    }

    fn from_words<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let user = match words.next()? {
            OWNER => User::Owner,
            NOBODY => User::Nobody,
            _ => return None,
        };
        let log = str::from_utf8(words.next()?).ok()?.to_owned();
        let namespace = Some(words.next()?).filter(|path| !path.is_empty());
        let command_line: Vec<OsString> = words.map(|word| OsStr::from_bytes(word).to_owned()).collect();
        (!command_line.is_empty()).then_some(Self {
            command_line,
            log,
            user,
            namespace: namespace.map(|path| OsStr::from_bytes(path).into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_arrives_as_it_was_given() {
        let helper = Helper {
            command_line: vec!["/bin/echo".into(), "a b".into(), String::new().into()],
            log: "echo.log".into(),
            user: User::Nobody,
            namespace: Some("/proc/1/ns/net".into()),
        };
        let own = Helper {
            user: User::Owner,
            namespace: None,
            ..helper.clone()
        };
        for order in [Order::Replace(own), Order::Add(helper), Order::End(12)] {
            assert_eq!(Order::decode(&order.encode()).unwrap(), order);
        }
    }

    #[test]
    fn what_is_no_order_is_refused() {
        for message in [
            &b""[..],
            b"dance",
            b"end\0none",
            b"end",
            b"add\0somebody\0log\0\0prog",
            b"add\0owner\0log",
            b"add\0owner\0log\0/proc/1/ns/net",
        ] {
            assert!(Order::decode(message).is_err(), "{message:?}");
        }
    }
}
