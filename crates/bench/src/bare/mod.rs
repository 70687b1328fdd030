//! A client that is nothing but its event loop: a request is bytes that were built before, an answer is a known number of bytes,
//! and none of what is in it is read. So what it takes is what that way of waiting takes.

mod completions;
pub mod exchange;
pub mod login;

pub use completions::Completions;
