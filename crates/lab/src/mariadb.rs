//! A private MariaDB.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ciphertax_model::{CertificateKind, Secret};
use rustix::process::geteuid;

use crate::bootstrap::{bootstrap, random_password};
use crate::certificates::Authority;
use crate::error::{Error, Result};
use crate::folder::{PrivateFolder, SOCKET, create_private_file};
use crate::guard::{Guard, GuardProgram};
use crate::link::RunningLink;
use crate::locate::Installation;
use crate::log::{self, LOG, Log, Readiness};
use crate::port;
use crate::process::Process;
use crate::sweep::{defaults_file_option, sweep_stale};

/// The only account that can log in; it may do everything.
const USER: &str = "ciphertax";

/// How often a port is chosen anew after somebody else took it.
const PORT_ATTEMPTS: u32 = 5;

/// What differs from the server's defaults, so that data stay in memory, names are not looked up and connections do
/// not run out.
const SETTINGS: [(&str, &str); 5] = [
    ("innodb_buffer_pool_size", "256M"),
    ("innodb_flush_log_at_trx_commit", "2"),
    ("max_connections", "2000"),
    ("skip_log_bin", "ON"),
    ("skip_name_resolve", "ON"),
];

/// How a private server is to be made.
#[derive(Debug, Clone)]
pub struct PrivateServerBuilder {
    certificate: Option<CertificateKind>,
    options: Vec<String>,
    /// Words before the server's command line.
    launcher: Vec<OsString>,
    /// Where it is reached.
    reached_at: IpAddr,
    guard: GuardProgram,
}

impl PrivateServerBuilder {
    /// The kind of the server's certificate; ECDSA P-256 if nothing else is asked for.
    #[must_use]
    pub fn certificate(mut self, kind: CertificateKind) -> Self {
        self.certificate = Some(kind);
        self
    }

    /// A server that does not offer TLS at all.
    #[must_use]
    pub fn without_tls(mut self) -> Self {
        self.certificate = None;
        self
    }

    /// One more option of the server, for example `--require-secure-transport=ON`.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// A server inside a link: [`PrivateServer::address`] is its direct address, and the same port of
    /// [`RunningLink::delayed_address`] leads to it at the link's distance. It must be stopped before the link is.
    #[must_use]
    pub fn inside(mut self, link: &RunningLink) -> Self {
        self.launcher = link.enter();
        self.reached_at = link.direct_address();
        self
    }

    /// The program of the guard; the program that runs now if nothing else is asked for.
    #[must_use]
    pub fn guard(mut self, program: GuardProgram) -> Self {
        self.guard = program;
        self
    }

    /// Makes the server and waits until it is ready: a second or two.
    ///
    /// # Errors
    /// If no server is installed, or it cannot be made or started; the message holds the last lines of its log.
    pub fn start(self) -> Result<PrivateServer> {
        let installation = Installation::find()?;
        sweep_stale();
        let mut guard = Guard::start(&self.guard, PrivateFolder::create()?)?;
        let password = random_password()?;
        let ca_file = self.prepare(&installation, guard.folder(), &password)?;
        let (process, port) = self.launch(&installation, &mut guard)?;
        Ok(PrivateServer {
            process,
            address: SocketAddr::from((self.reached_at, port)),
            socket: guard.folder().join(SOCKET),
            password,
            ca_file,
            started: SystemTime::now(),
            settings: self.settings(),
            guard,
        })
    }

    /// Writes certificates, settings and system tables. Returns what clients must trust.
    fn prepare(
        &self,
        installation: &Installation,
        folder: &Path,
        password: &Secret,
    ) -> Result<Option<PathBuf>> {
        let data = folder.join("data");
        fs::create_dir(&data).map_err(Error::write(&data))?;
        let mut lines = base_settings(installation, folder);
        let ca_file = match self.certificate {
            None => {
                lines.push("skip_ssl".into());
                None
            }
            Some(kind) => {
                let files = Authority::new(kind)?.issue_for_localhost(folder)?;
                lines.push(path_setting("ssl_ca", &files.ca));
                lines.push(path_setting("ssl_cert", &files.certificate));
                lines.push(path_setting("ssl_key", &files.key));
                Some(files.ca)
            }
        };
        lines.extend(SETTINGS.map(|(name, value)| format!("{name} = {value}")));
        let path = folder.join("my.cnf");
        let text = format!("[mariadbd]\n{}\n", lines.join("\n"));
        create_private_file(&path)?
            .write_all(text.as_bytes())
            .map_err(Error::write(&path))?;
        bootstrap(installation, folder, USER, password)?;
        Ok(ca_file)
    }

    /// Starts the server on a port that is free, and waits until it is ready.
    fn launch(&self, installation: &Installation, guard: &mut Guard) -> Result<(Process, u16)> {
        let ports = port::private_range();
        let no_port = || Error::NoPort {
            low: *ports.start(),
            high: *ports.end(),
        };
        for _ in 0..PORT_ATTEMPTS {
            let port = port::free_in(&ports).ok_or_else(no_port)?;
            let mut command_line = self.launcher.clone();
            command_line.extend(installation.command());
            command_line.push(defaults_file_option(guard.folder()));
            command_line.push(format!("--port={port}").into());
            if !self.reached_at.is_loopback() {
                // All addresses of the link's namespace, which nobody else can reach.
                command_line.push("--bind-address=0.0.0.0".into());
            }
            command_line.extend(self.options.iter().map(OsString::from));
            let log = Log::from_its_end(guard.folder());
            let process = Process::open(guard.run(&command_line)?)?;
            match log.wait_until_ready(&process)? {
                Readiness::Ready => return Ok((process, port)),
                Readiness::PortTaken => {}
            }
        }
        Err(no_port())
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings: BTreeMap<String, String> = SETTINGS
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        for option in &self.options {
            let (name, value) = option.split_once('=').unwrap_or((option, "ON"));
            settings.insert(name.trim_start_matches('-').replace('-', "_"), value.into());
        }
        settings
    }
}

/// A MariaDB of our own, reachable from this machine alone. It ends, and all its files go, when this is dropped or when
/// this process ends in whatever way (see [`guard`](crate::guard)).
#[derive(Debug)]
pub struct PrivateServer {
    address: SocketAddr,
    socket: PathBuf,
    password: Secret,
    ca_file: Option<PathBuf>,
    settings: BTreeMap<String, String>,
    started: SystemTime,
    process: Process,
    guard: Guard,
}

impl PrivateServer {
    /// A server with TLS, a P-256 certificate and default TLS versions.
    pub fn builder() -> PrivateServerBuilder {
        PrivateServerBuilder {
            certificate: Some(CertificateKind::default()),
            options: Vec::new(),
            launcher: Vec::new(),
            reached_at: Ipv4Addr::LOCALHOST.into(),
            guard: GuardProgram::this_program(),
        }
    }

    /// Where it is reached: 127.0.0.1, or the direct address of its link, and a port below the ephemeral range.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its Unix socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The account that may do everything.
    pub fn user(&self) -> &str {
        USER
    }

    /// The password of [`PrivateServer::user`]; it exists in this process alone.
    pub fn password(&self) -> &Secret {
        &self.password
    }

    /// The certificate of the authority that clients must trust; `None` for a server without TLS.
    pub fn ca_file(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }

    /// Its folder, where short-lived files may be put too: all of it goes with the server.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// Its process. The number is not given to another process before this server is stopped, even if the server dies.
    pub fn pid(&self) -> u32 {
        self.process.pid().as_raw_nonzero().get().unsigned_abs()
    }

    /// When it was ready.
    pub fn started(&self) -> SystemTime {
        self.started
    }

    /// The settings that differ from the server's defaults and matter for a measurement.
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.settings
    }

    /// False once its process has ended.
    pub fn is_alive(&self) -> bool {
        !self.process.has_ended()
    }

    /// The last lines of its log, in one line.
    pub fn log_tail(&self) -> String {
        log::tail(self.folder())
    }

    /// Ends it and removes everything it had. Dropping does the same without a word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        self.guard.finish()
    }
}

/// Where everything is, and that nobody else can reach the server.
fn base_settings(installation: &Installation, folder: &Path) -> Vec<String> {
    let mut lines = vec![
        path_setting("basedir", installation.basedir()),
        path_setting("lc_messages_dir", installation.share()),
        path_setting("character_sets_dir", &installation.share().join("charsets")),
        path_setting("datadir", &folder.join("data")),
        path_setting("tmpdir", folder),
        path_setting("socket", &folder.join(SOCKET)),
        path_setting("pid_file", &folder.join("mariadbd.pid")),
        path_setting("log_error", &folder.join(LOG)),
        "bind_address = 127.0.0.1".into(),
    ];
    if geteuid().is_root() {
        lines.push("user = root".into());
    }
    lines
}

fn path_setting(name: &str, path: &Path) -> String {
    format!("{name} = \"{}\"", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_what_was_asked_for() {
        let settings = PrivateServer::builder()
            .option("--tls-version=TLSv1.2")
            .option("--skip-grant-tables")
            .settings();
        assert_eq!(settings["tls_version"], "TLSv1.2");
        assert_eq!(settings["skip_grant_tables"], "ON");
        assert_eq!(settings["max_connections"], "2000");
    }
}
