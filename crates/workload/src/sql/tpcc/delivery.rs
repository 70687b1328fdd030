//! Delivery (clause 2.7): the oldest order of each of a warehouse's districts.

use std::hint::black_box;

use ciphertax_engine::{Failure, Result};
use ciphertax_model::Tpcc;

use super::ask::Bound;
use super::columns::ALL;
use super::inputs::Delivery;
use super::terminal::{Session, missing};
use super::values::CENTS;
use crate::sql::session::{SqlSession, Trouble};

const DISTRICTS: usize = Tpcc::DISTRICTS as usize;

/// An order that is delivered.
#[derive(Clone, Copy, Default)]
struct Oldest {
    district: i64,
    number: i64,
    /// `None` until it was read.
    customer: Option<i64>,
    /// Hundredths; likewise.
    amount: Option<i64>,
}

impl<S: SqlSession> Session<S> {
    /// Returns how many districts had no order to deliver.
    pub(super) async fn delivery(&mut self, delivery: &Delivery) -> Result<u64, Trouble> {
        let warehouse = i64::from(delivery.warehouse);
        let mut oldest = [Oldest::default(); DISTRICTS];
        let mut count = 0;

        self.bounds.begin(&mut self.asker).await?;
        for district in 1..=i64::from(Tpcc::DISTRICTS) {
            let mut number = None;
            let mut ask = self.statements.oldest.bind(&mut self.asker);
            ask.integers(&[warehouse, district]);
            ask.fetch(ALL, |row| {
                number = Some(row.integer(0)?);
                Ok(())
            })
            .await?;
            if let Some(number) = number {
                oldest[count] = Oldest {
                    district,
                    number,
                    ..Oldest::default()
                };
                count += 1;
            }
        }
        let orders = &mut oldest[..count];
        let skipped = (DISTRICTS - count) as u64;
        if orders.is_empty() {
            self.bounds.commit(&mut self.asker).await?;
            return Ok(skipped);
        }

        let rows = count as u64;
        let mut ask = self.statements.delete_oldest.bind(&mut self.asker, count).await?;
        bind_orders(&mut ask, warehouse, orders);
        ask.write("new_order of warehouse", &[warehouse], rows).await?;

        let mut ask = self.statements.buyers.bind(&mut self.asker, count).await?;
        bind_orders(&mut ask, warehouse, orders);
        ask.fetch(ALL, |row| {
            let customer = row.integer(1)?;
            of_district(orders, row.integer(0)?)?.customer = Some(customer);
            Ok(())
        })
        .await?;

        let mut ask = self.statements.carry.bind(&mut self.asker, count).await?;
        ask.integer(delivery.carrier.into());
        bind_orders(&mut ask, warehouse, orders);
        ask.write("oorder of warehouse", &[warehouse], rows).await?;

        let mut ask = self.statements.deliver.bind(&mut self.asker, count).await?;
        ask.text(&self.clock.now());
        bind_orders(&mut ask, warehouse, orders);
        black_box(ask.send().await?);

        let mut ask = self.statements.amounts.bind(&mut self.asker, count).await?;
        bind_orders(&mut ask, warehouse, orders);
        ask.fetch(ALL, |row| {
            let amount = row.decimal(1, CENTS)?;
            of_district(orders, row.integer(0)?)?.amount = Some(amount);
            Ok(())
        })
        .await?;

        for order in &*orders {
            let key = [warehouse, order.district, order.number];
            let customer = order.customer.ok_or_else(|| missing("oorder", &key))?;
            let amount = order.amount.ok_or_else(|| missing("order_line", &key))?;
            let key = [warehouse, order.district, customer];
            let mut ask = self.statements.bill.bind(&mut self.asker);
            ask.cents(amount)
                .integers(&key)
                .write("customer", &key, 1)
                .await?;
        }
        self.bounds.commit(&mut self.asker).await?;
        Ok(skipped)
    }
}

fn bind_orders<S: SqlSession>(ask: &mut Bound<'_, S>, warehouse: i64, orders: &[Oldest]) {
    for order in orders {
        ask.integers(&[warehouse, order.district, order.number]);
    }
}

fn of_district(orders: &mut [Oldest], district: i64) -> Result<&mut Oldest> {
    let found = orders.iter_mut().find(|order| order.district == district);
    found.ok_or_else(|| {
        Failure::Error(format!(
            "an order of district {district} came that was not asked for"
        ))
    })
}
