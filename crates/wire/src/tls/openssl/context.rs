//! From a policy to OpenSSL's settings.

use std::sync::Arc;

use ciphertax_model::{Resumption, TlsVersion};
use openssl::ssl::{
    SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions, SslSession, SslSessionCacheMode,
    SslVerifyMode, SslVersion,
};

use super::super::policy::{ClientCertificate, TlsPolicy, Verification};
use super::super::{cipher, pem};
use super::{Sessions, bindings, broken, reasons};
use crate::error::{Result, WireError};

/// The suites that a policy may name: all that authenticate the server and encrypt.
const EVERY_SUITE: &str = "ALL:!aNULL:!eNULL:!PSK:!SRP";

/// A context of this policy, and where its sessions are kept if they are taken up again.
pub(super) fn prepare(policy: &TlsPolicy) -> Result<(SslContext, Option<Arc<Sessions>>)> {
    let versions = policy.versions()?;
    let mut context = SslContext::builder(SslMethod::tls_client()).map_err(broken)?;
    context
        .set_min_proto_version(Some(protocol(versions.lowest)))
        .map_err(broken)?;
    context
        .set_max_proto_version(Some(protocol(versions.highest)))
        .map_err(broken)?;
    context.set_mode(SslMode::AUTO_RETRY);
    if policy.releases_buffers {
        context.set_mode(SslMode::RELEASE_BUFFERS);
    }
    if policy.takes_legacy_servers() {
        take_legacy_servers(&mut context);
    }
    if let Some(wanted) = &policy.cipher {
        offer_only(&mut context, wanted)?;
    }
    if let Some(group) = policy.group {
        context.set_groups_list(group.name()).map_err(broken)?;
    }
    verify(&mut context, &policy.verification)?;
    if let Some(certificate) = &policy.client_certificate {
        present(&mut context, certificate)?;
    }
    if let Some(protocol) = policy.alpn {
        let offered = [&[protocol.len() as u8], protocol.as_bytes()].concat();
        context.set_alpn_protos(&offered).map_err(broken)?;
    }
    let sessions = keep_sessions(&mut context, policy.resumption);
    Ok((context.build(), sessions))
}

fn protocol(version: TlsVersion) -> SslVersion {
    match version {
        TlsVersion::V1_0 => SslVersion::TLS1,
        TlsVersion::V1_1 => SslVersion::TLS1_1,
        TlsVersion::V1_2 => SslVersion::TLS1_2,
        TlsVersion::V1_3 => SslVersion::TLS1_3,
    }
}

/// What yaSSL and wolfSSL servers need. Security level 0 allows the signatures of SHA-1 and MD5 that TLS 1.0 and 1.1
/// are made of. Without RFC 5746 a client cannot see that its handshake is a renegotiation for somebody else's
/// connection; it can at least refuse to renegotiate its own.
fn take_legacy_servers(context: &mut SslContextBuilder) {
    context.set_security_level(0);
    let legacy_server_connect = SslOptions::from_bits_retain(openssl_sys::SSL_OP_LEGACY_SERVER_CONNECT);
    context.set_options(legacy_server_connect | SslOptions::NO_RENEGOTIATION);
}

/// What to say of a suite that OpenSSL does not have; `None` for one that it has. It takes whole classes of suites for a name too.
///
/// # Errors
/// OpenSSL's own.
pub fn unknown_cipher(wanted: &str) -> Result<Option<String>> {
    let is_of_tls13 = cipher::is_of_tls13(wanted);
    let mut every = SslContext::builder(SslMethod::tls_client()).map_err(broken)?;
    every.set_security_level(0);
    every.set_cipher_list(EVERY_SUITE).map_err(broken)?;
    every.set_ciphersuites(TLS13_SUITES).map_err(broken)?;
    let mut known = bindings::cipher_names(&every);
    known.retain(|name| cipher::is_of_tls13(name) == is_of_tls13);
    Ok((!known.contains(&wanted)).then(|| {
        format!(
            "OpenSSL has no cipher suite {wanted}; the nearest it has are {}",
            cipher::nearest(wanted, known)
        )
    }))
}

/// Offers one suite.
fn offer_only(context: &mut SslContextBuilder, wanted: &str) -> Result<()> {
    if let Some(problem) = unknown_cipher(wanted)? {
        return Err(WireError::TlsSettings(problem));
    }
    if cipher::is_of_tls13(wanted) {
        context.set_ciphersuites(wanted).map_err(broken)
    } else {
        context.set_cipher_list(wanted).map_err(broken)
    }
}

/// All of RFC 8446, appendix B.4; OpenSSL's default leaves the last two out.
const TLS13_SUITES: &str = "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:\
    TLS_AES_128_CCM_SHA256:TLS_AES_128_CCM_8_SHA256";

fn verify(context: &mut SslContextBuilder, verification: &Verification) -> Result<()> {
    let Some(path) = verification.ca_file() else {
        context.set_verify(SslVerifyMode::NONE);
        return Ok(());
    };
    for certificate in pem::authorities(path)? {
        context.cert_store_mut().add_cert(certificate).map_err(broken)?;
    }
    context.set_verify(SslVerifyMode::PEER);
    Ok(())
}

fn present(context: &mut SslContextBuilder, client: &ClientCertificate) -> Result<()> {
    let (chain, key) = pem::client(client)?;
    let mut chain = chain.into_iter();
    let own = chain.next().map_or(Ok(()), |own| context.set_certificate(&own));
    own.and_then(|()| chain.try_for_each(|next| context.add_extra_chain_cert(next)))
        .map_err(|error| client.unusable(&client.certificate, reasons(&error)))?;
    context
        .set_private_key(&key)
        .and_then(|()| context.check_private_key())
        .map_err(|error| client.unusable(&client.key, reasons(&error)))
}

/// Sessions come after the handshake in TLS 1.3, so OpenSSL hands them over when it meets them.
fn keep_sessions(context: &mut SslContextBuilder, resumption: Resumption) -> Option<Arc<Sessions>> {
    if resumption == Resumption::Off {
        context.set_session_cache_mode(SslSessionCacheMode::OFF);
        return None;
    }
    let by_ticket = resumption == Resumption::Ticket;
    if !by_ticket {
        context.set_options(SslOptions::NO_TICKET);
    }
    context.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
    let sessions = Arc::new(Sessions::new());
    let kept = Arc::clone(&sessions);
    context.set_new_session_callback(move |_, session: SslSession| {
        // A server without tickets may offer to keep the session itself, which is another arm.
        if bindings::has_ticket(&session) != by_ticket {
            return;
        }
        if session.protocol_version() == SslVersion::TLS1_3 {
            kept.keep_ticket(session);
        } else {
            kept.keep_older(session);
        }
    });
    Some(sessions)
}
