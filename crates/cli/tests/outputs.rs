//! What a run leaves and says besides its report: exports, the verdict alone, every step, and what it would do.

use crate::common::*;

const STUDY: &str = r#"
name = "outputs"
question = "What does TLS cost?"
time_s = 6
slice_s = 0.1
profile = "off"
dataset = { table_size = 1000 }
precision = { cpu = 0.5, throughput = 0.5 }
arm = [
    { name = "plain", transport = "plain" },
    { name = "tls1.3", transport = "tls1.3" },
    { name = "tls1.2", transport = "tls1.2" },
]
cell = [
    { name = "select", workload = "oltp_point_select", load = { connections = 1 } },
    { name = "select many", workload = "oltp_point_select", load = { connections = 4 } },
]
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.work().join("study.toml"), STUDY).unwrap();
    sandbox
}

/// The arguments of a run of the study with these after them.
fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "study.toml", "--out", "run"], more].concat()
}

#[test]
fn a_quiet_run_of_chosen_cells_and_arms_prints_its_verdict_and_writes_its_exports() {
    let sandbox = sandbox();
    let finished = sandbox.finish(&arguments(&[
        "-q",
        "--cell",
        "*many",
        "--arm",
        "tls1.[3]",
        "--export",
        "estimates.csv",
        "--export",
        "samples.csv",
        "--export",
        "./run/report.md",
        "--export",
        "node.prom",
        "--export",
        "copy.json",
        "--export",
        "copy.html",
    ]));
    finished.measured();
    assert_eq!(finished.stderr, "");
    let run = record(&sandbox.run());
    assert_eq!(finished.stdout, format!("{}\n", run.results.verdict));
    assert_eq!(run.head.status, RunStatus::Complete);
    let cells: Vec<&str> = run.results.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(cells, ["select many"]);
    let variants = run.head.arms.iter().filter(|arm| arm.role == ArmRole::Variant);
    let arms = variants.map(|arm| arm.name.as_str()).collect::<Vec<_>>();
    assert_eq!(arms, ["tls1.3"]);
    says(&run.head.command, "--cell '*many' --arm 'tls1.[3]'");

    let file = |name: &str| fs::read_to_string(sandbox.work().join(name)).unwrap();
    assert_eq!(file("copy.json"), file("run/run.json"));
    assert_eq!(file("copy.html"), file("run/report.html"));
    let lines = run.results.estimates.len() + run.results.noise_floor.len();
    assert_eq!(file("estimates.csv").lines().count(), 1 + lines);
    let rows = file("samples.csv").lines().count();
    assert_eq!(rows, file("run/samples.jsonl").lines().count());
    assert!(file("run/report.md").contains("## What does TLS cost?"));
    assert!(
        file("node.prom").contains("ciphertax_run{study=\"outputs\"")
            && file("node.prom").ends_with("# EOF\n")
    );

    // The report has the same to give, once the run is over.
    let again = sandbox.finish(&[
        "report",
        "run",
        "-q",
        "--export",
        "again.csv",
        "--export",
        "cpu.collapsed",
    ]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert_eq!(again.stdout, finished.stdout);
    again.says("cpu.collapsed is not written: the run has no profile");
    assert_eq!(file("again.csv"), file("estimates.csv"));
    sandbox.expect_nothing_left();
}

#[test]
fn every_step_is_a_line_with_its_time() {
    let sandbox = sandbox();
    let (finished, _) = sandbox.until_measured(1, |time| {
        sandbox.finish(&arguments(&[&["-v", "--cell", "select"], time].concat()))
    });
    finished.measured();
    finished
        .says(" s  Run folder: run …  s  Starting a private server …  s  select, 1 block … s  Evaluating");
}

#[test]
fn what_a_run_would_do_is_said_and_nothing_is_done() {
    let sandbox = sandbox();
    let finished = sandbox.finish(&arguments(&["--dry-run", "--arm", "tls1.2"]));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    // Two cells of three arms, five blocks of a tenth of a second.
    finished.shows(
        "outputs: What does TLS cost? … mariadb, ecdsa-p256: plain, baseline again, tls1.2 … tls1.2: TLSv1.2 … \
         select many: … takes 3 s at least, and 6 s at most … 1,000 rows to load … Missing\n  nothing",
    );
    assert!(!sandbox.run().exists());
    assert!(fs::read_dir(sandbox.temporary()).unwrap().next().is_none());
}

#[test]
fn what_a_run_lacks_is_said_with_the_remedy_before_it_begins() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.run()).unwrap();
    let mut command = sandbox.command(&arguments(&["--dry-run", "--json", "--set", "server=mysql-5.6"]));
    command.env("XDG_CACHE_HOME", sandbox.work());
    let finished = crate::common::Running::start(command).finish();
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    let preview: Value = serde_json::from_str(&finished.stdout).unwrap();
    follows("dry-run", &preview);
    assert_eq!(preview["arms"][2]["transport"], "tls1.3");
    assert_eq!(preview["cells"][1]["load"]["connections"], 4);
    let missing = preview["missing"].to_string();
    says(
        missing,
        "ciphertax servers install mysql-5.6 … cannot do TLSv1.3 … the folder run exists … --out",
    );
    assert_eq!(preview["at_most_s"], 6.0);
}

#[test]
fn a_server_that_a_later_cell_needs_and_that_is_not_there_is_said_before_the_first_is_started() {
    let sandbox = sandbox();
    let with_another = STUDY.replace("\"select many\"", "\"select many\", server = \"mariadb-11.8\"");
    fs::write(sandbox.work().join("study.toml"), with_another).unwrap();
    let mut command = sandbox.command(&arguments(&[]));
    command.env("XDG_CACHE_HOME", sandbox.work());
    let finished = crate::common::Running::start(command).finish();
    finished.refuses("ciphertax servers install mariadb-11.8");
    assert!(!finished.stderr.contains("Starting"), "{}", finished.stderr);
    assert!(!sandbox.run().exists());
}

#[test]
fn what_is_tried_afterwards_and_found_out_before_is_in_the_time_that_a_run_would_take() {
    let sandbox = sandbox();
    let tried = sandbox.finish(&arguments(&["--dry-run", "--confirm"]));
    // Half a minute for each of two cells.
    let words = "and 66 s at most, trying what bounds each cell among it,";
    tried.shows(words);
    let counted = sandbox.finish(&[
        "run",
        "study.toml",
        "mysql://app@127.0.0.1:1/",
        "--server-cpu-command",
        "date +%s",
        "--dry-run",
    ]);
    let words = "how often the counter of the server's CPU moves, in 3 min 20 s at most";
    counted.shows(words);
}

#[test]
fn a_target_is_not_asked() {
    // Nobody listens there.
    let finished = sandbox().finish(&[
        "run",
        "study.toml",
        "mysql://app:secret@127.0.0.1:1/",
        "--dry-run",
    ]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    finished.shows(
        "Your server (not contacted) mysql://app@127.0.0.1:1/ … prepared statements at a time … \
         1 login with a wrong password at most … a schema ciphertax of its own, which is removed afterwards",
    );
    assert!(!finished.stdout.contains("secret"));
}

#[test]
fn what_cannot_be_exported_or_chosen_is_refused_before_anything_is_started() {
    for [more, words] in rows(
        r#"
        --export run.txt → its ending says no format
        --export nowhere/run.csv → there is no folder nowhere; make it first
        --export cpu.collapsed → cpu.collapsed would hold stacks
        --cell connect → no cell is called "connect"; there are select, select many
        --arm plain → nothing to compare the baseline plain with
        --arm tls[1 → invalid range pattern
        -q -v → cannot be used with
        "#,
    ) {
        let sandbox = sandbox();
        let finished = sandbox.finish(&arguments(&more.split(' ').collect::<Vec<_>>()));
        let printed = (finished.code, finished.stdout.as_str());
        assert_eq!(printed, (Some(2), ""), "{}", finished.stderr);
        finished.says(words);
        assert!(!sandbox.run().exists());
    }
}

#[test]
fn completions_and_manual_pages_know_every_option() {
    let sandbox = Sandbox::new();
    // clap's for fish completes no values of arguments without a name.
    let all = "dry-run … export … postgresql-18 … comparison";
    for (shell, words) in [("bash", all), ("zsh", all), ("fish", "dry-run … export")] {
        let finished = sandbox.finish(&["completions", shell]);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
        finished.shows(words);
        let holds = !finished.stdout.contains("column-relay");
        assert!(holds, "{shell} completes what is hidden");
    }
    let finished = sandbox.finish(&["man", "--out", "man1"]);
    let printed = (finished.code, finished.stdout.as_str());
    assert_eq!(printed, (Some(0), ""), "{}", finished.stderr);
    let printed = sandbox.finish(&["man", "run"]).stdout;
    assert_eq!(
        printed,
        fs::read_to_string(sandbox.work().join("man1/ciphertax-run.1")).unwrap()
    );
}

#[test]
fn the_schemas_are_listed_and_printed_and_an_unknown_one_names_the_nearest() {
    let sandbox = Sandbox::new();
    let print = |arguments: &[&str]| {
        let finished = sandbox.finish(arguments);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
        finished.stdout
    };
    let listed = print(&["schema"]);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(
        names,
        ["run", "comparison", "gate", "connection", "doctor", "dry-run"]
    );
    for name in names {
        let schema: Value = serde_json::from_str(&print(&["schema", name])).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        let version = &schema["properties"]["schema"]["const"];
        let is_named = version.as_str().unwrap().starts_with("ciphertax.");
        assert!(is_named, "{name}: {version}");
    }
    let unknown = sandbox.finish(&["schema", "comparson"]);
    unknown.refuses("\"comparson\" … did you mean comparison? … Known are run, comparison");
}
