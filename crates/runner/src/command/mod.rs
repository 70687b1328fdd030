//! A program of the user's own as the load: run once a slice, which its environment tells how to reach the arm, held to what
//! the arm says.

mod load;
mod server_hello;
mod trial;
mod watcher;

pub(crate) use load::CommandLoad;
pub(crate) use trial::{is_used_by_others, try_out};
