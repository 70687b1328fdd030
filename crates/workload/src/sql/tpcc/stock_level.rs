//! Stock-level (clause 2.8): how many items of a district's last 20 orders run out.

use std::hint::black_box;

use super::columns::ALL;
use super::inputs::StockLevel;
use super::terminal::{Session, missing};
use crate::sql::session::{SqlSession, Trouble};

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
