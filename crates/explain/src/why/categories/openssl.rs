//! OpenSSL from 1.0 to 3.6, as a library and as a part of a program, and AWS-LC, which descends from it.
//!
//! Its assembler, the providers of OpenSSL 3 and the state machine of handshakes have no names where it is a library: they belong to
//! the function of its interface that calls them.

use super::names::{ALLOCATION, CONNECTION};
use super::phase::Cryptography::{Around, Certificates, Cipher, Hashes, PublicKey};
use super::rule::Table;
use super::rule::Work::{For, Of};

pub(super) const TABLE: Table = &[
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
