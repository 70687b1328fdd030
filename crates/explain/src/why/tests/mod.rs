//! From made-up looks of known truth to what is said about them.

mod bounds;
mod differences;
#[path = "../../../tests/explain/head.rs"]
mod head;
pub(crate) mod made_up;
mod random;
mod states;
