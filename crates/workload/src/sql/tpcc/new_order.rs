//! New-order (clause 2.4): an order of 5 to 15 lines, whose items are taken from stock.

use std::hint::black_box;

use ciphertax_engine::{Failure, Result};

use super::columns::ALL;
use super::inputs::{Line, MOST_LINES, NewOrder};
use super::terminal::{Session, missing};
use super::values::{CENTS, RATE, is_original};
use crate::sql::session::{SqlSession, Trouble};

/// The longest text about a district that stock has; it goes into the line.
const DIST_INFO: usize = 24;
/// Where the columns of stock begin that are about districts.
const FIRST_DISTRICT: usize = 4;
/// What stock is filled up with when it runs out (clause 2.4.2.2).
const REFILL: i64 = 91;
/// What must be left of it otherwise.
const LEAST_LEFT: i64 = 10;

/// What is known of a line.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Hundredths; `None` until the item was found.
    price: Option<i64>,
    is_original: bool,
    /// `None` until the stock was found.
    quantity: Option<i64>,
    info: [u8; DIST_INFO],
    info_length: usize,
}

impl<S: SqlSession> Session<S> {
    pub(super) async fn new_order(&mut self, order: &NewOrder) -> Result<(), Trouble> {
        let [warehouse, district, customer] =
            [order.warehouse, order.district, order.customer].map(i64::from);
        let lines = order.known_lines();
        let mut known = [Known::default(); MOST_LINES];
        let known = &mut known[..lines.len()];

        self.bounds.begin(&mut self.asker).await?;
        let key = [warehouse, district, customer];
        let mut ask = self.statements.buyer.bind(&mut self.asker);
        let buyer = ask.integers(&key).fetch_one("customer", &key, |row| {
            black_box((row.text(1)?, row.text(2)?));
            Ok((row.decimal(0, RATE)?, row.decimal(3, RATE)?))
        });
        let (discount, tax) = buyer.await?;

        let key = [warehouse, district];
        let mut ask = self.statements.next_order.bind(&mut self.asker);
        let next = ask.integers(&key).fetch_one("district", &key, |row| {
            Ok((row.decimal(0, RATE)?, row.integer(1)?))
        });
        let (district_tax, number) = next.await?;
        let mut ask = self.statements.count_order.bind(&mut self.asker);
        ask.integers(&key).write("district", &key, 1).await?;

        let key = [warehouse, district, number];
        let mut ask = self.statements.insert_order.bind(&mut self.asker);
        ask.integers(&[number, district, warehouse, customer])
            .text(&self.clock.now())
            .integers(&[order.lines().len() as i64, order.is_local().into()]);
        ask.write("oorder", &key, 1).await?;
        let mut ask = self.statements.insert_new_order.bind(&mut self.asker);
        ask.integers(&[number, district, warehouse]);
        ask.write("new_order", &key, 1).await?;

        let count = order.lines().len();
        let mut ask = self.statements.items.bind(&mut self.asker, count).await?;
        for line in order.lines() {
            ask.integer(line.item.into());
        }
        ask.fetch(ALL, |row| {
            let item = row.integer(0)?;
            let price = row.decimal(1, CENTS)?;
            black_box(row.text(2)?);
            let is_original = is_original(row.text(3)?);
            for (line, known) in lines.iter().zip(&mut *known) {
                if i64::from(line.item) == item {
                    known.price = Some(price);
                    known.is_original = is_original;
                }
            }
            Ok(())
        })
        .await?;
        if let Some((line, _)) = lines.iter().zip(&*known).find(|(_, known)| known.price.is_none()) {
            return Err(missing("item", &[line.item.into()]).into());
        }

        let mut ask = self.statements.stock.bind(&mut self.asker, lines.len()).await?;
        for line in lines {
            ask.integers(&[line.supplier.into(), line.item.into()]);
        }
        let info = FIRST_DISTRICT + order.district as usize - 1;
        let read = ((1 << FIRST_DISTRICT) - 1) | (1 << info);
        ask.fetch(read, |row| {
            let (item, supplier) = (row.integer(0)?, row.integer(1)?);
            let quantity = row.integer(2)?;
            let is_original = is_original(row.text(3)?);
            let info = row.text(info)?;
            for (line, known) in lines.iter().zip(&mut *known) {
                if (i64::from(line.item), i64::from(line.supplier)) == (item, supplier) {
                    known.take(quantity, is_original, info)?;
                }
            }
            Ok(())
        })
        .await?;

        let mut total: i64 = 0;
        // Of an item that is on two lines, the second takes what the first has left.
        let mut before: Option<(Line, i64)> = None;
        for (line, known) in lines.iter().zip(&mut *known) {
            let key = [line.supplier.into(), line.item.into()];
            let quantity = line.quantity.into();
            let there = match before {
                Some((before, left)) if (before.supplier, before.item) == (line.supplier, line.item) => left,
                _ => known.quantity.ok_or_else(|| missing("stock", &key))?,
            };
            let left = left_in_stock(there, quantity);
            before = Some((*line, left));
            total += known.amount(quantity)?;
            let is_remote = line.supplier != order.warehouse;
            let mut ask = self.statements.update_stock.bind(&mut self.asker);
            ask.integers(&[left, quantity, is_remote.into()]).integers(&key);
            ask.write("stock", &key, 1).await?;
        }

        let inserts = &mut self.statements.insert_lines;
        let mut ask = inserts.bind(&mut self.asker, lines.len()).await?;
        for ((line, known), place) in lines.iter().zip(&*known).zip(1..) {
            let quantity = line.quantity.into();
            ask.integers(&[number, district, warehouse, place])
                .integers(&[line.item.into(), line.supplier.into(), quantity])
                .cents(known.amount(quantity)?)
                .text(&known.info[..known.info_length]);
        }
        ask.write("order_line", &key, lines.len() as u64).await?;

        let brands = known.iter().filter(|known| known.is_original).count();
        black_box((brands, with_taxes(total, discount, tax + district_tax)));
        match order.is_rolled_back() {
            true => self.bounds.roll_back(&mut self.asker).await,
            false => self.bounds.commit(&mut self.asker).await,
        }
    }
}

impl Known {
    fn take(&mut self, quantity: i64, is_original: bool, info: &[u8]) -> Result<()> {
        let room = self.info.get_mut(..info.len()).ok_or_else(|| {
            let length = info.len();
            Failure::Error(format!(
                "stock.s_dist has {length} characters: was the table changed?"
            ))
        })?;
        room.copy_from_slice(info);
        self.info_length = info.len();
        self.quantity = Some(quantity);
        self.is_original &= is_original;
        Ok(())
    }

    /// Hundredths.
    fn amount(&self, quantity: i64) -> Result<i64> {
        let price = self.price.unwrap_or_default();
        price
            .checked_mul(quantity)
            .ok_or_else(|| Failure::Error("item.i_price is too large: was the table changed?".to_owned()))
    }
}

fn left_in_stock(there: i64, quantity: i64) -> i64 {
    let left = there.saturating_sub(quantity);
    if left >= LEAST_LEFT {
        left
    } else {
        left.saturating_add(REFILL)
    }
}

/// What the customer pays, in hundredths, rounded: rates are counted in ten-thousandths.
fn with_taxes(total: i64, discount: i64, taxes: i64) -> i64 {
    const ONE: i128 = 10_000;
    let exact = i128::from(total) * (ONE - i128::from(discount)) * (ONE + i128::from(taxes));
    let rounded = (exact + ONE * ONE / 2) / (ONE * ONE);
    i64::try_from(rounded).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_filled_up_when_fewer_than_ten_would_be_left() {
        for (there, quantity, left) in [
            (100, 10, 90),
            (20, 10, 10),
            (19, 10, 100),
            (10, 1, 100),
            (15, 6, 100),
        ] {
            assert_eq!(left_in_stock(there, quantity), left, "{there} - {quantity}");
        }
    }

    #[test]
    fn tax_and_discount_are_in_the_total_alone() {
        // 100.00 less 10 %, plus 12.5 % and 7.5 %.
        assert_eq!(with_taxes(10_000, 1000, 1250 + 750), 10_800);
        assert_eq!(with_taxes(1, 5000, 0), 1);
        assert_eq!(with_taxes(i64::MAX, 0, 0), i64::MAX);
    }
}
