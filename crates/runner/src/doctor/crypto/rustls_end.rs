//! The ends of a session of rustls with aws-lc-rs.

use std::fmt::Display;
use std::io::{Read, Write};
use std::sync::Arc;

use ciphertax_wire::tls::{Pipe, ServerKey, any_certificate};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

use super::{End, Ends, Library};

/// The library. Its version is that which it was built with.
pub(super) fn library(key: &ServerKey) -> Library {
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384],
        kx_groups: vec![aws_lc_rs::kx_group::X25519],
        ..aws_lc_rs::default_provider()
    });
    let versions: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];
    let certificate = CertificateDer::from(key.certificate.to_der().map_err(said)?);
    let private = PrivatePkcs8KeyDer::from(key.key.private_key_to_pkcs8().map_err(said)?);
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(said)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::from(private))
        .map_err(said)?;
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(said)?
        .dangerous()
        .with_custom_certificate_verifier(any_certificate(&provider))
        .with_no_client_auth();
    let mut client = client;
    // Every handshake is a full one.
    client.resumption = rustls::client::Resumption::disabled();
    let (client, server) = (Arc::new(client), Arc::new(server));
    let name = ServerName::try_from(ServerKey::NAME).map_err(said)?;
    let connect = move |near, far| -> Result<Ends, String> {
        let of_client = ClientConnection::new(Arc::clone(&client), name.clone()).map_err(said)?;
        let of_server = ServerConnection::new(Arc::clone(&server)).map_err(said)?;
        let end = |connection: Connection, pipe| RustlsEnd { connection, pipe };
        Ok((
            Box::new(end(of_client.into(), near)),
            Box::new(end(of_server.into(), far)),
        ))
    };
    Ok(("rustls 0.23 with aws-lc-rs".to_owned(), Box::new(connect)))
}

fn said(error: impl Display) -> String {
    error.to_string()
}

struct RustlsEnd {
    connection: Connection,
    pipe: Pipe,
}

impl RustlsEnd {
    fn send(&mut self) -> Result<(), String> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.pipe).map_err(said)?;
        }
        Ok(())
    }
}

impl End for RustlsEnd {
    fn shake(&mut self) -> Result<bool, String> {
        self.send()?;
        while !self.pipe.is_empty() && self.connection.is_handshaking() {
            self.connection.read_tls(&mut self.pipe).map_err(said)?;
            self.connection.process_new_packets().map_err(said)?;
        }
        self.send()?;
        Ok(!self.connection.is_handshaking())
    }

    fn write(&mut self, plaintext: &[u8]) -> Result<(), String> {
        self.connection.writer().write_all(plaintext).map_err(said)?;
        self.send()
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, String> {
        loop {
            match self.connection.reader().read(buffer) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.to_string()),
            }
            if self.pipe.is_empty() {
                return Ok(0);
            }
            self.connection.read_tls(&mut self.pipe).map_err(said)?;
            self.connection.process_new_packets().map_err(said)?;
        }
    }
}
