//! A handshake in memory, before any that is timed.

use std::io::{Read, Write};

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream};

use super::pipe::Pipe;
use super::policy::{TlsPolicy, Verification};
use super::server_key::ServerKey;
use super::{Offer, Progress, TlsConnector};
use crate::error::WireError;

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

fn handshake(policy: &TlsPolicy) -> Result<Progress, WireError> {
    let mut client = TlsConnector::new(policy)?.session(Offer::Nothing)?;
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
                assert!(
                    matches!(outcome, Ok(Progress::Done)),
                    "{library:?}, {version:?}: {outcome:?}"
                );
            }
        }
    }
}
