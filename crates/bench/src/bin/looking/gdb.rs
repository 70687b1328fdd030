//! What gdb prints of threads.

use crate::frame::is_begin;

/// What begins the stack of a thread that has none: of the kernel's own, which work for the process by `io_uring`.
const NO_STACK: &str = "#0  0x0000000000000000 in ?? ()";

/// Of each thread that has a stack whether that goes to where it begins.
pub(crate) fn stacks(printed: &str) -> Vec<bool> {
    let is_complete = |thread: &str| {
        let lines = thread.lines().filter(|line| !line.starts_with(NO_STACK));
        lines.filter_map(function).next_back().map(is_begin)
    };
    printed
        .split("\nThread ")
        .skip(1)
        .filter_map(is_complete)
        .collect()
}

/// The function of `#1  0x00007f in start_thread (arg=0x0) at pthread_create.c:442`; the first has no address if it was just begun.
fn function(line: &str) -> Option<&str> {
    let frame = line
        .strip_prefix('#')?
        .trim_start_matches(|c: char| c.is_ascii_digit());
    let frame = frame.trim_start();
    let named = match frame.strip_prefix("0x") {
        Some(address) => address.split_once(" in ")?.1,
        None => frame,
    };
    named.split([' ', '(', '@']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = r#"
[New LWP 12]
[Thread debugging using libthread_db enabled]
0x00007f65 in poll () from /lib/libc.so.6

Thread 3 (Thread 0x7f65 (LWP 12) "mariadbd"):
#0  0x00007f65 in futex_wait (private=0) at ../sysdeps/futex.h:146
#1  start_thread (arg=0x0) at ./nptl/pthread_create.c:442
#2  0x00007f65 in clone3 () at ../sysdeps/clone3.S:81

Thread 2 (Thread 0x7f66 (LWP 11) "mariadbd"):
#0  0x00007f65 in ?? () from /lib/libcrypto.so.3
#1  0x0000000000000000 in ?? ()

Thread 4 (LWP 13 "iou-wrk-10"):
#0  0x0000000000000000 in ?? ()
Backtrace stopped: Cannot access memory at address 0x0

Thread 1 (Thread 0x7f67 (LWP 10) "mariadbd"):
#0  0x00007f65 in poll () from /lib/libc.so.6
#1  0x000055d0 in main (argc=2, argv=0x7ffd) at main.cc:34
[Inferior 1 (process 10) detached]
"#;

    #[test]
    fn threads_are_counted_and_those_whose_stack_ends_in_the_midst_are_told_apart() {
        assert_eq!(stacks(PRINTED), [true, false, true]);
        assert_eq!(stacks("ptrace: Operation not permitted."), Vec::<bool>::new());
    }
}
