//! What a stack waits for.

use super::rule::{Rule, Stack, call, has, matches};
use super::state::State;
use super::{mongodb, mysql, postgresql};

type Locks = &'static [(&'static str, &'static [&'static str])];

/// The rules for one family of servers.
#[derive(Clone, Copy)]
pub(in crate::why) struct Family {
    rules: &'static [Rule],
    locks: Locks,
}

const FLUSHES: &[&str] = &["fsync", "fdatasync", "sync_file_range", "msync"];
const PAGE_READS: &[&str] = &["pread64", "preadv", "preadv2"];
const SLEEPS: &[&str] = &["nanosleep", "clock_nanosleep"];

/// What holds for every server, after what its own rules say.
const COMMON: &[Rule] = &[
    call(&["sendto", "sendmsg", "sendmmsg"], State::NetSend, ""),
    call(PAGE_READS, State::DeviceReads, ""),
    call(&["read", "readv"], State::DeviceReads, ""),
    call(FLUSHES, State::LogFlush, ""),
    call(
        &["write", "pwrite64", "pwritev", "pwritev2", "writev"],
        State::DeviceWrites,
        "",
    ),
    call(SLEEPS, State::Sleep, ""),
    has(
        &[
            "pthread_mutex_lock",
            "pthread_mutex_timedlock",
            "pthread_rwlock_*",
            "__lll_lock_wait*",
            "mysql_mutex_lock",
            "inline_mysql_mutex_lock",
            "my_mutex_lock",
        ],
        State::Latches,
        "",
    ),
];

impl Family {
    /// The rules for a product.
    pub(in crate::why) fn of(product: &str) -> Self {
        let product = product.to_ascii_lowercase();
        if product.contains("postgres") {
            Self {
                rules: postgresql::TABLE,
                locks: postgresql::LOCKS,
            }
        } else if product.contains("mongo") {
            Self {
                rules: mongodb::TABLE,
                locks: mongodb::LOCKS,
            }
        } else {
            Self {
                rules: mysql::TABLE,
                locks: mysql::LOCKS,
            }
        }
    }

    /// What a stack waits for in a system call on a variable, if that has a name.
    pub(in crate::why) fn state(
        &self,
        call: &str,
        object: Option<&str>,
        stack: Stack<'_>,
    ) -> (State, Option<String>) {
        let call = asked(call, stack);
        let mut rules = self.rules.iter().chain(COMMON);
        let Some(rule) = rules.find(|rule| rule.fits(Some(call), stack)) else {
            return (State::Other, object.map(variable).or_else(|| nearest(stack)));
        };
        let detail = match rule.detail {
            "" if rule.state == State::Latches => self.lock(object, stack),
            "" => None,
            detail => Some(detail.to_owned()),
        };
        (rule.state, detail)
    }

    /// The lock that a stack waits for, be it on the CPU.
    pub(in crate::why) fn lock(&self, object: Option<&str>, stack: Stack<'_>) -> Option<String> {
        let named = |(function, _): &(&str, &str)| {
            let mut locks = self.locks.iter();
            let (name, _) =
                locks.find(|(_, functions)| functions.iter().any(|pattern| matches(pattern, function)))?;
            Some((*name).to_owned())
        };
        object
            .map(variable)
            .or_else(|| stack.iter().find_map(named))
            .or_else(|| nearest(stack))
    }
}

/// What the server asked for: a library that stands before the system's may sleep in the midst of a flush or of a read.
fn asked<'a>(call: &'a str, stack: Stack<'a>) -> &'a str {
    let mut functions = stack.iter().map(|(function, _)| *function);
    match SLEEPS.contains(&call) {
        true => functions
            .find(|function| FLUSHES.contains(function) || PAGE_READS.contains(function))
            .unwrap_or(call),
        false => call,
    }
}

/// A variable without where in it the futex lies.
fn variable(object: &str) -> String {
    object.split('+').next().unwrap_or(object).to_owned()
}

/// The nearest function with a name that is not there only to wait.
fn nearest(stack: Stack<'_>) -> Option<String> {
    const WAITING: &[&str] = &[
        "pthread_*",
        "__pthread_*",
        "__lll_*",
        "__futex_*",
        "futex_*",
        "syscall",
        "my_cond_*",
        "mysql_mutex_*",
        "inline_mysql_*",
        "safe_*",
        "std::*",
        "os_event*",
        "sync_array_*",
        "ut_delay",
        "LWLock*",
        "PGSemaphore*",
    ];
    let is_named = |(function, module): &&(&str, &str)| {
        let is_library = [
            "libc.",
            "libpthread",
            "ld-linux",
            "[kernel]",
            "[vdso]",
            "[unknown]",
        ]
        .iter()
        .any(|library| module.starts_with(library));
        let is_nameless = function.contains("+0x");
        let waits = WAITING.iter().any(|pattern| matches(pattern, function));
        !is_library && !is_nameless && !waits
    };
    stack
        .iter()
        .find(is_named)
        .map(|(function, _)| (*function).to_owned())
}
