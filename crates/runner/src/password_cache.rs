//! Arms whose logins must find a server that does not remember the password.

use ciphertax_model::{Arm, Cell, PasswordCache, Study};

/// True if an arm's logins find a server that does not remember the password.
pub(crate) fn is_cold(arm: &Arm) -> bool {
    arm.authentication.password_cache == PasswordCache::Cold
}

/// Cold arms whose connections stay open: a login would be measured by none of them.
pub(crate) fn cold_in_vain<'a>(study: &'a Study, cell: &'a Cell) -> impl Iterator<Item = &'a Arm> {
    study
        .arms_of(cell)
        .filter(|arm| is_cold(arm) && !cell.workload.makes_connections())
}
