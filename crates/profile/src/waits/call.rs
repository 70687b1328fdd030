//! The system call in which a thread waits, as `/proc/PID/task/TID/syscall` says it
//! (<https://www.kernel.org/doc/html/latest/filesystems/proc.html>), and whether it waits for a client.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;

use super::copies;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It runs, or could run if there were a CPU for it.
    Running,
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
    pub(super) stack_pointer: u64,
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

/// Bytes that are read of one of the kernel's lists of sockets.
const MOST_LIST: u64 = 16 << 20;
/// Descriptors of a process that are looked at to find its client.
const MOST_DESCRIPTORS: usize = 256;
/// Descriptors that a thread which waits for its client may poll: mostly one.
const MOST_POLLED: u64 = 4;

/// The sockets of a server, by their inodes, that are no connections of clients: those that listen, and those of UDP.
#[derive(Debug, Default)]
pub(super) struct OtherSockets(HashSet<u64>);

impl OtherSockets {
    /// Those in the network namespace of a process.
    pub(super) fn of(pid: u32) -> Self {
        let mut all = HashSet::new();
        for (list, is_other) in LISTS {
            let mut text = String::new();
            if let Ok(file) = File::open(format!("/proc/{pid}/net/{list}")) {
                // What was read until it failed counts.
                let _ = file.take(MOST_LIST).read_to_string(&mut text);
            }
            all.extend(text.lines().skip(1).filter_map(is_other));
        }
        Self(all)
    }

    /// True if a file descriptor of a process is a connection of a client.
    fn is_client(&self, pid: u32, descriptor: u64) -> bool {
        fs::read_link(format!("/proc/{pid}/fd/{descriptor}"))
            .is_ok_and(|target| self.is_client_socket(target.as_os_str().as_encoded_bytes()))
    }

    fn is_client_socket(&self, target: &[u8]) -> bool {
        let inode = || {
            let digits = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        };
        inode().is_some_and(|inode| !self.0.contains(&inode))
    }

    pub(super) fn has_client(&self, pid: u32) -> bool {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            return false;
        };
        descriptors
            .take(MOST_DESCRIPTORS)
            .flatten()
            .filter_map(|descriptor| fs::read_link(descriptor.path()).ok())
            .any(|target| self.is_client_socket(target.as_os_str().as_encoded_bytes()))
    }

    /// True if a call of a thread of a process waits until a client says something. A set of descriptors that are watched
    /// (`epoll`) tells that of a process that serves one connection; threads that watch one serve many.
    pub(super) fn awaits_client(&self, pid: u32, serves_one: bool, call: &Call) -> bool {
        match call.number {
            libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_recvmmsg => self.is_client(pid, call.arguments[0]),
            libc::SYS_poll | libc::SYS_ppoll => self.polls_clients(pid, call),
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 if serves_one => {
                self.watches_client(pid, call.arguments[0])
            }
            _ => false,
        }
    }

    /// A server that polls something besides its clients waits for that.
    fn polls_clients(&self, pid: u32, call: &Call) -> bool {
        let [list, count, ..] = call.arguments;
        if count == 0 || count > MOST_POLLED {
            return false;
        }
        let mut polled = [0; 8 * MOST_POLLED as usize];
        let polled = &mut polled[..8 * count as usize];
        if !copies::read_memory(pid, list, polled).is_ok_and(|length| length == polled.len()) {
            return false;
        }
        polled.chunks_exact(8).all(|entry| {
            let descriptor = i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
            let events = i16::from_ne_bytes([entry[4], entry[5]]);
            let descriptor = u64::try_from(descriptor);
            events & libc::POLLIN != 0 && descriptor.is_ok_and(|descriptor| self.is_client(pid, descriptor))
        })
    }

    fn watches_client(&self, pid: u32, set: u64) -> bool {
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/fdinfo/{set}")) else {
            return false;
        };
        text.lines()
            .filter_map(watched)
            .take(MOST_DESCRIPTORS)
            .any(|(descriptor, events)| {
                events & libc::EPOLLIN.cast_unsigned() != 0 && self.is_client(pid, descriptor)
            })
    }
}

/// Descriptor and events of a line `tfd: 9 events: 19 data: …` of a set of descriptors.
fn watched(line: &str) -> Option<(u64, u32)> {
    let mut words = line.strip_prefix("tfd:")?.split_whitespace();
    let descriptor = words.next()?.parse().ok()?;
    let events = (words.next()? == "events:").then(|| words.next())??;
    Some((descriptor, u32::from_str_radix(events, 16).ok()?))
}

type InodeOfOther = fn(&str) -> Option<u64>;

/// The kernel's lists of sockets, and how a line tells of one that is no client's.
const LISTS: [(&str, InodeOfOther); 5] = [
    ("tcp", listens),
    ("tcp6", listens),
    ("udp", inode),
    ("udp6", inode),
    ("unix", accepts),
];

fn inode(line: &str) -> Option<u64> {
    line.split_whitespace().nth(9)?.parse().ok()
}

fn listens(line: &str) -> Option<u64> {
    /// `TCP_LISTEN` of the kernel's `tcp_states.h`.
    const LISTEN: &str = "0A";
    (line.split_whitespace().nth(3)? == LISTEN).then(|| inode(line))?
}

fn accepts(line: &str) -> Option<u64> {
    /// `__SO_ACCEPTCON` of the kernel's `net.h`.
    const ACCEPTS: u32 = 1 << 16;
    let mut words = line.split_whitespace();
    let flags = u32::from_str_radix(words.nth(3)?, 16).ok()?;
    (flags & ACCEPTS != 0).then(|| words.nth(2)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::{AsRawFd, OwnedFd};

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

    fn number(socket: &impl AsRawFd) -> u64 {
        socket.as_raw_fd() as u64
    }

    fn call(number: i64, first: u64, second: u64) -> Call {
        Call {
            number,
            arguments: [first, second, 0, 0, 0, 0],
            stack_pointer: 8,
            instruction_pointer: 8,
        }
    }

    #[test]
    fn a_connection_is_a_clients_and_what_listens_or_is_udp_is_not() {
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let unix = std::os::unix::net::UnixListener::bind(folder.path().join("s")).unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let sockets = OtherSockets::of(own);
        assert!(sockets.is_client(own, number(&client)));
        for other in [
            number(&listener),
            number(&datagrams),
            number(&unix),
            number(&file),
            9999,
        ] {
            assert!(!sockets.is_client(own, other), "{other}");
        }
        assert!(sockets.has_client(own));
        assert!(sockets.awaits_client(own, false, &call(libc::SYS_recvfrom, number(&client), 0)));
        assert!(!sockets.awaits_client(own, false, &call(libc::SYS_accept4, number(&client), 0)));
        let poll = |polled: &[libc::pollfd]| {
            let call = call(libc::SYS_poll, polled.as_ptr().addr() as u64, polled.len() as u64);
            sockets.awaits_client(own, false, &call)
        };
        let of = |descriptor: u64, events| libc::pollfd {
            fd: descriptor as i32,
            events,
            revents: 0,
        };
        let readable = of(number(&client), libc::POLLIN);
        assert!(poll(&[readable]));
        let holds = !poll(&[of(number(&client), libc::POLLOUT)]);
        assert!(holds, "it waits until a client reads");
        let holds = !poll(&[readable, of(number(&file), libc::POLLIN)]);
        assert!(holds, "it waits for something else too");
        assert!(!poll(&[of(u64::from(u32::MAX), libc::POLLIN)]) && !poll(&[]));
        let holds = !sockets.awaits_client(own, false, &call(libc::SYS_poll, 8, 1));
        assert!(holds, "nothing is there");
    }

    #[test]
    fn a_set_with_a_client_is_that_of_a_process_which_serves_one() {
        use rustix::event::epoll::{CreateFlags, EventData, EventFlags, add, create};
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let sockets = OtherSockets::of(own);
        let awaits = |set: &OwnedFd, serves_one| {
            sockets.awaits_client(own, serves_one, &call(libc::SYS_epoll_wait, number(set), 0))
        };
        let set = create(CreateFlags::CLOEXEC).unwrap();
        add(&set, &listener, EventData::new_u64(1), EventFlags::IN).unwrap();
        assert!(!awaits(&set, true), "it waits for whoever connects");
        add(&set, &client, EventData::new_u64(2), EventFlags::IN).unwrap();
        assert!(awaits(&set, true) && !awaits(&set, false));
        let set = create(CreateFlags::CLOEXEC).unwrap();
        add(&set, &client, EventData::new_u64(2), EventFlags::OUT).unwrap();
        assert!(!awaits(&set, true), "it waits until a client reads");
    }
}
