//! Payment (clause 2.5): adds to the balances of a warehouse, a district and a customer, and keeps a history.

use std::hint::black_box;

use super::columns::ALL;
use super::inputs::Payment;
use super::terminal::{Session, expect_rows, missing};
use super::values::{CENTS, Digits, RATE};
use crate::sql::session::{SqlSession, Trouble};

/// The most characters of what is known about a customer.
const MOST_DATA: usize = 500;
/// The credit of customers about whom payments are noted.
const BAD_CREDIT: &[u8] = b"BC";
/// Between the names of warehouse and district in a history.
const BETWEEN_NAMES: &[u8] = b"    ";

/// A text in the making.
struct Buffer<const MOST: usize> {
    bytes: [u8; MOST],
    length: usize,
}

impl<const MOST: usize> Buffer<MOST> {
    fn new() -> Self {
        Self {
            bytes: [0; MOST],
            length: 0,
        }
    }

    /// Appends what there is room for.
    fn push(&mut self, text: &[u8]) {
        let room = &mut self.bytes[self.length..];
        let taken = text.len().min(room.len());
        room[..taken].copy_from_slice(&text[..taken]);
        self.length += taken;
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl<S: SqlSession> Session<S> {
    pub(super) async fn payment(&mut self, payment: &Payment) -> Result<(), Trouble> {
        let [warehouse, district] = [payment.warehouse, payment.district].map(i64::from);
        let home = (i64::from(payment.home.0), i64::from(payment.home.1));
        let amount = payment.amount;
        // Two names of ten characters and what is between them.
        let mut names = Buffer::<24>::new();

        self.bounds.begin(&mut self.asker).await?;
        let Self {
            asker, statements, ..
        } = self;
        let ask = &mut statements.pay_district;
        ask.bind(&mut asker.cells)
            .cents(amount)
            .integer(warehouse)
            .integer(district);
        expect_rows("district", &[warehouse, district], 1, ask.send(asker).await?)?;
        let mut district_name = Buffer::<10>::new();
        let ask = &mut statements.district;
        ask.bind(&mut asker.cells).integer(warehouse).integer(district);
        let answer = ask
            .fetch(asker, ALL, |row| {
                district_name.push(row.text(0)?);
                for column in 1..=5 {
                    black_box(row.text(column)?);
                }
                Ok(())
            })
            .await?;
        if answer.rows != 1 {
            return Err(missing("district", &[warehouse, district]).into());
        }

        let ask = &mut statements.pay_warehouse;
        ask.bind(&mut asker.cells).cents(amount).integer(warehouse);
        expect_rows("warehouse", &[warehouse], 1, ask.send(asker).await?)?;
        let ask = &mut statements.warehouse;
        ask.bind(&mut asker.cells).integer(warehouse);
        let answer = ask
            .fetch(asker, ALL, |row| {
                names.push(row.text(0)?);
                for column in 1..=5 {
                    black_box(row.text(column)?);
                }
                Ok(())
            })
            .await?;
        if answer.rows != 1 {
            return Err(missing("warehouse", &[warehouse]).into());
        }
        names.push(BETWEEN_NAMES);
        names.push(district_name.as_bytes());

        let customer = self.customer(home, payment.customer).await?;
        let Self {
            asker,
            statements,
            bounds,
            clock,
            ..
        } = self;
        let key = [home.0, home.1, customer];
        let mut has_bad_credit = None;
        let ask = &mut statements.payer;
        ask.bind(&mut asker.cells).integers(&key);
        ask.fetch(asker, ALL, |row| {
            for column in 0..=8 {
                black_box(row.text(column)?);
            }
            has_bad_credit = Some(row.text(10)? == BAD_CREDIT);
            black_box(row.values[9]);
            black_box((
                row.decimal(11, CENTS)?,
                row.decimal(12, RATE)?,
                row.decimal(13, CENTS)?,
            ));
            Ok(())
        })
        .await?;
        let has_bad_credit = has_bad_credit.ok_or_else(|| missing("customer", &key))?;

        let paid = if has_bad_credit {
            let mut data = Buffer::<MOST_DATA>::new();
            for number in [customer, home.1, home.0, district, warehouse] {
                data.push(Digits::of_integer(number).as_bytes());
                data.push(b" ");
            }
            data.push(Digits::of_cents(amount).as_bytes());
            data.push(b" | ");
            let ask = &mut statements.payer_data;
            ask.bind(&mut asker.cells).integers(&key);
            let answer = ask
                .fetch(asker, ALL, |row| {
                    data.push(row.text(0)?);
                    Ok(())
                })
                .await?;
            if answer.rows != 1 {
                return Err(missing("customer", &key).into());
            }
            let ask = &mut statements.pay_with_data;
            ask.bind(&mut asker.cells)
                .cents(amount)
                .cents(amount)
                .text(data.as_bytes())
                .integers(&key);
            ask.send(asker).await?
        } else {
            let ask = &mut statements.pay;
            ask.bind(&mut asker.cells)
                .cents(amount)
                .cents(amount)
                .integers(&key);
            ask.send(asker).await?
        };
        expect_rows("customer", &key, 1, paid)?;

        let ask = &mut statements.insert_history;
        ask.bind(&mut asker.cells)
            .integer(customer)
            .integer(home.1)
            .integer(home.0)
            .integer(district)
            .integer(warehouse)
            .text(&clock.now())
            .cents(amount)
            .text(names.as_bytes());
        expect_rows("history of customer", &key, 1, ask.send(asker).await?)?;
        bounds.commit(asker).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_about_a_customer_is_cut_off_where_it_gets_too_long() {
        let mut data = Buffer::<5>::new();
        data.push(b"abc");
        data.push(b"defg");
        data.push(b"h");
        assert_eq!(data.as_bytes(), b"abcde");
    }
}
