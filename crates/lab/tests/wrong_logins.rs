//! What a wrong password that proves a login does to an account.

use ciphertax_base::Secret;
use ciphertax_lab::{WrongLogins, mysql};
use ciphertax_testkit::lease;
use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::sql::SqlSession as _;

use crate::prelude::*;

#[test]
fn an_account_that_it_locks_is_said_to_be_with_the_statement_that_lets_it_in_again() {
    let server = lease(&MARIADB);
    let ask = |statement: &str| {
        run(async |reactor| {
            let (mut session, _) = Session::connect(reactor, &plain(&server)).await.unwrap();
            session.query(statement).await.unwrap();
        });
    };
    ask("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'tr0ub4dor'");
    ask("SET GLOBAL max_password_errors = 1");
    let address = server.address();
    let options = ConnectOptions::new(
        address.ip().to_string(),
        address.port(),
        "app",
        Secret::new("tr0ub4dor"),
    );
    let prove = |wrong_logins: &WrongLogins| {
        mysql::prove(
            "it",
            &options,
            &Expectation::new(Transport::Plain),
            wrong_logins,
            None,
        )
    };
    let error = prove(&WrongLogins::default()).unwrap_err().to_string();
    for words in [
        "has locked the account",
        "FLUSH PRIVILEGES lets it in again",
        "--no-wrong-logins",
    ] {
        assert!(error.contains(words), "{error}");
    }
    ask("FLUSH PRIVILEGES");
    let proved = prove(&WrongLogins::new(true)).unwrap();
    let is_of_login = |proof: &ciphertax_base::Proof| proof.claim.contains("wrong password");
    assert!(!proved.proofs.iter().any(is_of_login));
}

/// The delay of a minute that servers set, and the patience of 20 seconds with it, as 2 seconds and 1.
#[test]
fn a_server_that_delays_wrong_logins_is_told_from_one_that_does_not_answer() {
    if fetched(&POSTGRESQL).is_none() {
        return;
    }
    let server = PrivateServer::builder(&POSTGRESQL)
        .option("--shared_preload_libraries=auth_delay")
        .option("--auth_delay.milliseconds=2000")
        .start()
        .unwrap();
    let account = server.default_account();
    let options = ciphertax_wire::postgresql::ConnectOptions {
        method: Method::called(account.method.name()),
        ..crate::postgresql::options(&server, account)
    };
    let prove = |patience| {
        let mut wrong_logins = WrongLogins::default();
        wrong_logins.patience = Duration::from_secs(patience);
        let expected = Expectation::new(Transport::Plain);
        let conditions = postgresql::Conditions::default();
        postgresql::prove("it", &options, &expected, &wrong_logins, conditions)
    };
    let error = prove(1).unwrap_err().to_string();
    for words in [
        "was not answered within 1 s",
        "delays wrong logins",
        "--no-wrong-logins",
    ] {
        assert!(error.contains(words), "{error}");
    }
    prove(20).unwrap();
}

#[test]
fn a_wrong_password_that_is_passed_on_to_a_plugin_that_is_not_spoken_is_refused() {
    let server = lease(&MARIADB);
    let options = ConnectOptions {
        user: "two".into(),
        password: Secret::new("tr0ub4dor"),
        ..plain(&server)
    };
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain(&server)).await.unwrap();
        for statement in [
            "INSTALL SONAME 'auth_pam_v1'",
            "CREATE USER two IDENTIFIED VIA mysql_native_password USING PASSWORD('tr0ub4dor') OR pam",
        ] {
            session.query(statement).await.unwrap();
        }
    });
    let expected = Expectation::new(Transport::Plain);
    let proved = mysql::prove("it", &options, &expected, &WrongLogins::default(), None).unwrap();
    let by_password = proved
        .proofs
        .iter()
        .find(|proof| proof.claim.contains("wrong password"));
    let is_told = by_password.is_some_and(|proof| proof.evidence.contains("dialog"));
    assert!(is_told, "{proved:?}");
}
