//! What the catalogue says of MongoDB and TLS, held against the server itself.

use ciphertax_model::*;
use ciphertax_wire::Client as _;
use ciphertax_wire::Session as _;
use ciphertax_wire::mongodb::{ConnectOptions, Session};

use crate::prelude::*;

use super::can;

#[test]
fn versions_groups_ciphers_and_resumption_are_what_the_catalogue_says() {
    let Some(_) = fetched(&MONGODB) else { return };
    let server = builder()
        .certificate(CertificateKind::Rsa2048)
        .tls_versions(&TlsVersion::ALL)
        .start()
        .unwrap();
    let mut arms = Vec::new();
    for transport in [
        Transport::Tls10,
        Transport::Tls11,
        Transport::Tls12,
        Transport::Tls13,
    ] {
        for resumption in [Resumption::Off, Resumption::SessionId, Resumption::Ticket] {
            let mut arm = Arm::new("it", transport);
            arm.tls.resumption = resumption;
            arms.push(arm);
        }
    }
    for group in Group::ALL {
        let mut arm = Arm::new("it", Transport::Tls13);
        arm.tls.group = Some(group);
        arms.push(arm);
    }
    for (transport, cipher) in [
        (Transport::Tls13, "TLS_AES_128_GCM_SHA256"),
        (Transport::Tls13, "TLS_CHACHA20_POLY1305_SHA256"),
        (Transport::Tls13, "TLS_AES_128_CCM_SHA256"),
        (Transport::Tls12, "ECDHE-RSA-AES128-GCM-SHA256"),
        (Transport::Tls12, "ECDHE-RSA-CHACHA20-POLY1305"),
        (Transport::Tls12, "DHE-RSA-AES256-GCM-SHA384"),
        (Transport::Tls12, "AES128-SHA"),
        (Transport::Tls10, "AES256-SHA"),
    ] {
        let mut arm = Arm::new("it", transport);
        arm.tls.cipher = Some(cipher.into());
        arms.push(arm);
    }
    let wrong: Vec<String> = arms
        .iter()
        .filter_map(|arm| broken_promise(&server, arm, CertificateKind::Rsa2048))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn certificates_are_what_the_catalogue_says() {
    let Some(_) = fetched(&MONGODB) else { return };
    let mut wrong = Vec::new();
    for kind in CertificateKind::ALL {
        let server = builder().certificate(kind).start().unwrap();
        for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
            let mut arm = Arm::new("it", Transport::Tls13);
            arm.tls.library = library;
            wrong.extend(broken_promise(&server, &arm, kind));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with what the catalogue promises of an arm; `None` if it is held.
fn broken_promise(server: &PrivateServer, arm: &Arm, kind: CertificateKind) -> Option<String> {
    let promised = can(&MONGODB.capabilities, arm, kind);
    match (promised, facts(server, arm)) {
        (true, Err(error)) => Some(format!("{arm:?} with {kind} is promised: {error}")),
        // It depends on the server's threads whether it still has the session: nothing to promise.
        (false, Ok(_)) if arm.tls.resumption == Resumption::SessionId => None,
        (false, Ok(facts)) => Some(format!(
            "{arm:?} with {kind} is not promised and works: {facts:?}"
        )),
        _ => None,
    }
}

fn facts(server: &PrivateServer, arm: &Arm) -> Result<SessionFacts, WireError> {
    let ca = server.ca_file().unwrap().to_owned();
    let mut policy = TlsPolicy::new(
        arm.transport.tls_version(),
        Verification::HostName(ca, server.address().ip().to_string()),
    );
    policy.legacy = true;
    policy.cipher = arm.tls.cipher.clone();
    policy.group = arm.tls.group;
    policy.resumption = arm.tls.resumption;
    policy.library = arm.tls.library;
    let login = Login::by(MONGODB.default_method(), server.user(), server.password().clone());
    let address = server.address();
    let options = ConnectOptions {
        tls: Some(Arc::new(TlsConnector::new(&policy)?)),
        ..ConnectOptions::new(address.ip().to_string(), address.port(), login.unwrap())
    };
    let resumes = arm.tls.resumption != Resumption::Off;
    run(async |reactor| {
        Session::warm_up(reactor, &options, 1).await?;
        let (mut session, _) = Session::connect(reactor, &options).await?;
        let facts = session.facts().await?;
        match &facts.tls {
            Some(tls) if tls.resumed == resumes => Ok(facts),
            _ => Err(WireError::Tls("it is not resumed as it should be".into())),
        }
    })
}

fn builder() -> PrivateServerBuilder {
    PrivateServer::builder(&MONGODB)
}
