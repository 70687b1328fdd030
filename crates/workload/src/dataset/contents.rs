//! Which tables a data set has.

use std::time::Duration;

use ciphertax_model::{Dataset, YcsbTable};

/// Changes with what the `oltp` tables hold, so that nothing of another version is taken for right.
const SBTEST_CONTENT: &str = "content 2";
/// The same for YCSB's table.
const USERTABLE_CONTENT: &str = "content 1";

/// Which tables a data set has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// The tables of the `oltp` workloads, and with them that of the bulk workloads.
    pub sbtest: Option<Dataset>,
    /// YCSB's table.
    pub usertable: Option<YcsbTable>,
}

impl Contents {
    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        let records = |table: YcsbTable| table.record_count.into();
        self.sbtest.map_or(0, |dataset| dataset.rows()) + self.usertable.map_or(0, records)
    }

    /// How long it may take to make, on a slow server.
    pub fn patience(&self) -> Duration {
        const PER_ROW: Duration = Duration::from_millis(2);
        let rows = self.rows().try_into().unwrap_or(u32::MAX);
        Duration::from_secs(60) + PER_ROW * rows
    }

    /// What it holds, in words; how it is loaded makes no difference.
    pub(crate) fn description(&self) -> String {
        let sbtest = self.sbtest.map(|dataset| format!("{dataset}, {SBTEST_CONTENT}"));
        let usertable = self.usertable.map(|table| {
            let YcsbTable {
                record_count,
                field_count,
                field_length,
                ..
            } = table;
            format!(
                "usertable of {record_count} records of {field_count} fields of {field_length} bytes, \
                 {USERTABLE_CONTENT}"
            )
        });
        let parts: Vec<String> = sbtest.into_iter().chain(usertable).collect();
        parts.join("; ")
    }
}

/// The tables of the `oltp` and bulk workloads alone.
impl From<Dataset> for Contents {
    fn from(dataset: Dataset) -> Self {
        Self {
            sbtest: Some(dataset),
            usertable: None,
        }
    }
}

/// YCSB's table alone.
impl From<YcsbTable> for Contents {
    fn from(table: YcsbTable) -> Self {
        Self {
            sbtest: None,
            usertable: Some(table),
        }
    }
}
