//! A certificate for a client, which sysbench must present whether the server asks for one or not.

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::x509::{X509, X509Name};

use crate::Result;

/// A certificate and its key in PEM.
pub(crate) struct ClientCertificate {
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

/// Issues a certificate signed by its own key, good for a day.
pub(crate) fn issue() -> Result<ClientCertificate> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    let key = PKey::from_ec_key(EcKey::generate(&group)?)?;
    let mut name = X509Name::builder()?;
    name.append_entry_by_text("CN", "sysbench")?;
    let name = name.build();

    const VERSION_3: i32 = 2;
    let mut certificate = X509::builder()?;
    certificate.set_version(VERSION_3)?;
    certificate.set_serial_number(&*BigNum::from_u32(1)?.to_asn1_integer()?)?;
    certificate.set_subject_name(&name)?;
    certificate.set_issuer_name(&name)?;
    certificate.set_not_before(&*Asn1Time::days_from_now(0)?)?;
    certificate.set_not_after(&*Asn1Time::days_from_now(1)?)?;
    certificate.set_pubkey(&key)?;
    certificate.sign(&key, MessageDigest::sha256())?;
    Ok(ClientCertificate {
        certificate: certificate.build().to_pem()?,
        key: key.private_key_to_pem_pkcs8()?,
    })
}
