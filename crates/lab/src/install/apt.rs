//! Servers from the distribution, with all they need, C library included.
//!
//! apt works on a state of its own here: own lists, own cache, and no installed packages, so that everything a server
//! needs is fetched. The machine's settings are kept (mirrors, proxies, keys) but for its hooks, which would reach out
//! to system services.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Job;
use super::client::{APT_CONFIG, APT_GET, DPKG, PATCHELF};
use super::unpack::use_own_libraries;
use crate::catalogue::{Source, Suite};
use crate::error::{Error, Result};
use crate::locate::InstallStep;

/// Debian's archive keys, in the formats of its releases. Without them apt uses the keys it trusts for all sources.
const KEYRINGS: [&str; 2] = [
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
];

pub(super) fn fetch(job: &Job<'_>, on_step: &mut dyn FnMut(InstallStep)) -> Result<Vec<String>> {
    let Source::Apt {
        suite,
        package,
        plugins,
        beside,
        version,
    } = job.entry.source
    else {
        return Ok(Vec::new());
    };
    on_step(InstallStep::LookingUp);
    let apt = Apt::begin(job, suite)?;
    apt.run(&["update"])?;
    let mut packages = apt.closure(&[&[package, PATCHELF.package], beside].concat())?;
    check_version(job, package, version, &packages)?;
    if !plugins.is_empty() {
        packages.push(Package::named(plugins));
    }
    let packages: Vec<String> = packages.iter().map(Package::to_string).collect();

    // apt compares each with the hash in the signed index.
    on_step(InstallStep::Fetching {
        client: APT_GET.program,
        count: packages.len(),
    });
    let mut arguments = vec!["download"];
    arguments.extend(packages.iter().map(String::as_str));
    apt.run(&arguments)?;

    on_step(InstallStep::Unpacking);
    unpack(job)?;
    use_own_libraries(job)?;
    Ok(packages)
}

/// apt with a state of its own.
struct Apt<'a> {
    job: &'a Job<'a>,
    config: PathBuf,
}

impl<'a> Apt<'a> {
    fn begin(job: &'a Job<'a>, suite: Suite) -> Result<Self> {
        let state = job.folder.join("apt");
        for folder in ["lists/partial", "cache/archives/partial"] {
            let folder = state.join(folder);
            fs::create_dir_all(&folder).map_err(Error::write(&folder))?;
        }
        let write = |name: &str, text: &str| {
            let path = state.join(name);
            fs::write(&path, text)
                .map(|()| path.clone())
                .map_err(Error::write(&path))
        };
        let machine = APT_CONFIG.run(job, APT_CONFIG.command().arg("dump"))?;
        let mut settings = without_hooks(&machine);
        settings += &own_state(&state, &write("status", "")?);
        if suite == Suite::DebianUnstable {
            let source = unstable_source(&debian_archive(job)?);
            settings += &only_source(&write("sources.list", &source)?);
        }
        let config = write("apt.conf", &settings)?;
        Ok(Self { job, config })
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = APT_GET.command();
        APT_GET.run(
            self.job,
            neutral(&mut command)
                .env("APT_CONFIG", &self.config)
                .args(arguments),
        )
    }

    /// These packages and everything they need.
    fn closure(&self, packages: &[&str]) -> Result<Vec<Package>> {
        let mut arguments = vec!["--simulate", "--no-install-recommends", "install"];
        arguments.extend(packages);
        let plan = self.run(&arguments)?;
        Ok(plan.lines().filter_map(Package::in_plan).collect())
    }
}

/// A package and its version; without one, the newest.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Package {
    name: String,
    version: Option<String>,
}

impl Package {
    fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            version: None,
        }
    }

    /// From a line of a simulation: `Inst libaio1 (0.3.113-4 Debian:12/stable [amd64])`.
    fn in_plan(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("Inst ")?.split_whitespace();
        let name = words.next()?;
        let version = words.find_map(|word| word.strip_prefix('('))?;
        Some(Self {
            name: name.into(),
            version: Some(version.into()),
        })
    }

    /// The version without its epoch.
    fn upstream_version(&self) -> &str {
        let version = self.version.as_deref().unwrap_or_default();
        version.split_once(':').map_or(version, |(_, rest)| rest)
    }
}

impl std::fmt::Display for Package {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{}={version}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A suite moves; a server that is another one by now must not go by the old name.
fn check_version(job: &Job<'_>, name: &str, expected: &str, packages: &[Package]) -> Result<()> {
    let found = packages
        .iter()
        .find(|package| package.name == name)
        .map_or("missing", Package::upstream_version);
    if found.starts_with(expected) {
        return Ok(());
    }
    Err(Error::Unexpected {
        server: job.entry.name,
        artifact: format!("the package {name}"),
        found: found.into(),
        expected: format!("{expected}.*"),
    })
}

fn unpack(job: &Job<'_>) -> Result<()> {
    let downloads = job.downloads();
    for entry in fs::read_dir(&downloads)
        .map_err(Error::read(&downloads))?
        .flatten()
    {
        let mut command = DPKG.command();
        DPKG.run(job, command.arg("--extract").arg(entry.path()).arg(job.root()))?;
    }
    Ok(())
}

/// The machine's settings without its hooks.
fn without_hooks(settings: &str) -> String {
    let kept = settings.lines().filter(|line| {
        let name = line.split_whitespace().next().unwrap_or_default();
        !name.contains("-Invoke") && !name.contains("Pre-Install-Pkgs")
    });
    kept.map(|line| format!("{line}\n")).collect()
}

/// Settings that keep apt away from the machine's state, and the machine's settings from being read again.
fn own_state(state: &Path, status: &Path) -> String {
    let root = if rustix::process::geteuid().is_root() {
        // apt would fetch as a user who cannot write here.
        "APT::Sandbox::User \"root\";\n"
    } else {
        ""
    };
    let state = state.display();
    format!(
        "Dir::Etc::main \"/dev/null\";\n\
         Dir::Etc::parts \"/dev/null\";\n\
         Dir::State \"{state}\";\n\
         Dir::State::lists \"{state}/lists\";\n\
         Dir::State::status \"{}\";\n\
         Dir::Cache \"{state}/cache\";\n\
         Acquire::Languages \"none\";\n\
         APT::Immediate-Configure \"false\";\n\
         {root}",
        status.display()
    )
}

/// Settings that make apt choose from one list of sources and nothing else.
fn only_source(list: &Path) -> String {
    format!(
        "Dir::Etc::sourcelist \"{}\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\n\
         APT::Default-Release \"\";\n",
        list.display()
    )
}

fn unstable_source(archive: &str) -> String {
    let keyring = KEYRINGS.iter().find(|keyring| Path::new(keyring).exists());
    let signed_by = keyring.map_or(String::new(), |keyring| format!(" signed-by={keyring}"));
    format!("deb [target=Packages{signed_by}] {archive} unstable main\n")
}

/// Where the machine gets Debian from.
fn debian_archive(job: &Job<'_>) -> Result<String> {
    let mut command = APT_GET.command();
    let targets = APT_GET.run(
        job,
        neutral(&mut command)
            .args(["indextargets", "--no-release-info"])
            .args(["--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"]),
    )?;
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    archive_among(&targets, &text)
        .map(str::to_owned)
        .ok_or(Error::NoDebian(job.entry.name))
}

/// The archive from which a Debian gets its own release. Other distributions have other archives.
fn archive_among<'a>(targets: &'a str, os_release: &str) -> Option<&'a str> {
    let is_debian = os_release.lines().any(|line| line == "ID=debian");
    let codename = os_release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .unwrap_or_default();
    let releases = [codename, "stable", "testing", "unstable", "sid"];
    targets.lines().filter(|_| is_debian).find_map(|line| {
        let mut words = line.split_whitespace();
        let (archive, release, component) = (words.next()?, words.next()?, words.next()?);
        (component == "main" && releases.contains(&release)).then_some(archive)
    })
}

/// What a program says must not depend on the user's language.
fn neutral(command: &mut Command) -> &mut Command {
    command.env("LC_ALL", "C.UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read() {
        let package =
            Package::in_plan("Inst mariadb-server-core (1:11.8.9+ds-4 Debian:unstable [amd64])").unwrap();
        assert_eq!(package.to_string(), "mariadb-server-core=1:11.8.9+ds-4");
        assert_eq!(package.upstream_version(), "11.8.9+ds-4");
        let replaced = Package::in_plan("Inst libc6 [2.36-9] (2.41-12 Debian:unstable [amd64])").unwrap();
        assert_eq!(replaced.to_string(), "libc6=2.41-12");
        let found = Package::in_plan("Conf libc6 (2.41-12 Debian:unstable [amd64])");
        assert_eq!(found, None);
    }

    #[test]
    fn the_archive_is_that_of_the_machines_own_release() {
        let targets = "http://mirror.test/security/ bookworm-security main\n\
                       http://vendor.test/apt/ stable contrib\n\
                       http://mirror.test/debian/ bookworm-updates main\n\
                       http://mirror.test/debian/ bookworm main\n";
        let debian = "PRETTY_NAME=\"Debian\"\nVERSION_CODENAME=bookworm\nID=debian\n";
        assert_eq!(archive_among(targets, debian), Some("http://mirror.test/debian/"));
        assert_eq!(archive_among(targets, "ID=ubuntu\nID_LIKE=debian\n"), None);
        assert_eq!(archive_among("", debian), None);
    }

    #[test]
    fn hooks_of_the_machine_are_not_run() {
        let settings = "Acquire::http::Proxy \"http://proxy.test\";\n\
                        APT::Update::Post-Invoke-Success:: \"notify everybody\";\n\
                        DPkg::Pre-Install-Pkgs:: \"ask everybody\";\n";
        let found = without_hooks(settings);
        assert_eq!(found, "Acquire::http::Proxy \"http://proxy.test\";\n");
    }
}
