//! Secrets stay where they belong.

use crate::common::*;

/// Neither what a run left in its sandbox nor what it said holds the password or a private key; both name the target's
/// URL, so that the search is known to see.
pub(crate) fn no_secret_is_left(sandbox: &Sandbox, finished: &Finished, password: &str, url: &str) {
    for secret in [password, "PRIVATE KEY"] {
        assert_eq!(files_with(sandbox.root(), secret), Vec::<PathBuf>::new());
        assert!(!finished.stdout.contains(secret), "standard output has {secret}");
        assert!(!finished.stderr.contains(secret), "standard error has {secret}");
    }
    assert_eq!(files_with(sandbox.root(), url).len(), 2, "the search is blind");
}
