//! Cells of columns that are encrypted outside a server's storage: keys, formats, and which columns a policy names.
//!
//! | format | cell | key of a cell | judged by |
//! |---|---|---|---|
//! | EncDB, version 64 | header, nonce, vector, tag, ciphertext | HKDF of the master key with a nonce | EncJDBC, the server's classes |
//! | CSFLE | BSON binary 6: kind, key id, BSON type, vector, ciphertext, MAC | 96-byte data key | pymongocrypt |
//! | AEAD-CBC-HMAC | version, MAC, vector, ciphertext | three keys derived from the column's | its published test vectors |

pub mod aead;
mod aes;
mod cell;
mod cipher;
pub mod csfle;
pub mod encdb;
mod key;

pub use cell::{CellError, CellKind, KeyError};
pub use cipher::{CellCipher, CellCounts};
pub use key::MasterKey;
