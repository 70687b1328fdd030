//! What servers say when they refuse a login, as recorded, and what a user can do about it.

use ciphertax_testkit::rows;
use ciphertax_wire::{mysql, postgresql};

use crate::common::{packets, pg_messages, *};

/// What is `wrong` is the password or something else.
fn assert_told(refusal: &WireError, protocol: Protocol, words: &str, wrong: &str) {
    let remedy = refusal.remedy(protocol);
    let is_told = refusal.is_access_denied() && remedy.contains(words);
    assert!(is_told, "{refusal}{remedy}");
    assert_eq!(refusal.is_of_password(), wrong == "password", "{refusal}");
}

/// The same two codes are for all of PostgreSQL's, whose messages are in the server's language: its function tells them apart.
#[test]
fn what_a_postgresql_refuses_a_login_for_is_told_by_its_function() {
    for [code, routine, message, wrong, words] in rows(
        r#"
        28P01 → Rauth_failed¶ → password authentication failed for user "app" → password → check user and password
        28P01 → Rauth_failed¶ → Passwort-Authentifizierung für Benutzer »app« fehlgeschlagen → password → check user and password
        28000 → RInitializeSessionUserId¶ → role "app" is not permitted to log in → another → ALTER ROLE … LOGIN
        28000 → RInitializeSessionUserId¶ → Rolle »app« existiert nicht → another → CREATE ROLE … LOGIN
        28000 → Rauth_failed¶ → Peer authentication failed for user "app" → another → by peer
        28000 → Rauth_failed¶ → certificate authentication failed for user "app" → another → sslcert=FILE
        28000 → RClientAuthentication¶ → connection requires a valid client certificate → another → sslcert=FILE
        28000 → RClientAuthentication¶ → pg_hba.conf rejects connection for host "10.0.0.1" → another → pg_hba.conf, and
        28000 →  → login rejected → password → check user and password
    "#,
    ) {
        let routine = routine.replace('¶', "\0");
        let fields = format!("SFATAL\0VFATAL\0C{code}\0M{message}\0Fauth.c\0L1\0{routine}\0");
        let server = FakeServer::start(pg_messages::message(b'E', fields), Ending::Close);
        let refusal = refusal_of::<postgresql::Session>(&server.postgresql_options());
        assert_told(&refusal, Protocol::PostgreSql, words, wrong);
    }
}

#[test]
fn what_a_mysql_refuses_a_login_for_is_told_by_its_code() {
    for [code, message, wrong, words] in rows(
        "
        1045 → Access denied for user 'app'@'localhost' (using password: YES) → password → REQUIRE X509
        1698 → Access denied for user 'root'@'localhost' → another → system's user
        4151 → Access denied, this account is locked → password → ACCOUNT UNLOCK
        1862 → Your password has expired → password → IDENTIFIED BY sets a new one
    ",
    ) {
        let script = [
            packets::greeting("mysql_native_password"),
            packets::error(2, code.parse().unwrap(), message),
        ];
        let server = FakeServer::start(script.concat(), Ending::Close);
        let refusal = refusal_of::<mysql::Session>(&server.options());
        assert_told(&refusal, Protocol::MySql, words, wrong);
    }
}

/// It answers the question for its key as it answers a wrong password.
#[test]
fn a_server_without_an_rsa_key_is_told_from_one_that_demands_tls() {
    let denied = "Access denied for user 'app'@'localhost' (using password: YES)";
    for plugin in ["caching_sha2_password", "sha256_password"] {
        let mut script = packets::offer_key(plugin, b"");
        // In the place of the empty key, which is a packet of one byte.
        let answer = script.split_off(script.len() - 5);
        let [_, _, _, sequence, _] = answer[..] else {
            panic!("{answer:?}")
        };
        script.extend(packets::error(sequence, 1045, denied));
        let server = FakeServer::start(script, Ending::Close);
        let refusal = refusal_of::<mysql::Session>(&server.options());
        assert!(matches!(refusal, WireError::PasswordWithheld(_)), "{refusal}");
        let variable = format!("no RSA key to encrypt it with (its variable {plugin}_private_key_path)");
        assert!(refusal.to_string().contains(&variable), "{refusal}");
        assert!(!contains(&server.heard(), PASSWORD));
    }
}

#[test]
fn a_server_that_has_ended_a_session_is_gone() {
    let gone = |code| {
        let last_word = packets::error(0, code, "gone");
        let server = FakeServer::start([packets::welcome(), last_word].concat(), Ending::Close);
        ask(&server.options()).unwrap_err().is_disconnect()
    };
    // Closed for idleness, killed, shut down, and too many connections.
    assert_eq!([4031, 1927, 1053, 1040].map(gone), [true, true, true, false]);
}

#[test]
fn a_member_that_is_no_primary_names_the_option_that_finds_it() {
    let refusal = WireError::Command {
        code: 13435,
        name: "NotPrimaryNoSecondaryOk".into(),
        message: "not primary and secondaryOk=false".into(),
    };
    assert!(refusal.remedy(Protocol::MongoDb).contains("replicaSet=NAME"));
}

fn refusal_of<C: Client>(options: &C::Options) -> WireError {
    run(async |reactor| C::connect(reactor, options).await.err().unwrap())
}
