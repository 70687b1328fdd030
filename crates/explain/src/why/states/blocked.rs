//! What a stack waits for.

use super::rule::{Lock, Rule, Stack, is_named, is_one_of};
use super::state::State::{self, DeviceReads, DeviceWrites, Latches, LogFlush, NetSend, Other, Sleep};
use super::{mongodb, mysql, postgresql};

/// The rules for one family of servers.
#[derive(Clone, Copy)]
pub(in crate::why) struct Family {
    rules: &'static [Rule],
    locks: &'static [Lock],
}

const FLUSHES: &str = "fsync fdatasync sync_file_range msync";
const PAGE_READS: &str = "pread64 preadv preadv2";
const SLEEPS: &str = "nanosleep clock_nanosleep";

/// What holds for every server, after what its own rules say.
const COMMON: &[Rule] = &[
    NetSend.in_call("sendto sendmsg sendmmsg"),
    DeviceReads.in_call(PAGE_READS),
    DeviceReads.in_call("read readv"),
    LogFlush.in_call(FLUSHES),
    DeviceWrites.in_call("write pwrite64 pwritev pwritev2 writev"),
    Sleep.in_call(SLEEPS),
    Latches.has(
        "pthread_mutex_lock pthread_mutex_timedlock pthread_rwlock_* __lll_lock_wait* mysql_mutex_lock inline_mysql_mutex_lock
         my_mutex_lock",
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
        let Some(rule) = rules.find(|rule| rule.fits(call, stack)) else {
            return (Other, object.map(variable).or_else(|| nearest(stack)));
        };
        let detail = match rule.what {
            "" if rule.state == Latches => self.lock(object, stack),
            "" => None,
            what => Some(what.to_owned()),
        };
        (rule.state, detail)
    }

    /// The lock that a stack waits for, be it on the CPU.
    pub(in crate::why) fn lock(&self, object: Option<&str>, stack: Stack<'_>) -> Option<String> {
        let named = |(function, _): &(&str, &str)| {
            let mut locks = self.locks.iter();
            let (name, _) = locks.find(|(_, functions)| is_one_of(function, functions))?;
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
    match is_named(call, SLEEPS) {
        true => functions
            .find(|function| is_named(function, FLUSHES) || is_named(function, PAGE_READS))
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
    const WAITING: &str = "pthread_* __pthread_* __lll_* __futex_* futex_* syscall my_cond_* mysql_mutex_* inline_mysql_* safe_*
        std::* os_event* sync_array_* ut_delay LWLock* PGSemaphore*";
    const LIBRARIES: [&str; 6] = [
        "libc.",
        "libpthread",
        "ld-linux",
        "[kernel]",
        "[vdso]",
        "[unknown]",
    ];
    let is_named = |(function, module): &&(&str, &str)| {
        let is_library = LIBRARIES.iter().any(|library| module.starts_with(library));
        let is_nameless = function.contains("+0x");
        !is_library && !is_nameless && !is_one_of(function, WAITING)
    };
    stack
        .iter()
        .find(is_named)
        .map(|(function, _)| (*function).to_owned())
}
