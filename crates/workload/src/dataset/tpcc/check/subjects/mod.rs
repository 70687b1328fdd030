//! The four kinds of rows that conditions are about.

mod customers;
mod districts;
mod orders;
mod warehouses;

use self::customers::CUSTOMERS;
use self::districts::DISTRICTS;
use self::orders::ORDERS;
use self::warehouses::WAREHOUSES;
use super::condition::Condition;
use super::subject::{Side, Subject};

/// In the order of the conditions.
pub(super) const SUBJECTS: [&Subject; 4] = [&WAREHOUSES, &DISTRICTS, &ORDERS, &CUSTOMERS];

/// What a [`Side`] has where it says nothing else.
const SIDE: Side = Side {
    keys: &[],
    inner_keys: &[],
    columns: &[],
    from: "",
    values: &[],
};

const CONDITION: Condition = Condition {
    clause: "",
    says: "",
    in_study: false,
    values: &[],
    holds: "",
};
