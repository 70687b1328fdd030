//! From made-up looks of known truth to what is said about them.

mod bounds;
mod differences;
pub(crate) mod made_up;
mod random;
#[path = "../../../../records/tests/made_up.rs"]
mod record;
mod states;
