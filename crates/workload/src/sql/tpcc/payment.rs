//! Payment (clause 2.5): adds to the balances of a warehouse, a district and a customer, and keeps a history.

use std::hint::black_box;

use super::inputs::Payment;
use super::terminal::Session;
use super::values::{CENTS, RATE};
use crate::digits::Digits;
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

        self.bounds.begin(&mut self.asker).await?;
        let key = [warehouse, district];
        let mut ask = self.statements.pay_district.bind(&mut self.asker);
        ask.cents(amount)
            .integers(&key)
            .write("district", &key, 1)
            .await?;
        let mut ask = self.statements.district.bind(&mut self.asker);
        let named = ask.integers(&key).fetch_one("district", &key, |row| {
            let mut name = Buffer::<10>::new();
            name.push(row.text(0)?);
            for column in 1..=5 {
                black_box(row.text(column)?);
            }
            Ok(name)
        });
        let district_name = named.await?;

        let key = [warehouse];
        let mut ask = self.statements.pay_warehouse.bind(&mut self.asker);
        ask.cents(amount)
            .integers(&key)
            .write("warehouse", &key, 1)
            .await?;
        let mut ask = self.statements.warehouse.bind(&mut self.asker);
        let named = ask.integers(&key).fetch_one("warehouse", &key, |row| {
            // Two names of ten characters and what is between them.
            let mut names = Buffer::<24>::new();
            names.push(row.text(0)?);
            for column in 1..=5 {
                black_box(row.text(column)?);
            }
            Ok(names)
        });
        let mut names = named.await?;
        names.push(BETWEEN_NAMES);
        names.push(district_name.as_bytes());

        let customer = self.customer(home, payment.customer).await?;
        let key = [home.0, home.1, customer];
        let mut ask = self.statements.payer.bind(&mut self.asker);
        let payer = ask.integers(&key).fetch_one("customer", &key, |row| {
            for column in 0..=8 {
                black_box(row.text(column)?);
            }
            black_box(row.values[9]);
            black_box((
                row.decimal(11, CENTS)?,
                row.decimal(12, RATE)?,
                row.decimal(13, CENTS)?,
            ));
            Ok(row.text(10)? == BAD_CREDIT)
        });
        let has_bad_credit = payer.await?;

        if has_bad_credit {
            let mut ask = self.statements.payer_data.bind(&mut self.asker);
            let noted = ask.integers(&key).fetch_one("customer", &key, |row| {
                let mut data = Buffer::<MOST_DATA>::new();
                for number in [customer, home.1, home.0, district, warehouse] {
                    data.push(Digits::signed(number, 0).as_bytes());
                    data.push(b" ");
                }
                data.push(Digits::signed(amount, CENTS).as_bytes());
                data.push(b" | ");
                data.push(row.text(0)?);
                Ok(data)
            });
            let data = noted.await?;
            let mut ask = self.statements.pay_with_data.bind(&mut self.asker);
            ask.cents(amount).cents(amount).text(data.as_bytes());
            ask.integers(&key).write("customer", &key, 1).await?;
        } else {
            let mut ask = self.statements.pay.bind(&mut self.asker);
            ask.cents(amount).cents(amount);
            ask.integers(&key).write("customer", &key, 1).await?;
        }

        let mut ask = self.statements.insert_history.bind(&mut self.asker);
        ask.integers(&[customer, home.1, home.0, district, warehouse])
            .text(&self.clock.now())
            .cents(amount)
            .text(names.as_bytes());
        ask.write("history of customer", &key, 1).await?;
        self.bounds.commit(&mut self.asker).await
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
