//! Libraries to load into a server before its own, which make it slower in one place by a known amount.

use crate::common::*;

/// A library, in a folder of its own.
pub(crate) struct Preloaded {
    folder: tempfile::TempDir,
}

impl Preloaded {
    /// Compiles a source of this folder.
    pub(crate) fn build(source: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("ciphertax-test-")
            .tempdir()
            .unwrap();
        // The server may be of another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let preloaded = Self { folder };
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preloaded");
        let built = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .args([&preloaded.library(), &sources.join(source)])
            .status();
        assert!(built.unwrap().success());
        preloaded
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.folder.path().join("preloaded.so")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}
