//! What a wrong password that proves a login does to an account.

use ciphertax_base::Secret;
use ciphertax_lab::{WrongLogins, mysql};
use ciphertax_testkit::lease;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session, TrustedKeys};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Client as _, Session as _};

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
    if fetched(&MYSQL).is_none() {
        return;
    }
    let server = PrivateServer::builder(&MYSQL).start().unwrap();
    let options = ConnectOptions {
        trusted_keys: TrustedKeys::Anybody,
        ..plain(&server)
    };
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
        for statement in [
            "INSTALL PLUGIN connection_control SONAME 'connection_control.so'",
            "SET GLOBAL connection_control_failed_connections_threshold = 1",
            "SET GLOBAL connection_control_min_connection_delay = 2000",
        ] {
            session.query(statement).await.unwrap();
        }
    });
    let prove = |patience| {
        let mut wrong_logins = WrongLogins::default();
        wrong_logins.patience = Duration::from_secs(patience);
        let expected = Expectation::new(Transport::Plain);
        mysql::prove("it", &options, &expected, &wrong_logins, None)
    };
    // The first is not delayed, and the right login after it has the server forget it.
    prove(1).unwrap();
    let wrong = Session::with_wrong_secret(&options).unwrap().1;
    run(async |reactor| Session::connect(reactor, &wrong).await.map(drop)).unwrap_err();
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
