//! What a session may be in the midst of.

/// A state of a session, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::why) enum State {
    OnCpu,
    Runnable,
    LogFlush,
    DeviceReads,
    DeviceWrites,
    RowLocks,
    MetadataLocks,
    TableLocks,
    Latches,
    Tickets,
    Replication,
    NetSend,
    Sleep,
    Other,
    Network,
}

impl State {
    /// As records and reports have it.
    pub(in crate::why) fn name(self) -> &'static str {
        match self {
            Self::OnCpu => "on CPU",
            Self::Runnable => "runnable",
            Self::LogFlush => "log flush",
            Self::DeviceReads => "device reads",
            Self::DeviceWrites => "device writes",
            Self::RowLocks => "row locks",
            Self::MetadataLocks => "metadata locks",
            Self::TableLocks => "table locks",
            Self::Latches => "latches",
            Self::Tickets => "tickets",
            Self::Replication => "replication",
            Self::NetSend => "net send",
            Self::Sleep => "sleep",
            Self::Other => "other",
            Self::Network => "network and client",
        }
    }

    /// True where another session has what is waited for.
    pub(in crate::why) fn is_lock(self) -> bool {
        matches!(
            self,
            Self::RowLocks | Self::MetadataLocks | Self::TableLocks | Self::Latches | Self::Tickets
        )
    }
}
