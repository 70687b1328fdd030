//! The exchange against its standards, and against servers that are not what they say.

use std::borrow::Cow;

use ciphertax_base::{LoginPath, Secret};
use proptest::prelude::*;

use super::{prepared, *};

const OF_MONGODB: Rules = crate::mongodb::RULES;
const OF_POSTGRESQL: Rules = crate::postgresql::RULES;

fn account(mechanism: Mechanism) -> Account<'static> {
    static PENCIL: std::sync::LazyLock<Secret> = std::sync::LazyLock::new(|| Secret::new("pencil"));
    Account {
        rules: OF_MONGODB,
        mechanism,
        user: "user",
        realm: "admin",
        password: &PENCIL,
    }
}

fn exchange<'a>(account: Account<'a>, keys: &'a ScramKeys, nonce: &str) -> Exchange<'a> {
    Exchange::with_nonce(account, keys, Binding::None, nonce.into())
}

/// The exchange of RFC 7677, section 3.
const RFC_NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
const RFC_FIRST: &[u8] =
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
const RFC_FINAL: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                         p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
const RFC_SIGNATURE: &[u8] = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

#[test]
fn the_exchange_of_the_standard_is_made_as_it_says() {
    let account = account(Mechanism::ScramSha256);
    let mut exchange = exchange(account, &ScramKeys::Derived, RFC_NONCE);
    assert_eq!(exchange.first_message(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    assert_eq!(exchange.final_message(RFC_FIRST).unwrap(), RFC_FINAL);
    exchange.verify(RFC_SIGNATURE).unwrap();
    assert!(exchange.cpu_ns > 0);
}

/// The exchange of MongoDB's specification of SCRAM-SHA-1.
#[test]
fn the_exchange_of_mongodbs_specification_is_made_as_it_says() {
    let account = account(Mechanism::ScramSha1);
    let mut exchange = exchange(account, &ScramKeys::Derived, "fyko+d2lbbFgONRv9qkxdawL");
    let first =
        b"r=fyko+d2lbbFgONRv9qkxdawLHo+Vgk7qvUOKUwuWLIWg4l/9SraGMHEE,s=rQ9ZY3MntBeuP3E1TDVC4w==,i=10000";
    assert_eq!(
        exchange.final_message(first).unwrap(),
        "c=biws,r=fyko+d2lbbFgONRv9qkxdawLHo+Vgk7qvUOKUwuWLIWg4l/9SraGMHEE,p=MC2T8BvbmWRckDw8oWl5IVghwCY="
    );
    exchange.verify(b"v=UMWeI25JD1yNYZRMpZ4VHvhZ9e0=").unwrap();
}

#[test]
fn keys_that_are_kept_are_derived_once_for_an_account_its_salt_and_its_iterations() {
    let (account, keys) = (account(Mechanism::ScramSha256), ScramKeys::kept());
    let log_in = |first: &[u8]| {
        let mut exchange = exchange(account, &keys, RFC_NONCE);
        exchange.final_message(first).unwrap();
        exchange.path
    };
    assert!(!keys.has(account));
    assert_eq!(log_in(RFC_FIRST), LoginPath::Derived);
    assert!(keys.has(account));
    assert_eq!(log_in(RFC_FIRST), LoginPath::Cached);
    let path = log_in(b"r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=5000");
    assert_eq!(path, LoginPath::Derived);
    let path = log_in(b"r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=4096");
    assert_eq!(path, LoginPath::Derived);
    let pen = Secret::new("pen");
    let other = Account {
        password: &pen,
        ..account
    };
    assert!(!keys.has(other));
}

#[test]
fn a_server_that_does_not_know_the_password_is_found_out() {
    let account = account(Mechanism::ScramSha256);
    let mut exchange = exchange(account, &ScramKeys::Derived, RFC_NONCE);
    exchange.final_message(RFC_FIRST).unwrap();
    for wrong in [
        b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=".as_slice(),
        b"v=",
        b"v=6rri",
        b"v=?",
        b"",
        b"e=invalid-proof",
    ] {
        let holds = exchange.verify(wrong).is_err();
        assert!(holds, "{}", String::from_utf8_lossy(wrong));
    }
}

#[test]
fn a_challenge_that_would_weaken_or_stop_the_client_is_refused() {
    let account = account(Mechanism::ScramSha256);
    for (challenge, problem) in [
        ("r=somebodyelses,s=AAAA,i=4096", "nonce"),
        ("r=rOprNGfwEbeRWgbNEkqO,s=AAAA,i=4096", "nonce"),
        ("r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=4095", "iterations"),
        ("r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=1000001", "iterations"),
        ("r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=-1", "iterations"),
        ("r=rOprNGfwEbeRWgbNEkqOx,s=,i=4096", "salt"),
        ("r=rOprNGfwEbeRWgbNEkqOx,s=?,i=4096", "salt"),
        ("r=rOprNGfwEbeRWgbNEkqOx,i=4096", "without"),
        ("m=x,r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=4096", "without"),
        ("", "without"),
    ] {
        let mut exchange = exchange(account, &ScramKeys::Derived, RFC_NONCE);
        let error = exchange
            .final_message(challenge.as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains(problem), "{challenge}: {error}");
    }
}

#[test]
fn a_name_with_signs_of_the_protocol_is_escaped() {
    let account = Account {
        user: "a=b,c",
        ..account(Mechanism::ScramSha256)
    };
    let exchange = exchange(account, &ScramKeys::Derived, "x");
    assert_eq!(exchange.first_message(), "n,,n=a=3Db=2Cc,r=x");
}

/// RFC 4013, section 3: a soft hyphen is nothing, a Roman numeral is its letters, a control character is forbidden.
#[test]
fn passwords_are_prepared_for_sha_256_alone() {
    let prepared = |rules, mechanism, password: &str| {
        let password = Secret::new(password);
        let account = Account {
            rules,
            password: &password,
            ..account(mechanism)
        };
        prepared(account).map(Cow::into_owned)
    };
    for rules in [OF_MONGODB, OF_POSTGRESQL] {
        for (password, expected) in [("I\u{AD}X", "IX"), ("\u{2168}", "IX"), ("pencil", "pencil")] {
            let found = prepared(rules, Mechanism::ScramSha256, password).unwrap();
            assert_eq!(found, expected);
        }
    }
    assert!(prepared(OF_MONGODB, Mechanism::ScramSha256, "\u{7}").is_err());
    let found = prepared(OF_POSTGRESQL, Mechanism::ScramSha256, "\u{7}").unwrap();
    assert_eq!(found, "\u{7}");
    let seen = prepared(OF_MONGODB, Mechanism::ScramSha1, "pencil").unwrap();
    assert_eq!(seen, "1c33006ec1ffd90f9cadcbcc0e118200");
}

#[test]
fn on_postgresql_no_name_is_said_and_fewer_iterations_are_enough() {
    let account = Account {
        rules: OF_POSTGRESQL,
        ..account(Mechanism::ScramSha256)
    };
    let mut exchange = exchange(account, &ScramKeys::Derived, "x");
    assert_eq!(exchange.first_message(), "n,,n=,r=x");
    assert_eq!(exchange.iterations, None);
    exchange.final_message(b"r=xy,s=AAAA,i=2048").unwrap();
    assert_eq!(exchange.iterations, Some(2048));
    assert!(exchange.final_message(b"r=xy,s=AAAA,i=0").is_err());
}

#[test]
fn what_a_login_is_tied_to_is_said_at_its_beginning_and_repeated_at_its_end() {
    for (binding, begins, repeats) in [
        (Binding::None, "n,,n=", "c=biws,"),
        (Binding::NotOffered, "y,,n=", "c=eSws,"),
        (
            Binding::EndPoint(vec![0xAB; 2]),
            "p=tls-server-end-point,,n=",
            "c=cD10bHMtc2VydmVyLWVuZC1wb2ludCwsq6s=,",
        ),
    ] {
        let account = account(Mechanism::ScramSha256);
        let mut exchange = Exchange::with_nonce(account, &ScramKeys::Derived, binding, RFC_NONCE.into());
        assert!(exchange.first_message().starts_with(begins));
        assert!(exchange.final_message(RFC_FIRST).unwrap().starts_with(repeats));
    }
}

#[test]
fn no_text_of_kept_keys_holds_a_secret() {
    let (account, keys) = (account(Mechanism::ScramSha1), ScramKeys::kept());
    let mut exchange = exchange(account, &keys, RFC_NONCE);
    exchange.final_message(RFC_FIRST).unwrap();
    assert_eq!(format!("{keys:?}"), "Kept(***)");
    assert!(!format!("{account:?}").contains("pencil"));
}

proptest! {
    #[test]
    fn no_bytes_of_a_server_make_the_exchange_panic(first in prop::collection::vec(any::<u8>(), 0..100), last: Vec<u8>) {
        let account = account(Mechanism::ScramSha1);
        let mut exchange = exchange(account, &ScramKeys::Derived, "x");
        prop_assert!(exchange.final_message(&first).is_err() || first.len() > 20);
        prop_assert!(exchange.verify(&last).is_err());
    }
}
