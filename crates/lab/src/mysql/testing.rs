//! Helpers that tests of this family share.

use crate::catalogue::{CATALOGUE, Entry, MySqlVariant, ServerFamily};

/// Every server of this family.
pub(super) fn variants() -> impl Iterator<Item = (&'static Entry, MySqlVariant)> {
    CATALOGUE.into_iter().filter_map(|entry| match entry.family {
        ServerFamily::MySql(variant) => Some((entry, variant)),
        _ => None,
    })
}
