//! In which system call a thread waits, as `/proc/PID/task/TID/syscall` says it
//! (<https://www.kernel.org/doc/html/latest/filesystems/proc.html>).

use std::borrow::Cow;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It runs, or could run if there were a CPU for it.
    Running,
    /// It waits.
    Waiting(Call),
    /// It has no stack outside of the kernel, like the kernel's own threads for `io_uring`, or is about to end.
    WithoutStack,
}

/// Where a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    /// The number of the system call; -1 for a thread that is in the kernel without having called it, as for a page that has to
    /// be read.
    pub(super) number: i64,
    /// What was given to the call.
    pub(super) arguments: [u64; 6],
    /// The stack pointer.
    pub(super) stack_pointer: u64,
    /// The instruction pointer.
    pub(super) instruction_pointer: u64,
}

/// Reads the text of a `syscall` file; `None` if it is not one.
pub(super) fn parse(text: &[u8]) -> Option<State> {
    let text = text.trim_ascii();
    if text == b"running" {
        return Some(State::Running);
    }
    let mut words = text.split(|byte| *byte == b' ');
    let number: i64 = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
    let mut values = [0; 8];
    let mut count = 0;
    for word in words {
        *values.get_mut(count)? = hexadecimal(word)?;
        count += 1;
    }
    let (arguments, [stack_pointer, instruction_pointer]) = match count {
        8 => {
            let [a, b, c, d, e, f, sp, ip] = values;
            ([a, b, c, d, e, f], [sp, ip])
        }
        2 => ([0; 6], [values[0], values[1]]),
        _ => return None,
    };
    if stack_pointer == 0 {
        return Some(State::WithoutStack);
    }
    Some(State::Waiting(Call {
        number,
        arguments,
        stack_pointer,
        instruction_pointer,
    }))
}

fn hexadecimal(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"0x")?;
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |value: u64, digit| {
        Some(value << 4 | u64::from((*digit as char).to_digit(16)?))
    })
}

impl Call {
    /// The variable that a `futex` is about.
    pub(super) fn futex(&self) -> Option<u64> {
        (self.number == libc::SYS_futex).then_some(self.arguments[0])
    }

    /// The name of the call, or its number.
    pub(super) fn name(&self) -> Cow<'static, str> {
        if self.number == -1 {
            return Cow::Borrowed("page fault");
        }
        let known = NAMES.iter().find(|(number, _)| *number == self.number);
        known.map_or_else(
            || Cow::Owned(self.number.to_string()),
            |(_, constant)| Cow::Borrowed(constant.trim_start_matches("SYS_")),
        )
    }
}

/// Numbers and constants' names of the calls in which a thread may wait.
macro_rules! names {
    ($($constant:ident)*) => { &[$((libc::$constant, stringify!($constant))),*] };
}

const NAMES: &[(i64, &str)] = names! {
    SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_preadv SYS_pwritev SYS_preadv2 SYS_pwritev2
    SYS_open SYS_openat SYS_openat2 SYS_close SYS_stat SYS_fstat SYS_lstat SYS_newfstatat SYS_statx SYS_access SYS_faccessat
    SYS_rename SYS_renameat SYS_renameat2 SYS_unlink SYS_unlinkat SYS_mkdir SYS_mkdirat SYS_rmdir SYS_link SYS_linkat SYS_symlink
    SYS_getdents SYS_getdents64 SYS_truncate SYS_ftruncate SYS_fallocate SYS_fadvise64 SYS_readahead SYS_lseek SYS_fcntl SYS_flock
    SYS_ioctl SYS_fsync SYS_fdatasync SYS_sync SYS_syncfs SYS_sync_file_range SYS_msync SYS_sendfile SYS_splice SYS_tee
    SYS_copy_file_range SYS_io_submit SYS_io_getevents SYS_io_destroy SYS_io_uring_enter SYS_io_uring_register
    SYS_poll SYS_ppoll SYS_select SYS_pselect6 SYS_epoll_wait SYS_epoll_pwait SYS_epoll_pwait2 SYS_epoll_ctl
    SYS_accept SYS_accept4 SYS_connect SYS_sendto SYS_sendmsg SYS_sendmmsg SYS_recvfrom SYS_recvmsg SYS_recvmmsg SYS_shutdown
    SYS_futex SYS_nanosleep SYS_clock_nanosleep SYS_pause SYS_sched_yield SYS_restart_syscall SYS_membarrier SYS_getrandom
    SYS_rt_sigtimedwait SYS_rt_sigsuspend SYS_wait4 SYS_waitid SYS_semop SYS_semtimedop SYS_msgrcv SYS_msgsnd SYS_exit
    SYS_exit_group SYS_mmap SYS_munmap SYS_mprotect SYS_mremap SYS_madvise SYS_brk SYS_mlock SYS_clone SYS_clone3 SYS_fork SYS_vfork
    SYS_execve SYS_setsockopt SYS_getsockopt SYS_inotify_add_watch SYS_keyctl SYS_userfaultfd
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_of_a_thread_is_read() {
        assert_eq!(parse(b"running\n"), Some(State::Running));
        let text = b"202 0x7f0a4c 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd01fe3c10 0x7f1d2a3b4c5d\n";
        let Some(State::Waiting(call)) = parse(text) else {
            panic!("it waits");
        };
        assert_eq!((call.name().as_ref(), call.futex()), ("futex", Some(0x7f_0a4c)));
        assert_eq!(call.arguments[5], 0xffff_ffff);
        let pointers = (call.stack_pointer, call.instruction_pointer);
        assert_eq!(pointers, (0x7ffd_01fe_3c10, 0x7f1d_2a3b_4c5d));
    }

    #[test]
    fn a_thread_that_waits_for_a_page_called_nothing() {
        let Some(State::Waiting(call)) = parse(b"-1 0x7ffd01fe3c10 0x7f1d2a3b4c5d\n") else {
            panic!("it waits");
        };
        assert_eq!((call.name().as_ref(), call.futex()), ("page fault", None));
    }

    #[test]
    fn a_thread_of_the_kernel_has_no_stack() {
        let text = b"0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n";
        assert_eq!(parse(text), Some(State::WithoutStack));
        assert_eq!(parse(b"-1 0x0 0x0\n"), Some(State::WithoutStack));
    }

    #[test]
    fn a_call_without_a_name_is_said_by_its_number() {
        let text = b"9999 0x0 0x0 0x0 0x0 0x0 0x0 0x1 0x1\n";
        let Some(State::Waiting(call)) = parse(text) else {
            panic!("it waits");
        };
        assert_eq!(call.name(), "9999");
        let names: Vec<&str> = NAMES.iter().map(|(_, name)| *name).collect();
        assert!(names.iter().all(|name| name.starts_with("SYS_")));
    }

    #[test]
    fn what_is_no_such_text_is_refused() {
        for text in [
            &b""[..],
            b"running?",
            b"0x1",
            b"1 2 3",
            b"1 0x1",
            b"1 0x1 0x2 0x3",
            b"1 0x11111111111111111 0x2",
            b"1 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8 0x9",
            b"\xff 0x1 0x2",
        ] {
            assert_eq!(parse(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
