//! How many rows tables are loaded with.

use ciphertax_model::Tpcc;

/// How many rows tables are loaded with (clause 4.3.3.1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Population {
    pub(super) warehouses: u32,
    /// Of a warehouse.
    pub(super) districts: u32,
    /// Of a district.
    pub(super) customers: u32,
    /// Of a district.
    pub(super) orders: u32,
    /// Of these.
    pub(super) delivered: u32,
    /// Of all warehouses together, and in stock of each.
    pub(super) items: u32,
}

impl Population {
    pub(super) fn of(tables: &Tpcc) -> Self {
        Self {
            warehouses: tables.warehouses,
            districts: Tpcc::DISTRICTS,
            customers: Tpcc::CUSTOMERS,
            orders: Tpcc::ORDERS,
            delivered: Tpcc::FIRST_UNDELIVERED - 1,
            items: Tpcc::ITEMS,
        }
    }

    /// Of all warehouses.
    pub(super) fn all_districts(&self) -> u64 {
        u64::from(self.warehouses) * u64::from(self.districts)
    }

    /// Of all districts; each has one row of history.
    pub(super) fn all_customers(&self) -> u64 {
        self.all_districts() * u64::from(self.customers)
    }

    /// Of all districts.
    pub(super) fn all_orders(&self) -> u64 {
        self.all_districts() * u64::from(self.orders)
    }
}
