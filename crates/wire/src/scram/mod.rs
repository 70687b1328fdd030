//! SCRAM, the login by a password that is not sent (RFC 5802, RFC 7677), in MongoDB's way
//! (<https://github.com/mongodb/specifications/blob/master/source/auth/auth.md>) and in PostgreSQL's
//! (<https://www.postgresql.org/docs/current/sasl-authentication.html>).
//!
//! Written here over OpenSSL's primitives: of the crates for it, `scram` was last released in 2019 and knows neither
//! SHA-1 nor keys that are kept, `postgres-protocol` knows no keys that are kept either, and none lets the derivation,
//! which is nearly all of a login's cost, be timed apart.

mod exchange;
mod keys;
#[cfg(test)]
mod tests;

pub use exchange::Mechanism;
pub(crate) use exchange::{Account, Binding, Exchange, Rules};
pub use keys::ScramKeys;
