//! The OpenSSL back end (vendored, 3.5 LTS series).

use std::ffi::{CStr, c_char};
use std::io::{self, Read, Write};

use ciphertax_model::TlsVersion;
use ciphertax_model::record::TlsFacts;
use openssl::error::ErrorStack;
use openssl::ssl::{
    ErrorCode, Ssl, SslContext, SslMethod, SslMode, SslRef, SslSessionCacheMode, SslStream, SslVerifyMode,
    SslVersion,
};
use openssl::x509::X509VerifyResult;
use openssl_sys::SSL;

use super::hello::HelloWatch;
use super::{Progress, TlsPolicy, TlsSession, TlsSummary, Verification, certificate};
use crate::buffer::ReadBuffer;
use crate::error::WireError;

/// Name and version of the library, for reports.
pub fn library_version() -> String {
    let version = openssl::version::version();
    version.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// Makes sessions of one policy.
pub(crate) struct Connector {
    context: SslContext,
    verification: Verification,
}

impl Connector {
    pub(crate) fn new(policy: &TlsPolicy) -> Result<Self, WireError> {
        let mut context = SslContext::builder(SslMethod::tls_client()).map_err(broken)?;
        let version = match policy.version {
            TlsVersion::V1_2 => SslVersion::TLS1_2,
            TlsVersion::V1_3 => SslVersion::TLS1_3,
        };
        context.set_min_proto_version(Some(version)).map_err(broken)?;
        context.set_max_proto_version(Some(version)).map_err(broken)?;
        // Every connection makes a full handshake: resumption would be another arm.
        context.set_session_cache_mode(SslSessionCacheMode::OFF);
        context.set_mode(SslMode::AUTO_RETRY);
        match policy.verification.ca_file() {
            None => context.set_verify(SslVerifyMode::NONE),
            Some(path) => {
                let unusable = |problem: String| WireError::CaFile {
                    path: path.display().to_string(),
                    problem,
                };
                // OpenSSL's own message does not tell an unreadable file from one without certificates.
                std::fs::File::open(path).map_err(|error| unusable(error.to_string()))?;
                context
                    .set_ca_file(path)
                    .map_err(|_| unusable("it holds no PEM certificate that can be read".into()))?;
                context.set_verify(SslVerifyMode::PEER);
            }
        }
        Ok(Self {
            context: context.build(),
            verification: policy.verification.clone(),
        })
    }

    pub(crate) fn session(&self) -> Result<Box<dyn TlsSession>, WireError> {
        let mut ssl = Ssl::new(&self.context).map_err(broken)?;
        match self.verification.name() {
            None => {}
            Some(Ok(address)) => ssl.param_mut().set_ip(address).map_err(broken)?,
            Some(Err(name)) => {
                ssl.param_mut().set_host(name).map_err(broken)?;
                ssl.set_hostname(name).map_err(broken)?;
            }
        }
        let wire = Wire {
            incoming: ReadBuffer::new(),
            outgoing: Vec::with_capacity(1024),
            hello: HelloWatch::default(),
        };
        let stream = SslStream::new(ssl, wire).map_err(broken)?;
        Ok(Box::new(Session {
            stream,
            verification: self.verification.label(),
        }))
    }
}

struct Session {
    stream: SslStream<Wire>,
    verification: &'static str,
}

impl TlsSession for Session {
    fn handshake(&mut self) -> Result<Progress, WireError> {
        match self.stream.connect() {
            Ok(()) => Ok(Progress::Done),
            Err(error) if error.code() == ErrorCode::WANT_READ => Ok(Progress::NeedsInput),
            Err(error) => Err(handshake_failure(self.stream.ssl(), &error)),
        }
    }

    fn encrypt(&mut self, plaintext: &[u8]) -> Result<(), WireError> {
        let mut rest = plaintext;
        while !rest.is_empty() {
            let written = self.stream.ssl_write(rest).map_err(|error| failure(&error))?;
            rest = &rest[written..];
        }
        Ok(())
    }

    fn decrypt(&mut self, plaintext: &mut [u8]) -> Result<usize, WireError> {
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
            resumed: ssl.session_reused(),
        }
    }

    fn facts(&self) -> Result<TlsFacts, WireError> {
        let ssl = self.stream.ssl();
        let hello = &self.stream.get_ref().hello;
        let summary = self.summary();
        Ok(TlsFacts {
            version: summary.version.to_owned(),
            cipher: summary.cipher.to_owned(),
            group: group_name(ssl),
            certificate: certificate::facts(ssl)?,
            resumed: summary.resumed,
            hello_retry_request: hello.hello_retry_request(),
            client_hello_bytes: hello.client_hello_bytes(),
            verification: self.verification.to_owned(),
            client_library: library_version(),
        })
    }
}

/// The two directions of ciphertext, as OpenSSL's BIO sees them.
struct Wire {
    incoming: ReadBuffer,
    outgoing: Vec<u8>,
    hello: HelloWatch,
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

unsafe extern "C" {
    /// Since OpenSSL 3.2; the bindings do not have it yet.
    safe fn SSL_get0_group_name(ssl: *mut SSL) -> *const c_char;
}

fn group_name(ssl: &SslRef) -> String {
    use foreign_types::ForeignTypeRef;
    let name = SSL_get0_group_name(ssl.as_ptr());
    if name.is_null() {
        return String::new();
    }
    // SAFETY: a name that is not null is a NUL-terminated string that lives as long as the session.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

fn broken(error: ErrorStack) -> WireError {
    WireError::Tls(error.to_string())
}

fn failure(error: &openssl::ssl::Error) -> WireError {
    let reasons = error
        .ssl_error()
        .map(reasons)
        .unwrap_or_else(|| error.to_string());
    WireError::Tls(reasons)
}

fn handshake_failure(ssl: &SslRef, error: &openssl::ssl::Error) -> WireError {
    let verified = ssl.verify_result();
    if verified != X509VerifyResult::OK {
        return WireError::Tls(format!(
            "the server's certificate is not trusted ({}); check that ssl-ca names the CA that signed it and that the \
             host name is one of its names",
            verified.error_string()
        ));
    }
    failure(error)
}

fn reasons(stack: &ErrorStack) -> String {
    let reasons: Vec<&str> = stack.errors().iter().filter_map(|error| error.reason()).collect();
    if reasons.is_empty() {
        "for a reason OpenSSL does not name".into()
    } else {
        reasons.join(", ")
    }
}
