//! Real servers, tunnels and other programs that tests start, fetched once into the user's cache.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use ciphertax_lab::catalogue::{Entry, POSTGRESQL};
use ciphertax_lab::{Installation, PrivateServer, install};
use ciphertax_model::{SshCipher, Tunnel};
use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_wire::{mongodb, postgresql};

use crate::waiting::not_tested;

/// A server of the catalogue, fetched by the machine's package clients unless it is in the user's cache. Where that
/// cannot be, as without a network, the test is not tested: `None`.
#[track_caller]
pub fn fetched(entry: &'static Entry) -> Option<Installation> {
    match install(entry, &AtomicBool::new(false), &mut |_| {}) {
        Ok(installation) => Some(installation),
        Err(error) => {
            not_tested(format_args!("{entry} cannot be fetched: {error}"));
            None
        }
    }
}

/// The folder of PostgreSQL's own programs (`initdb`, `psql`, `pgbench`, `pg_basebackup` …), fetched like [`fetched`] where
/// the system has none.
#[track_caller]
pub fn postgresql_programs() -> Option<PathBuf> {
    let installation = fetched(&POSTGRESQL)?;
    installation.program.parent().map(Path::to_owned)
}

/// Options of a plaintext session over TCP, by the default account.
pub fn plain(server: &PrivateServer) -> ConnectOptions {
    let (host, port) = place(server);
    ConnectOptions::new(host, port, server.user(), server.password().clone())
}

fn place(server: &PrivateServer) -> (String, u16) {
    (server.address().ip().to_string(), server.address().port())
}

/// The same with a PostgreSQL, in the database that every one has.
pub fn plain_postgresql(server: &PrivateServer) -> postgresql::ConnectOptions {
    let (host, port) = place(server);
    postgresql::ConnectOptions {
        database: Some("postgres".to_owned()),
        ..postgresql::ConnectOptions::new(host, port, server.user(), server.password().clone())
    }
}

/// The same with a MongoDB that asks nobody who he is.
pub fn plain_mongodb(server: &PrivateServer) -> mongodb::ConnectOptions {
    let (host, port) = place(server);
    mongodb::ConnectOptions::new(host, port, mongodb::Login::None)
}

/// Every kind of tunnel. One cipher of SSH stands for all where the cipher does not matter.
pub const EVERY_TUNNEL: [Tunnel; 3] = [
    Tunnel::Ssh(SshCipher::Aes256Gcm),
    Tunnel::Stunnel,
    Tunnel::Haproxy,
];

/// An example of the crate whose test asks, which `cargo build --workspace --examples` builds, as `make test` does first.
pub fn example(name: &str) -> PathBuf {
    let deps = env::current_exe().unwrap();
    let path = deps.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(
        path.exists(),
        "cargo build --workspace --examples builds {}",
        path.display()
    );
    path
}

/// A program that owns what is looked for afterwards: it keeps its temporary files in `temporary`, says where its things
/// are on standard output, and ends with its standard input. In a process group of its own, as a shell would start it.
pub fn owner_command(program: &Path, temporary: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("TMPDIR", temporary)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    command
}

/// Copies a program, or a folder of them, to where another user may execute it.
pub fn copy_program(from: &Path, to: &Path) {
    // By another process: a copy that this one still has open for writing, or that a child forked meanwhile inherited,
    // cannot be executed.
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copied.unwrap().success(), "{} cannot be copied", from.display());
}

/// The user's cache: servers that were fetched, and what the set-up script unpacked.
pub fn cache() -> PathBuf {
    match env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env::var_os("HOME").unwrap()).join(".cache"),
    }
}

/// The programs of tunnels that `scripts/setup.sh tunnels` has unpacked; `None` where the system has them all.
pub fn unpacked_tunnels() -> Option<PathBuf> {
    Some(cache().join("ciphertax/tunnels")).filter(|folder| folder.is_dir())
}
