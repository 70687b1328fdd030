//! `ciphertax quick` on a private server, and `ciphertax report` on what it left.

use ciphertax_records::{EstimateRow, Rated, Side};
use ciphertax_report_check::check_report;

use crate::common::*;

/// What is there if there was time to look into a block.
const LOOKS: [&str; 3] = ["profiles.jsonl", "symbols.jsonl", "waits.jsonl"];

const VERDICTS: [&str; 6] = [
    "costs",
    "costs_perhaps",
    "gains",
    "gains_perhaps",
    "no_cost",
    "cannot_tell",
];

#[test]
fn standard_output_is_run_json_and_nothing_else() {
    let quick = quick();
    assert_eq!(quick.finished.code, Some(0), "{}", quick.finished.stderr);
    assert_eq!(quick.finished.stdout.as_bytes(), quick.files["run.json"]);
    assert_eq!(quick.run.head.status, RunStatus::Complete);
    assert!(quick.json().is_object());
}

#[test]
fn progress_is_plain_lines_where_there_is_no_terminal() {
    let said = &quick().finished.stderr;
    for beginning in [
        "Starting a private server",
        "Proving that tls1.3 is what it says",
        "Loading the data set",
        "measured ",
        "Report: ",
    ] {
        let is_said = said.lines().any(|line| line.starts_with(beginning));
        assert!(is_said, "{beginning:?} is not in {said}");
    }
    assert!(!said.contains(['\x1b', '\r']), "{said:?}");
}

#[test]
fn the_run_folder_holds_record_samples_and_report() {
    let quick = quick();
    let is_of_looks = |name: &&String| LOOKS.contains(&name.as_str());
    assert_eq!(
        quick
            .files
            .keys()
            .filter(|name| !is_of_looks(name))
            .collect::<Vec<_>>(),
        ["report.html", "run.json", "samples.jsonl"]
    );
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("samples.jsonl"), quick.text("samples.jsonl")).unwrap();
    let samples = crate::common::samples(folder.path());
    let mut of_all = 0;
    for cell in &quick.run.results.cells {
        let of_cell: Vec<&Sample> = samples
            .iter()
            .filter(|sample| sample.slice.cell == cell.name)
            .collect();
        let void = of_cell.iter().filter(|sample| !sample.is_valid()).count();
        assert_eq!(void, cell.void_slices as usize, "{}", cell.name);
        let with_server_cpu = of_cell
            .iter()
            .filter(|sample| sample.server.server_cpu.is_some())
            .count();
        assert!(with_server_cpu >= of_cell.len() - void, "{}", cell.name);
        of_all += of_cell.len();
    }
    assert_eq!(samples.len(), of_all);
}

#[test]
fn every_arm_is_proved_by_four_witnesses_and_negotiated_what_it_says() {
    let run = &quick().run;
    let names: Vec<&str> = run.head.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["plain", "baseline again", "tls1.3", "tls1.2"]);
    let roles: Vec<ArmRole> = run.head.arms.iter().map(|arm| arm.role).collect();
    assert_eq!(
        roles,
        [
            ArmRole::Baseline,
            ArmRole::BaselineAgain,
            ArmRole::Variant,
            ArmRole::Variant
        ]
    );
    for arm in &run.head.arms {
        let [session] = arm.sessions.as_slice() else {
            panic!("{} was proved on {} servers", arm.name, arm.sessions.len());
        };
        let witnesses: Vec<String> = session
            .proofs
            .iter()
            .map(|proof| proof.witness.to_string())
            .collect();
        assert_eq!(
            witnesses,
            ["client", "server", "wire", "authentication"],
            "{}",
            arm.name
        );
        let are_evident = session.proofs.iter().all(|proof| !proof.evidence.is_empty());
        assert!(are_evident, "{}", arm.name);
        let tls = session.facts.tls.as_ref();
        assert_eq!(
            tls.map(|tls| tls.version.as_str()),
            run.head
                .asked(arm)
                .unwrap()
                .transport
                .tls_version()
                .map(|version| version.name())
        );
        assert!(tls.is_none_or(|tls| !tls.cipher.is_empty() && !tls.resumed));
    }
}

#[test]
fn each_variant_is_compared_in_every_cell_and_metric() {
    let quick = quick();
    let rows = rows(&quick.run.results.estimates);
    for cell in ["oltp_point_select", "connect", "bulk_read"] {
        for arm in ["tls1.3", "tls1.2"] {
            for metric in Metric::COMPARED {
                let row = rows.get(&(cell, arm, metric));
                check_row(row.unwrap_or_else(|| panic!("{cell} {arm} {metric} is not compared")));
            }
        }
    }
    assert_eq!(rows.len(), quick.run.results.estimates.len());
    for row in quick.json()["estimates"].as_array().unwrap() {
        for field in ["cell", "arm", "metric", "unit", "verdict"] {
            assert!(row[field].is_string(), "{field} of {row}");
        }
        for field in ["baseline", "variant", "change", "low", "high", "blocks"] {
            assert!(row[field].is_number(), "{field} of {row}");
        }
        assert!(VERDICTS.contains(&row["verdict"].as_str().unwrap()), "{row}");
    }
}

#[test]
fn the_noise_floor_is_the_baseline_against_itself_in_every_cell_and_metric() {
    let run = &quick().run;
    let rows = rows(&run.results.noise_floor);
    for cell in &run.results.cells {
        for metric in Metric::COMPARED {
            check_row(rows[&(cell.name.as_str(), "baseline again", metric)]);
        }
    }
    assert_eq!(rows.len(), run.results.noise_floor.len());
}

#[test]
fn encryption_shows_where_it_must() {
    let run = &quick().run;
    let phase = |arm: &str, name: &str| {
        let row = run
            .results
            .connect_phases
            .iter()
            .find(|row| row.arm == arm && serde_json::to_value(row.phase).unwrap() == name);
        row.map_or(0.0, |row| row.mean_us)
    };
    for arm in ["plain", "tls1.3", "tls1.2"] {
        assert!(phase(arm, "tcp") > 0.0 && phase(arm, "auth") > 0.0, "{arm}");
    }
    assert_eq!(phase("plain", "tls"), 0.0);
    assert!(phase("tls1.3", "tls") > 0.0 && phase("tls1.2", "tls") > 0.0);
    // Record headers and tags make a small query's bytes many more, on every machine and under every load.
    let estimates = rows(&run.results.estimates);
    for arm in ["tls1.3", "tls1.2"] {
        let bytes = estimates[&("oltp_point_select", arm, Metric::BytesPerOp)];
        assert!((0.05..1.0).contains(&bytes.change), "{arm}: {}", bytes.change);
    }
}

#[test]
fn what_follows_is_said_for_each_variant_and_side() {
    let run = &quick().run;
    for arm in ["tls1.3", "tls1.2"] {
        let churn: Vec<_> = run.results.churn.iter().filter(|row| row.arm == arm).collect();
        let sides: Vec<Side> = churn.iter().map(|row| row.side).collect();
        assert_eq!(sides, [Side::Client, Side::Server, Side::Both]);
        for row in churn {
            let budgets: Vec<f64> = row.break_even.iter().map(|point| point.budget).collect();
            assert_eq!(budgets, [0.01, 0.05, 0.1]);
            assert!(row.points.len() > 10);
        }
        for side in [Side::Client, Side::Server] {
            for (of, rate) in [(Rated::Queries, 10_000.0), (Rated::Connections, 100.0)] {
                let same = |row: &&ciphertax_records::CapacityRow| {
                    row.arm == arm && row.side == side && row.of == of && row.rate == rate
                };
                let row = run.results.capacity.iter().find(same);
                let cores = row.unwrap_or_else(|| panic!("{arm} {side} {of}")).extra_cores;
                assert!(cores.low <= cores.value && cores.value <= cores.high);
            }
        }
    }
}

#[test]
fn the_report_in_a_browser_shows_the_record() {
    let quick = quick();
    let sandbox = Sandbox::new();
    quick.unpack(&sandbox, |name| name == "report.html");
    check_report(&sandbox.run().join("report.html"), &quick.run).unwrap();
}

#[test]
fn report_makes_the_same_run_from_record_and_samples_alone() {
    let quick = quick();
    let sandbox = Sandbox::new();
    quick.unpack(&sandbox, |name| name != "report.html");
    let again = sandbox.finish(&["report", "run", "--json"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(again.stdout, quick.finished.stdout);
    for (name, bytes) in &quick.files {
        let is_same = fs::read(sandbox.run().join(name)).unwrap() == *bytes;
        assert!(is_same, "{name} differs");
    }
}

#[test]
fn report_does_not_take_the_records_word_for_what_the_samples_say() {
    let quick = quick();
    let sandbox = Sandbox::new();
    quick.unpack(&sandbox, |name| name != "report.html");
    let mut forged = quick.run.clone();
    forged.results.estimates.clear();
    forged.results.verdict = "TLS costs nothing.".into();
    let forged = serde_json::to_string(&forged).unwrap();
    fs::write(sandbox.run().join("run.json"), forged).unwrap();
    let again = sandbox.finish(&["report", "run", "--json"]);
    assert_eq!(again.stdout, quick.finished.stdout);
}

#[test]
fn report_as_text_is_one_screen_that_begins_with_the_verdict_and_all_of_it_ends_with_the_command_that_repeats_it()
 {
    let quick = quick();
    let sandbox = Sandbox::new();
    quick.unpack(&sandbox, |name| name != "report.html");
    let text = sandbox.finish(&["report", "run"]).stdout;
    let words: Vec<&str> = text.split_whitespace().collect();
    let verdict: Vec<&str> = quick.run.results.verdict.split_whitespace().collect();
    assert_eq!(words[..verdict.len()], verdict);
    assert!(text.lines().count() <= 30, "{text}");
    let last: Vec<&str> = text.lines().rev().take(2).collect();
    let expected = [
        "More:   ciphertax report run --full, or ciphertax why",
        "Report: run/report.html",
    ];
    assert_eq!(last, expected);
    let full = sandbox.finish(&["report", "run", "--full"]).stdout;
    let repeat = format!("\nReport: run/report.html\nRepeat: {}\n", quick.run.head.command);
    assert!(full.ends_with(&repeat), "{full}");
    let command = &quick.run.head.command;
    assert!(command.contains("--time ") && command.contains("--seed 7"));
    assert!(!text.contains('\x1b'), "colour without a terminal");
}

#[test]
fn report_takes_a_file_of_the_run_too() {
    let quick = quick();
    let sandbox = Sandbox::new();
    for file in ["run/run.json", "run/report.html"] {
        quick.unpack(&sandbox, |_| true);
        let again = sandbox.finish(&["report", file, "--json"]);
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        assert_eq!(again.stdout, quick.finished.stdout, "{file}");
        fs::remove_dir_all(sandbox.run()).unwrap();
    }
}

#[test]
fn a_report_of_another_release_is_rewritten_only_by_force() {
    let quick = quick();
    let sandbox = Sandbox::new();
    quick.unpack(&sandbox, |_| true);
    let path = sandbox.run().join("report.html");
    let ours = fs::read_to_string(&path).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let theirs = ours.replace(
        &format!("content=\"ciphertax {version}\""),
        "content=\"ciphertax 0.0.9\"",
    );
    assert_ne!(ours, theirs);
    fs::write(&path, &theirs).unwrap();
    let record = fs::read(sandbox.run().join("run.json")).unwrap();
    sandbox.finish(&["report", "run"]).refuses(&format!(
        "report.html was made by ciphertax 0.0.9 … {version} … --force"
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
    assert_eq!(fs::read(sandbox.run().join("run.json")).unwrap(), record);

    let asked = |answer: &str| {
        let line = format!("{} report run", env!("CARGO_BIN_EXE_ciphertax"));
        let answered = format!("echo {answer} | script -qec '{line}' /dev/null");
        let finished = Running::start(sandbox.command_of(Path::new("sh"), &["-c", &answered])).finish();
        finished.shows("Make it again? [y/N]");
        finished
    };
    assert!(asked("n").stdout.contains("left as it is"));
    assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
    asked("y");
    assert_eq!(fs::read_to_string(&path).unwrap(), ours);

    fs::write(&path, &theirs).unwrap();
    let forced = sandbox.finish(&["report", "run", "--force"]);
    assert_eq!(forced.code, Some(0), "{}", forced.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), ours);
}

#[test]
fn text_is_as_wide_as_columns_says_and_into_a_file_as_wide_as_needed() {
    let quick = quick();
    let sandbox = Sandbox::new();
    quick.unpack(&sandbox, |name| name != "report.html");
    let widest = |columns: Option<&str>| {
        let mut command = sandbox.command(&["report", "run"]);
        command.env_remove("COLUMNS");
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        let text = Running::start(command).finish().stdout;
        text.lines().map(printed_width).max().unwrap()
    };
    assert!(widest(Some("80")) <= 80);
    assert!((81..=130).contains(&widest(Some("130"))));
    // The verdict is one line.
    assert!(widest(None) >= quick.run.results.verdict.chars().count());
}

#[test]
fn the_private_key_was_its_owners_alone() {
    let quick = quick();
    assert_eq!(quick.keys, [("server-key.pem".to_owned(), 0o600)]);
    assert_eq!(quick.server_folder_mode, 0o700);
    for (name, bytes) in &quick.files {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains("PRIVATE KEY"), "{name}");
    }
}

#[test]
fn a_terminal_gets_a_progress_bar_and_the_verdict() {
    let sandbox = Sandbox::new();
    let line = format!(
        "stty rows 24 cols 60; {} quick --time 2 --out run",
        env!("CARGO_BIN_EXE_ciphertax")
    );
    let mut command = sandbox.command_of(Path::new("script"), &["-qec", &line, "/dev/null"]);
    command
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR");
    let finished = Running::start(command).finish();
    finished.measured();
    let shown = &finished.stdout;
    for part in [
        "\x1b[",
        "Measuring [",
        "throughput",
        "goal",
        "Report: run/report.html",
    ] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    let verdict = record(&sandbox.run()).results.verdict;
    let first_words: Vec<&str> = verdict.split_whitespace().take(4).collect();
    let begins = shown.rfind(&first_words.join(" ")).unwrap();
    let wide: Vec<&str> = shown[begins..]
        .lines()
        .filter(|line| printed_width(line) > 60)
        .collect();
    assert_eq!(wide, Vec::<&str>::new());
    sandbox.expect_nothing_left();
}

/// A run that all tests here share.
struct Quick {
    finished: Finished,
    files: BTreeMap<String, Vec<u8>>,
    run: Run,
    /// Files with a private key while it measured, with their modes.
    keys: Vec<(String, u32)>,
    server_folder_mode: u32,
}

fn quick() -> &'static Quick {
    static QUICK: OnceLock<Quick> = OnceLock::new();
    QUICK.get_or_init(|| {
        let sandbox = Sandbox::new();
        let measured = sandbox.until_measured(FEWEST_BLOCKS, |time| Quick::measure(&sandbox, time));
        measured.0
    })
}

impl Quick {
    fn measure(sandbox: &Sandbox, time: &[&str]) -> Self {
        let time = time.first().unwrap_or(&"--time=12");
        let mut running = sandbox.start(&["quick", time, "--seed", "7", "--json", "--out", "run"]);
        running.measures();
        // What is gone by the time it is looked at lay there for a moment only.
        let mode = |path: &Path| Some(fs::metadata(path).ok()?.permissions().mode() & 0o777);
        let keys = files_with(&sandbox.temporary(), "PRIVATE KEY");
        let keys = keys.iter().filter_map(|path| Some((name(path), mode(path)?)));
        let keys = keys.collect();
        let servers: Vec<_> = fs::read_dir(sandbox.temporary()).unwrap().flatten().collect();
        assert_eq!(servers.len(), 1);
        let server_folder_mode = mode(&servers[0].path()).unwrap();
        let finished = running.finish_within(2 * PATIENCE);
        sandbox.expect_nothing_left();
        let files = fs::read_dir(sandbox.run()).unwrap().flatten();
        Self {
            run: record(&sandbox.run()),
            files: files
                .map(|file| (name(&file.path()), fs::read(file.path()).unwrap()))
                .collect(),
            finished,
            keys,
            server_folder_mode,
        }
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.files[name].clone()).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.files["run.json"]).unwrap()
    }

    /// Writes some of its files into the run folder of another sandbox.
    fn unpack(&self, sandbox: &Sandbox, is_wanted: impl Fn(&str) -> bool) {
        fs::create_dir(sandbox.run()).unwrap();
        for (name, bytes) in self.files.iter().filter(|(name, _)| is_wanted(name)) {
            fs::write(sandbox.run().join(name), bytes).unwrap();
        }
    }
}

fn rows(rows: &[EstimateRow]) -> BTreeMap<(&str, &str, Metric), &EstimateRow> {
    rows.iter()
        .map(|row| ((row.cell.as_str(), row.arm.as_str(), row.metric), row))
        .collect()
}

fn check_row(row: &EstimateRow) {
    assert_eq!(row.unit, row.metric.unit());
    assert!(row.low <= row.change && row.change <= row.high, "{row:?}");
    assert!(row.low > -1.0 && row.high.is_finite(), "{row:?}");
    assert!(row.baseline > 0.0 && row.variant > 0.0, "{row:?}");
    assert!(row.blocks >= 2 && row.margin > 0.0, "{row:?}");
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Columns of a line without its ANSI sequences.
fn printed_width(line: &str) -> usize {
    let mut width = 0;
    let mut characters = line.trim_end().chars();
    while let Some(character) = characters.next() {
        if character == '\x1b' {
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            width += 1;
        }
    }
    width
}
