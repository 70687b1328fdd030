//! A certificate for a moment, and its key; both are gone with the program.

use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509NameBuilder};

/// An ECDSA key (P-256) with the certificate that it has signed itself.
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
