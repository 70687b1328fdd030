//! Servers that Go builds from their modules.

use std::fs;
use std::process::Command;

use super::client::GO;
use super::job::Job;
use super::step::InstallStep;
use crate::catalogue::Source;
use crate::error::{Error, Result};

/// The release of Go whose defaults a server has, above all for TLS; a newer one keeps to them.
const LIKE_GO: &str = "1.24.0";

/// The first release of Go that fetches the release that is asked for if it is older than that.
const FETCHES_GO_SINCE: u32 = 21;

/// Fetches, verifies and builds the module. Returns what it is.
pub(super) fn fetch(job: &Job<'_>, on_step: &mut dyn FnMut(InstallStep)) -> Result<Vec<String>> {
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

/// Makes sure that the module is the one that is meant.
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
