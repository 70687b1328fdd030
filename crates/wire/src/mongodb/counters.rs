//! Counters in which the server tells of sessions: MongoDB has no status of a single connection's TLS.

use std::collections::BTreeMap;

use bson::raw::{RawBsonRef, RawDocument};
use bson::rawdoc;
use ciphertax_model::{AuthenticationMethod, TlsVersion};

use super::reply::number;
use super::session::Session;
use super::unreadable;
use crate::error::{Result, WireError};
use crate::expectation::Expectation;

/// Connections and logins that a server counted since it started, or between two readings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerCounters {
    /// Connections, of whichever kind.
    pub connections: u64,
    /// TLS handshakes by protocol version, by its OpenSSL name (`TLSv1.3`); empty where the server has no TLS.
    pub handshakes: BTreeMap<String, u64>,
    /// Logins by mechanism.
    pub logins: BTreeMap<String, Logins>,
}

/// Logins by one mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Logins {
    /// Those that succeeded, whether or not they began along with the greeting.
    pub successful: u64,
    /// First steps that came along with the greeting.
    pub speculative: u64,
}

impl ServerCounters {
    /// Reads the server's counters. Needs the right to `serverStatus`.
    ///
    /// # Errors
    /// Those of a command.
    pub async fn read(session: &mut Session) -> Result<Self> {
        let ask = rawdoc! { "serverStatus": 1_i32, "repl": 0_i32, "metrics": 0_i32, "$db": "admin" };
        Self::parse(&session.command(&ask).await?)
    }

    /// What was counted since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        let handshakes = self.handshakes.iter().map(|(version, count)| {
            let before = earlier.handshakes.get(version).copied().unwrap_or_default();
            (version.clone(), count.saturating_sub(before))
        });
        let logins = self.logins.iter().map(|(mechanism, logins)| {
            let before = earlier.logins.get(mechanism).copied().unwrap_or_default();
            let since = Logins {
                successful: logins.successful.saturating_sub(before.successful),
                speculative: logins.speculative.saturating_sub(before.speculative),
            };
            (mechanism.clone(), since)
        });
        Self {
            connections: self.connections.saturating_sub(earlier.connections),
            handshakes: handshakes.collect(),
            logins: logins.collect(),
        }
    }

    fn parse(status: &RawDocument) -> Result<Self> {
        let connections = document(status, "connections")?
            .map(|connections| connections.get("totalCreated"))
            .transpose()
            .map_err(unreadable)?
            .flatten()
            .and_then(count)
            .ok_or_else(|| WireError::protocol("a status without the number of connections"))?;
        let mut handshakes = BTreeMap::new();
        if let Some(versions) = document(status, "transportSecurity")? {
            for version in versions {
                let (version, value) = version.map_err(unreadable)?;
                handshakes.insert(openssl_name(version.as_str()), count(value).unwrap_or_default());
            }
        }
        let mut logins = BTreeMap::new();
        let mechanisms = ["security", "authentication", "mechanisms"];
        if let Some(mechanisms) = path(status, &mechanisms)? {
            for mechanism in mechanisms {
                let (mechanism, value) = mechanism.map_err(unreadable)?;
                if let RawBsonRef::Document(value) = value {
                    logins.insert(mechanism.as_str().to_owned(), Logins::parse(value)?);
                }
            }
        }
        Ok(Self {
            connections,
            handshakes,
            logins,
        })
    }
}

impl Logins {
    fn parse(mechanism: &RawDocument) -> Result<Self> {
        let of = |kind: &str, name: &str| -> Result<u64> {
            let counted = document(mechanism, kind)?.map(|counters| counters.get(name));
            let counted = counted.transpose().map_err(unreadable)?.flatten();
            Ok(counted.and_then(count).unwrap_or_default())
        };
        Ok(Self {
            successful: of("authenticate", "successful")?,
            speculative: of("speculativeAuthenticate", "received")?,
        })
    }
}

/// Who else connects to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    /// Nobody.
    None,
    /// The other members of its replica set, over plaintext connections.
    InPlaintext,
    /// Anybody.
    #[default]
    MayUseTls,
}

impl Expectation {
    /// The server's word: what it counted while `sessions` sessions were opened by `speculative` logins or not. What `others`
    /// may have added is no contradiction; what is counted too little is one.
    ///
    /// # Errors
    /// Says what was expected and what was found.
    pub fn check_counters(
        &self,
        counted: &ServerCounters,
        sessions: u64,
        speculative: bool,
        others: Others,
    ) -> Result<(), String> {
        let agrees = |found: u64, expected: u64| {
            found == expected || (others == Others::MayUseTls && found > expected)
        };
        let logs_in =
            |found: u64, expected: u64| found == expected || (others != Others::None && found > expected);
        for version in TlsVersion::ALL {
            let found = counted
                .handshakes
                .get(version.name())
                .copied()
                .unwrap_or_default();
            let expected = if self.transport.tls_version() == Some(version) {
                sessions
            } else {
                0
            };
            let is_open = self.transport.is_encrypted() && self.transport.tls_version().is_none();
            if !is_open && !agrees(found, expected) {
                return Err(format!(
                    "the server counts {found} handshakes of {version}; expected {expected}"
                ));
            }
        }
        let total: u64 = counted.handshakes.values().sum();
        let expected = if self.transport.is_encrypted() {
            sessions
        } else {
            0
        };
        if !agrees(total, expected) {
            return Err(format!(
                "the server counts {total} TLS handshakes; expected {expected}"
            ));
        }
        let Some(login) = &self.login else { return Ok(()) };
        // Which mechanism it is, the server says to each session; one is tried in vain with the greeting.
        let Some(method) = &login.method else {
            let found = counted.logins.values().map(|logins| logins.successful).sum();
            return match logs_in(found, sessions) {
                true => Ok(()),
                false => Err(format!("the server counts {found} logins; expected {sessions}")),
            };
        };
        for (mechanism, logins) in &counted.logins {
            let expected = if mechanism == method { sessions } else { 0 };
            let begun_early = if speculative { expected } else { 0 };
            if !logs_in(logins.successful, expected) || !logs_in(logins.speculative, begun_early) {
                return Err(format!(
                    "the server counts {} logins by {mechanism}, {} of them begun with the greeting; expected {expected} and \
                     {begun_early}",
                    logins.successful, logins.speculative
                ));
            }
        }
        if method == AuthenticationMethod::NoLogin.name() || counted.logins.contains_key(method) {
            return Ok(());
        }
        Err(format!("the server counts no logins by {method}"))
    }
}

/// What a server's counters tell of sessions among those of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The sessions are what they are said to be.
    Agrees,
    /// Some of them are not.
    Lacks(String),
    /// As many TLS sessions came as there are none of, while nobody else opens any.
    Surplus(String),
    /// Others open TLS sessions too.
    CannotTell,
}

impl Expectation {
    /// What the counters tell of `sessions` sessions at least, by how they rose while these were opened (`ours`) and in a time
    /// as long in which they were not (`quiet`).
    pub fn decide(
        &self,
        ours: &ServerCounters,
        quiet: &ServerCounters,
        sessions: u64,
        speculative: bool,
    ) -> Verdict {
        let check = |others| self.check_counters(ours, sessions, speculative, others);
        if let Err(problem) = check(Others::MayUseTls) {
            return Verdict::Lacks(problem);
        }
        let is_quiet = quiet.handshakes.values().all(|count| *count == 0);
        let is_plain = !self.transport.is_encrypted();
        let Err(problem) = check(Others::InPlaintext) else {
            // All sessions are among those that were counted, so where none is of TLS, none of these is.
            return match is_plain || is_quiet {
                true => Verdict::Agrees,
                false => Verdict::CannotTell,
            };
        };
        let own = self.transport.tls_version().map(TlsVersion::name);
        let is_other = |version: &str| (is_plain || own.is_some()) && Some(version) != own;
        let mut rose = ours.handshakes.iter();
        match is_quiet && rose.any(|(version, count)| is_other(version) && *count >= sessions) {
            true => Verdict::Surplus(problem),
            false => Verdict::CannotTell,
        }
    }
}

/// Who the server takes this session for, as `user@database`; nobody without access control, or before a login.
///
/// # Errors
/// Those of a command.
pub async fn authenticated_users(session: &mut Session) -> Result<Vec<String>> {
    let ask = rawdoc! { "connectionStatus": 1_i32, "showPrivileges": false, "$db": "admin" };
    let status = session.command(&ask).await?;
    let unknown = || WireError::protocol("a status of the connection without its users");
    let info = document(&status, "authInfo")?.ok_or_else(unknown)?;
    let users = info.get_array("authenticatedUsers").map_err(|_| unknown())?;
    let mut names = Vec::new();
    for user in users {
        let RawBsonRef::Document(user) = user.map_err(unreadable)? else {
            return Err(unknown());
        };
        let part = |name: &str| user.get_str(name).map_err(|_| unknown());
        names.push(format!("{}@{}", part("user")?, part("db")?));
    }
    Ok(names)
}

/// The name of a version that the server calls `1.3`; `unknown` stays.
fn openssl_name(version: &str) -> String {
    match version {
        "1.0" => TlsVersion::V1_0.name().to_owned(),
        "1.1" => TlsVersion::V1_1.name().to_owned(),
        "1.2" => TlsVersion::V1_2.name().to_owned(),
        "1.3" => TlsVersion::V1_3.name().to_owned(),
        other => other.to_owned(),
    }
}

fn path<'a>(document: &'a RawDocument, names: &[&str]) -> Result<Option<&'a RawDocument>> {
    let mut found = document;
    for name in names {
        match self::document(found, name)? {
            Some(inner) => found = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

fn document<'a>(outer: &'a RawDocument, name: &str) -> Result<Option<&'a RawDocument>> {
    let found = outer.get(name).map_err(unreadable)?;
    Ok(found.and_then(RawBsonRef::as_document))
}

fn count(value: RawBsonRef<'_>) -> Option<u64> {
    number(value).and_then(|number| u64::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use ciphertax_model::Transport;

    use super::*;

    fn rose(handshakes: &[(&str, u64)]) -> ServerCounters {
        let handshakes = handshakes.iter();
        ServerCounters {
            handshakes: handshakes
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect(),
            ..ServerCounters::default()
        }
    }

    #[test]
    fn counters_decide_where_nobody_else_opens_tls_sessions_and_say_so_where_others_do() {
        let none = || rose(&[("TLSv1.2", 0), ("TLSv1.3", 0)]);
        let of = |older, newer| rose(&[("TLSv1.2", older), ("TLSv1.3", newer)]);
        let (plain, tls) = (Transport::Plain, Transport::Tls13);
        let verdict = |transport, ours, quiet| {
            let verdict = Expectation::new(transport).decide(&ours, &quiet, 8, true);
            match verdict {
                Verdict::Agrees => "agrees",
                Verdict::Lacks(_) => "lacks",
                Verdict::Surplus(_) => "surplus",
                Verdict::CannotTell => "cannot tell",
            }
        };
        for (transport, ours, quiet, expected) in [
            (plain, none(), none(), "agrees"),
            // Others may come at other times: none came while these did.
            (plain, none(), of(0, 3), "agrees"),
            (plain, of(0, 8), none(), "surplus"),
            (plain, of(8, 1), none(), "surplus"),
            (plain, of(0, 7), none(), "cannot tell"),
            (plain, of(0, 8), of(0, 1), "cannot tell"),
            (tls, of(0, 8), none(), "agrees"),
            (tls, of(0, 8), of(0, 1), "cannot tell"),
            (tls, none(), none(), "lacks"),
            (tls, of(0, 7), of(0, 20), "lacks"),
            (tls, of(8, 0), none(), "lacks"),
            (tls, of(8, 8), none(), "surplus"),
            (tls, of(0, 9), none(), "cannot tell"),
            (Transport::Tls, of(4, 4), none(), "agrees"),
            (Transport::Tls, of(4, 3), none(), "lacks"),
            (Transport::Tls, of(8, 4), none(), "cannot tell"),
        ] {
            let row = format!("{transport}: {ours:?}, {quiet:?}");
            assert_eq!(verdict(transport, ours, quiet), expected, "{row}");
        }
    }
}
