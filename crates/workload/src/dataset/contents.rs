//! Which tables a data set has.

use std::time::Duration;

use ciphertax_model::workload::{Tables, Vocabulary};
use ciphertax_model::{Dataset, Pgbench, Study, YcsbTable};

use crate::dataset::tpcc::TpccContents;
use crate::dataset::{mark, pgbench};
use crate::sql::{Columns, INSERT_TABLE, SBBULK_NAMES};
use crate::ycsb::{FieldEncryption, Table};

/// Changes with what the `oltp` tables hold, so that nothing of another version is taken for right.
const SBTEST_CONTENT: &str = "content 2";
/// The same for YCSB's table.
const USERTABLE_CONTENT: &str = "content 1";
/// The same for pgbench's tables.
const PGBENCH_CONTENT: &str = "content 1";

/// Which tables a data set has.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// The tables of the `oltp` workloads, and with them that of the bulk workloads.
    pub sbtest: Option<Dataset>,
    /// YCSB's table.
    pub usertable: Option<YcsbTable>,
    /// How the server encrypts the fields of YCSB's table; `None` for plain ones.
    pub columns: Option<Columns>,
    /// Which of these fields the client encrypts; `None` for plain ones.
    pub fields: Option<FieldEncryption>,
    /// pgbench's tables.
    pub pgbench: Option<Pgbench>,
    /// TPC-C's tables.
    pub tpcc: Option<TpccContents>,
}

impl Contents {
    /// No tables.
    pub const NONE: Self = Self {
        sbtest: None,
        usertable: None,
        columns: None,
        fields: None,
        pgbench: None,
        tpcc: None,
    };

    /// What the workloads of a study ask of a database whose client speaks these vocabularies. Over SQL, `sbtest` is
    /// made for all but YCSB's and pgbench's, whether or not they ask it: programs and workloads with tables of their own
    /// run beside it.
    pub fn of(study: &Study, spoken: &[Vocabulary]) -> Self {
        let has_sql = spoken.contains(&Vocabulary::Sql);
        let tables = || study.cells.iter().map(|cell| cell.workload.descriptor().tables);
        let has_others = |tables| matches!(tables, Some(Tables::Usertable | Tables::Pgbench | Tables::Tpcc));
        let is_sbtest = |tables| has_sql && !has_others(tables);
        let is_usertable = |tables| match tables {
            Some(Tables::Usertable) => true,
            Some(Tables::OfLookup | Tables::All) => !has_sql,
            Some(Tables::Sbtest | Tables::Bulk | Tables::Pgbench | Tables::Tpcc) | None => false,
        };
        let is_tpcc = |tables| has_sql && tables == Some(Tables::Tpcc);
        let is_pgbench = |tables| has_sql && tables == Some(Tables::Pgbench);
        Self {
            sbtest: tables().any(is_sbtest).then_some(study.dataset),
            usertable: tables().any(is_usertable).then_some(study.ycsb),
            columns: None,
            fields: None,
            pgbench: tables().any(is_pgbench).then_some(study.pgbench),
            tpcc: tables().any(is_tpcc).then(|| TpccContents::of(study)),
        }
    }

    /// The names of the tables, `sbtest#10` for ten that a number ends; of those that workloads make beside them too, and of the mark.
    pub(crate) fn names(&self) -> Vec<String> {
        let numbered = self.sbtest.map(|dataset| format!("sbtest#{}", dataset.tables));
        let sbtest = ["bulk", SBBULK_NAMES, INSERT_TABLE];
        let sbtest = sbtest.into_iter().filter(|_| self.sbtest.is_some());
        let usertable = [Table::Usertable, Table::Load].map(Table::name);
        let usertable = usertable.into_iter().filter(|_| self.usertable.is_some());
        let pgbench = pgbench::NAMES.into_iter().filter(|_| self.pgbench.is_some());
        let fixed = sbtest.chain(usertable).chain(pgbench).chain([mark::TABLE]);
        let tpcc = self.tpcc.iter().flat_map(TpccContents::names);
        numbered
            .into_iter()
            .chain(fixed.map(str::to_owned))
            .chain(tpcc)
            .collect()
    }

    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        let records = |table: YcsbTable| table.record_count.into();
        let of_pgbench = self.pgbench.map_or(0, |tables| tables.rows());
        let of_tpcc = self.tpcc.as_ref().map_or(0, TpccContents::rows);
        self.sbtest.map_or(0, |dataset| dataset.rows())
            + self.usertable.map_or(0, records)
            + of_pgbench
            + of_tpcc
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
            let columns = self.columns.map(|columns| format!(" by {}", columns.functions()));
            let fields = self.fields.as_ref();
            let fields = fields.map(|fields| format!(" in cells {}", fields.fingerprint()));
            format!(
                "usertable of {record_count} records of {field_count} fields of {field_length} bytes{}{}, \
                 {USERTABLE_CONTENT}",
                columns.unwrap_or_default(),
                fields.unwrap_or_default()
            )
        });
        let pgbench = self.pgbench.map(|tables| format!("{tables}, {PGBENCH_CONTENT}"));
        let tpcc = self.tpcc.as_ref().map(|tpcc| tpcc.description());
        let parts: Vec<String> = [sbtest, usertable, pgbench, tpcc].into_iter().flatten().collect();
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Access as _;
    use crate::mongodb::MongodbAccess;
    use crate::mysql::MysqlAccess;

    #[test]
    fn a_database_holds_what_its_workloads_ask_in_the_vocabularies_of_its_client() {
        for (workload, of_mysql, of_mongodb) in [
            ("oltp_point_select", [true, false, false], None),
            ("bulk_read", [true, false, false], None),
            ("connect_insert_count", [true, false, false], None),
            ("connect", [true, false, false], Some([false, true, false])),
            ("connect_only", [true, false, false], Some([false, false, false])),
            ("ycsb_a", [false, true, false], Some([false, true, false])),
            ("ycsb_load", [false, true, false], Some([false, true, false])),
            ("pgbench_tpcb_like", [false, false, true], None),
        ] {
            let text = format!(
                "name = \"mine\"\nquestion = \"?\"\ntime_s = 1\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n\
                 [[arm]]\nname = \"tls\"\ntransport = \"tls1.3\"\n[[cell]]\nname = \"only\"\n\
                 workload = \"{workload}\"\nload = {{ connections = 1 }}\n"
            );
            let study = Study::from_toml(&text).unwrap();
            let tables = |spoken| {
                let contents = Contents::of(&study, spoken);
                [
                    contents.sbtest.is_some(),
                    contents.usertable.is_some(),
                    contents.pgbench.is_some(),
                ]
            };
            assert_eq!(tables(MysqlAccess::VOCABULARIES), of_mysql, "{workload}");
            if let Some(expected) = of_mongodb {
                assert_eq!(tables(MongodbAccess::VOCABULARIES), expected, "{workload}");
            }
        }
    }
}
