//! What an arm's client encrypts and decrypts.

use ciphertax_columns::MasterKey;
use ciphertax_model::ColumnEncryption;

/// Which tables an arm asks, and what its client encrypts and decrypts in them.
#[derive(Debug, Clone, Default)]
pub struct ArmColumns {
    /// Its number among the measured arms of the study, by which its tables are known where each has its own.
    pub set: u32,
    /// What is encrypted, and with what; `None` for nothing.
    pub encryption: Option<(ColumnEncryption, MasterKey)>,
}
