//! One thread's event loop: tasks that wait for sockets or for a time, and nothing else.
//!
//! A [`Reactor`] belongs to one thread. [`Reactor::run`] drives a set of futures of one type, one per connection, until
//! all have ended or a deadline passes; nothing is allocated, boxed, locked or formatted per wake-up. There are no
//! wakers: a socket knows the task that waits for it, so the futures run here must wait on [`Socket`]s and
//! [`Reactor::sleep_until`] alone, or several of them [`Together`]. Where the thread heeds a flag ([`stop::heed`]),
//! tasks have half a second from when it is set, so that nobody who wants to stop waits for a server.
//!
//! # What was measured and chosen
//!
//! `cargo run --release -p ciphertax-bench --bin io-choice` drives the same point select over the same sockets by this
//! event loop (edge-triggered epoll, with and without a poll delay), plain epoll, io_uring and tokio. Edge-triggered
//! epoll was chosen because each socket is registered once, a short read needs no second read, and containers that
//! forbid io_uring allow it. Beside sysbench it takes 0.43–0.50 of the client's CPU at 8 and 64 connections
//! (`record/peers.md`). What saves most is not the interface but being woken less often: threads that give way to the
//! server, few of them, and [`PollDelay`].
//!
//! Client CPU per operation as a ratio to this loop without a poll delay, median of 9 interleaved repeats
//! (`record/io-choice.md`):
//!
//! | connections | poll delay 100 µs | plain epoll | tokio | io_uring | io_uring, waiting ≤ 100 µs |
//! |--:|--:|--:|--:|--:|--:|
//! | 1 | 1.23 | 0.95 | 0.95 | 0.85 | 1.36 |
//! | 8 | 0.98 | 1.04 | 1.05 | 1.04 | 0.68 |
//! | 64 | 0.76 | 0.98 | 1.04 | 0.56 | 0.65 |
//!
//! So io_uring is ahead with many connections; epoll stays because it is there on every kernel and in every container,
//! and because the bars are met with it. With up to 8 connections the interface makes no difference that can be told.

mod alarm;
mod poll_delay;
mod socket;
pub mod stop;
mod task;
mod together;

pub use poll_delay::PollDelay;
pub use socket::Socket;
pub use task::Reactor;
pub use together::Together;
