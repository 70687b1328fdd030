//! What an owner asks of its guard, and what the guard answers.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A program that a guard is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Helper {
    /// The program and its arguments.
    pub command_line: Vec<OsString>,
    /// The file in the private folder that its output is added to.
    pub log: String,
    /// Whom it runs as.
    pub user: User,
    /// The network namespace it runs in; `None` for that of the guard.
    pub namespace: Option<PathBuf>,
    /// How it is asked to end.
    pub ending: Ending,
}

/// How a program is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Ending {
    /// By `SIGTERM`, as most programs are.
    #[default]
    Terminate,
    /// By `SIGQUIT`, for programs that wait for their clients after `SIGTERM`.
    Quit,
    /// By `SIGTERM` when all others have ended: they work on what it is, as servers do on a file system.
    TerminateLast,
}

/// Whom a program runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum User {
    /// Who started the guard.
    Owner,
    /// Nobody, which only root can become (see [`crate::privilege`]).
    Nobody,
    /// A user of the program's own, which only root can make (see
    /// [`own_user`](crate::privilege::own_user)).
    Own(u32),
}

/// What an owner asks.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Watch over this folder; the first order, and given once. A path may hold any bytes.
    Watch(OsString),
    /// Start a program beside the others.
    Add(Helper),
    /// End the program with this process number.
    End(i32),
}

/// What the guard answers.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It is done.
    Done,
    /// The program was started, and this is its process number.
    Started(i32),
    /// It is not done, for this reason.
    Refused(String),
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_command_line_arrives_whatever_bytes_are_in_it() {
        let helper = Helper {
            command_line: vec![
                "/bin/echo".into(),
                "a \"b\"\n".into(),
                OsStr::from_bytes(b"\xff\xfe").to_owned(),
                OsString::new(),
            ],
            log: "echo.log".into(),
            user: User::Nobody,
            namespace: Some("/proc/1/ns/net".into()),
            ending: Ending::Quit,
        };
        let text = serde_json::to_string(&Order::Add(helper.clone())).unwrap();
        assert!(!text.contains('\n'));
        assert_eq!(serde_json::from_str::<Order>(&text).unwrap(), Order::Add(helper));
    }
}
