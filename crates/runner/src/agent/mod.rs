//! Reading the clocks of a server's processes on another machine, and looking into them there.
//!
//! | here | there |
//! |---|---|
//! | [`AgentMeter`] is the server's meter | [`main`] answers it |
//! | [`link`] is the way there: the system's `ssh` | its standard input and output |
//! | [`names`] makes its numbers of stacks those of the run | |

mod begin;
mod link;
mod looks;
mod meter;
mod names;
mod protocol;
mod serve;
#[cfg(test)]
mod tests;

pub use begin::AgentOptions;
pub use meter::AgentMeter;
pub use serve::main;
