//! What servers count.

#[cfg(test)]
mod real_servers;

use std::collections::BTreeMap;

/// The counter that falls when a server was restarted.
pub(crate) const UPTIME: &str = "Uptime";

/// What counters rose by; those that are in one reading alone are left out.
pub(crate) fn change(before: &BTreeMap<String, i64>, after: &BTreeMap<String, i64>) -> BTreeMap<String, i64> {
    let change = |(name, after): (&String, &i64)| Some((name.clone(), after - before.get(name)?));
    after.iter().filter_map(change).collect()
}
