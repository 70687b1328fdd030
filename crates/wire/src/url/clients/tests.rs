//! Options and forms of other clients.

use std::collections::BTreeSet;

use ciphertax_testkit::{rows, says};

use super::*;

fn message_of(text: &str) -> String {
    Target::parse(text, None).unwrap_err().to_string()
}

/// The URL that is proposed.
fn proposed(text: &str) -> String {
    let message = message_of(text);
    let url = message
        .split_once("; write '")
        .and_then(|(_, rest)| rest.split_once("', with"));
    url.unwrap_or_else(|| panic!("{text}: {message}")).0.to_owned()
}

/// Options as they stand in the tables, with the protocol and a value.
fn all() -> Vec<(Protocol, String)> {
    let mut all = Vec::new();
    for (protocol, value) in [(MySql, "/f"), (PostgreSql, "7"), (MongoDb, "true")] {
        for (names, _) in options(protocol).1 {
            let option = |name: &str| match name.contains('=') {
                true => name.to_owned(),
                false => format!("{name}={value}"),
            };
            all.extend(names.split(' ').map(|name| (protocol, option(name))));
        }
    }
    all
}

#[test]
fn what_is_to_be_written_instead_of_an_option_is_a_target() {
    for (protocol, option) in all() {
        // A CA, since some options verify.
        let place = match protocol {
            MySql => "mysql://a:b@localhost/?ssl-ca=/ca.pem",
            PostgreSql => "postgres://a:b@h/?sslrootcert=/ca.pem",
            MongoDb => "mongodb://a:b@h/?retryWrites=true",
        };
        let text = format!("{place}&{option}");
        let url = proposed(&text);
        assert!(Target::parse(&url, None).is_ok(), "{text}: {url}");
        let (name, _) = option.split_once('=').unwrap();
        assert!(message_of(&text).contains(&format!("; {name}")), "{text}");
    }
}

#[test]
fn an_option_has_one_advice_and_is_not_read() {
    let mut found = BTreeSet::new();
    for (protocol, option) in all() {
        let (name, _) = option.split_once('=').unwrap();
        assert_eq!(known_option(protocol, name), None);
        let option = option.replace(['-', '_'], "").to_ascii_lowercase();
        assert!(found.insert((protocol as u8, option.clone())), "{option}");
    }
}

#[test]
fn all_options_are_named_at_once_those_with_one_reason_together() {
    let text = "mysql://app:tr0ub4dor@h/shop?useSSL=true&requireSSL=true&serverTimezone=UTC&allowPublicKeyRetrieval=true";
    assert_eq!(
        message_of(text),
        "the target has options that are not read; useSSL, requireSSL: leave them out: what is encrypted, and how, the arms say \
         (transport, and the keys of tls), and prove; serverTimezone: leave it out: it says how a driver hands values to its \
         program; allowPublicKeyRetrieval=true: write get-server-public-key=true; write \
         'mysql://app@h:3306/?get-server-public-key=true', with the password, if there is one, in CIPHERTAX_PASSWORD"
    );
    says(
        Target::parse_any(text, None).unwrap_err(),
        "write 'mysql://app@h:3306/shop?get",
    );
}

#[test]
fn a_target_as_another_client_writes_it_is_written_as_a_url() {
    for [text, url] in rows(
        r"
        jdbc:mysql://h:3307/shop?user=app&password=tr0ub4dor&sslMode=DISABLED → mysql://app@h:3307/
        jdbc:mariadb://app:tr0ub4dor@h/?useSsl → mysql://app@h:3306/
        JDBC:postgresql://h/shop?user=app&password=tr0ub4dor&ssl=true&ApplicationName=x → postgresql://app@h:5432/shop?application_name=x
        mysql+pymysql://app:tr0ub4dor@h/shop?charset=utf8mb4 → mysql://app@h:3306/
        postgresql+psycopg2://app:tr0ub4dor@h/shop → postgresql://app@h:5432/shop
        app:tr0ub4dor@/@tcp(h:3307)/shop?parseTime=true&tls=skip-verify → mysql://app@h:3307/
        app:tr0ub4dor@tcp([::1]:3307)/ → mysql://app@[::1]:3307/
        app:tr0ub4dor@unix(/run/my sql.sock)/shop → mysql://app@localhost/?socket=%2Frun%2Fmy%20sql.sock
        host=h  port=5433 dbname='my/shop' user=app password=tr0ub4dor sslmode=require → postgresql://app@h:5433/my%2Fshop
        postgres://a:tr0ub4dor@h/?schema=p&sslaccept=strict&sslrootcert=/c → postgresql://a@h:5432/?sslmode=verify-full&sslrootcert=%2Fc
        mongodb://app:tr0ub4dor@h/shop?compressors=zstd&maxPoolSize=5&readConcernLevel=majority → mongodb://app@h:27017/?authSource=shop
        mongodb://a@h/?ssl_ca_certs=/c&TLSallowInvalidHostnames=true → mongodb://a@h:27017/?tlsCAFile=%2Fc&tlsAllowInvalidHostnames=true
        postgres://app:tr0ub4dor@h/?sslrootcrt=/c → postgresql://app@h:5432/?sslrootcert=%2Fc
        ",
    ) {
        assert_eq!(proposed(text), url);
        assert!(!message_of(text).contains("tr0ub4dor"), "{text}");
        assert!(Target::parse(url, None).is_ok(), "{url}");
    }
}

#[test]
fn what_is_left_to_be_mended_is_said_in_the_place_of_a_url() {
    for [text, words] in rows(
        r"
        jdbc:mysql://h/?useSSL=true → and the target has no user
        mysql://a@h/?verifyServerCertificate=true → add ssl-ca=/path/to/ca.pem
        host=h user=app sslmode=prefer → encrypts silently
        jdbc:oracle:thin:@h:1521/x → not a URL; expected mysql://
        mysql://a:tr0ub4dor?x@h/?useSSL=true → %3F for ?
        ",
    ) {
        let message = message_of(text);
        let holds = message.contains(words) && !message.contains("tr0ub4dor");
        assert!(holds, "{text}: {message}");
    }
    for none in ["app=x", "app:tr0ub4dor=x", "=", "host", "host=h and"] {
        assert_eq!(Target::parse(none, None), Err(TargetError::NotAUrl), "{none}");
    }
}
