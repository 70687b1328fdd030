//! The accounts of a private TiDB, made before anybody else can reach it.
//!
//! A new TiDB lets root in without a password, and whoever is root can have it write files. So it runs once without a port, for a
//! socket in its private folder alone, until root is gone.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_model::Secret;
use ciphertax_reactor::stop;
use ciphertax_supervise::{LONGEST_SOCKET_NAME, child};
use ciphertax_wire::mysql::ConnectOptions;
use rustix::process::{Pid, Signal, kill_process};

use crate::accounts::Account;
use crate::error::{Error, Result};
use crate::locate::Installation;
use crate::log::{LOG, STARTUP, read_from, tail};
use crate::mysql::{ask, native_password_hash};
use crate::server::family::Family;

use super::{TiDb, settings::file_option};

/// Who may do everything without a password until somebody changes that.
const ROOT: &str = "root";

/// The socket of that time, in the folder of the server.
const SOCKET: &str = "server.sock";

const _: () = assert!(
    SOCKET.len() <= LONGEST_SOCKET_NAME,
    "the path of the socket is checked"
);

const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Gives the server that was prepared in `folder` these accounts and no other.
pub(super) fn make(installation: &Installation, folder: &Path, accounts: &[Account]) -> Result<()> {
    let socket = folder.join(SOCKET);
    let mut server = start(installation, folder, &socket)?;
    let made = until_ready(&mut server, installation, folder).and_then(|()| {
        let root = ConnectOptions {
            socket: Some(socket),
            ..ConnectOptions::new("localhost", 0, ROOT, Secret::default())
        };
        ask(installation.entry().name, &root, async |_, session| {
            for statement in accounts.iter().flat_map(statements) {
                session.query(&statement).await?;
            }
            session.query(&format!("DROP USER '{ROOT}'@'%'")).await?;
            Ok(())
        })
    });
    let ended = end(&mut server, installation, folder);
    made.and(ended)
}

fn start(installation: &Installation, folder: &Path, socket: &Path) -> Result<Child> {
    let log = folder.join(LOG);
    let log = File::create(&log).map_err(Error::write(&log))?;
    let words = installation.command();
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg(file_option(folder))
        .arg("-P=0")
        .arg("-socket")
        .arg(socket)
        .stdin(Stdio::null())
        .stderr(log.try_clone().map_err(Error::write(folder))?)
        .stdout(log);
    // This thread waits for the end, so it lives as long as the server does.
    child::die_with_this_thread(&mut command);
    command.spawn().map_err(failed(installation))
}

fn until_ready(server: &mut Child, installation: &Installation, folder: &Path) -> Result<()> {
    let deadline = Instant::now() + STARTUP;
    loop {
        if server.try_wait().map_err(failed(installation))?.is_some() {
            return Err(Error::EndedEarly { log: tail(folder) });
        }
        if TiDb.is_ready(&read_from(&folder.join(LOG), 0)) {
            return Ok(());
        }
        wait(deadline, folder)?;
    }
}

/// Asks it to end, so that what it was told is on the disk, and kills one that does not.
fn end(server: &mut Child, installation: &Installation, folder: &Path) -> Result<()> {
    let deadline = Instant::now() + STARTUP;
    // One that has ended is waited for below.
    let _ = kill_process(Pid::from_child(server), Signal::TERM);
    loop {
        if server.try_wait().map_err(failed(installation))?.is_some() {
            return Ok(());
        }
        if let Err(late) = wait(deadline, folder) {
            let _ = server.kill();
            let _ = server.wait();
            return Err(late);
        }
    }
}

fn wait(deadline: Instant, folder: &Path) -> Result<()> {
    if stop::is_over(deadline) {
        return Err(Error::NotReady {
            seconds: STARTUP.as_secs(),
            log: tail(folder),
        });
    }
    thread::sleep(LOOK_AGAIN);
    Ok(())
}

fn failed(installation: &Installation) -> impl Fn(std::io::Error) -> Error {
    move |cause| Error::Spawn {
        program: installation.program().to_owned(),
        cause,
    }
}

fn statements(account: &Account) -> [String; 2] {
    let hash = native_password_hash(&account.password);
    let name = format!("'{}'@'%'", account.user);
    [
        format!("CREATE USER {name} IDENTIFIED WITH mysql_native_password AS '{hash}'"),
        format!("GRANT ALL PRIVILEGES ON *.* TO {name} WITH GRANT OPTION"),
    ]
}
