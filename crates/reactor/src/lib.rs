//! One thread's event loop: tasks that wait for sockets, and nothing else.
//!
//! A [`Reactor`] belongs to one thread. [`Reactor::run`] drives a set of futures of one type, one per connection, until
//! all have ended or a deadline passes; nothing is allocated, boxed, locked or formatted per wake-up. There are no
//! wakers: a socket knows the task that waits for it, so the futures run here must wait on [`Socket`]s alone.
//!
//! # What was measured and chosen
//!
//! `record/io-choice.md` holds the figures and `cargo run --release -p ciphertax-bench --bin io-choice` measures again:
//! the same point select over the same sockets, driven by edge-triggered epoll, epoll that gathers, io_uring and tokio.
//! Epoll without gathering costs what io_uring costs when few sockets are active; when many are, collecting them for
//! some tens of microseconds ([`Gather`]) saves more than the choice of the interface does, and epoll is allowed in
//! containers that forbid io_uring. So: epoll, edge-triggered, each socket registered once, no read after a short read.

mod gather;
mod socket;
mod task;

pub use gather::Gather;
pub use socket::Socket;
pub use task::Reactor;
