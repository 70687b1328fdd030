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
        let key = [home.0, home.1, customer];
        let mut ask = self.statements.inquirer.bind(&mut self.asker);
        let asked = ask.integers(&key).fetch_one("customer", &key, |row| {
            black_box((row.text(0)?, row.text(1)?, row.text(2)?, row.decimal(3, CENTS)?));
            Ok(())
        });
        asked.await?;

        let mut ask = self.statements.last_order.bind(&mut self.asker);
        let last = ask.integers(&key).fetch_one("oorder of customer", &key, |row| {
            black_box((row.text(1)?, row.values[2]));
            row.integer(0)
        });
        let key = [home.0, home.1, last.await?];

        let mut ask = self.statements.lines.bind(&mut self.asker);
        let lines = ask.integers(&key).fetch(ALL, |row| {
            black_box((row.integer(0)?, row.integer(1)?, row.integer(2)?));
            black_box((row.decimal(3, CENTS)?, row.values[4]));
            Ok(())
        });
        if lines.await?.rows == 0 {
            return Err(missing("order_line", &key).into());
        }
        self.bounds.roll_back(&mut self.asker).await
    }

    /// The number of a customer; of those of the same last name, by first names, the one in the middle: of n, at ⌈n/2⌉.
    pub(super) async fn customer(&mut self, home: (i64, i64), customer: Customer) -> Result<i64, Trouble> {
        let name = match customer {
            Customer::Number(number) => return Ok(number.into()),
            Customer::LastName(name) => name,
        };
        let Self { namesakes, .. } = self;
        namesakes.clear();
        let is_sorted = self.statements.by_last_name.columns() == 1;
        let mut ask = self.statements.by_last_name.bind(&mut self.asker);
        ask.integers(&[home.0, home.1]).text(name.as_bytes());
        ask.fetch(ALL, |row| {
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

    pub(super) async fn stock_level(&mut self, level: &StockLevel) -> Result<(), Trouble> {
        let key = [level.warehouse, level.district].map(i64::from);
        self.bounds.begin_read_committed(&mut self.asker).await?;
        let mut ask = self.statements.low_stock.bind(&mut self.asker);
        ask.integers(&key).integer(level.threshold.into());
        let counted = ask.fetch_one("count of stock", &key, |row| row.integer(0));
        black_box(counted.await?);
        self.bounds.roll_back(&mut self.asker).await
    }
}
