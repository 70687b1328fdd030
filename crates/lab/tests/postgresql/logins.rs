//! Accounts, and proofs of arms.

use ciphertax_lab::WrongLogins;
use ciphertax_wire::Session as _;
use ciphertax_wire::postgresql::{ConnectOptions, Expectation, Session};

use super::common::{Known, ask, connector, options, servers, trust, with_certificate};
use crate::prelude::*;

#[test]
pub(crate) fn each_account_logs_in_by_its_method_and_by_no_other() {
    for entry in servers() {
        let methods = entry.capabilities.authentication.iter().copied();
        let server = methods
            .fold(PrivateServer::builder(entry), PrivateServerBuilder::account)
            .scram_account(AuthenticationMethod::ScramSha256, 20_000)
            .start()
            .unwrap();
        let tls = connector(&TlsPolicy::new(None, trust(&server)));
        let certificate = connector(&with_certificate(&server, Known::Yes));
        for method in entry.capabilities.authentication {
            let account = server.account(*method).unwrap();
            let own = Method::called(method.name()).unwrap();
            // The certificate is shown to all, so that it is not for want of it that others are refused.
            for asked in Method::ALL {
                let options = ConnectOptions {
                    method: Some(asked),
                    tls: Some(Arc::clone(&certificate)),
                    ..options(&server, account)
                };
                // The server does not say which of these it is content with.
                let alike = [
                    [Method::ScramSha256, Method::ScramSha256Plus],
                    [Method::Trust, Method::Certificate],
                ];
                let may = asked == own || alike.iter().any(|two| two.contains(&asked) && two.contains(&own));
                let outcome = run(async |reactor| Session::connect(reactor, &options).await.map(drop));
                assert_eq!(outcome.is_ok(), may, "{entry}: {own} by {asked}: {outcome:?}");
            }
            // Without a certificate, and in plaintext.
            for tls in [Some(Arc::clone(&tls)), None] {
                let options = ConnectOptions {
                    method: Some(own),
                    tls,
                    ..options(&server, account)
                };
                let needs_tls = [Method::Certificate, Method::ScramSha256Plus].contains(&own);
                let may = own != Method::Certificate && (options.tls.is_some() || !needs_tls);
                let outcome = run(async |reactor| Session::connect(reactor, &options).await.map(drop));
                assert_eq!(outcome.is_ok(), may, "{entry}: {own}: {outcome:?}");
            }
        }
        let many = server
            .scram_account(AuthenticationMethod::ScramSha256, 20_000)
            .unwrap();
        let iterations = |account| {
            let options = options(&server, account);
            run(async |reactor| {
                Session::connect(reactor, &options)
                    .await
                    .map(|(session, _)| session.iterations())
            })
            .unwrap()
        };
        assert_eq!(iterations(many), Some(20_000));
        assert_eq!(iterations(server.default_account()), Some(4096));
        // Whom no line names is nobody.
        let nobody = ConnectOptions {
            user: "postgres".into(),
            ..options(&server, server.default_account())
        };
        let error = run(async |reactor| Session::connect(reactor, &nobody).await.map(drop)).unwrap_err();
        assert!(error.is_access_denied(), "{error}");
    }
}

#[test]
pub(crate) fn whom_everybody_can_be_reads_and_writes_data_and_runs_no_programs() {
    for entry in servers() {
        let server = PrivateServer::builder(entry)
            .account(AuthenticationMethod::Trust)
            .start()
            .unwrap();
        let default = options(&server, server.default_account());
        ask(&default, "CREATE SCHEMA ciphertax").unwrap();
        ask(&default, "CREATE TABLE numbers (number INT PRIMARY KEY)").unwrap();
        let trusted = options(&server, server.account(AuthenticationMethod::Trust).unwrap());
        ask(&trusted, "INSERT INTO ciphertax.numbers VALUES (42)").unwrap();
        assert_eq!(ask(&trusted, "SELECT number FROM numbers").unwrap(), "42");
        let error = ask(&trusted, "COPY numbers FROM PROGRAM 'true'").unwrap_err();
        assert!(error.is_missing_right(), "{error}");
    }
}

#[test]
pub(crate) fn an_arm_is_proved_and_one_that_is_not_what_it_says_is_disproved() {
    for entry in servers() {
        let methods = entry.capabilities.authentication.iter().copied();
        let server = methods
            .fold(PrivateServer::builder(entry), PrivateServerBuilder::account)
            .start()
            .unwrap();
        let known = connector(&with_certificate(&server, Known::Yes));
        let unknown = connector(&with_certificate(&server, Known::No));
        for method in entry.capabilities.authentication {
            let account = server.account(*method).unwrap();
            let arm = ConnectOptions {
                method: Method::called(method.name()),
                tls: Some(Arc::clone(&known)),
                ..options(&server, account)
            };
            let unknown = ConnectOptions {
                tls: Some(Arc::clone(&unknown)),
                ..arm.clone()
            };
            let conditions = postgresql::Conditions {
                unknown_client: Some(&unknown),
                behind_pooler: None,
            };
            let expectation = Expectation::new(Transport::Tls13);
            let proved = postgresql::prove("arm", &arm, &expectation, &WrongLogins::default(), conditions)
                .unwrap_or_else(|error| panic!("{entry}: {method}: {error}"));
            let witnesses = proved.proofs.iter().map(|proof| proof.witness.to_string());
            let witnesses: Vec<String> = witnesses.collect();
            let expected: &[&str] = match method {
                AuthenticationMethod::Trust => &["client", "server", "wire"],
                _ => &["client", "server", "wire", "authentication"],
            };
            assert_eq!(witnesses, expected, "{method}");
            let evidence = &proved.proofs[1].evidence;
            assert!(evidence.starts_with("TLSv1.3 TLS_"), "{evidence}");
        }
        let plain = options(&server, server.default_account());
        let plain_expected = Expectation::new(Transport::Plain);
        postgresql::prove(
            "plain",
            &plain,
            &plain_expected,
            &WrongLogins::default(),
            postgresql::Conditions::default(),
        )
        .unwrap();
        let error = postgresql::prove(
            "lies",
            &plain,
            &Expectation::new(Transport::Tls13),
            &WrongLogins::default(),
            postgresql::Conditions::default(),
        );
        assert!(matches!(error, Err(ProofError::Disproved { .. })), "{error:?}");
    }
}
