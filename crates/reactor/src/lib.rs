//! One thread's event loop: tasks that wait for sockets or for a time, and nothing else.
//!
//! A [`Reactor`] belongs to one thread. [`Reactor::run`] drives a set of futures of one type, one per connection, until
//! all have ended or a deadline passes; nothing is allocated, boxed, locked or formatted per wake-up. There are no
//! wakers: a socket knows the task that waits for it, so the futures run here must wait on [`Socket`]s and
//! [`Reactor::sleep_until`] alone, or several of them [`Together`]. Where the thread has a flag ([`stop::with_flag`]),
//! tasks have half a second from when it is set, so that nobody who wants to stop waits for a server.
//!
//! Sockets are waited for by edge-triggered epoll: each is registered once, and a short read needs no second one.
//!
//! What saves is being woken less often: threads that give way to the server, few of them, and [`PollDelay`].

mod epoll;
mod reactor;
mod socket;
pub mod stop;

pub use reactor::{PollDelay, Reactor, Task, Together};
pub use socket::Socket;
