//! A private certificate authority and what it issues.
//!
//! The authority's key lives in memory and is gone with it. The server's key is written because the server must read
//! it: into a file that nobody else may read from its creation on, in a folder that goes with the server.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ciphertax_model::CertificateKind;
use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{Asn1Flag, EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAlternativeName,
    SubjectKeyIdentifier,
};
use openssl::x509::{X509, X509Builder, X509Name, X509NameRef};

use crate::error::{Error, Result};
use crate::folder::create_private_file;

/// Days that a certificate is valid: longer than any run, short enough to be worthless afterwards.
const VALID_DAYS: u32 = 30;

/// Bits of a random serial number (RFC 5280 allows up to 159).
const SERIAL_BITS: i32 = 127;

/// A private certificate authority.
pub struct Authority {
    kind: CertificateKind,
    key: PKey<Private>,
    certificate: X509,
}

/// Where a server's certificate lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The authority's certificate, which clients trust.
    pub ca: PathBuf,
    /// The server's certificate.
    pub certificate: PathBuf,
    /// The server's key, mode 0600.
    pub key: PathBuf,
}

impl Authority {
    /// A new authority; its key is of the same kind as those it signs.
    ///
    /// # Errors
    /// OpenSSL's own.
    pub fn new(kind: CertificateKind) -> Result<Self> {
        let key = new_key(kind)?;
        let subject = name("ciphertax private authority")?;
        let mut builder = new_certificate(&key, &subject, &subject)?;
        builder.append_extension(BasicConstraints::new().critical().ca().pathlen(0).build()?)?;
        builder.append_extension(KeyUsage::new().critical().key_cert_sign().crl_sign().build()?)?;
        let own_key = SubjectKeyIdentifier::new().build(&builder.x509v3_context(None, None))?;
        builder.append_extension(own_key)?;
        builder.sign(&key, MessageDigest::sha256())?;
        Ok(Self {
            kind,
            key,
            certificate: builder.build(),
        })
    }

    /// Issues a certificate for a server on this machine (`localhost`, `127.0.0.1`, `::1`) and writes it, its key and
    /// the authority's certificate into `folder`.
    ///
    /// # Errors
    /// OpenSSL's own, or a file that cannot be written.
    pub fn issue_for_localhost(&self, folder: &Path) -> Result<CertificateFiles> {
        let key = new_key(self.kind)?;
        let certificate = self.certify_localhost(&key)?;
        let files = CertificateFiles {
            ca: folder.join("ca.pem"),
            certificate: folder.join("server-cert.pem"),
            key: folder.join("server-key.pem"),
        };
        fs::write(&files.ca, self.certificate.to_pem()?).map_err(Error::write(&files.ca))?;
        fs::write(&files.certificate, certificate.to_pem()?).map_err(Error::write(&files.certificate))?;
        create_private_file(&files.key)?
            .write_all(&key.private_key_to_pem_pkcs8()?)
            .map_err(Error::write(&files.key))?;
        Ok(files)
    }

    fn certify_localhost(&self, key: &PKey<Private>) -> std::result::Result<X509, ErrorStack> {
        let mut builder = new_certificate(key, &*name("localhost")?, self.certificate.subject_name())?;
        builder.append_extension(BasicConstraints::new().critical().build()?)?;
        builder.append_extension(
            KeyUsage::new()
                .critical()
                .digital_signature()
                .key_encipherment()
                .build()?,
        )?;
        builder.append_extension(ExtendedKeyUsage::new().server_auth().build()?)?;
        let issuer_key = AuthorityKeyIdentifier::new()
            .keyid(true)
            .build(&builder.x509v3_context(Some(&self.certificate), None))?;
        builder.append_extension(issuer_key)?;
        let names = SubjectAlternativeName::new()
            .dns("localhost")
            .ip("127.0.0.1")
            .ip("::1")
            .build(&builder.x509v3_context(Some(&self.certificate), None))?;
        builder.append_extension(names)?;
        builder.sign(&self.key, MessageDigest::sha256())?;
        Ok(builder.build())
    }
}

fn new_key(kind: CertificateKind) -> std::result::Result<PKey<Private>, ErrorStack> {
    match kind {
        CertificateKind::EcdsaP256 => {
            let mut group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
            group.set_asn1_flag(Asn1Flag::NAMED_CURVE);
            PKey::from_ec_key(EcKey::generate(&group)?)
        }
        CertificateKind::Rsa2048 => PKey::from_rsa(Rsa::generate(2048)?),
        CertificateKind::Rsa4096 => PKey::from_rsa(Rsa::generate(4096)?),
    }
}

fn name(common_name: &str) -> std::result::Result<X509Name, ErrorStack> {
    let mut builder = X509Name::builder()?;
    builder.append_entry_by_text("CN", common_name)?;
    Ok(builder.build())
}

/// A version 3 certificate of `key` with a random serial number, still without extensions and signature.
fn new_certificate(
    key: &PKey<Private>,
    subject: &X509NameRef,
    issuer: &X509NameRef,
) -> std::result::Result<X509Builder, ErrorStack> {
    const VERSION_3: i32 = 2;
    let mut serial = BigNum::new()?;
    serial.rand(SERIAL_BITS, MsbOption::MAYBE_ZERO, false)?;
    let mut builder = X509::builder()?;
    builder.set_version(VERSION_3)?;
    builder.set_serial_number(&*serial.to_asn1_integer()?)?;
    builder.set_subject_name(subject)?;
    builder.set_issuer_name(issuer)?;
    builder.set_pubkey(key)?;
    builder.set_not_before(&*Asn1Time::days_from_now(0)?)?;
    builder.set_not_after(&*Asn1Time::days_from_now(VALID_DAYS)?)?;
    Ok(builder)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    use openssl::ssl::{SslAcceptor, SslConnector, SslFiletype, SslMethod};

    use super::*;

    #[test]
    fn each_kind_gives_the_key_it_names() {
        for (kind, id, bits) in [
            (CertificateKind::EcdsaP256, openssl::pkey::Id::EC, 256),
            (CertificateKind::Rsa2048, openssl::pkey::Id::RSA, 2048),
            (CertificateKind::Rsa4096, openssl::pkey::Id::RSA, 4096),
        ] {
            let key = new_key(kind).unwrap();
            assert_eq!((key.id(), key.bits()), (id, bits), "{kind}");
        }
    }

    #[test]
    fn only_the_servers_key_is_written_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
        let files = authority.issue_for_localhost(folder.path()).unwrap();
        let mode = fs::metadata(&files.key).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let with_keys: Vec<PathBuf> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| fs::read_to_string(path).unwrap().contains("PRIVATE KEY"))
            .collect();
        assert_eq!(with_keys, [files.key]);
    }

    #[test]
    fn a_client_that_trusts_the_authority_accepts_every_name_of_this_machine() {
        for host in ["localhost", "127.0.0.1", "::1"] {
            let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
            handshake(&authority, &authority, host).unwrap();
        }
    }

    #[test]
    fn a_client_that_trusts_another_authority_refuses() {
        let server = Authority::new(CertificateKind::EcdsaP256).unwrap();
        let client = Authority::new(CertificateKind::EcdsaP256).unwrap();
        let error = handshake(&server, &client, "localhost").unwrap_err();
        assert!(error.contains("certificate verify failed"), "{error}");
    }

    #[test]
    fn another_host_name_is_refused() {
        let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
        let error = handshake(&authority, &authority, "example.org").unwrap_err();
        assert!(error.contains("certificate verify failed"), "{error}");
    }

    /// A TLS handshake between a server of `server` and a client that trusts `client` and expects `host`.
    fn handshake(server: &Authority, client: &Authority, host: &str) -> std::result::Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let files = server.issue_for_localhost(folder.path()).unwrap();
        let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).unwrap();
        acceptor.set_certificate_chain_file(&files.certificate).unwrap();
        acceptor
            .set_private_key_file(&files.key, SslFiletype::PEM)
            .unwrap();
        let acceptor = acceptor.build();

        let mut connector = SslConnector::builder(SslMethod::tls()).unwrap();
        connector
            .cert_store_mut()
            .add_cert(client.certificate.clone())
            .unwrap();
        let connector = connector.build();

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepting = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            if let Ok(mut session) = acceptor.accept(stream) {
                let _ = session.read(&mut [0]);
            }
        });
        let outcome = connector
            .connect(host, stream)
            .map(drop)
            .map_err(|error| error.to_string());
        accepting.join().unwrap();
        outcome
    }
}
