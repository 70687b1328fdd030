//! The handshake, what it needs to know, and accounts that the server does not remember.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ciphertax_base::{ConnectTrace, Phase, Secret};
use ciphertax_model::AuthenticationMethod;
use ciphertax_reactor::Reactor;
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{HandshakePacket, HandshakeResponse, SslRequest};
use mysql_common::proto::{MyDeserialize, MySerialize};

use super::authentication::{self, Login};
use super::framing::{Framed, HEADER};
use super::public_key::TrustedKeys;
use super::result::server_error;
use super::session::Session;
use crate::address::{Place, reach};
use crate::error::{Result, WireError};
use crate::tls::{Offer, TlsConnector};
use crate::trace::Tracer;

const MAX_PACKET: u32 = 16 * 1024 * 1024;
const PROTOCOL_VERSION: u8 = 10;
/// Longest nonce that `mysql_common` can count (it takes the length for a signed byte); servers send 20 bytes and a
/// zero.
const LONGEST_NONCE: u8 = 127;

/// Connects, negotiates TLS where asked for, and logs in; the trace tells what each phase took.
pub(super) async fn connect_offering(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    offer: Offer,
) -> Result<(Session, ConnectTrace)> {
    if options.authentication == Some(AuthenticationMethod::UnixSocket) && options.socket.is_none() {
        return Err(WireError::Authentication(
            "unix_socket needs a connection over the server's Unix socket, not over TCP".into(),
        ));
    }
    let user = match &options.cold_accounts {
        Some(accounts) => accounts.take()?,
        None => &options.user,
    };
    options.trusted_keys.prepare(reactor, options).await?;
    let mut tracer = Tracer::start();
    let place = Place {
        relay: options.relay,
        socket: options.socket.as_deref(),
        host: &options.host,
        port: options.port,
    };
    let stream = reach(reactor, place, &mut tracer).await?;
    let mut framed = Framed::new(stream);
    let greeting = read_greeting(&mut framed).await?;
    let capabilities = client_capabilities(options, &greeting)?;
    if options.tls.is_some() {
        let mut request = packet();
        SslRequest::new(capabilities, MAX_PACKET, UTF8MB4).serialize(&mut request);
        framed.reply(&mut request).await?;
    }
    tracer.end(Phase::Preface, framed.stream.traffic(), None);

    if let Some(tls) = &options.tls {
        if !framed.is_idle() {
            // Bytes injected before the handshake must not be taken for the server's own (CVE-2011-0411 and its kin).
            return Err(WireError::protocol("plaintext data after the request for TLS"));
        }
        let cpu_ns = framed.stream.start_tls(tls, &options.host, offer).await?;
        tracer.end(Phase::Tls, framed.stream.traffic(), Some(cpu_ns));
    }

    let mut login = Login::new(&greeting, options, framed.stream.is_local())?;
    let mut response = packet();
    HandshakeResponse::new(
        Some(login.first_response()?),
        SINCE_PLUGINS,
        Some(user.as_bytes()),
        options.database.as_deref().map(str::as_bytes),
        Some(login.plugin()),
        capabilities,
        None,
        MAX_PACKET,
    )
    .serialize(&mut response);
    framed.reply(&mut response).await?;
    authentication::complete(&mut framed, &mut login, capabilities).await?;
    tracer.end(Phase::Auth, framed.stream.traffic(), Some(login.cpu_ns()));

    let session = Session::new(
        framed,
        greeting.connection_id(),
        greeting.server_version_str().into_owned(),
        login.facts(),
        capabilities,
    );
    Ok((session, tracer.finish()))
}

/// `utf8mb4_general_ci`, known to every server since 5.5.3.
const UTF8MB4: u8 = 45;
/// The version that answers are made for: servers without plugins for logins are refused. The server's own says nothing
/// more, and to read it takes a regular expression in every connect.
const SINCE_PLUGINS: (u16, u16, u16) = (5, 5, 7);

const NO_GREETING: &str = "the greeting is not that of a MySQL or MariaDB server";
const ANOTHER_PORT: &str = "is it another server's port?";

async fn read_greeting(framed: &mut Framed) -> Result<HandshakePacket<'static>> {
    let payload = framed.read().await.map_err(|error| match error {
        WireError::Protocol(why) => WireError::protocol(format!("{NO_GREETING} ({why}): {ANOTHER_PORT}")),
        error => error,
    })?;
    match payload.first() {
        Some(0xFF) => return Err(server_error(payload, CapabilityFlags::empty())),
        Some(&PROTOCOL_VERSION) => {}
        _ => return Err(WireError::protocol(format!("{NO_GREETING}: {ANOTHER_PORT}"))),
    }
    if nonce_length(payload).is_some_and(|length| length > LONGEST_NONCE) {
        return Err(WireError::protocol("a greeting with a nonce that is too long"));
    }
    let greeting = HandshakePacket::deserialize((), &mut ParseBuf(payload))
        .map_err(|error| WireError::protocol(format!("the greeting cannot be read: {error}")))?;
    Ok(greeting.into_owned())
}

/// The length of the nonce that a greeting claims: the byte after protocol, version (ended by zero), connection (4),
/// the nonce's first part (8), filler (1), capabilities (2), collation (1), status (2) and more capabilities (2).
fn nonce_length(greeting: &[u8]) -> Option<u8> {
    let version_end = greeting.iter().skip(1).position(|byte| *byte == 0)? + 1;
    greeting.get(version_end + 1 + 20).copied()
}

fn client_capabilities(options: &ConnectOptions, greeting: &HandshakePacket<'_>) -> Result<CapabilityFlags> {
    let required = CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_PLUGIN_AUTH;
    let wanted = required
        | CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | CapabilityFlags::CLIENT_DEPRECATE_EOF;
    let offered = greeting.capabilities();
    if !offered.contains(required) {
        return Err(WireError::protocol("the server is older than MySQL 5.5"));
    }
    // MariaDB clears this flag to say that it has capabilities of its own; it takes it from clients all the same.
    let mut capabilities = wanted & (offered | CapabilityFlags::CLIENT_LONG_PASSWORD);
    if options.database.is_some() {
        capabilities |= CapabilityFlags::CLIENT_CONNECT_WITH_DB;
    }
    if options.local_infile {
        capabilities |= offered & CapabilityFlags::CLIENT_LOCAL_FILES;
    }
    if options.tls.is_some() {
        if !offered.contains(CapabilityFlags::CLIENT_SSL) {
            return Err(WireError::TlsNotOffered);
        }
        capabilities |= CapabilityFlags::CLIENT_SSL;
    }
    Ok(capabilities)
}

/// An empty packet with room for its header.
fn packet() -> Vec<u8> {
    let mut packet = Vec::with_capacity(256);
    packet.extend_from_slice(&[0; HEADER]);
    packet
}

/// What a connection needs to know.
#[derive(Clone)]
pub struct ConnectOptions {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// A relay before the server, which is then connected to in its place.
    pub relay: Option<SocketAddr>,
    /// User name; where there are cold accounts, theirs are used.
    pub user: String,
    /// Password; empty for none.
    pub password: Secret,
    /// Schema to use.
    pub database: Option<String>,
    /// TLS; `None` for a plaintext connection.
    pub tls: Option<Arc<TlsConnector>>,
    /// Unix socket of the server to connect over instead of TCP.
    pub socket: Option<PathBuf>,
    /// The plugin of the account, where it is known. By `unix_socket` the kernel tells the server who connects, so no
    /// password is sent. For the others the server says which it wants; that it is the right one is for
    /// [`Expectation`](super::Expectation) to check.
    pub authentication: Option<AuthenticationMethod>,
    /// Whether the server may ask for rows, where [`load_lines`](crate::sql::SqlSession::load_lines) has some. Files of
    /// this machine it never gets.
    pub local_infile: bool,
    /// Whose key may encrypt the password where the server wants it without TLS.
    pub trusted_keys: TrustedKeys,
    /// Accounts of which each connect takes the next.
    pub cold_accounts: Option<Arc<ColdAccounts>>,
}

impl ConnectOptions {
    /// A plaintext connection over TCP, with a password and without a schema.
    pub fn new(host: impl Into<String>, port: u16, user: impl Into<String>, password: Secret) -> Self {
        Self {
            host: host.into(),
            port,
            relay: None,
            user: user.into(),
            password,
            database: None,
            tls: None,
            socket: None,
            authentication: None,
            local_infile: false,
            trusted_keys: TrustedKeys::default(),
            cold_accounts: None,
        }
    }
}

/// Accounts with one password between them, none of which has logged in since the server last forgot what it knew.
/// Every connect takes the next, so that every login goes the full path while the server forgets nothing.
#[derive(Debug)]
pub struct ColdAccounts {
    users: Vec<String>,
    taken: AtomicUsize,
}

impl ColdAccounts {
    /// Accounts with these names, none of which the server remembers.
    pub fn new(users: Vec<String>) -> Self {
        Self {
            users,
            taken: AtomicUsize::new(0),
        }
    }

    /// Notes that the server has forgotten them all.
    pub fn forgotten(&self) {
        self.taken.store(0, Ordering::Relaxed);
    }

    /// The next account.
    pub(super) fn take(&self) -> Result<&str> {
        let next = self.taken.fetch_add(1, Ordering::Relaxed);
        let user = self.users.get(next).ok_or_else(|| {
            WireError::Request(format!(
                "more logins than the {} accounts whose passwords the server did not remember: make slices shorter",
                self.users.len()
            ))
        })?;
        Ok(user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_logs_in_once_until_all_are_forgotten() {
        let accounts = ColdAccounts::new(vec!["a".into(), "b".into()]);
        assert_eq!(accounts.take().unwrap(), "a");
        assert_eq!(accounts.take().unwrap(), "b");
        let exhausted = accounts.take().unwrap_err().to_string();
        assert!(exhausted.contains("2 accounts"), "{exhausted}");
        accounts.forgotten();
        assert_eq!(accounts.take().unwrap(), "a");
    }
}
