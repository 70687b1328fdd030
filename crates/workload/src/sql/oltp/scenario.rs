//! Which statements a scenario has, in sysbench's order.

use super::statement::Kind;

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

    /// True if any of the statements writes.
    pub(super) fn writes(self) -> bool {
        self != Self::ReadOnly
    }

    /// True if BEGIN and COMMIT are around the statements.
    pub(super) fn is_transaction(self) -> bool {
        matches!(self, Self::ReadOnly | Self::ReadWrite | Self::WriteOnly)
    }
}
