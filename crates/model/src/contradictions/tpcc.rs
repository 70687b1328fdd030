//! What TPC-C's tables and mix cannot be.

use super::found::{Found, Path};
use crate::tpcc::Tpcc;

pub(super) fn check_tables(tables: &Tpcc, found: &mut Found) {
    let path = Path::of("tpcc");
    let mut check = |key, value: u32, range: std::ops::RangeInclusive<u32>| {
        if !range.contains(&value) {
            let (least, most) = range.into_inner();
            let message = format!("tpcc.{key} is {value}; it must lie between {least} and {most}");
            found.add(path.key(key), message);
        }
    };
    check("warehouses", tables.warehouses, Tpcc::WAREHOUSES);
    check("load_workers", tables.load_workers, Tpcc::LOAD_WORKERS);
    if !Tpcc::PACING.contains(&tables.pacing) {
        let message = format!("tpcc.pacing is {}; it must lie between 0 and 10", tables.pacing);
        found.add(path.key("pacing"), message);
    }
    if let Some(weights) = tables.weights {
        let shares = weights.shares();
        let sum: f64 = shares.iter().sum();
        if shares.iter().any(|share| !(0.0..=100.0).contains(share)) || (sum - 100.0).abs() > 1e-6 {
            let message =
                format!("tpcc.weights are together {sum}; they must be percentages that are together 100");
            found.add(path.key("weights"), message);
        }
    }
}
