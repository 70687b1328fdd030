//! The name under which everything stands.

/// The only schema that is ever touched.
pub const SCHEMA: &str = "ciphertax";
