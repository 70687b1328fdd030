//! TPC-C's tables on servers of a run: what they hold, and what they must be after it.

mod asked;
mod room;
mod tables;
mod verdict;
mod work;

use ciphertax_columns::MasterKey;
use ciphertax_model::Study;
use ciphertax_model::workload::Vocabulary;
use ciphertax_workload::dataset::Contents;
use ciphertax_workload::dataset::tpcc::TpccContents;

pub(crate) use room::{data_mb, grown_mb, with_room};
pub(crate) use tables::Tables;
pub(crate) use work::{examine, restore};

/// What the workloads of a study ask of a database whose client speaks these vocabularies; stored cells are encrypted with `key`.
pub(crate) fn contents(study: &Study, spoken: &[Vocabulary], key: Option<&MasterKey>) -> Contents {
    let contents = Contents::of(study, spoken);
    let has_cells = |tpcc: &TpccContents| tpcc.sets.iter().any(|set| set.stored.is_some());
    Contents {
        tpcc: contents.tpcc.map(|tpcc| TpccContents {
            key: key.filter(|_| has_cells(&tpcc)).cloned(),
            ..tpcc
        }),
        ..contents
    }
}
