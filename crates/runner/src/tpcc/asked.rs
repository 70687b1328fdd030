//! What was asked of a set of tables since it was loaded.

use ciphertax_model::Tpcc;
use ciphertax_model::workload::NOT_DONE;
use ciphertax_records::Yield;
use ciphertax_workload::dataset::tpcc::{Counted, GROWN};

/// Transactions on a set of tables, by what they leave there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asked {
    pub(super) transactions: u64,
    counted: Counted,
}

impl Asked {
    /// Adds a slice, one that does not count too. `unfinished` are the operations whose end nobody saw.
    pub(super) fn add(&mut self, load: &Yield, unfinished: u64) {
        let counted = &mut self.counted;
        let mut delivered = 0;
        for operation in &load.operations {
            self.transactions += operation.count;
            counted.undecided += operation.errors;
            match operation.kind.as_str() {
                "new_order" => counted.new_orders += operation.count,
                "payment" => counted.payments += operation.count,
                "delivery" => delivered = operation.count * u64::from(Tpcc::DISTRICTS),
                _ => {}
            }
        }
        let [rolled_back, skipped] = load.counts_of(NOT_DONE);
        counted.new_orders = counted.new_orders.saturating_sub(rolled_back);
        counted.rolled_back += rolled_back;
        counted.deliveries += delivered.saturating_sub(skipped);
        counted.undecided += unfinished;
    }

    /// As checks of the tables want it.
    pub(super) fn counted(&self, repeats: u32) -> Counted {
        Counted {
            repeats,
            ..self.counted
        }
    }

    /// True once there are so many orders that the tables are to be restored.
    pub(super) fn has_grown(&self, tables: &Tpcc) -> bool {
        let loaded = u64::from(tables.warehouses) * u64::from(Tpcc::DISTRICTS * Tpcc::ORDERS);
        1.0 + self.counted.new_orders as f64 / loaded as f64 >= GROWN
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_records::OperationSample;
    use ciphertax_stats::histogram;

    use super::*;

    fn load(kinds: &[(&str, u64, u64)], not_done: [u64; 2]) -> Yield {
        let operation = |(kind, count, errors): &(&str, u64, u64)| OperationSample {
            kind: (*kind).into(),
            count: *count,
            errors: *errors,
            latency_sum_ns: 0,
            latency: histogram::encode(&histogram::empty()),
        };
        Yield {
            operations: kinds.iter().map(operation).collect(),
            counts: NOT_DONE.map(str::to_owned).into_iter().zip(not_done).collect(),
            ..Yield::default()
        }
    }

    #[test]
    fn what_slices_did_adds_up_to_what_the_tables_must_show() {
        let mut asked = Asked::default();
        let kinds = [
            ("new_order", 100, 1),
            ("payment", 90, 0),
            ("delivery", 10, 0),
            ("stock_level", 9, 0),
        ];
        asked.add(&load(&kinds, [2, 3]), 1);
        asked.add(&load(&[("payment", 1, 0)], [0, 0]), 0);
        assert_eq!(asked.transactions, 210);
        assert_eq!(
            asked.counted(3),
            Counted {
                new_orders: 98,
                rolled_back: 2,
                payments: 91,
                deliveries: 97,
                undecided: 2,
                repeats: 3,
            }
        );
    }

    #[test]
    fn tables_are_restored_when_their_orders_have_doubled() {
        let tables = Tpcc {
            warehouses: 2,
            ..Tpcc::default()
        };
        let after = |orders| {
            let mut asked = Asked::default();
            asked.add(&load(&[("new_order", orders, 0)], [0, 0]), 0);
            asked.has_grown(&tables)
        };
        assert!(!after(59_999) && after(60_000));
    }
}
