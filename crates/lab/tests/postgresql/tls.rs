//! What of TLS servers offer.

use ciphertax_model::{Group, Resumption};
use ciphertax_wire::Client as _;
use ciphertax_wire::Session as _;
use ciphertax_wire::postgresql::{ALPN, ConnectOptions, Negotiation, Session, SessionStatus};

use super::common::{ask, connector, options, servers, trust};
use crate::prelude::*;

#[test]
pub(crate) fn every_tls_version_is_offered_where_it_is_asked_for() {
    for entry in servers() {
        let server = PrivateServer::builder(entry)
            .tls_versions(&TlsVersion::ALL)
            .start()
            .unwrap();
        for version in TlsVersion::ALL {
            let policy = TlsPolicy::new(version, trust(&server));
            let arm = ConnectOptions {
                tls: Some(connector(&policy)),
                ..options(&server, server.default_account())
            };
            let status = run(async |reactor| {
                let (mut session, _) = Session::connect(reactor, &arm).await?;
                SessionStatus::of(&mut session).await
            })
            .unwrap();
            assert_eq!(status.version, version.name(), "{entry}");
        }
    }
}

#[test]
pub(crate) fn each_group_of_the_catalogue_is_offered_and_its_own_choice_is_the_servers_default() {
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let group_of = |policy: &TlsPolicy| {
            let arm = ConnectOptions {
                tls: Some(connector(policy)),
                ..options(&server, server.default_account())
            };
            let facts = run(async |reactor| Session::connect(reactor, &arm).await?.0.facts().await);
            facts.map(|facts| facts.tls.unwrap().group)
        };
        let any = TlsPolicy::new(None, trust(&server));
        for group in Group::ALL {
            let policy = TlsPolicy {
                group: Some(group),
                ..any.clone()
            };
            let offered = entry.capabilities.groups.contains(&group);
            let found = group_of(&policy);
            assert_eq!(found.ok(), offered.then(|| group.to_string()), "{entry}: {group}");
        }
        let default = if entry == &POSTGRESQL {
            Group::P256
        } else {
            Group::X25519
        };
        assert_eq!(group_of(&any).unwrap(), default.to_string(), "{entry}");
    }
}

#[test]
pub(crate) fn direct_tls_is_taken_where_the_catalogue_says_so_and_no_session_is_resumed() {
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let arm = |policy: &TlsPolicy, negotiation| ConnectOptions {
            tls: Some(connector(policy)),
            negotiation,
            ..options(&server, server.default_account())
        };
        let policy = TlsPolicy {
            alpn: Some(ALPN),
            ..TlsPolicy::new(None, trust(&server))
        };
        let answer = ask(&arm(&policy, Negotiation::Direct), "SELECT 42");
        let is_spoken = answer.is_ok();
        assert_eq!(is_spoken, entry.capabilities.direct_tls, "{entry}: {answer:?}");
        for (version, resumption) in [
            (TlsVersion::V1_3, Resumption::Ticket),
            (TlsVersion::V1_2, Resumption::Ticket),
            (TlsVersion::V1_2, Resumption::SessionId),
        ] {
            let policy = TlsPolicy {
                resumption,
                ..TlsPolicy::new(version, trust(&server))
            };
            let arm = arm(&policy, Negotiation::Request);
            let warm = run(async |reactor| Session::warm_up(reactor, &arm, 1).await);
            assert!(warm.is_err(), "{entry} resumes {version} by {resumption:?}");
        }
    }
}
