//! The statements of the five transactions, in BenchmarkSQL's shape: the same selects and writes in the same order, and as many
//! round trips.

use ciphertax_model::StatementKind;
use ciphertax_wire::WireError;

use super::ask::{Ask, Asker};
use super::inputs::MOST_LINES;
use super::template::{self, Column, Text};
use crate::dataset::tpcc::TableNames;
use crate::sql::session::{SqlSession, Trouble};

/// Where statements are asked, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) names: TableNames,
    pub(super) kind: StatementKind,
}

/// The statements of a session.
pub(super) struct Statements<S: SqlSession> {
    pub(super) buyer: Ask<S>,
    pub(super) next_order: Ask<S>,
    pub(super) count_order: Ask<S>,
    pub(super) insert_order: Ask<S>,
    pub(super) insert_new_order: Ask<S>,
    pub(super) update_stock: Ask<S>,
    pub(super) pay_district: Ask<S>,
    pub(super) district: Ask<S>,
    pub(super) pay_warehouse: Ask<S>,
    pub(super) warehouse: Ask<S>,
    pub(super) payer: Ask<S>,
    pub(super) payer_data: Ask<S>,
    pub(super) pay: Ask<S>,
    pub(super) pay_with_data: Ask<S>,
    pub(super) insert_history: Ask<S>,
    pub(super) inquirer: Ask<S>,
    pub(super) last_order: Ask<S>,
    pub(super) lines: Ask<S>,
    pub(super) oldest: Ask<S>,
    pub(super) bill: Ask<S>,
    pub(super) low_stock: Ask<S>,
    pub(super) by_last_name: Ask<S>,
    pub(super) items: Many<S>,
    pub(super) stock: Many<S>,
    pub(super) insert_lines: Many<S>,
    pub(super) delete_oldest: Many<S>,
    pub(super) buyers: Many<S>,
    pub(super) carry: Many<S>,
    pub(super) deliver: Many<S>,
    pub(super) amounts: Many<S>,
}

impl<S: SqlSession> Statements<S> {
    /// Prepares those that are about one row; the others follow when they are needed.
    pub(super) async fn open(asker: &mut Asker<S>, style: Style) -> Result<Self, WireError> {
        let by_last_name = match asker.cells.are_stored(Column::of("c_first")) {
            true => template::BY_LAST_NAME_UNSORTED,
            false => template::BY_LAST_NAME,
        };
        Ok(Self {
            buyer: one(asker, style, template::BUYER).await?,
            next_order: one(asker, style, template::NEXT_ORDER).await?,
            count_order: one(asker, style, template::COUNT_ORDER).await?,
            insert_order: one(asker, style, template::INSERT_ORDER).await?,
            insert_new_order: one(asker, style, template::INSERT_NEW_ORDER).await?,
            update_stock: one(asker, style, template::UPDATE_STOCK).await?,
            pay_district: one(asker, style, template::PAY_DISTRICT).await?,
            district: one(asker, style, template::DISTRICT).await?,
            pay_warehouse: one(asker, style, template::PAY_WAREHOUSE).await?,
            warehouse: one(asker, style, template::WAREHOUSE).await?,
            payer: one(asker, style, template::PAYER).await?,
            payer_data: one(asker, style, template::PAYER_DATA).await?,
            pay: one(asker, style, template::PAY).await?,
            pay_with_data: one(asker, style, template::PAY_WITH_DATA).await?,
            insert_history: one(asker, style, template::INSERT_HISTORY).await?,
            inquirer: one(asker, style, template::INQUIRER).await?,
            last_order: one(asker, style, template::LAST_ORDER).await?,
            lines: one(asker, style, template::LINES).await?,
            oldest: one(asker, style, template::OLDEST).await?,
            bill: one(asker, style, template::BILL).await?,
            low_stock: one(asker, style, template::LOW_STOCK).await?,
            by_last_name: one(asker, style, by_last_name).await?,
            items: Many::new(style, template::ITEMS),
            stock: Many::new(style, template::STOCK),
            insert_lines: Many::new(style, template::INSERT_LINES),
            delete_oldest: Many::new(style, template::DELETE_OLDEST),
            buyers: Many::new(style, template::BUYERS),
            carry: Many::new(style, template::CARRY),
            deliver: Many::new(style, template::DELIVER),
            amounts: Many::new(style, template::AMOUNTS),
        })
    }
}

async fn one<S: SqlSession>(
    asker: &mut Asker<S>,
    style: Style,
    template: &'static str,
) -> Result<Ask<S>, WireError> {
    let text = Text::of(template, 1, style.names, &S::DIALECT);
    Ask::open(asker, text, style.kind).await
}

/// A statement about several rows, which is another for each number of them.
pub(super) struct Many<S: SqlSession> {
    style: Style,
    template: &'static str,
    /// By the number of rows; each is prepared when it is needed first.
    asks: [Option<Ask<S>>; MOST_LINES + 1],
}

impl<S: SqlSession> Many<S> {
    fn new(style: Style, template: &'static str) -> Self {
        Self {
            style,
            template,
            asks: std::array::from_fn(|_| None),
        }
    }

    /// The statement about so many rows.
    pub(super) async fn of(&mut self, asker: &mut Asker<S>, rows: usize) -> Result<&mut Ask<S>, Trouble> {
        let ask = &mut self.asks[rows];
        if ask.is_none() {
            let text = Text::of(self.template, rows, self.style.names, &S::DIALECT);
            let opened = Ask::open(asker, text, self.style.kind).await;
            *ask = Some(opened.map_err(Trouble::of::<S>)?);
        }
        // It was just put there.
        ask.as_mut().ok_or(Trouble::Restart)
    }
}
