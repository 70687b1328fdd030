//! A handshake in memory, before any that is timed, with two pipes, one each way, and a certificate for a moment.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;

use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream};
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509NameBuilder};

use super::policy::{TlsPolicy, Verification};
use super::{Offer, Progress, TlsConnector};
use crate::error::{Result, WireError};

/// How often each side has its turn at most; a handshake with a second ClientHello takes four.
const TURNS: usize = 8;

/// Makes a handshake of this policy with a server in memory, in the calling thread. What a library does once, for the process
/// or for the thread, is then no part of the first connection: it finds its algorithms and what the CPU can do, and seeds
/// its random numbers. The server has a certificate that nobody signed, so it is not verified. What goes wrong here is said
/// by the first connection.
pub fn rehearse(policy: &TlsPolicy) {
    let policy = TlsPolicy {
        verification: Verification::None,
        client_certificate: None,
        ..policy.clone()
    };
    let _ = handshake(&policy);
}

fn handshake(policy: &TlsPolicy) -> Result<Progress> {
    let mut client = TlsConnector::new(policy)?.session(ServerKey::NAME, Offer::Nothing)?;
    let (mut near, far) = Pipe::pair();
    let mut server = server(far).map_err(|error| WireError::Tls(error.to_string()))?;
    let mut progress = Progress::NeedsInput;
    for _ in 0..TURNS {
        progress = client.handshake()?;
        let outgoing = client.outgoing();
        near.write_all(outgoing)?;
        outgoing.clear();
        let is_accepted = server.accept().is_ok();
        let incoming = client.incoming();
        while let Ok(count @ 1..) = near.read(incoming.spare(0)) {
            incoming.filled(count);
        }
        if is_accepted && progress == Progress::Done {
            // The names of what was negotiated are looked up too.
            client.facts()?;
            break;
        }
    }
    Ok(progress)
}

/// Of any version, with an ECDSA key.
fn server(pipe: Pipe) -> Result<SslStream<Pipe>, ErrorStack> {
    let own = ServerKey::new()?;
    let mut context = SslContext::builder(SslMethod::tls_server())?;
    // Else there is no TLS 1.0 and 1.1.
    context.set_security_level(0);
    context.set_certificate(&own.certificate)?;
    context.set_private_key(&own.key)?;
    SslStream::new(Ssl::new(&context.build())?, pipe)
}

/// Bytes on their way.
#[derive(Default)]
struct Bytes {
    bytes: Vec<u8>,
    read: usize,
}

/// One end: what it writes the other reads. It never blocks.
pub struct Pipe {
    incoming: Rc<RefCell<Bytes>>,
    outgoing: Rc<RefCell<Bytes>>,
}

impl Pipe {
    /// Both ends.
    pub fn pair() -> (Self, Self) {
        let (one, other) = (Rc::default(), Rc::default());
        let near = Self {
            incoming: Rc::clone(&one),
            outgoing: Rc::clone(&other),
        };
        let far = Self {
            incoming: other,
            outgoing: one,
        };
        (near, far)
    }

    /// True if nothing can be read now.
    pub fn is_empty(&self) -> bool {
        let incoming = self.incoming.borrow();
        incoming.read == incoming.bytes.len()
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut incoming = self.incoming.borrow_mut();
        let rest = &incoming.bytes[incoming.read..];
        if rest.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        incoming.read += count;
        if incoming.read == incoming.bytes.len() {
            incoming.bytes.clear();
            incoming.read = 0;
        }
        Ok(count)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.borrow_mut().bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An ECDSA key (P-256) with the certificate that it has signed itself.
///
/// Both are gone with the program.
pub struct ServerKey {
    /// The key.
    pub key: PKey<Private>,
    /// The certificate.
    pub certificate: X509,
}

impl ServerKey {
    /// The name that the certificate is for.
    pub const NAME: &str = "localhost";

    /// A new one, valid for a day.
    ///
    /// # Errors
    /// Those of OpenSSL, which has them only where it is out of memory or of random numbers.
    pub fn new() -> Result<Self, ErrorStack> {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
        let key = PKey::from_ec_key(EcKey::generate(&group)?)?;
        let mut name = X509NameBuilder::new()?;
        name.append_entry_by_nid(Nid::COMMONNAME, Self::NAME)?;
        let name = name.build();
        let mut builder = X509::builder()?;
        // Version 3 is written as 2.
        builder.set_version(2)?;
        builder.set_subject_name(&name)?;
        builder.set_issuer_name(&name)?;
        builder.set_pubkey(&key)?;
        builder.set_not_before(Asn1Time::days_from_now(0)?.as_ref())?;
        builder.set_not_after(Asn1Time::days_from_now(1)?.as_ref())?;
        let names = SubjectAlternativeName::new()
            .dns(Self::NAME)
            .build(&builder.x509v3_context(None, None))?;
        builder.append_extension(names)?;
        builder.sign(&key, MessageDigest::sha256())?;
        Ok(Self {
            key,
            certificate: builder.build(),
        })
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_model::{TlsLibrary, TlsVersion};

    use super::*;

    #[test]
    fn every_library_completes_it_in_every_version_it_speaks() {
        for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
            for version in [None, Some(TlsVersion::V1_2), Some(TlsVersion::V1_3)] {
                let policy = TlsPolicy {
                    library,
                    ..TlsPolicy::new(version, Verification::None)
                };
                let outcome = handshake(&policy);
                let is_one = matches!(outcome, Ok(Progress::Done));
                assert!(is_one, "{library:?}, {version:?}: {outcome:?}");
            }
        }
    }
}
