//! Samples of known cost.

use ciphertax_base::Phase;
use ciphertax_estimate::EstimateError;
use ciphertax_model::Study;
use ciphertax_records::why::LookLog;
use ciphertax_records::*;
use ciphertax_stats::histogram;

use crate::record;
pub(crate) use crate::record::head;

pub(crate) const STUDY: &str = r#"
name = "made-up"
question = "Does it add up?"
time_s = 60
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]

[[cell]]
name = "select"
workload = "oltp_point_select"
load = { connections = 8 }

[[cell]]
name = "connect"
workload = "connect"
load = { connections = 2 }
"#;

/// Fails unless the text has all of these words, which are parted by new lines or by ` … `.
#[track_caller]
pub(crate) fn says(text: &str, words: &str) {
    for words in words.split(['\n', '…']).map(str::trim) {
        assert!(text.contains(words), "{words:?} is not in {text:?}");
    }
}

pub(crate) const ARMS: [&str; 3] = ["plain", "baseline again", "tls"];

pub(crate) const OPERATIONS: u64 = 1_000;

/// CPU per operation in µs, client then server, of a cell's plain and TLS arm.
struct Costs {
    plain: [f64; 2],
    tls: [f64; 2],
}

const SELECT: Costs = Costs {
    plain: [10.0, 20.0],
    tls: [12.0, 20.0],
};

const CONNECT: Costs = Costs {
    plain: [60.0, 80.0],
    tls: [700.0, 640.0],
};

/// The study with this load in the cell `connect`.
pub(crate) fn study_with(load: &str) -> Study {
    Study::from_toml(&STUDY.replace("load = { connections = 2 }", load)).unwrap()
}

pub(crate) fn study() -> Study {
    Study::from_toml(STUDY).unwrap()
}

/// Of a run that was not looked into.
pub(crate) fn explain(head: &Head, samples: &(impl Samples + ?Sized)) -> Result<Results, EstimateError> {
    ciphertax_explain::explain(head, samples, &LookLog::default(), None)
}

pub(crate) fn explained(samples: &[Sample]) -> Results {
    explain(&head(study()), samples).unwrap()
}

/// The samples of a cell and of the arms whose name begins so.
pub(crate) fn of_arm<'a>(
    samples: &'a mut [Sample],
    cell: &str,
    arm: &str,
) -> impl Iterator<Item = &'a mut Sample> {
    let is_it = move |id: &SliceId| id.cell == cell && id.arm.starts_with(arm);
    samples.iter_mut().filter(move |sample| is_it(&sample.slice))
}

/// Samples with a deterministic noise of about one percent.
pub(crate) fn samples(blocks: u32) -> Vec<Sample> {
    let mut samples = Vec::new();
    for block in 0..blocks {
        for (cell, costs) in [("select", SELECT), ("connect", CONNECT)] {
            for (position, arm) in ARMS.into_iter().enumerate() {
                let cpu = if arm == "tls" { costs.tls } else { costs.plain };
                let step = block * 7 + position as u32 * 3 + u32::from(cell == "select") * 5;
                let noise = 1.0 + 0.01 * (f64::from(step % 11) / 5.0 - 1.0);
                samples.push(sample(
                    cell,
                    block,
                    position as u32,
                    arm,
                    cpu.map(|us| us * noise),
                ));
            }
        }
    }
    samples
}

/// A slice with so much CPU per operation; its phases are those of one that shakes hands if the arm is `tls`.
pub(crate) fn sample(cell: &str, block: u32, position: u32, arm: &str, cpu_us: [f64; 2]) -> Sample {
    let mut sample = record::sample(record::slice_id(cell, block, position, arm), OPERATIONS, cpu_us);
    if arm == "tls" {
        sample.load.bytes_received = OPERATIONS * 230;
        if cell == "connect" {
            sample.load.phases = vec![handshake(((cpu_us[0] + cpu_us[1]) * 1e3) as u64)];
        }
    }
    sample
}

/// All of a connect is its handshake.
pub(crate) fn handshake(mean_ns: u64) -> PhaseSample {
    let mut wall = histogram::empty();
    wall.saturating_record_n(mean_ns, OPERATIONS);
    PhaseSample {
        phase: Phase::Tls,
        count: OPERATIONS,
        wall_sum_ns: OPERATIONS * mean_ns,
        client_cpu_sum_ns: Some(OPERATIONS * 550_000),
        bytes_sent: OPERATIONS * 1_500,
        bytes_received: OPERATIONS * 1_300,
        flights: OPERATIONS,
        wall: histogram::encode(&wall),
    }
}
