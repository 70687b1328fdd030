//! Studies of whole rounds on real servers, whose answer is known: what is paid later is billed to whoever caused it. The
//! figures go into `record/`.

mod cost_per_page;
mod delayed_flush;

use std::env;

use ciphertax_explain::explain;
use ciphertax_model::Study;
use ciphertax_records::why::LookLog;
use ciphertax_records::{EstimateRow, Tool};

use super::*;
use crate::progress::Headline;
use crate::server::OPTIONS;

/// Pages are flushed within a second, and there is no limit to how many.
const AT_ONCE: [&str; 6] = [
    "--innodb-io-capacity=20000",
    "--innodb-io-capacity-max=40000",
    "--innodb-flush-neighbors=0",
    "--innodb-adaptive-flushing=OFF",
    "--innodb-max-dirty-pages-pct-lwm=0",
    "--innodb-max-dirty-pages-pct=0",
];

/// Plays a study whose arms' servers have further options; `time_variable` says for how many seconds it may measure. Whether it
/// may be measured is not asked: an arm that lies on the disk as all others do is none that has to be proved.
fn played(study: &str, time_variable: &str, options: Vec<(&'static str, &'static str)>) -> Run {
    let mut study = Study::from_toml(study).unwrap();
    if let Ok(time) = env::var(time_variable) {
        study.time_s = time.parse().unwrap();
    }
    let plan = Plan {
        study: study.validated().unwrap(),
        target: None,
        encdb: None,
        ranks: None,
        no_wrong_logins: false,
        seed: 1,
        tool: Tool {
            name: "ciphertax".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            commit: "unknown".into(),
        },
        command: "a test of whole rounds".into(),
    };
    let folder = tempfile::tempdir().unwrap();
    let destination = Destination::New(folder.path().join("run"));
    let (folder, _) = destination.open().unwrap();
    let stop = Arc::default();
    OPTIONS.set(options);
    let player = Player::set_up(&plan, Vec::new(), &folder, None, &mut Heard, &stop);
    OPTIONS.take();
    let measured = player.unwrap().play(folder, &mut Heard, &stop).unwrap();
    let Measured { head, samples, .. } = measured;
    assert!(matches!(head.status, RunStatus::Complete), "{:?}", head.status);
    let results = explain(&head, &samples, &LookLog::default(), None).unwrap();
    Run::new(head, results)
}

/// The rows of a document's table that say where and when.
fn machine() -> String {
    let host = ciphertax_observe::host();
    format!(
        "| date | {} |\n| machine | {}, kernel {}, {} × {}, hypervisor: {} |\n",
        jiff::Zoned::now().strftime("%Y-%m-%d"),
        host.os,
        host.kernel,
        host.cpus,
        host.cpu,
        host.virtualization
    )
}

/// `+1.2 % [+0.8, +1.6]`
fn change(row: &EstimateRow) -> String {
    let [change, low, high] = [row.change, row.low, row.high].map(|share| 100.0 * share);
    format!("{change:+.1} % [{low:+.1}, {high:+.1}]")
}

struct Heard;

impl Progress for Heard {
    fn stage(&mut self, _stage: &Stage) {}
    fn block(&mut self, headline: &Headline) {
        eprintln!("{}: {} blocks", headline.cell, headline.blocks);
    }
    fn void(&mut self, cell: &str, arm: &str, reason: &str) {
        eprintln!("{cell}, {arm}: void: {reason}");
    }
}
