//! Functions of OpenSSL that its bindings do not have yet.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use foreign_types::{ForeignType, ForeignTypeRef};
use openssl::nid::Nid;
use openssl::ssl::{SslCipher, SslContextBuilder, SslRef, SslSession, SslSessionRef};
use openssl::stack::StackRef;
use openssl::x509::X509Ref;
use openssl_sys::{SSL, SSL_CTX, SSL_SESSION, X509, stack_st_SSL_CIPHER};

unsafe extern "C" {
    /// Since OpenSSL 3.2.
    safe fn SSL_get0_group_name(ssl: *mut SSL) -> *const c_char;
    safe fn SSL_SESSION_is_resumable(session: *const SSL_SESSION) -> c_int;
    safe fn SSL_SESSION_dup(session: *const SSL_SESSION) -> *mut SSL_SESSION;
    safe fn SSL_SESSION_has_ticket(session: *const SSL_SESSION) -> c_int;
    /// Writes through each pointer that is not null.
    fn X509_get_signature_info(
        certificate: *mut X509,
        digest: *mut c_int,
        key: *mut c_int,
        bits: *mut c_int,
        flags: *mut u32,
    ) -> c_int;
    safe fn SSL_CTX_get_ciphers(context: *const SSL_CTX) -> *mut stack_st_SSL_CIPHER;
}

/// The group of the key exchange by OpenSSL's name for it; empty where there was none.
pub(super) fn group_name(ssl: &SslRef) -> &str {
    let name = SSL_get0_group_name(ssl.as_ptr());
    if name.is_null() {
        return "";
    }
    // SAFETY: a name that is not null is a NUL-terminated string that lives as long as the session.
    unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default()
}

pub(super) fn is_resumable(session: &SslSessionRef) -> bool {
    SSL_SESSION_is_resumable(session.as_ptr()) == 1
}

/// A copy that shares nothing that changes.
pub(super) fn copy(session: &SslSessionRef) -> Option<SslSession> {
    let copy = SSL_SESSION_dup(session.as_ptr());
    // SAFETY: a copy that is not null is a session of which we are the only owner.
    (!copy.is_null()).then(|| unsafe { SslSession::from_ptr(copy) })
}

/// True if the server gave a ticket for the session, false if it keeps the session itself.
pub(super) fn has_ticket(session: &SslSessionRef) -> bool {
    SSL_SESSION_has_ticket(session.as_ptr()) == 1
}

pub(super) fn cipher_names(context: &SslContextBuilder) -> Vec<&'static str> {
    let suites = SSL_CTX_get_ciphers(context.as_ptr());
    if suites.is_null() {
        return Vec::new();
    }
    // SAFETY: a list that is not null is a stack of suites that lives as long as the context.
    let suites = unsafe { StackRef::<SslCipher>::from_ptr(suites) };
    suites.iter().map(|suite| suite.name()).collect()
}

/// The hash of a certificate's signature; `None` where the signature has none of its own, as that of Ed25519.
pub(in super::super) fn signature_digest(certificate: &X509Ref) -> Option<Nid> {
    let mut digest = 0;
    // SAFETY: the certificate lives, and the one pointer that is not null is to a number that outlives the call.
    let known = unsafe {
        X509_get_signature_info(
            certificate.as_ptr(),
            &mut digest,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    (known == 1 && digest != Nid::UNDEF.as_raw()).then(|| Nid::from_raw(digest))
}
