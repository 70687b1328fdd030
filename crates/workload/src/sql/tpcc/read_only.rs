//! Transactions that only read: order-status (clause 2.6), what a customer's last order came to; stock-level (clause 2.8), how many
//! items of a district's last 20 orders run out.

use std::hint::black_box;

use super::columns::ALL;
use super::inputs::{Customer, OrderStatus, StockLevel};
use super::terminal::{Session, missing};
use super::values::CENTS;
use crate::sql::session::{SqlSession, Trouble};

impl<S: SqlSession> Session<S> {
    pub(super) async fn order_status(&mut self, asked: &OrderStatus) -> Result<(), Trouble> {
        let home = (i64::from(asked.warehouse), i64::from(asked.district));
        self.bounds.begin(&mut self.asker).await?;
        let customer = self.customer(home, asked.customer).await?;
        let Self {
            asker,
            statements,
            bounds,
            ..
        } = self;
        let key = [home.0, home.1, customer];
        let ask = &mut statements.inquirer;
        ask.bind(&mut asker.cells).integers(&key);
        let answer = ask
            .fetch(asker, ALL, |row| {
                black_box((row.text(0)?, row.text(1)?, row.text(2)?, row.decimal(3, CENTS)?));
                Ok(())
            })
            .await?;
        if answer.rows != 1 {
            return Err(missing("customer", &key).into());
        }

        let mut last = None;
        let ask = &mut statements.last_order;
        ask.bind(&mut asker.cells).integers(&key);
        ask.fetch(asker, ALL, |row| {
            black_box((row.text(1)?, row.values[2]));
            last = Some(row.integer(0)?);
            Ok(())
        })
        .await?;
        let last = last.ok_or_else(|| missing("oorder of customer", &key))?;

        let ask = &mut statements.lines;
        ask.bind(&mut asker.cells).integers(&[home.0, home.1, last]);
        let answer = ask
            .fetch(asker, ALL, |row| {
                black_box((row.integer(0)?, row.integer(1)?, row.integer(2)?));
                black_box((row.decimal(3, CENTS)?, row.values[4]));
                Ok(())
            })
            .await?;
        if answer.rows == 0 {
            return Err(missing("order_line", &[home.0, home.1, last]).into());
        }
        bounds.roll_back(asker).await
    }

    /// The number of a customer; of those of the same last name, by first names, the one in the middle: of n, at ⌈n/2⌉.
    pub(super) async fn customer(&mut self, home: (i64, i64), customer: Customer) -> Result<i64, Trouble> {
        let name = match customer {
            Customer::Number(number) => return Ok(number.into()),
            Customer::LastName(name) => name,
        };
        let Self {
            asker,
            statements,
            namesakes,
            ..
        } = self;
        namesakes.clear();
        let ask = &mut statements.by_last_name;
        let is_sorted = ask.columns() == 1;
        ask.bind(&mut asker.cells)
            .integer(home.0)
            .integer(home.1)
            .text(name.as_bytes());
        ask.fetch(asker, ALL, |row| {
            let number = row.integer(0)?;
            namesakes.push(match is_sorted {
                true => (Box::default(), number),
                false => (row.text(1)?.into(), number),
            });
            Ok(())
        })
        .await?;
        if !is_sorted {
            namesakes.sort_unstable();
        }
        let middle = namesakes.len().div_ceil(2).checked_sub(1);
        let found = middle.and_then(|middle| namesakes.get(middle));
        let (_, number) = found.ok_or_else(|| {
            let name = String::from_utf8_lossy(name.as_bytes()).into_owned();
            missing(&format!("customer {name} of"), &[home.0, home.1])
        })?;
        Ok(*number)
    }
}

impl<S: SqlSession> Session<S> {
    pub(super) async fn stock_level(&mut self, level: &StockLevel) -> Result<(), Trouble> {
        let Self {
            asker,
            statements,
            bounds,
            ..
        } = self;
        let [warehouse, district] = [level.warehouse, level.district].map(i64::from);
        bounds.begin_read_committed(asker).await?;
        let ask = &mut statements.low_stock;
        ask.bind(&mut asker.cells)
            .integer(warehouse)
            .integer(district)
            .integer(level.threshold.into());
        let answer = ask
            .fetch(asker, ALL, |row| {
                black_box(row.integer(0)?);
                Ok(())
            })
            .await?;
        if answer.rows != 1 {
            return Err(missing("count of stock", &[warehouse, district]).into());
        }
        bounds.roll_back(asker).await
    }
}
