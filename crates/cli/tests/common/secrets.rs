//! Secrets stay where they belong.

use crate::common::*;

/// Neither what a run left in its sandbox nor what it said holds the password or a private key; both name the target's
/// URL, so that the search is known to see.
pub(crate) fn no_secret_is_left(sandbox: &Sandbox, finished: &Finished, password: &str, url: &str) {
    let report = fs::read_to_string(sandbox.run().join("report.html")).unwrap();
    let report = ciphertax_report_check::with_packed(&report).unwrap();
    for secret in [password, "PRIVATE KEY"] {
        assert_eq!(files_with(sandbox.root(), secret), Vec::<PathBuf>::new());
        for (place, text) in [
            ("standard output", &finished.stdout),
            ("standard error", &finished.stderr),
            ("the report", &report),
        ] {
            assert!(!text.contains(secret), "{place} has {secret}");
        }
    }
    assert!(report.contains(url), "the search is blind");
    let record = sandbox.run().join("run.json");
    let holds = files_with(sandbox.root(), url).contains(&record);
    assert!(holds, "the search is blind");
}
