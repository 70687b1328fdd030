//! A server that forks for every connection, as PostgreSQL does, and burns as much CPU time as it is asked for. Who burns
//! reads its own clock, so that a test knows the truth.

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

/// Who does the work of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Worker {
    /// The process that was forked for it.
    Child,
    /// That process, and half as much one that it forks and waits for.
    ChildAndGrandchild,
    /// One whose parent ends at once.
    Orphan,
    /// One whose parent ends when the client [says so](Answered::orphan).
    LaterOrphan,
    /// The server itself, which answers what it and those that it waited for have used.
    Server,
}

const SERVER: u8 = Worker::Server as u8;

/// The server. It ends with this.
pub(crate) struct ForkingServer {
    pub(crate) pid: u32,
    path: PathBuf,
}

/// A connection whose work is done; the process that did it lives until this is dropped.
pub(crate) struct Answered {
    /// CPU time of all that worked for it, by their own clocks.
    pub(crate) cpu_ns: u64,
    stream: UnixStream,
}

impl ForkingServer {
    /// Starts one. `is_subreaper` says whether it adopts processes whose parent ended.
    pub(crate) fn start(name: &str, is_subreaper: bool) -> Self {
        let path = std::env::temp_dir().join(format!("ciphertax-{name}-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        // SAFETY: the child calls the kernel alone, and never returns.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            // SAFETY: the listener stays open, and there is one thread.
            unsafe { serve(listener.as_raw_fd(), is_subreaper) }
        }
        Self {
            pid: pid.unsigned_abs(),
            path,
        }
    }

    /// Has `worker` burn so much.
    pub(crate) fn ask(&self, worker: Worker, burn: Duration) -> Answered {
        let mut stream = UnixStream::connect(&self.path).unwrap();
        let mut request = [0; 9];
        request[..8].copy_from_slice(&(burn.as_nanos() as u64).to_le_bytes());
        request[8] = worker as u8;
        stream.write_all(&request).unwrap();
        let mut cpu_ns = 0;
        for _ in 0..if worker == Worker::ChildAndGrandchild {
            2
        } else {
            1
        } {
            let mut answer = [0; 8];
            stream.read_exact(&mut answer).unwrap();
            cpu_ns += u64::from_le_bytes(answer);
        }
        Answered { cpu_ns, stream }
    }

    /// CPU time of the server and of those that it waited for, as the kernel told it, to the microsecond.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.ask(Worker::Server, Duration::ZERO).cpu_ns
    }

    /// Ends it, but leaves it to whoever waits for it.
    pub(crate) fn kill_without_waiting(&self) {
        // SAFETY: the number is of a child that nobody else waits for.
        unsafe { libc::kill(self.pid.cast_signed(), libc::SIGKILL) };
    }

    pub(crate) fn kill(&self) {
        // SAFETY: the number is of a child that nobody else waits for.
        unsafe {
            libc::kill(self.pid.cast_signed(), libc::SIGKILL);
            libc::waitpid(self.pid.cast_signed(), std::ptr::null_mut(), 0);
        }
    }
}

impl Drop for ForkingServer {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Answered {
    /// Has the parent of [`Worker::LaterOrphan`] end.
    pub(crate) fn orphan(&mut self) {
        self.stream.write_all(&[0]).unwrap();
    }

    /// Waits until the process that worked for it has ended: it closes its end last of all.
    pub(crate) fn end(mut self) -> u64 {
        self.stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(self.stream.read(&mut [0]).unwrap(), 0);
        self.cpu_ns
    }
}

/// Forks for every connection, until it is killed.
///
/// # Safety
/// `listener` listens, and no other thread is in this process.
unsafe fn serve(listener: RawFd, is_subreaper: bool) -> ! {
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, libc::c_ulong::from(is_subreaper));
        // The end of a child wakes it, and nothing else does but a client.
        let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(mask.as_mut_ptr());
        let nothing = mask.assume_init();
        libc::sigaddset(mask.as_mut_ptr(), libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, mask.as_ptr(), std::ptr::null_mut());
        libc::signal(
            libc::SIGCHLD,
            wake as extern "C" fn(libc::c_int) as libc::sighandler_t,
        );
        let mut waited_for_ns = 0;
        loop {
            waited_for_ns += usage_of_ended();
            let mut asked = libc::pollfd {
                fd: listener,
                events: libc::POLLIN,
                revents: 0,
            };
            if libc::ppoll(&raw mut asked, 1, std::ptr::null(), &raw const nothing) <= 0 {
                continue;
            }
            let stream = libc::accept(listener, std::ptr::null_mut(), std::ptr::null_mut());
            let mut request = [0_u8; 9];
            if libc::read(stream, request.as_mut_ptr().cast(), 9) == 9 {
                let mut burn = [0; 8];
                burn.copy_from_slice(&request[..8]);
                let burn_ns = u64::from_le_bytes(burn);
                match request[8] {
                    SERVER => burn_and_answer(burn_ns, waited_for_ns, stream),
                    worker => work(worker, burn_ns, stream),
                }
            }
            libc::close(stream);
        }
    }
}

extern "C" fn wake(_: libc::c_int) {}

/// # Safety
/// As [`serve`].
unsafe fn work(worker: u8, burn_ns: u64, stream: RawFd) {
    unsafe {
        if libc::fork() == 0 {
            if worker == Worker::ChildAndGrandchild as u8 {
                let grandchild = libc::fork();
                if grandchild == 0 {
                    burn_and_answer(burn_ns / 2, 0, stream);
                    libc::_exit(0);
                }
                libc::waitpid(grandchild, std::ptr::null_mut(), 0);
            }
            if worker == Worker::Orphan as u8 && libc::fork() != 0 {
                libc::_exit(0);
            }
            // Its end that writes is the parent's alone, so that it breaks when that ends.
            let mut parent = [0; 2];
            libc::pipe(parent.as_mut_ptr());
            if worker == Worker::LaterOrphan as u8 && libc::fork() != 0 {
                wait_for(stream);
                libc::_exit(0);
            }
            libc::close(parent[1]);
            burn_and_answer(burn_ns, 0, stream);
            wait_for(parent[0]);
            // Until the client has had enough.
            wait_for(stream);
            libc::_exit(0);
        }
    }
}

/// Waits for a byte, or the end.
///
/// # Safety
/// As [`serve`].
unsafe fn wait_for(other: RawFd) {
    let mut byte = 0_u8;
    unsafe { libc::read(other, (&raw mut byte).cast(), 1) };
}

/// Waits for those that have ended, and tells what they and those that they waited for used.
///
/// # Safety
/// As [`serve`].
unsafe fn usage_of_ended() -> u64 {
    let mut sum = 0;
    loop {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        let usage = unsafe {
            if libc::wait4(-1, std::ptr::null_mut(), libc::WNOHANG, usage.as_mut_ptr()) <= 0 {
                return sum;
            }
            usage.assume_init()
        };
        for time in [usage.ru_utime, usage.ru_stime] {
            sum += time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000;
        }
    }
}

/// Burns so much CPU time from now on, and answers what this process has used since it began, and `besides`.
///
/// # Safety
/// As [`serve`].
unsafe fn burn_and_answer(burn_ns: u64, besides: u64, stream: RawFd) {
    let start = own_clock_ns();
    while own_clock_ns() - start < burn_ns {
        std::hint::spin_loop();
    }
    let answer = (own_clock_ns() + besides).to_le_bytes();
    unsafe { libc::write(stream, answer.as_ptr().cast(), 8) };
}

fn own_clock_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to `time`, which outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
