//! A run of ten hours: its report is made in little memory.

use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use ciphertax_records::{Recorded, Results, Run, RunFolder, Sample, write_run};

use crate::common::{Sandbox, peak_memory};

/// Ten hours of two slices a second.
const SLICES: usize = 72_000;
/// Bytes that a report may need.
const MOST_MEMORY: u64 = 300 << 20;

#[test]
#[ignore = "takes minutes; run by make slow"]
fn the_report_of_ten_hours_is_made_in_300_megabytes() {
    let sandbox = Sandbox::new();
    repeat_a_real_run(&sandbox.run());
    let mut report = sandbox.command(&["report", "run"]);
    let mut report = report.stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    let ended = loop {
        peak = peak.max(peak_memory(report.id()).unwrap_or(0));
        if let Some(ended) = report.try_wait().unwrap() {
            break ended;
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(ended.success(), "{ended}");
    assert!(sandbox.run().join("report.html").exists());
    assert!((1 << 20..MOST_MEMORY).contains(&peak), "{} MB", peak >> 20);
}

/// The slices of a short run with real histograms, block after block until there are enough.
fn repeat_a_real_run(path: &Path) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/former/quick");
    let recorded = Recorded::open(&kept).unwrap();
    let samples = recorded.read_all().unwrap().samples;
    let blocks = samples.iter().map(|sample| sample.slice.block + 1).max().unwrap();
    let length_ns = samples.iter().map(Sample::end_ns).max().unwrap();
    let mut folder = RunFolder::create(path).unwrap();
    for number in 0..SLICES {
        let (round, index) = (number / samples.len(), number % samples.len());
        let mut sample = samples[index].clone();
        sample.slice.block += round as u32 * blocks;
        sample.start_ns += round as u64 * length_ns;
        folder.append(&sample).unwrap();
    }
    write_run(path, &Run::new(recorded.head, Results::default())).unwrap();
}
