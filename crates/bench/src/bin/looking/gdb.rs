//! What gdb prints of threads.

use crate::frame::is_begin;

/// Of each thread whether its stack goes to where it begins.
pub(crate) fn stacks(printed: &str) -> Vec<bool> {
    let mut stacks = Vec::new();
    let mut outermost: Option<&str> = None;
    let mut has_thread = false;
    for line in printed.lines() {
        if line.starts_with("Thread ") {
            if has_thread {
                stacks.push(outermost.is_some_and(is_begin));
            }
            (has_thread, outermost) = (true, None);
        } else if let Some(function) = function(line) {
            outermost = Some(function);
        }
    }
    if has_thread {
        stacks.push(outermost.is_some_and(is_begin));
    }
    stacks
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
