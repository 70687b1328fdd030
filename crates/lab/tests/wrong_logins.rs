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
        mysql::prove("it", &options, &Expectation::new(Transport::Plain), wrong_logins)
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
