//! TLS libraries, our client, and rules as they are looked up.

use super::names::{ALLOCATION, CONNECTION, *};
use super::rule::Cryptography::{Around, Certificates, Cipher, Hashes, PublicKey};
use super::rule::Work::{For, Of};
use super::rule::{Pattern, Table};

/// OpenSSL from 1.0 to 3.6, as a library and as a part of a program, and AWS-LC, which descends from it. Its
/// assembler, the providers of OpenSSL 3 and the state machine of handshakes have no names where it is a library:
/// they belong to the function of its interface that calls them.
pub(super) const OPENSSL: Table = &[
    (
        Of(ALLOCATION),
        "CRYPTO_malloc* CRYPTO_zalloc CRYPTO_calloc CRYPTO_realloc CRYPTO_free CRYPTO_clear_* CRYPTO_memdup",
    ),
    // At the end of a process, whether it used TLS or not.
    (Of(CONNECTION), "OPENSSL_cleanup"),
    (For(Around), "libssl*!*"),
    (
        For(Cipher),
        "EVP_Cipher EVP_CipherUpdate EVP_CipherFinal* EVP_CipherInit* EVP_Encrypt* EVP_Decrypt* AES_* aesni_* aes_*
         CRYPTO_gcm128_* CRYPTO_ctr128_* gcm_* ossl_gcm_* ossl_aes_gcm_* vaes_* ChaCha20* aws_lc_*_EVP_AEAD_*",
    ),
    (
        For(PublicKey),
        "EVP_DigestSign* EVP_DigestVerify* EVP_PKEY_* EVP_KEYEXCH_* RSA_* DH_* EC_* ECDSA_* ECDH_* BN_* bn_* ecp_* ossl_ec*
         ossl_rsa_* ossl_x25519* x25519_* ossl_ml_kem_* ml_kem_* mlx_kem_* aws_lc_*bn_* aws_lc_*rsa* aws_lc_*ec*
         aws_lc_*x25519*",
    ),
    (
        For(Hashes),
        "EVP_Digest* EVP_MD_CTX_* EVP_MAC_* EVP_Q_mac HMAC* SHA1* SHA256* SHA384* SHA512* sha1_* sha256_* sha512_* EVP_KDF_*
         PKCS5_PBKDF2* tls13_hkdf_* aws_lc_*sha* aws_lc_*HMAC*",
    ),
    (For(Certificates), "X509_* x509_* ASN1_item_verify*"),
    (
        For(Around),
        "RAND_* EVP_RAND_* EVP_MD_fetch EVP_CIPHER_fetch SSL_* aws_lc_*",
    ),
];

/// The libraries that are parts of MySQL and MariaDB: yaSSL with TaoCrypt (MySQL 5.6, MariaDB up to 10.2) and wolfSSL
/// (MariaDB's own builds from 10.4 on).
pub(super) const YASSL_WOLFSSL: Table = &[
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

/// The load generator: ciphertax itself, with what is linked into it.
pub(super) const CLIENT: Table = &[
    (For(Cipher), "*rustls*::cipher::*"),
    (For(Hashes), "*sha2::* *sha1::* *hmac::* *pbkdf2::*"),
    (For(Certificates), "webpki::*"),
    (
        For(Around),
        "rustls::* <rustls::* openssl::* <openssl::* *ciphertax_wire::tls::* *ciphertax_wire::scram::*",
    ),
    (Of(ENGINE), "sqlite3* rusqlite::* <rusqlite::*"),
    (
        Of(RECORDING),
        "*ciphertax_engine::recorder::* hdrhistogram::* *ciphertax_wire::trace::*",
    ),
    (
        Of(EVENT_LOOP),
        "*ciphertax_reactor::socket::* *ciphertax_reactor::*",
    ),
    (
        Of(PROTOCOL),
        "*ciphertax_wire::* mysql_common::* <mysql_common::* bson::* <bson::*",
    ),
    (Of(WORKLOAD), "*ciphertax_workload::* rand*::* <rand*"),
    (Of(CLOCKS), "*std::time::* *Timespec*::now*"),
    (Of(EVENT_LOOP), "*ciphertax_engine::*"),
    (
        Of(BACKGROUND),
        "*ciphertax_runner::* *ciphertax_observe::* *ciphertax_profile::* ciphertax::*",
    ),
];

/// Rules as they are looked up: a stack has dozens of functions, and there are hundreds of patterns. Patterns and
/// what each stands for, by what the functions begin with that they fit.
#[derive(Debug)]
pub(super) struct Compiled<T> {
    rules: Vec<(Pattern, T)>,
    /// The places of the patterns that may fit a name, by its first byte, in their order.
    by_first_byte: Vec<Vec<usize>>,
}

/// The first pattern that fits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit<T> {
    pub(super) value: T,
    pub(super) pattern: &'static str,
    /// How many patterns come before it.
    pub(super) rank: usize,
}

impl<T: Copy> Compiled<T> {
    pub(super) fn of(rules: impl Iterator<Item = (&'static str, T)>) -> Self {
        let rules: Vec<_> = rules
            .map(|(written, value)| (Pattern::of(written), value))
            .collect();
        let fitting = |byte: u8| {
            let may_fit =
                |(pattern, _): &(Pattern, T)| pattern.first_byte().is_none_or(|first| first == byte);
            let places = rules.iter().enumerate();
            places
                .filter(|(_, rule)| may_fit(rule))
                .map(|(place, _)| place)
                .collect()
        };
        Self {
            by_first_byte: (0..=u8::MAX).map(fitting).collect(),
            rules,
        }
    }

    /// The first pattern that fits a function; none fits one without a name at all.
    pub(super) fn find(&self, function: &str, module: &str) -> Option<Hit<T>> {
        let first = usize::from(*function.as_bytes().first()?);
        let places = self.by_first_byte.get(first)?;
        places.iter().find_map(|place| {
            let (pattern, value) = self.rules.get(*place)?;
            pattern.fits(function, module).then_some(Hit {
                value: *value,
                pattern: pattern.written,
                rank: *place,
            })
        })
    }
}
