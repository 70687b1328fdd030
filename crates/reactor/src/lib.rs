//! One thread's event loop: tasks that wait for sockets or for a time, and nothing else.
//!
//! A [`Reactor`] belongs to one thread. [`Reactor::run`] drives a set of futures of one type, one per connection, until
//! all have ended or a deadline passes; nothing is allocated, boxed, locked or formatted per wake-up. There are no
//! wakers: a socket knows the task that waits for it, so the futures run here must wait on [`Socket`]s and
//! [`Reactor::sleep_until`] alone, or several of them [`Together`]. Where the thread heeds a flag ([`stop::heed`]),
//! tasks have half a second from when it is set, so that nobody who wants to stop waits for a server.
//!
//! # Two interfaces of the kernel
//!
//! [`EventLoop::of_this_process`] is io_uring where the kernel allows it, and edge-triggered epoll elsewhere: on kernels
//! before Linux 6.15, and in containers that forbid it. Tasks and sockets behave alike by both, and a process uses one for
//! all its threads.
//!
//! By epoll each socket is registered once and a short read needs no second one. By io_uring what many tasks send enters
//! the kernel together with the wait for their answers: 64 connections then take 0.6–0.7 of the client's CPU that they take
//! by epoll, 8 take 0.6–0.8, and one 1.1. That is 0.8–1.1 of what an io_uring loop takes that does nothing else and knows
//! its sockets and buffers before. (`cargo run --release -p ciphertax-reactor --example round_trips`, several runs on a
//! busy machine of two CPUs, a server with a thread for each connection on the same, 200 bytes each way.) What is larger
//! than 4 KiB is sent and read by system calls of its own with either, and costs the same.
//!
//! What else saves is being woken less often: threads that give way to the server, few of them, and [`PollDelay`].

mod alarm;
mod driver;
mod epoll;
mod event_loop;
mod io_uring;
mod poll_delay;
mod reactor;
mod socket;
pub mod stop;
mod together;

pub use event_loop::EventLoop;
pub use poll_delay::PollDelay;
pub use reactor::Reactor;
pub use socket::Socket;
pub use together::Together;
