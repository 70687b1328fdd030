//! What a run counted, which its tables must show.

/// When tables are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before anything was asked of them.
    AfterLoad,
    /// After transactions, with what they counted since the load. `None` where not all of that is known, as of tables that another
    /// run has left: then nothing is asked that rests on it.
    AfterRun(Option<Counted>),
}

/// What a run counted of one set of tables, in all its slices since the load, those that no sample is made of too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// New-orders that were committed.
    pub new_orders: u64,
    /// New-orders that were rolled back because of an unused item (clause 2.4.1.4).
    pub rolled_back: u64,
    /// Payments that were committed.
    pub payments: u64,
    /// Orders that were delivered; a delivery delivers one in each district that has any.
    pub deliveries: u64,
    /// Transactions that write whose end nobody saw: the tables may show them or not.
    pub undecided: u64,
    /// How often each list of transactions was played against these tables: 1, or the number of arms that share them where a
    /// slice is a batch with one list for all arms. What was drawn once then shows so often.
    pub repeats: u32,
}

/// Of tables that nobody has asked anything yet.
impl Default for Counted {
    fn default() -> Self {
        Self {
            new_orders: 0,
            rolled_back: 0,
            payments: 0,
            deliveries: 0,
            undecided: 0,
            repeats: 1,
        }
    }
}

/// The share of new-orders that are rolled back (clause 2.4.1.4).
pub(super) const ROLLED_BACK: f64 = 0.01;
/// The share of lines from another warehouse, where there is one (clause 2.4.1.5).
pub(super) const REMOTE_LINES: f64 = 0.01;
/// The share of payments by customers of another warehouse, where there is one (clause 2.5.1.2).
pub(super) const REMOTE_PAYMENTS: f64 = 0.15;
