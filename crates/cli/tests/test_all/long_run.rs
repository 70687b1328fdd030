//! Runs of ten hours: what reads them needs little memory, of the program as it is released.

use ciphertax_records::{Results, RunFolder, write_run};

use crate::common::*;

/// Ten hours of two slices a second.
const SLICES: usize = 72_000;
/// Bytes that whatever reads such runs may need.
const MOST_MEMORY: u64 = 300 << 20;

#[test]
#[ignore = "takes minutes; run by make long"]
fn the_report_of_ten_hours_is_made_in_300_megabytes() {
    let short = Sandbox::new();
    short
        .finish(&["quick", "--time=12", "--profile=off", "--out=run"])
        .measured();
    let short = Recorded::open(&short.run()).unwrap();
    let sandbox = Sandbox::new();
    repeat(&short, &sandbox.run());
    repeat(&short, &sandbox.work().join("earlier"));
    let mut too_much = Vec::new();
    for arguments in [
        &["report", "run"][..],
        &["compare", "earlier", "run"],
        &["gate", "run", "--baseline", "earlier"],
    ] {
        let peak = peak_memory(&sandbox, arguments);
        println!("{arguments:?}: {} MB", peak >> 20);
        if !(1 << 20..MOST_MEMORY).contains(&peak) {
            too_much.push(arguments);
        }
    }
    assert!(sandbox.run().join("report.html").exists());
    assert!(too_much.is_empty(), "{too_much:?}");
}

/// The peak memory of a command, in bytes.
fn peak_memory(sandbox: &Sandbox, arguments: &[&str]) -> u64 {
    let mut command = sandbox.command_of(&released(), arguments);
    let (ended, peak) = end_and_peak_memory(command.stdout(Stdio::null()).spawn().unwrap());
    // Where nothing can be said of two runs that are alike, that is no failure.
    assert!(matches!(ended.code(), Some(0 | 3)), "{arguments:?}: {ended}");
    peak
}

/// The program as it is released, which `make build` makes beside that of the tests.
fn released() -> PathBuf {
    let of_tests = Path::new(env!("CARGO_BIN_EXE_ciphertax"));
    let released = of_tests.ancestors().nth(2).unwrap().join("release/ciphertax");
    assert!(released.exists(), "{} is missing: make build", released.display());
    released
}

/// The slices of a short run, block after block until there are enough.
fn repeat(short: &Recorded, path: &Path) {
    let samples = short.read_all().unwrap().samples;
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
    write_run(path, &Run::new(short.head.clone(), Results::default())).unwrap();
}
