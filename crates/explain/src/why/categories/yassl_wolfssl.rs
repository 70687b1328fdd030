//! The libraries that are parts of MySQL and MariaDB: yaSSL with TaoCrypt (MySQL 5.6, MariaDB up to 10.2) and wolfSSL (MariaDB's
//! own builds from 10.4 on).

use super::phase::Cryptography::{Around, Certificates, Cipher, Hashes, PublicKey};
use super::rule::Table;
use super::rule::Work::For;

pub(super) const TABLE: Table = &[
    (
        For(Cipher),
        "TaoCrypt::AES* TaoCrypt::DES* TaoCrypt::ARC4* yaSSL::AES* wc_Aes* GHASH* wc_ChaCha* wc_Poly1305*",
    ),
    (
        For(Hashes),
        "TaoCrypt::HASH* TaoCrypt::SHA* TaoCrypt::MD5* TaoCrypt::HMAC* yaSSL::*HMAC* yaSSL::SHA* yaSSL::MD5* yaSSL::*hmac
         wc_Sha* wc_Hash* wc_Hmac* wc_HKDF* wc_Tls13_HKDF* Transform_Sha* _Transform_Sha*",
    ),
    (
        For(PublicKey),
        "TaoCrypt::RSA* TaoCrypt::DH* TaoCrypt::Integer* TaoCrypt::Montgomery* TaoCrypt::Modular* TaoCrypt::Abstract*
         TaoCrypt::Portable* TaoCrypt::Recursive* yaSSL::RSA* yaSSL::DiffieHellman* wc_Rsa* wc_ecc_*",
    ),
    (
        For(Certificates),
        "yaSSL::Cert* TaoCrypt::Cert* ParseCert* DecodeCert* ProcessPeerCerts wolfSSL_X509* wolfSSL_CertManager*",
    ),
    (
        For(Around),
        "TaoCrypt::* yaSSL::* yaSSL_* yaERR_* wc_* wolfSSL_* SendData ReceiveData GetInputData ProcessReply* BuildTls13Message
         DecryptTls* SendTls13* DoTls13*",
    ),
];
