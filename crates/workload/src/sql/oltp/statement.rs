//! Which statements a scenario has, in sysbench's order, their values and what they must answer.

use ciphertax_engine::Result;
use rand_pcg::Pcg64Mcg;

use crate::sql::distribution::Picker;
use crate::sql::insert::{C_LENGTH, PAD_LENGTH, fill_groups};
use crate::sql::session::{Parameter, ResultSummary, Statement, Tables};

/// Point selects of a transaction (`--point-selects`).
const POINT_SELECTS: u32 = 10;
/// Rows of a range (`--range-size`).
const RANGE_SIZE: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    UpdateIndex,
    UpdateNonIndex,
    Delete,
    Insert,
}

impl Kind {
    pub(super) fn sql(self, table: u32) -> String {
        let table = format!("sbtest{table}");
        match self {
            Self::PointSelect => format!("SELECT c FROM {table} WHERE id=?"),
            Self::SimpleRange => format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ?"),
            Self::SumRange => format!("SELECT SUM(k) FROM {table} WHERE id BETWEEN ? AND ?"),
            Self::OrderRange => format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c"),
            Self::DistinctRange => {
                format!("SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            Self::UpdateIndex => format!("UPDATE {table} SET k=k+1 WHERE id=?"),
            Self::UpdateNonIndex => format!("UPDATE {table} SET c=? WHERE id=?"),
            Self::Delete => format!("DELETE FROM {table} WHERE id=?"),
            Self::Insert => format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }

    pub(super) fn parameters(self) -> &'static [Parameter] {
        use Parameter::{Integer, Text};
        match self {
            Self::PointSelect | Self::UpdateIndex | Self::Delete => &[Integer],
            Self::SimpleRange | Self::SumRange | Self::OrderRange | Self::DistinctRange => {
                &[Integer, Integer]
            }
            Self::UpdateNonIndex => &[Text(C_LENGTH), Integer],
            Self::Insert => &[Integer, Integer, Text(C_LENGTH), Text(PAD_LENGTH)],
        }
    }

    /// How often it is executed in a transaction.
    pub(super) fn times(self) -> u32 {
        if self == Self::PointSelect {
            POINT_SELECTS
        } else {
            1
        }
    }

    /// Sets the values for the row `id`, or the range that begins there.
    pub(super) fn bind(self, statement: &mut impl Statement, id: u32, ids: &Picker, random: &mut Pcg64Mcg) {
        match self {
            Self::PointSelect | Self::UpdateIndex | Self::Delete => statement.set_integer(0, id.into()),
            Self::SimpleRange | Self::SumRange | Self::OrderRange | Self::DistinctRange => {
                statement.set_integer(0, id.into());
                statement.set_integer(1, (id + RANGE_SIZE - 1).into());
            }
            Self::UpdateNonIndex => {
                fill_groups(statement.text_mut(0), random);
                statement.set_integer(1, id.into());
            }
            Self::Insert => {
                statement.set_integer(0, id.into());
                statement.set_integer(1, ids.pick(random).into());
                fill_groups(statement.text_mut(2), random);
                fill_groups(statement.text_mut(3), random);
            }
        }
    }

    /// Makes sure that the selects gave the rows that must be there. What a write finds depends on the writes of
    /// others.
    pub(super) fn check(self, tables: &Tables, id: u32, answer: ResultSummary) -> Result<()> {
        match self {
            Self::PointSelect => tables.check(id, 1, answer.rows),
            Self::SimpleRange | Self::OrderRange | Self::DistinctRange => {
                tables.check(id, RANGE_SIZE, answer.rows)
            }
            Self::SumRange | Self::UpdateIndex | Self::UpdateNonIndex | Self::Delete | Self::Insert => Ok(()),
        }
    }
}

/// A scenario of prepared statements, by sysbench's name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// `oltp_delete`
    Delete,
    /// `oltp_read_only`
    ReadOnly,
    /// `oltp_read_write`
    ReadWrite,
    /// `oltp_update_index`
    UpdateIndex,
    /// `oltp_update_non_index`
    UpdateNonIndex,
    /// `oltp_write_only`
    WriteOnly,
}

impl Scenario {
    /// The statements of an operation, in their order.
    pub(super) fn statements(self) -> &'static [Kind] {
        const READS: usize = 5;
        const ALL: [Kind; 9] = [
            Kind::PointSelect,
            Kind::SimpleRange,
            Kind::SumRange,
            Kind::OrderRange,
            Kind::DistinctRange,
            Kind::UpdateIndex,
            Kind::UpdateNonIndex,
            Kind::Delete,
            Kind::Insert,
        ];
        match self {
            Self::Delete => &[Kind::Delete],
            Self::ReadOnly => ALL.split_at(READS).0,
            Self::ReadWrite => &ALL,
            Self::UpdateIndex => &[Kind::UpdateIndex],
            Self::UpdateNonIndex => &[Kind::UpdateNonIndex],
            Self::WriteOnly => ALL.split_at(READS).1,
        }
    }

    pub(super) fn writes(self) -> bool {
        self != Self::ReadOnly
    }

    /// Statements that a connection has prepared, with the two around a transaction.
    pub(crate) fn statements_of_connection(self, tables: u64) -> u64 {
        let bounds = if self.is_transaction() { 2 } else { 0 };
        bounds + tables * self.statements().len() as u64
    }

    /// True if BEGIN and COMMIT are around the statements.
    pub(super) fn is_transaction(self) -> bool {
        matches!(self, Self::ReadOnly | Self::ReadWrite | Self::WriteOnly)
    }
}
