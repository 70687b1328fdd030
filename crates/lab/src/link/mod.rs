//! Distance between client and server: round-trip time, jitter and bandwidth, the same for all arms.
//!
//! ```text
//!   root namespace                                      namespace of the link
//!            ┌── ct-tun-… ──► queue with delay ──► delayed ──┐
//!   client ──┤            ◄── (link process)   ◄──           ├── server
//!            └── ct-eth-… ◄─────── veth pair ──────► direct ─┘
//! ```
//!
//! A [`RunningLink`] is a small process of ciphertax's own that moves IP packets between two TUN devices, each after
//! its delay. TCP is the kernel's own at both ends, so a SYN travels as slowly as a result, and slow start and windows
//! act as on a real line of that length. Only the server lives in a namespace, because then the client and everything
//! around it need no wrapper: they choose the distance by the address they connect to. The second address is for
//! control connections, which should not wait.
//!
//! Nodes inside may have a distance among themselves. They share one address more, in the namespace, and what one sends to it goes
//! into a third TUN device and comes out of it again, half of their round-trip time later.
//!
//! The namespace has no name and the TUN devices are not persistent: the kernel removes them, and the veth pair with
//! them, when the link process ends, however it ends. What a namespace may keep for a while is removed by the process
//! before it ends, or, if it was killed, by the next link. The process is the child of a
//! [guard](ciphertax_supervise::guard). Addresses come from ranges that are never routed, and only where this machine
//! has neither an address nor a route; no existing interface, route or kernel setting is touched.
//!
//! The kernel's own netem is not used: many kernels lack it, and this way the same code runs, and says how late it was,
//! everywhere.
//!
//! All this needs rights over networks (`CAP_NET_ADMIN`, `CAP_SYS_ADMIN`) in the namespaces that ciphertax runs in: root's,
//! or those that an ordinary user has made ([`WITHOUT_ROOT`]).

mod addresses;
mod delay_line;
mod devices;
mod forward;
mod process;
mod running;
pub(crate) mod settings;

pub use process::{LinkReport, main};
pub(crate) use running::FarSide;
pub use running::{RunningLink, WITHOUT_ROOT, check_rights};
pub use settings::LinkError;
