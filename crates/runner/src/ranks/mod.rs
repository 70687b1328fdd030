//! A load that several load generators make together, on one machine or many. One of them conducts: it has the servers, proves and
//! loads them, reads their clocks and writes the run folder, as a run does that is alone. The others, its followers, open their share
//! of the connections and work the slices that it calls. One of them may be beside the server and read its clocks instead.
//!
//! How their messages travel is somebody else's: each has a line of JSON a message on its standard input, which `ciphertax-mpi` carries.

mod agent;
mod clock;
mod conduct;
mod follow;
mod hello;
mod protocol;
mod reach;
mod spread;

pub use conduct::Ranks;
pub use follow::follow;
pub use hello::{Role, role};
pub use protocol::Channel;

pub(crate) use protocol::{Loading, Start};
pub(crate) use reach::{ArmReach, PrivateReach, account_of};
pub(crate) use spread::{SpreadLoad, load_together};
