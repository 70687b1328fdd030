//! A private certificate authority and what it issues.
//!
//! The keys of authorities live in memory and are gone with it. A server's or client's key is written because its owner
//! must read it: into a file that nobody else may read from its creation on, in a folder that goes with the server.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ciphertax_model::CertificateKind;
use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{Asn1Flag, EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAlternativeName,
    SubjectKeyIdentifier,
};
use openssl::x509::{X509, X509Name, X509Ref};

use crate::error::{Error, Result};
use crate::files::write_private;

/// Days that a certificate is valid: longer than any run, short enough to be worthless afterwards.
const VALID_DAYS: u32 = 30;

/// Bits of a random serial number (RFC 5280 allows up to 159).
const SERIAL_BITS: i32 = 127;

/// A private certificate authority.
pub struct Authority {
    kind: CertificateKind,
    root: Issuer,
    /// Where its servers find each other, if their certificates are good for connecting to others of them too.
    servers_are_clients_at: Option<IpAddr>,
}

/// Where a server's certificate lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The authority's certificate, which clients trust.
    pub ca: PathBuf,
    /// The server's certificate, followed by those of the intermediate authorities, if any.
    pub certificate: PathBuf,
    /// The server's key, mode 0600.
    pub key: PathBuf,
}

/// Where a client's certificate lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificateFiles {
    /// The client's certificate.
    pub certificate: PathBuf,
    /// The client's key, mode 0600.
    pub key: PathBuf,
}

/// How a server's key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyFormat {
    /// PKCS#8 (`BEGIN PRIVATE KEY`), which every library of today reads.
    #[default]
    Pkcs8,
    /// PKCS#1 for RSA (`BEGIN RSA PRIVATE KEY`), the only format that yaSSL reads: given another it switches TLS off
    /// without a word. Keys of other kinds, which yaSSL does not know, are written as PKCS#8 all the same.
    Pkcs1,
    /// PKCS#8 at the end of the file of its certificates, as MongoDB wants it: both are one file, mode 0600.
    Bundled,
}

impl Authority {
    /// A new authority; its key is of the same kind as those it signs.
    ///
    /// # Errors
    /// OpenSSL's own.
    pub fn new(kind: CertificateKind) -> Result<Self> {
        let key = new_key(kind)?;
        let certificate = certify(&key, &Holder::Authority("ciphertax private authority"), None)?;
        Ok(Self {
            kind,
            root: Issuer { key, certificate },
            servers_are_clients_at: None,
        })
    }

    /// The same for servers that show their certificates to each other too, as members of a replica set do, which find each other
    /// at this address.
    #[must_use]
    pub fn of_servers_that_are_clients(mut self, at: IpAddr) -> Self {
        self.servers_are_clients_at = Some(at);
        self
    }

    /// Issues a certificate for a server on this machine (`localhost`, `127.0.0.1`, `::1`), signed by this authority
    /// itself, and writes it, its key and the authority's certificate into `folder`.
    ///
    /// # Errors
    /// OpenSSL's own, or a file that cannot be written.
    pub fn issue_for_localhost(&self, folder: &Path) -> Result<CertificateFiles> {
        self.issue_chain_for_localhost(folder, 1, KeyFormat::default())
    }

    /// The same with a chain: `chain_length` certificates that the server sends, its own and those of the intermediate
    /// authorities between it and this one.
    ///
    /// # Errors
    /// OpenSSL's own, or a file that cannot be written.
    pub fn issue_chain_for_localhost(
        &self,
        folder: &Path,
        chain_length: u8,
        format: KeyFormat,
    ) -> Result<CertificateFiles> {
        let [certificate, key] = match format {
            KeyFormat::Bundled => ["server.pem"; 2],
            KeyFormat::Pkcs8 | KeyFormat::Pkcs1 => ["server-cert.pem", "server-key.pem"],
        };
        let files = CertificateFiles {
            ca: folder.join("ca.pem"),
            certificate: folder.join(certificate),
            key: folder.join(key),
        };
        let (key, chain) = self.certified_chain(chain_length)?;
        fs::write(&files.ca, self.root.certificate.to_pem()?).map_err(Error::write(&files.ca))?;
        let pem = key_pem(&key, format)?;
        match format {
            KeyFormat::Bundled => write_private(&files.key, [chain, pem].concat())?,
            KeyFormat::Pkcs8 | KeyFormat::Pkcs1 => {
                fs::write(&files.certificate, chain).map_err(Error::write(&files.certificate))?;
                write_private(&files.key, pem)?;
            }
        }
        Ok(files)
    }

    /// Issues a certificate for a client of this name, with a key of any kind, and writes both into `folder`.
    ///
    /// # Errors
    /// OpenSSL's own, or a file that cannot be written.
    pub fn issue_client(
        &self,
        folder: &Path,
        client: &str,
        kind: CertificateKind,
    ) -> Result<ClientCertificateFiles> {
        let files = ClientCertificateFiles {
            certificate: folder.join("client-cert.pem"),
            key: folder.join("client-key.pem"),
        };
        let key = new_key(kind)?;
        let certificate = certify(&key, &Holder::Client(client), Some(&self.root))?;
        fs::write(&files.certificate, certificate.to_pem()?).map_err(Error::write(&files.certificate))?;
        write_private(&files.key, key_pem(&key, KeyFormat::default())?)?;
        Ok(files)
    }

    /// A new key of a server on this machine, and its certificates: its own, then those between it and this authority.
    fn certified_chain(&self, chain_length: u8) -> Result<(PKey<Private>, Vec<u8>), ErrorStack> {
        let intermediates = self.intermediates(chain_length.saturating_sub(1))?;
        let issuer = intermediates.last().unwrap_or(&self.root);
        let key = new_key(self.kind)?;
        let server = Holder::Server(self.servers_are_clients_at);
        let mut chain = certify(&key, &server, Some(issuer))?.to_pem()?;
        for intermediate in intermediates.iter().rev() {
            chain.extend(intermediate.certificate.to_pem()?);
        }
        Ok((key, chain))
    }

    /// Authorities, each signed by the one before it, the first by the root.
    fn intermediates(&self, count: u8) -> Result<Vec<Issuer>, ErrorStack> {
        let mut intermediates: Vec<Issuer> = Vec::new();
        for number in 1..=count {
            let issuer = intermediates.last().unwrap_or(&self.root);
            let key = new_key(self.kind)?;
            let name = format!("ciphertax intermediate authority {number}");
            let certificate = certify(&key, &Holder::Authority(&name), Some(issuer))?;
            intermediates.push(Issuer { key, certificate });
        }
        Ok(intermediates)
    }
}

/// One that signs.
struct Issuer {
    key: PKey<Private>,
    certificate: X509,
}

/// Whose a certificate is.
enum Holder<'a> {
    Authority(&'a str),
    /// Of a server on this machine, which is a client of others like it at this address, if any.
    Server(Option<IpAddr>),
    Client(&'a str),
}

/// A version 3 certificate of `key` with a random serial number; without an issuer it signs itself.
fn certify(key: &PKey<Private>, holder: &Holder<'_>, issuer: Option<&Issuer>) -> Result<X509, ErrorStack> {
    const VERSION_3: i32 = 2;
    let subject = name(match holder {
        Holder::Authority(name) | Holder::Client(name) => name,
        Holder::Server(_) => "localhost",
    })?;
    let issuer_certificate = issuer.map(|issuer| &*issuer.certificate);
    let mut serial = BigNum::new()?;
    serial.rand(SERIAL_BITS, MsbOption::MAYBE_ZERO, false)?;
    let mut builder = X509::builder()?;
    builder.set_version(VERSION_3)?;
    builder.set_serial_number(&*serial.to_asn1_integer()?)?;
    builder.set_subject_name(&subject)?;
    builder.set_issuer_name(issuer_certificate.map_or(&subject, X509Ref::subject_name))?;
    builder.set_pubkey(key)?;
    builder.set_not_before(&*a_day_ago()?)?;
    builder.set_not_after(&*Asn1Time::days_from_now(VALID_DAYS)?)?;
    let mut usage = KeyUsage::new();
    usage.critical();
    if let Holder::Authority(_) = holder {
        builder.append_extension(BasicConstraints::new().critical().ca().build()?)?;
        builder.append_extension(usage.key_cert_sign().crl_sign().build()?)?;
        let identifier = SubjectKeyIdentifier::new().build(&builder.x509v3_context(None, None))?;
        builder.append_extension(identifier)?;
    } else {
        builder.append_extension(BasicConstraints::new().critical().build()?)?;
        usage.digital_signature();
        if key.id() == Id::RSA {
            // For the suites of TLS 1.2 and older in which the client encrypts a secret for the server's key.
            usage.key_encipherment();
        }
        builder.append_extension(usage.build()?)?;
    }
    if issuer.is_some() {
        let identifier = AuthorityKeyIdentifier::new()
            .keyid(true)
            .build(&builder.x509v3_context(issuer_certificate, None))?;
        builder.append_extension(identifier)?;
    }
    let mut purpose = ExtendedKeyUsage::new();
    match holder {
        Holder::Authority(_) => {}
        Holder::Client(_) => builder.append_extension(purpose.client_auth().build()?)?,
        Holder::Server(is_client_at) => {
            purpose.server_auth();
            let mut names = SubjectAlternativeName::new();
            names.dns("localhost").ip("127.0.0.1").ip("::1");
            if let Some(address) = is_client_at {
                purpose.client_auth();
                if !address.is_loopback() {
                    names.ip(&address.to_string());
                }
            }
            builder.append_extension(purpose.build()?)?;
            let names = names.build(&builder.x509v3_context(issuer_certificate, None))?;
            builder.append_extension(names)?;
        }
    }
    let signer = issuer.map_or(key, |issuer| &issuer.key);
    builder.sign(signer, digest(signer))?;
    Ok(builder.build())
}

/// The digest that goes with a key: of the strength of its curve; Ed25519 brings its own.
fn digest(key: &PKey<Private>) -> MessageDigest {
    match (key.id(), key.bits()) {
        (Id::ED25519, _) => MessageDigest::null(),
        (Id::EC, 384) => MessageDigest::sha384(),
        _ => MessageDigest::sha256(),
    }
}

fn new_key(kind: CertificateKind) -> Result<PKey<Private>, ErrorStack> {
    match kind {
        CertificateKind::EcdsaP256 => new_ec_key(Nid::X9_62_PRIME256V1),
        CertificateKind::EcdsaP384 => new_ec_key(Nid::SECP384R1),
        CertificateKind::Ed25519 => PKey::generate_ed25519(),
        CertificateKind::Rsa1024 => PKey::from_rsa(Rsa::generate(1024)?),
        CertificateKind::Rsa2048 => PKey::from_rsa(Rsa::generate(2048)?),
        CertificateKind::Rsa3072 => PKey::from_rsa(Rsa::generate(3072)?),
        CertificateKind::Rsa4096 => PKey::from_rsa(Rsa::generate(4096)?),
    }
}

fn new_ec_key(curve: Nid) -> Result<PKey<Private>, ErrorStack> {
    let mut group = EcGroup::from_curve_name(curve)?;
    group.set_asn1_flag(Asn1Flag::NAMED_CURVE);
    PKey::from_ec_key(EcKey::generate(&group)?)
}

fn key_pem(key: &PKey<Private>, format: KeyFormat) -> Result<Vec<u8>, ErrorStack> {
    match (format, key.id()) {
        (KeyFormat::Pkcs1, Id::RSA) => key.rsa()?.private_key_to_pem(),
        _ => key.private_key_to_pem_pkcs8(),
    }
}

fn name(common_name: &str) -> Result<X509Name, ErrorStack> {
    let mut builder = X509Name::builder()?;
    builder.append_entry_by_text("CN", common_name)?;
    Ok(builder.build())
}

/// yaSSL compares times to the minute and so takes a certificate of the current minute for one that is not valid yet.
fn a_day_ago() -> Result<Asn1Time, ErrorStack> {
    const DAY: Duration = Duration::from_secs(86_400);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Asn1Time::from_unix(now.saturating_sub(DAY).as_secs().cast_signed())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    use ciphertax_testkit::says;
    use openssl::ssl::{SslAcceptor, SslConnector, SslFiletype, SslMethod};
    use openssl::x509::X509VerifyResult;

    use super::*;

    #[test]
    fn each_kind_gives_the_key_it_names() {
        for (kind, id, bits) in [
            (CertificateKind::EcdsaP256, Id::EC, 256),
            (CertificateKind::EcdsaP384, Id::EC, 384),
            (CertificateKind::Ed25519, Id::ED25519, 256),
            (CertificateKind::Rsa1024, Id::RSA, 1024),
            (CertificateKind::Rsa2048, Id::RSA, 2048),
            (CertificateKind::Rsa3072, Id::RSA, 3072),
            (CertificateKind::Rsa4096, Id::RSA, 4096),
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
    fn every_kind_and_a_chain_of_any_length_lead_to_the_authority() {
        for (kind, length) in [
            (CertificateKind::EcdsaP256, 3),
            (CertificateKind::EcdsaP384, 1),
            (CertificateKind::Ed25519, 2),
            (CertificateKind::Rsa3072, 1),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let authority = Authority::new(kind).unwrap();
            let files = authority
                .issue_chain_for_localhost(folder.path(), length, KeyFormat::Pkcs8)
                .unwrap();
            let chain = X509::stack_from_pem(&fs::read(&files.certificate).unwrap()).unwrap();
            assert_eq!(chain.len(), usize::from(length), "{kind}");
            let above = chain[1..].iter().chain([&authority.root.certificate]);
            for (certificate, issuer) in chain.iter().zip(above) {
                assert_eq!(issuer.issued(certificate), X509VerifyResult::OK, "{kind}");
                let holds = certificate.verify(&issuer.public_key().unwrap()).unwrap();
                assert!(holds, "{kind}");
            }
            assert!(!chain.contains(&authority.root.certificate));
            handshake_with(&files, &authority, "localhost").unwrap();
        }
    }

    #[test]
    fn a_key_is_written_in_the_format_asked_for() {
        let key_of = |kind, format| {
            let folder = tempfile::tempdir().unwrap();
            let authority = Authority::new(kind).unwrap();
            let files = authority
                .issue_chain_for_localhost(folder.path(), 1, format)
                .unwrap();
            fs::read_to_string(files.key).unwrap()
        };
        let begins = |text: &str, words| text.starts_with(&format!("-----BEGIN {words}-----"));
        assert!(begins(
            &key_of(CertificateKind::Rsa1024, KeyFormat::Pkcs1),
            "RSA PRIVATE KEY"
        ));
        assert!(begins(
            &key_of(CertificateKind::Rsa1024, KeyFormat::Pkcs8),
            "PRIVATE KEY"
        ));
        assert!(begins(
            &key_of(CertificateKind::EcdsaP256, KeyFormat::Pkcs1),
            "PRIVATE KEY"
        ));
    }

    #[test]
    fn a_clients_certificate_is_for_clients_and_its_key_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
        let files = authority
            .issue_client(folder.path(), "somebody", CertificateKind::Rsa2048)
            .unwrap();
        let certificate = X509::from_pem(&fs::read(&files.certificate).unwrap()).unwrap();
        let found = authority.root.certificate.issued(&certificate);
        assert_eq!(found, X509VerifyResult::OK);
        let text = String::from_utf8(certificate.to_text().unwrap()).unwrap();
        says(&text, "TLS Web Client Authentication … CN=somebody");
        assert!(!text.contains("TLS Web Server Authentication"), "{text}");
        let mode = fs::metadata(&files.key).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
    }

    #[test]
    fn a_client_that_trusts_another_authority_refuses() {
        let server = Authority::new(CertificateKind::EcdsaP256).unwrap();
        let client = Authority::new(CertificateKind::EcdsaP256).unwrap();
        let error = handshake(&server, &client, "localhost").unwrap_err();
        says(&error, "certificate verify failed");
    }

    #[test]
    fn another_host_name_is_refused() {
        let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
        let error = handshake(&authority, &authority, "example.org").unwrap_err();
        says(&error, "certificate verify failed");
    }

    /// A TLS handshake between a server of `server` and a client that trusts `client` and expects `host`.
    fn handshake(server: &Authority, client: &Authority, host: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let files = server.issue_for_localhost(folder.path()).unwrap();
        handshake_with(&files, client, host)
    }

    fn handshake_with(files: &CertificateFiles, client: &Authority, host: &str) -> Result<(), String> {
        let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).unwrap();
        acceptor.set_certificate_chain_file(&files.certificate).unwrap();
        acceptor
            .set_private_key_file(&files.key, SslFiletype::PEM)
            .unwrap();
        let acceptor = acceptor.build();

        let mut connector = SslConnector::builder(SslMethod::tls()).unwrap();
        connector
            .cert_store_mut()
            .add_cert(client.root.certificate.clone())
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
