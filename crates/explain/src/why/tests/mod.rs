//! From made-up looks of known truth to what is said about them.

mod bounds;
mod differences;
pub(crate) mod made_up;
mod random;
mod states;
