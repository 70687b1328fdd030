//! What an arm cannot be.

use super::at_rest::check_at_rest;
use super::found::{Found, Path};
use crate::arm::Arm;
use crate::authentication::{AuthenticationMethod, PasswordCache};
use crate::cipher;
use crate::tls::{Group, Resumption, TlsLibrary};
use crate::transport::TlsVersion;

pub(super) fn check_arm(arm: &Arm, path: &Path, found: &mut Found) {
    if arm.transport.is_encrypted() {
        check_tls(arm, &path.key("tls"), found);
    } else if !arm.tls.is_default() {
        let message = format!(
            "arm {:?} is plain, so its tls settings say nothing; leave them out or give it a TLS transport",
            arm.name
        );
        found.add(path.key("tls"), message);
    }
    if let Some(kind) = arm.certificate
        && !arm.transport.is_encrypted()
    {
        let message = format!(
            "arm {:?} is plain and never shown a certificate; leave {kind} out or give it a TLS transport",
            arm.name
        );
        found.add(path.key("certificate"), message);
    }
    check_authentication(arm, path, found);
    check_at_rest(arm, path, found);
}

fn check_tls(arm: &Arm, path: &Path, found: &mut Found) {
    let (name, tls) = (&arm.name, &arm.tls);
    let version = arm.transport.tls_version();
    let is_before = |least| version.is_some_and(|version| version < least);
    if let Some(cipher) = &tls.cipher {
        if let Some(problem) = cipher::problem(cipher, version, tls.library) {
            found.add(path.key("cipher"), format!("arm {name:?}: {problem}"));
        } else if tls.group.is_some() && !cipher::uses_group(cipher) {
            let message = format!(
                "arm {name:?}: {cipher} exchanges keys without a group; leave group out or take a cipher whose name \
                 begins with ECDHE- or TLS_"
            );
            found.add(path.key("group"), message);
        }
    }
    if tls.group == Some(Group::X25519MlKem768) && is_before(TlsVersion::V1_3) {
        let message = format!("arm {name:?}: X25519MLKEM768 is a group of TLS 1.3 alone");
        found.add(path.key("group"), message);
    }
    if tls.resumption == Resumption::SessionId && version == Some(TlsVersion::V1_3) {
        let message = format!(
            "arm {name:?}: TLS 1.3 resumes by ticket alone; take resumption = \"ticket\", or TLS 1.2 or older"
        );
        found.add(path.key("resumption"), message);
    }
    if tls.library == TlsLibrary::Rustls {
        if is_before(TlsVersion::V1_2) {
            let message =
                format!("arm {name:?}: rustls knows TLS 1.2 and 1.3 alone; take library = \"openssl\"");
            found.add(path.key("library"), message);
        }
        if tls.resumption == Resumption::SessionId {
            let message = format!(
                "arm {name:?}: sessions are resumed by id with library = \"openssl\" alone; with rustls take \
                 resumption = \"ticket\""
            );
            found.add(path.key("resumption"), message);
        }
    }
}

fn check_authentication(arm: &Arm, path: &Path, found: &mut Found) {
    let name = &arm.name;
    let authentication = path.key("authentication");
    let method = arm.authentication.method;
    let has_cache = |method: AuthenticationMethod| {
        method == AuthenticationMethod::CachingSha2Password || method.is_scram()
    };
    if arm.authentication.password_cache == PasswordCache::Cold && !method.is_some_and(has_cache) {
        let message = format!(
            "arm {name:?}: only caching_sha2_password and the methods of SCRAM have a password cache; leave \
             password_cache out or set method"
        );
        found.add(authentication.key("password_cache"), message);
    }
    let greets_first =
        |method: AuthenticationMethod| method.is_of_mongodb() && method != AuthenticationMethod::NoLogin;
    if !arm.authentication.speculative && !method.is_some_and(greets_first) {
        let message = format!(
            "arm {name:?}: only SCRAM-SHA-1, SCRAM-SHA-256 and MONGODB-X509 can begin with the greeting; leave \
             speculative out or set method"
        );
        found.add(authentication.key("speculative"), message);
    }
    if let Some(method) = method.filter(|method| method.is_by_certificate()) {
        if !arm.transport.is_encrypted() {
            let message = format!("arm {name:?}: {method} is a login by TLS; give it a TLS transport");
            found.add(authentication.key("method"), message);
        } else if arm.tls.client_certificate.is_none() {
            let message = format!(
                "arm {name:?}: {method} is a login by certificate; add tls = {{ client_certificate = \"ecdsa-p256\" }}"
            );
            found.add(authentication.key("method"), message);
        }
    }
    if method == Some(AuthenticationMethod::UnixSocket) {
        let method = authentication.key("method");
        if arm.transport.is_encrypted() {
            let message =
                format!("arm {name:?}: a login by unix_socket is not over TCP, so it cannot use TLS");
            found.add(method.clone(), message);
        }
        if arm.tunnel.is_some() {
            let message =
                format!("arm {name:?}: a login by unix_socket is not over TCP, so it cannot use a tunnel");
            found.add(method, message);
        }
    }
}
