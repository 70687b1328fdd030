//! One thread's event loop: tasks that wait for sockets, and nothing else.
//!
//! A [`Reactor`] belongs to one thread. [`Reactor::run`] drives a set of futures of one type, one per connection, until
//! all have ended or a deadline passes; nothing is allocated, boxed, locked or formatted per wake-up. There are no
//! wakers: a socket knows the task that waits for it, so the futures run here must wait on [`Socket`]s alone.
//!
//! # What was measured and chosen
//!
//! `cargo run --release -p ciphertax-bench --bin io-choice` drives the same point select over the same sockets by this event loop
//! (edge-triggered epoll, with and without gathering), plain epoll, io_uring and tokio. Edge-triggered epoll was chosen
//! because each socket is registered once, a short read needs no second read, and containers that forbid io_uring allow it.
//! Beside sysbench it takes 0.43–0.50 of the client's CPU at 8 and 64 connections (`record/peers.md`). What saves most is not
//! the interface but being woken less often: threads that give way to the server, few of them, and [`Gather`]. Trial runs of
//! io_uring on a busy machine lay between 0.63 and 0.96 of this loop's CPU at 64 connections, so it is the next thing to try.

mod gather;
mod socket;
mod task;

pub use gather::Gather;
pub use socket::Socket;
pub use task::Reactor;
