//! Delivery (clause 2.7): the oldest order of each of a warehouse's districts.

use std::hint::black_box;

use ciphertax_engine::Failure;
use ciphertax_model::Tpcc;

use super::ask::Values;
use super::columns::ALL;
use super::inputs::Delivery;
use super::terminal::{Session, expect_rows, missing};
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
        let Self {
            asker,
            statements,
            bounds,
            clock,
            ..
        } = self;
        let warehouse = i64::from(delivery.warehouse);
        let mut oldest = [Oldest::default(); DISTRICTS];
        let mut count = 0;

        bounds.begin(asker).await?;
        for district in 1..=i64::from(Tpcc::DISTRICTS) {
            let mut number = None;
            let ask = &mut statements.oldest;
            ask.bind(&mut asker.cells).integer(warehouse).integer(district);
            ask.fetch(asker, ALL, |row| {
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
            bounds.commit(asker).await?;
            return Ok(skipped);
        }

        let rows = count as u64;
        let ask = statements.delete_oldest.of(asker, count).await?;
        let mut values = ask.bind(&mut asker.cells);
        bind_orders(&mut values, warehouse, orders);
        expect_rows(
            "new_order of warehouse",
            &[warehouse],
            rows,
            ask.send(asker).await?,
        )?;

        let ask = statements.buyers.of(asker, count).await?;
        let mut values = ask.bind(&mut asker.cells);
        bind_orders(&mut values, warehouse, orders);
        ask.fetch(asker, ALL, |row| {
            let customer = row.integer(1)?;
            of_district(orders, row.integer(0)?)?.customer = Some(customer);
            Ok(())
        })
        .await?;

        let ask = statements.carry.of(asker, count).await?;
        let mut values = ask.bind(&mut asker.cells);
        values.integer(delivery.carrier.into());
        bind_orders(&mut values, warehouse, orders);
        expect_rows("oorder of warehouse", &[warehouse], rows, ask.send(asker).await?)?;

        let ask = statements.deliver.of(asker, count).await?;
        let mut values = ask.bind(&mut asker.cells);
        values.text(&clock.now());
        bind_orders(&mut values, warehouse, orders);
        black_box(ask.send(asker).await?);

        let ask = statements.amounts.of(asker, count).await?;
        let mut values = ask.bind(&mut asker.cells);
        bind_orders(&mut values, warehouse, orders);
        ask.fetch(asker, ALL, |row| {
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
            let ask = &mut statements.bill;
            ask.bind(&mut asker.cells).cents(amount).integers(&key);
            expect_rows("customer", &key, 1, ask.send(asker).await?)?;
        }
        bounds.commit(asker).await?;
        Ok(skipped)
    }
}

/// Sets the keys of the orders.
fn bind_orders<S: SqlSession>(values: &mut Values<'_, S>, warehouse: i64, orders: &[Oldest]) {
    for order in orders {
        values.integers(&[warehouse, order.district, order.number]);
    }
}

fn of_district(orders: &mut [Oldest], district: i64) -> Result<&mut Oldest, Failure> {
    let found = orders.iter_mut().find(|order| order.district == district);
    found.ok_or_else(|| {
        Failure::Error(format!(
            "an order of district {district} came that was not asked for"
        ))
    })
}
