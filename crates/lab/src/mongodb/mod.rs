//! MongoDB.

mod proof;
mod set_up;
mod settings;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ciphertax_model::AuthenticationMethod;
use ciphertax_supervise::guard::{Ending, User};
use ciphertax_wire::mongodb::Session;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::accounts::{Account, USER};
use crate::certificates::{CertificateFiles, KeyFormat};
use crate::error::{Error, Result};
use crate::files::{random_digits, read_from, write_private};
use crate::locate::{InstallStep, Installation};
use crate::server::PrivateServer;
use crate::server::family::{Canary, Family, Members, Outline, Plan};
use crate::server::spec::{Spec, disk_of};
use set_up::{connect, find_primary, login};
use settings::{DATA_OPTION, Settings};

pub use proof::{Conditions, find_canary, prove};

/// MongoDB's servers: all there is to know is in how they are started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MongoDb;

impl Family for MongoDb {
    /// Known by where its data are, which lie below its private folder.
    fn works_in(&self) -> fn(argument: &[u8], folder: &Path) -> bool {
        |argument, folder| {
            let data = argument.strip_prefix(DATA_OPTION.as_bytes());
            data.and_then(|data| Path::new(OsStr::from_bytes(data)).parent()) == Some(&disk_of(folder))
        }
    }

    /// It makes its first data folder in a moment; what may be missing are libraries of the system.
    fn after_install(&self, installation: &Installation, _: &mut dyn FnMut(InstallStep)) -> Result<()> {
        installation.version().map(drop)
    }

    fn plan<'a>(&'a self, spec: &'a Spec) -> Result<Box<dyn Plan + 'a>> {
        Ok(Box::new(MongoDbPlan {
            installation: Installation::locate(spec.entry)?,
            accounts: accounts(spec)?,
            settings: Settings {
                spec,
                tls: None,
                key_file: None,
            },
        }))
    }

    fn canary(&self, server: &PrivateServer, canary: Canary<'_>) -> Result<()> {
        let servers = server.addresses();
        let commands = proof::canary_commands(canary, servers.len());
        set_up::run(server.entry(), async |reactor| {
            let primary = find_primary(reactor, &servers, |_| true).await?;
            let mut session: Session = connect(reactor, primary, login(server.default_account())?).await?;
            for command in &commands {
                session.command(command).await?;
            }
            Ok(())
        })
    }

    /// The last complaints, in one line; where there are none, the last messages.
    fn complaints(&self, log: &Path) -> String {
        let length = fs::metadata(log).map_or(0, |metadata| metadata.len());
        let text = read_from(log, length.saturating_sub(TAIL_BYTES));
        let serious: Vec<String> = text.lines().filter_map(complaint).collect();
        let chosen = if serious.is_empty() {
            text.lines()
                .filter(|line| !line.trim().is_empty())
                .map(message)
                .collect()
        } else {
            serious
        };
        match chosen.len() {
            0 => "nothing".into(),
            count => chosen[count.saturating_sub(TAIL_LINES)..].join(" | "),
        }
    }
}

/// Space that a server needs, in megabytes: its journal, and data as large as its cache is by default.
const NEEDED_MB: u64 = 350;

/// Random bytes of the secret that the members of a replica set share; MongoDB takes up to 1024 characters.
const KEY_BYTES: usize = 64;

struct MongoDbPlan<'a> {
    installation: Installation,
    accounts: Vec<Account>,
    settings: Settings<'a>,
}

impl Plan for MongoDbPlan<'_> {
    fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    fn outline(&self) -> Outline {
        let members = self
            .settings
            .spec
            .replica_set
            .map_or(1, |set| usize::from(set.servers()));
        Outline {
            members,
            // There are six at most.
            needed_mb: NEEDED_MB * members as u64,
            key_format: KeyFormat::Bundled,
            client_name: X509_COMMON_NAME,
            user: User::Owner,
            ending: Ending::Terminate,
            socket: None,
        }
    }

    /// Those that clients use too.
    fn ports_between(&self, listening: &[u16]) -> Vec<u16> {
        match listening {
            [_] => Vec::new(),
            all => all.to_vec(),
        }
    }

    fn prepare(&mut self, folder: &Path, tls: Option<&CertificateFiles>) -> Result<()> {
        let spec = self.settings.spec;
        self.settings.tls = tls.cloned();
        if spec.access_control && spec.replica_set.is_some() {
            self.settings.key_file = Some(write_key_file(folder)?);
        }
        Ok(())
    }

    fn command_line(&self, member: usize, folder: &Path, port: u16) -> Result<Vec<OsString>> {
        let data = disk_of(folder).join(format!("data-{member}"));
        fs::create_dir_all(&data).map_err(Error::write(&data))?;
        let mut command_line = self.installation.command();
        command_line.extend(self.settings.arguments(&data, port));
        Ok(command_line)
    }

    fn lack(&self, complaints: &str) -> Option<Error> {
        self.installation.missing_library(complaints)
    }

    fn set_up(&self, members: &Members) -> Result<()> {
        let to_be_made = if self.settings.spec.access_control {
            &self.accounts[..]
        } else {
            &[]
        };
        set_up::set_up(
            self.settings.spec.entry,
            members,
            self.settings.spec.replica_set,
            to_be_made,
        )
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.settings.of_interest()
    }
}

fn write_key_file(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("members.key");
    write_private(&path, &random_digits::<KEY_BYTES>()?)?;
    Ok(path)
}

/// The common name of client certificates that MongoDB takes for an account. It takes one for a server of its own
/// deployment if organisation and unit are those of the server's certificate, and these have neither.
const X509_COMMON_NAME: &str = "ciphertax_x509";

/// The default account, and those asked for.
fn accounts(spec: &Spec) -> Result<Vec<Account>> {
    let default = if spec.access_control {
        Account::default_of(spec.entry)
    } else {
        Ok(Account::without_password("", AuthenticationMethod::NoLogin))
    };
    let others = spec.accounts.iter().copied();
    let others = others.filter(|method| *method != AuthenticationMethod::NoLogin);
    std::iter::once(default).chain(others.map(account_for)).collect()
}

fn account_for(method: AuthenticationMethod) -> Result<Account> {
    let name = match method {
        AuthenticationMethod::MongodbX509 => {
            // The subject of its certificate.
            let subject = format!("CN={X509_COMMON_NAME}");
            return Ok(Account::without_password(subject, method));
        }
        AuthenticationMethod::ScramSha1 => "scram_sha_1",
        AuthenticationMethod::ScramSha256 => "scram_sha_256",
        other => other.name(),
    };
    Account::with_password(format!("{USER}_{name}"), method)
}

/// How much of the end of the log is looked at for a message, and how much of it goes there: lines, and characters of
/// each.
const TAIL_BYTES: u64 = 64 << 10;
const TAIL_LINES: usize = 4;
const LONGEST_LINE: usize = 400;

/// A line of the log, as far as it is read.
///
/// The log is a document of JSON a line.
#[derive(Deserialize)]
struct Line {
    /// `F`, `E`, `W`, `I` or `D` and a number.
    s: String,
    msg: String,
    #[serde(default)]
    attr: Map<String, Value>,
}

/// An error of the server, or whatever is no message of its own, such as the loader's.
fn complaint(line: &str) -> Option<String> {
    let serious = match parse(line) {
        Some(parsed) => matches!(parsed.s.as_str(), "F" | "E"),
        None => !line.trim().is_empty(),
    };
    serious.then(|| message(line))
}

/// The words of a line, and what they are about.
fn message(line: &str) -> String {
    let text = match parse(line) {
        Some(Line { msg, attr, .. }) if attr.is_empty() => msg,
        Some(Line { msg, attr, .. }) => format!("{msg}: {}", Value::Object(attr)),
        None => line.trim().to_owned(),
    };
    text.chars().take(LONGEST_LINE).collect()
}

fn parse(line: &str) -> Option<Line> {
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR: &str =
        r#"{"s":"E", "id":23248, "msg":"Cannot read certificate file","attr":{"error":"ee key too small"}}"#;
    const WORD: &str =
        r#"{"s":"I", "c":"CONTROL", "id":23138, "ctx":"main","msg":"Shutting down","attr":{"exitCode":1}}"#;

    #[test]
    fn complaints_come_before_all_else() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        assert_eq!(MongoDb.complaints(&log), "nothing");
        fs::write(&log, format!("{WORD}\n{WORD}\n")).unwrap();
        assert_eq!(
            MongoDb.complaints(&log),
            r#"Shutting down: {"exitCode":1} | Shutting down: {"exitCode":1}"#
        );
        fs::write(&log, format!("{ERROR}\n{WORD}\n")).unwrap();
        assert_eq!(
            MongoDb.complaints(&log),
            r#"Cannot read certificate file: {"error":"ee key too small"}"#
        );
    }

    #[test]
    fn what_the_loader_says_is_a_complaint() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let words =
            "mongod: error while loading shared libraries: libcurl.so.4: cannot open shared object file";
        fs::write(&log, words).unwrap();
        assert_eq!(MongoDb.complaints(&log), words);
    }
}
