//! The states of threads that wait, by the product's rules.

use ciphertax_explain::why::waits_for;

use crate::script::Sample;

pub(crate) const NETWORK: &str = "network and client";
pub(crate) const GROUP_COMMIT: &str = "log flush: group commit";
pub(crate) const REDO_LOG: &str = "log flush: redo log";
const LOG_FLUSH: &str = "log flush";

/// System calls in which a session waits for its client.
const RECEIVING: [&str; 7] = [
    "recvfrom",
    "recvmsg",
    "read",
    "poll",
    "ppoll",
    "select",
    "epoll_wait",
];

/// What a thread is about to wait for by its stack, which begins in the kernel.
pub(crate) fn of_switch(product: &str, sample: &Sample) -> String {
    let kernel = sample.frames.iter().take_while(|frame| frame.is_kernel());
    let call = kernel.filter_map(|frame| match frame.function.as_str() {
        "asm_exc_page_fault" => Some("page fault"),
        function => function.strip_prefix("__x64_sys_"),
    });
    let call = call.last().unwrap_or_default();
    if RECEIVING.contains(&call) {
        return NETWORK.to_owned();
    }
    let names: Vec<(&str, &str)> = sample.names();
    let in_kernel = sample.frames.iter().take_while(|frame| frame.is_kernel()).count();
    of_look(product, call, None, &names[in_kernel..])
}

/// What a thread waits for in a call on a variable. What is flushed of a log matters here; of other states the name does.
pub(crate) fn of_look(product: &str, call: &str, object: Option<&str>, stack: &[(&str, &str)]) -> String {
    match waits_for(product, call, object, stack) {
        (state @ LOG_FLUSH, Some(detail)) => format!("{state}: {detail}"),
        (state, _) => state.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::frame::Frame;

    fn named(functions: &[&str]) -> String {
        let frames = functions.iter().map(|function| Rc::new(Frame::of_perf(function)));
        let sample = Sample {
            thread: 1,
            time_ns: 0,
            frames: frames.collect(),
        };
        of_switch("10.2.11-MariaDB", &sample)
    }

    #[test]
    fn stacks_of_switches_have_the_states_of_the_product() {
        let kernel = |function: &str| format!("{function} ([kernel.kallsyms])");
        let server = |function: &str| format!("{function} (/opt/mysqld)");
        let stack = |call: &str, functions: &[&str]| {
            let functions = functions.iter().map(|function| server(function));
            let all: Vec<String> = [kernel("schedule"), kernel(call), kernel("do_syscall_64")]
                .into_iter()
                .chain(functions)
                .collect();
            named(&all.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert_eq!(stack("__x64_sys_poll", &["vio_io_wait"]), NETWORK);
        assert_eq!(
            stack(
                "__x64_sys_futex",
                &[
                    "_ZN3THD21wait_for_wakeup_readyEv",
                    "_ZN13MYSQL_BIN_LOG33write_transaction_to_binlog_eventsEPNS_11group_commit_entryE"
                ]
            ),
            GROUP_COMMIT
        );
        assert_eq!(stack("__x64_sys_fdatasync", &["log_write_up_to"]), REDO_LOG);
    }
}
