//! Reading the clocks of a server's processes on another machine, and looking into them there.
//!
//! | here | there |
//! |---|---|
//! | [`AgentMeter`] is the server's meter | [`main`] answers it |
//! | [`link`] leads there: the system's `ssh`, or load generators | its standard input and output, or their messages |
//! | [`names`] makes its numbers of stacks those of the run | |

mod link;
mod looks;
mod meter;
mod names;
mod protocol;
mod serve;
#[cfg(test)]
mod tests;

pub use link::Reach;
pub use meter::{AgentMeter, AgentOptions};
pub use serve::main;

pub(crate) use protocol::{Answer, Request, boot};
pub(crate) use serve::Agent;
