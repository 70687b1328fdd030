//! What pgbench's tables cannot be.

use super::found::{Found, Path};
use crate::pgbench::Pgbench;

pub(super) fn check_tables(tables: &Pgbench, found: &mut Found) {
    let (scale, most) = (tables.scale, Pgbench::MOST_BRANCHES);
    if !(1..=most).contains(&scale) {
        let message = format!("pgbench.scale is {scale}; it must lie between 1 and {most}");
        found.add(Path::of("pgbench").key("scale"), message);
    }
}
