//! Where the kernel refuses io_uring, as many containers have it do, epoll serves.

use std::env;
use std::io;
use std::process::Command;

use ciphertax_reactor::{EventLoop, Reactor};

use crate::common::{echo, round_trips, soon};

/// The system call that a child process is to be refused.
const REFUSED: &str = "CIPHERTAX_TEST_REFUSED";

#[test]
fn where_the_kernel_refuses_io_uring_epoll_serves() {
    for call in [
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ] {
        for error in [libc::EPERM, libc::ENOSYS, libc::ENOMEM] {
            let child = Command::new(env::current_exe().unwrap())
                .args([
                    "--exact",
                    "refused::serves_without_io_uring",
                    "--ignored",
                    "--nocapture",
                ])
                .env(REFUSED, format!("{call} {error}"))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&child.stdout).into_owned();
            assert!(child.status.success(), "{call} {error}: {said}");
            assert!(said.contains("by epoll"), "{said}");
        }
    }
}

#[test]
#[ignore = "runs in a process of its own, by the test above"]
fn serves_without_io_uring() {
    let refused = env::var(REFUSED).unwrap();
    let (call, error) = refused.split_once(' ').unwrap();
    refuse(call.parse().unwrap(), error.parse().unwrap());
    assert_eq!(EventLoop::of_this_process(), EventLoop::Epoll);
    assert!(Reactor::with(EventLoop::IoUring).is_err() || call != libc::SYS_io_uring_setup.to_string());
    let reactor = Reactor::new().unwrap();
    let address = echo(1);
    let outcome = reactor.run_one(round_trips(&reactor, address, 20), soon());
    assert_eq!(outcome.unwrap(), Some(20));
    println!("served by {}", reactor.event_loop());
}

/// From now on this thread is told that error for that system call.
fn refuse(call: libc::c_long, error: u32) {
    let statement = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let mut filter = [
        // The number of the system call is what seccomp_data begins with.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | error),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: both calls read their arguments alone, and the program lives until they return.
    let outcome = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        )
    };
    assert_eq!(outcome, 0, "{}", io::Error::last_os_error());
}
