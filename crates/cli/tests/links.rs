//! Whoever owns a folder may put links in it: no command writes through one, and root is asked before it writes there at all.

use std::os::unix::fs::chown;

use crate::common::*;

const NOBODY: u32 = 65_534;

/// Leaves the folder of a run that was stopped.
fn stopped_run() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["run", "quick", "--time=30", "--keep-operations", "--out=run"]);
    running.measures();
    running.interrupt();
    sandbox
}

#[test]
fn nothing_is_written_through_a_link_in_a_run_folder_or_in_an_exports_place() {
    let sandbox = stopped_run();
    let precious = sandbox.work().join("precious");
    fs::write(&precious, "precious\n").unwrap();
    let is_untouched = || fs::read(&precious).unwrap() == b"precious\n";
    let relink = |path: &Path| {
        let _ = fs::remove_file(path);
        symlink(&precious, path).unwrap();
    };
    let run = sandbox.run();
    let written = [
        "report.html",
        ".report.html.new",
        ".run.json.new",
        "estimates.csv",
        "run.md",
    ];
    written.iter().for_each(|name| relink(&run.join(name)));
    let finished = sandbox.finish(&[
        "report",
        "run",
        "--force",
        "--export=run/estimates.csv",
        "--export=run/run.md",
    ]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(is_untouched());
    for name in ["report.html", "estimates.csv", "run.md"] {
        let there = fs::symlink_metadata(run.join(name)).unwrap();
        assert!(there.is_file() && there.len() > 100, "{name}");
    }
    for name in [".report.html.new", ".run.json.new"] {
        fs::remove_file(run.join(name)).unwrap();
    }

    // What is appended to is not replaced, so a link there is refused.
    for name in ["samples.jsonl", "operations.csv"] {
        let (path, aside) = (run.join(name), run.join("aside"));
        fs::rename(&path, &aside).unwrap();
        relink(&path);
        let finished = sandbox.finish(&["run", "--resume=run"]);
        finished.refuses(&format!("{name} … symbolic link"));
        fs::remove_file(&path).unwrap();
        fs::hard_link(&precious, &path).unwrap();
        sandbox
            .finish(&["run", "--resume=run"])
            .refuses(&format!("{name} … another name"));
        assert!(is_untouched(), "{name}");
        fs::rename(&aside, &path).unwrap();
    }
    sandbox.expect_nothing_left();
}

#[test]
fn root_writes_into_the_folder_of_another_account_only_where_it_is_told_to() {
    if !is_root() {
        return not_tested("folders of other accounts need root");
    }
    let sandbox = stopped_run();
    let run = sandbox.run();
    chown(&run, Some(NOBODY), None).unwrap();
    let contents = || {
        let files = fs::read_dir(&run).unwrap().flatten();
        let mut files: Vec<_> = files
            .map(|file| (file.file_name(), file.metadata().unwrap().ino()))
            .collect();
        files.sort();
        files
    };
    let before = contents();
    for command in [
        &["report", "run"][..],
        &["run", "--resume=run"],
        &["report", "run/report.html"],
    ] {
        let finished = sandbox.finish(command);
        finished.refuses("belongs to another account (uid 65534) … --trust-folder");
        assert_eq!(contents(), before, "{command:?}");
    }
    let finished = sandbox.finish(&["report", "run", "--trust-folder"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_ne!(contents(), before);
    let mut running = sandbox.start(&["run", "--resume=run", "--trust-folder"]);
    running.measures();
    running.interrupt();
    sandbox.expect_nothing_left();
}
