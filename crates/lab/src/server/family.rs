//! The families of servers, and which of them are installed.
//!
//! A new kind of server is a room of its own with a [`Family`] in it, a variant of the catalogue's `ServerFamily`,
//! and one line in [`family`]. Everything else stands once, in [`super`]: folders, guards, ports, certificates, logs,
//! life and death.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;

use ciphertax_base::Proof;
use ciphertax_supervise::Known;
use ciphertax_supervise::guard::{Ending, User};

use super::PrivateServer;
use super::spec::Spec;
use crate::accounts::Account;
use crate::catalogue::{CATALOGUE, Entry, ServerFamily};
use crate::certificates::{CertificateFiles, KeyFormat};
use crate::error::{Error, Result};
use crate::files;
use crate::locate::{InstallStep, Installation};
use crate::mongodb::MongoDb;
use crate::proof::{Objection, ProvedAtRest};
use crate::sqlite::Sqlite;

/// Servers of one kind.
pub(crate) trait Family: Sync {
    /// How a program of this kind is known to be ours: whether an argument of it means that it works in exactly a
    /// private folder.
    fn works_in(&self) -> fn(argument: &[u8], folder: &Path) -> bool {
        |_, _| false
    }

    /// Makes sure that an installation has all the files that a server cannot start without.
    fn check_files(&self, _: &Installation) -> Result<()> {
        Ok(())
    }

    fn is_complete(&self, _: &Installation) -> bool {
        true
    }

    /// What is done once with a new installation, so that no start has to.
    fn after_install(&self, _: &Installation, _: &mut dyn FnMut(InstallStep)) -> Result<()> {
        Ok(())
    }

    /// Finds what is needed for such servers. Nothing is made yet.
    fn plan<'a>(&'a self, spec: &'a Spec) -> Result<Box<dyn Plan + 'a>>;

    /// Does something with the row that a server is proved by, which is in a table of its own, so that it is gone without a trace.
    fn canary(&self, server: &PrivateServer, _: Canary<'_>) -> Result<()> {
        Err(Error::set_up(
            server.entry().name,
            "it has no row that it is proved by",
        ))
    }

    /// Options of a server that is made for [`Family::prove_disk`] alone, so that all it writes reaches the disk.
    fn disk_proof_options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Proves what a server encrypts on the disk, and what stays readable there.
    fn prove_disk(&self, server: &PrivateServer) -> Result<ProvedAtRest, Objection> {
        server.file_system_proof()
    }

    /// The same of a server that is measured, as far as that leaves it as it was.
    fn prove_measured_disk(&self, server: &PrivateServer) -> Result<Vec<Proof>, Objection> {
        Ok(server.file_system_proof()?.proofs)
    }

    /// What a log says that explains the end of its server, in one line.
    fn complaints(&self, log: &Path) -> String {
        files::tail_of(log)
    }
}

/// What is done with the row that a server is proved by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Canary<'a> {
    /// Writes it with this text, and has the server write down all that it has in memory.
    Write(&'a str),
    /// Writes it with a text that is these two in one, which only a server puts together: whoever sees all of it has not seen a client
    /// send it. It is there when all members have it.
    Replicate([&'a str; 2]),
    /// Removes it, if it is there.
    Remove,
}

/// What is known of servers before they are made.
pub(crate) struct Outline {
    /// How many processes they are; none for a database that its client runs itself.
    pub(crate) members: usize,
    pub(crate) needed_mb: u64,
    pub(crate) key_format: KeyFormat,
    /// The common name of certificates that they take from clients.
    pub(crate) client_name: &'static str,
    pub(crate) user: User,
    /// How a member is asked to end. Its data go with it.
    pub(crate) ending: Ending,
    /// The Unix socket in their folder, if they have one.
    pub(crate) socket: Option<&'static str>,
}

/// Servers that are to be made as one family makes them.
pub(crate) trait Plan: Sync {
    fn accounts(&self) -> &[Account];

    fn outline(&self) -> Outline;

    /// The ports by which members that listen on these tell each other what was written; none for a single server.
    fn ports_between(&self, _listening: &[u16]) -> Vec<u16> {
        Vec::new()
    }

    /// Writes data folders and settings into `folder`; `tls` is the certificate, if there is one.
    fn prepare(&mut self, folder: &Path, tls: Option<&CertificateFiles>) -> Result<()>;

    fn command_line(&self, member: usize, folder: &Path, port: u16) -> Result<Vec<OsString>>;

    /// Does what a starting member waits for; true when that is done. Called again and again until it is.
    fn attend(&self) -> Result<bool> {
        Ok(true)
    }

    /// What a member that ended lacked, if its complaints tell.
    fn lack(&self, _complaints: &str) -> Option<Error> {
        None
    }

    /// Makes accounts and replica sets, once all members are ready. This runs beside the servers, in their network
    /// namespace.
    fn set_up(&self, _: &Members) -> Result<()> {
        Ok(())
    }

    /// What differs from the server's defaults or matters for a measurement, by the server's own names.
    fn settings(&self) -> BTreeMap<String, String>;
}

/// Where the members of a server are.
pub(crate) struct Members {
    /// Where they are reached from beside them.
    pub(crate) from_beside: Vec<SocketAddr>,
    /// Where clients reach them.
    pub(crate) by_clients: Vec<SocketAddr>,
}

/// What servers of this entry's kind have in common. The only place that knows every family.
pub(crate) fn family(entry: &'static Entry) -> &'static dyn Family {
    match &entry.family {
        ServerFamily::MySql(variant) => variant,
        ServerFamily::MongoDb => &MongoDb,
        ServerFamily::PostgreSql(variant) => variant,
        ServerFamily::Sqlite => &Sqlite,
    }
}

impl Installation {
    /// The server of a catalogue entry: in the user's cache, where `ciphertax servers install` puts it; the
    /// distribution's own also in the system.
    ///
    /// # Errors
    /// Names what is missing, where it was looked for, and the remedy.
    pub fn of(entry: &'static Entry) -> Result<Self> {
        let installation = Self::locate(entry)?;
        family(entry).check_files(&installation)?;
        Ok(installation)
    }

    /// True if it has every library that the catalogue promises of it.
    pub fn is_complete(&self) -> bool {
        family(self.entry).is_complete(self) && self.has_programs_beside()
    }
}

/// Removes this user's private folders that nobody holds any more, and ends servers that still run in them. Called at
/// every start; what cannot be removed is left for the next one.
pub(crate) fn sweep_stale() {
    let known = CATALOGUE.map(|entry| Known {
        programs: entry.family.program().names,
        works_in: family(entry).works_in(),
    });
    ciphertax_supervise::sweep_stale(&known);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{MONGODB, MYSQL};

    #[test]
    fn servers_are_known_by_where_their_settings_or_data_are() {
        let folder = Path::new("/tmp/ciphertax-server-it");
        for (argument, mysql, mongodb) in [
            ("--defaults-file=/tmp/ciphertax-server-it/my.cnf", true, false),
            ("--defaults-file=/tmp/ciphertax-server-it2/my.cnf", false, false),
            ("--dbpath=/tmp/ciphertax-server-it/disk/data-0", false, true),
            ("--dbpath=/tmp/ciphertax-server-it2/disk/data-0", false, false),
            ("--dbpath=/tmp/ciphertax-server-it/disk", false, false),
            ("/tmp/ciphertax-server-it/disk/data-0", false, false),
        ] {
            let works_in = |entry: &'static Entry| (family(entry).works_in())(argument.as_bytes(), folder);
            let found = (works_in(&MYSQL), works_in(&MONGODB));
            assert_eq!(found, (mysql, mongodb), "{argument}");
        }
    }
}
