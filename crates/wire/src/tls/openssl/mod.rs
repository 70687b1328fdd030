//! The OpenSSL back end (vendored, 3.5 LTS series).

pub(super) mod bindings;
mod context;

pub use self::context::unknown_cipher;

use std::io::{self, Read, Write};
use std::sync::Arc;

use ciphertax_base::{ChainCertificate, TlsFacts, Verified};
use foreign_types::ForeignTypeRef;
use openssl::error::ErrorStack;
use openssl::ssl::{ErrorCode, ShutdownState, Ssl, SslContext, SslRef, SslSession, SslStream, SslVersion};
use openssl::x509::X509VerifyResult;

use super::hello::HelloWatch;
use super::policy::{TlsPolicy, Verification};
use super::store::SessionStore;
use super::{FLIGHT, OUTGOING, Offer, Progress, TlsSession, TlsSummary, certificate, group_called};
use crate::buffer::ReadBuffer;
use crate::error::{Distrust, Result, WireError};

/// Name and version of the library, for reports.
pub fn library_version() -> String {
    let version = openssl::version::version();
    version.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// Sessions of TLS 1.3 are tickets; those of older versions can be used again.
pub(super) type Sessions = SessionStore<SslSession, SslSession>;

/// What a connection has to do with earlier sessions.
struct Resumable {
    sessions: Arc<Sessions>,
    /// The session that it offers.
    earlier: Option<SslSession>,
}

pub(crate) struct Connector {
    context: SslContext,
    verification: Verification,
    /// `None` where every handshake is a full one.
    pub(super) sessions: Option<Arc<Sessions>>,
}

impl Connector {
    pub(crate) fn new(policy: &TlsPolicy) -> Result<Self> {
        let (context, sessions) = context::prepare(policy)?;
        Ok(Self {
            context,
            verification: policy.verification.clone(),
            sessions,
        })
    }

    pub(crate) fn session(&self, host: &str, offer: Offer) -> Result<Box<dyn TlsSession>> {
        let mut ssl = Ssl::new(&self.context).map_err(broken)?;
        match self.verification.name() {
            None => {}
            Some(Ok(address)) => ssl.param_mut().set_ip(address).map_err(broken)?,
            Some(Err(name)) => ssl.param_mut().set_host(name).map_err(broken)?,
        }
        if let Some(name) = self.verification.server_name(host) {
            ssl.set_hostname(name).map_err(broken)?;
        }
        let earlier = match offer {
            Offer::Nothing => None,
            Offer::WhatThereIs => self.sessions.as_deref().and_then(earlier_session),
        };
        if let Some(earlier) = &earlier {
            // SAFETY: the store holds sessions of this context alone.
            unsafe { ssl.set_session(earlier) }.map_err(broken)?;
        }
        let resumable = self.sessions.as_ref().map(|sessions| Resumable {
            sessions: Arc::clone(sessions),
            earlier,
        });
        let stream = SslStream::new(ssl, Wire::new()).map_err(broken)?;
        Ok(Box::new(Session::new(
            stream,
            self.verification.verified(),
            resumable,
        )))
    }
}

/// A session to offer. Of one that can be used again each connection gets a copy, because OpenSSL marks a session that
/// gets a new ticket or fails as not to be offered again, whoever else is about to.
fn earlier_session(sessions: &Sessions) -> Option<SslSession> {
    if let Some(ticket) = sessions.take_ticket() {
        return Some(ticket);
    }
    let session = sessions.older()?;
    if bindings::is_resumable(&session) {
        return bindings::copy(&session);
    }
    sessions.forget_older();
    None
}

fn broken(error: ErrorStack) -> WireError {
    WireError::Tls(reasons(&error))
}

pub(super) fn reasons(stack: &ErrorStack) -> String {
    let reasons: Vec<&str> = stack.errors().iter().filter_map(|error| error.reason()).collect();
    if reasons.is_empty() {
        "for a reason OpenSSL does not name".into()
    } else {
        reasons.join(", ")
    }
}

struct Session {
    stream: SslStream<Wire>,
    verification: Verified,
    /// `None` where every handshake is a full one.
    resumable: Option<Resumable>,
}

impl Session {
    /// A session before its handshake.
    fn new(stream: SslStream<Wire>, verification: Verified, resumable: Option<Resumable>) -> Self {
        Self {
            stream,
            verification,
            resumable,
        }
    }

    /// True if nothing has been received that was not decrypted and given out. The library would find that out too, by
    /// a look at each of its layers, which costs more than decrypting a small answer.
    fn is_idle(&self) -> bool {
        self.stream.get_ref().incoming.unread().is_empty() && self.stream.ssl().pending() == 0
    }

    /// Keeps a ticket that came with a resumed handshake of TLS 1.2 or older: the callback that hears of all others
    /// does not hear of these.
    fn keep_renewed_ticket(&self) {
        let ssl = self.stream.ssl();
        let (Some(resumable), Some(session)) = (&self.resumable, ssl.session()) else {
            return;
        };
        let Some(earlier) = &resumable.earlier else { return };
        let is_renewed = session.as_ptr() != earlier.as_ptr();
        if is_renewed && ssl.session_reused() && session.protocol_version() != SslVersion::TLS1_3 {
            resumable.sessions.keep_older(session.to_owned());
        }
    }
}

impl TlsSession for Session {
    fn handshake(&mut self) -> Result<Progress> {
        match self.stream.connect() {
            Ok(()) => {
                self.keep_renewed_ticket();
                Ok(Progress::Done)
            }
            Err(error) if error.code() == ErrorCode::WANT_READ => Ok(Progress::NeedsInput),
            Err(error) => Err(handshake_failure(self.stream.ssl(), &error)),
        }
    }

    fn encrypt(&mut self, plaintext: &[u8]) -> Result<()> {
        let mut rest = plaintext;
        while !rest.is_empty() {
            let written = self.stream.ssl_write(rest).map_err(|error| failure(&error))?;
            rest = &rest[written..];
        }
        Ok(())
    }

    fn decrypt(&mut self, plaintext: &mut [u8]) -> Result<usize> {
        if self.is_idle() {
            return Ok(0);
        }
        match self.stream.ssl_read(plaintext) {
            Ok(count) => Ok(count),
            Err(error) => match error.code() {
                ErrorCode::WANT_READ => Ok(0),
                ErrorCode::ZERO_RETURN => Err(WireError::Closed),
                _ => Err(failure(&error)),
            },
        }
    }

    fn close(&mut self) {
        // A goodbye that cannot be said changes nothing: the socket is closed next.
        let _ = self.stream.shutdown();
    }

    fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.stream.get_mut().outgoing
    }

    fn incoming(&mut self) -> &mut ReadBuffer {
        &mut self.stream.get_mut().incoming
    }

    fn summary(&self) -> TlsSummary {
        let ssl = self.stream.ssl();
        TlsSummary {
            version: ssl.version_str(),
            cipher: ssl.current_cipher().map_or("", |cipher| cipher.name()),
            group: group_called(bindings::group_name(ssl)),
            offered: self
                .resumable
                .as_ref()
                .is_some_and(|resumable| resumable.earlier.is_some()),
            resumed: ssl.session_reused(),
        }
    }

    fn alpn(&self) -> Option<&[u8]> {
        self.stream.ssl().selected_alpn_protocol()
    }

    fn end_point(&self) -> Result<Vec<u8>> {
        certificate::end_point(self.stream.ssl().peer_certificate().as_deref())
    }

    fn facts(&self) -> Result<TlsFacts> {
        let ssl = self.stream.ssl();
        let hello = &self.stream.get_ref().hello;
        let summary = self.summary();
        let leaf = ssl.peer_certificate();
        let chain = ssl.peer_cert_chain().into_iter().flatten();
        Ok(TlsFacts {
            version: summary.version.to_owned(),
            cipher: summary.cipher.to_owned(),
            group: summary
                .group
                .map_or(bindings::group_name(ssl), |group| group.name())
                .to_owned(),
            certificate: certificate::facts(leaf.as_deref(), chain, summary.resumed)?,
            resumed: summary.resumed,
            hello_retry_request: hello.hello_retry_request(),
            client_hello_bytes: hello.client_hello_bytes(),
            verification: self.verification,
            client_library: library_version(),
        })
    }

    fn chain(&self) -> Result<Vec<ChainCertificate>> {
        let ssl = self.stream.ssl();
        let leaf = ssl.peer_certificate();
        // Of a resumed session OpenSSL keeps the server's own alone.
        match ssl.peer_cert_chain().filter(|chain| !chain.is_empty()) {
            Some(sent) => certificate::chain(sent.into_iter()),
            None => certificate::chain(leaf.iter().map(|leaf| &**leaf)),
        }
    }
}

impl Drop for Session {
    /// OpenSSL takes a connection that ends without a goodbye for an attack and marks its session as not to be taken up
    /// again, although other connections may be about to. A connection that just ends says nothing against its session.
    fn drop(&mut self) {
        self.stream
            .set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    }
}

/// The two directions of ciphertext, as OpenSSL's BIO sees them.
struct Wire {
    incoming: ReadBuffer,
    outgoing: Vec<u8>,
    hello: HelloWatch,
}

impl Wire {
    fn new() -> Self {
        Self {
            incoming: ReadBuffer::with_room(FLIGHT),
            outgoing: Vec::with_capacity(OUTGOING),
            hello: HelloWatch::default(),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let unread = self.incoming.unread();
        if unread.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = unread.len().min(into.len());
        into[..count].copy_from_slice(&unread[..count]);
        self.hello.received(&into[..count]);
        self.incoming.consume(count);
        Ok(count)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hello.sent(bytes);
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failure(error: &openssl::ssl::Error) -> WireError {
    let reasons = error
        .ssl_error()
        .map(reasons)
        .unwrap_or_else(|| error.to_string());
    WireError::Tls(format!("{reasons}{}", remedy(&reasons)))
}

/// What can be done about what old servers are refused for; empty where the reason says it already.
fn remedy(reasons: &str) -> &'static str {
    if reasons.contains("dh key too small") {
        "; ask for a cipher whose key exchange is another, such as AES256-SHA"
    } else if reasons.contains("unsafe legacy renegotiation disabled") {
        "; the server has no secure renegotiation (RFC 5746): it is taken with TLS 1.3, or with a version that is old itself"
    } else {
        ""
    }
}

fn handshake_failure(ssl: &SslRef, error: &openssl::ssl::Error) -> WireError {
    let verified = ssl.verify_result();
    if verified != X509VerifyResult::OK {
        return WireError::NotTrusted {
            why: distrust(verified),
            reason: verified.error_string().to_owned(),
        };
    }
    failure(error)
}

/// What is wrong with a certificate, by X509_V_ERR_….
fn distrust(verified: X509VerifyResult) -> Distrust {
    match verified.as_raw() {
        openssl_sys::X509_V_ERR_CERT_HAS_EXPIRED => Distrust::Expired,
        openssl_sys::X509_V_ERR_CERT_NOT_YET_VALID => Distrust::NotYetValid,
        openssl_sys::X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT
        | openssl_sys::X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY
        | openssl_sys::X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE
        | openssl_sys::X509_V_ERR_CERT_SIGNATURE_FAILURE
        | openssl_sys::X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT
        | openssl_sys::X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN => Distrust::OtherAuthority,
        openssl_sys::X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION => Distrust::CriticalExtension,
        openssl_sys::X509_V_ERR_HOSTNAME_MISMATCH | openssl_sys::X509_V_ERR_IP_ADDRESS_MISMATCH => {
            Distrust::OtherName
        }
        _ => Distrust::Other,
    }
}
