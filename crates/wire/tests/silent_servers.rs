//! Servers that do not say what TLS a session has: no witnesses, neither of plaintext nor of TLS.

use ciphertax_wire::{Expectation, Word, mysql, postgresql};

use crate::common::pg_messages::{self, done, ready};
use crate::common::{packets, *};

#[test]
fn a_server_without_the_variables_of_tls_says_nothing_of_a_session() {
    let row = |sequence: u8, values: [&str; 2]| {
        let values = values.map(|value| [&[value.len() as u8], value.as_bytes()].concat());
        packets::packet(sequence, values.concat())
    };
    // What the server has of the variables, and what it says next of itself: its number is 7 in the greeting.
    for (rows, itself, silence) in [
        (0, ["7", ""], Some("no variables")),
        (1, ["7", ""], Some("no variables")),
        (2, ["7", "Debian"], None),
        (2, ["4294967303", ""], None),
        (2, ["8", ""], Some("what answers ends TLS")),
        (2, ["7", "(ProxySQL)"], Some("ProxySQL ends TLS")),
    ] {
        let mut script = [packets::welcome(), packets::two_columns()].concat();
        for (sequence, name) in (4..).zip(&["Ssl_version", "Ssl_cipher"][..rows]) {
            script.extend(row(sequence, [name, ""]));
        }
        script.extend(packets::end_of_rows(4 + rows as u8));
        script.extend([packets::two_columns(), row(4, itself), packets::end_of_rows(5)].concat());
        let server = FakeServer::start(script, Ending::Close);
        let word = word_of::<mysql::Session>(&server.options());
        match (&word, silence) {
            (Word::Silent(why), Some(words)) => assert!(why.contains(words), "{why}"),
            _ => assert!(matches!(word, Word::Agrees(_)) && silence.is_none(), "{word:?}"),
        }
    }
}

#[test]
fn a_server_whose_view_has_no_row_says_nothing_of_a_session() {
    for (rows, is_silent) in [(vec![], true), (pg_messages::row(b"f"), false)] {
        let script = [
            pg_messages::welcome(),
            pg_messages::one_column(),
            rows,
            done("SELECT"),
            ready(),
        ];
        let server = FakeServer::start(script.concat(), Ending::Close);
        let word = word_of::<postgresql::Session>(&server.postgresql_options());
        assert_eq!(matches!(word, Word::Silent(_)), is_silent, "{word:?}");
    }
}

fn word_of<C: Client>(options: &C::Options) -> Word {
    run(async |reactor| {
        let (mut session, _) = C::connect(reactor, options).await.unwrap();
        let plain = Expectation::new(Transport::Plain);
        session.check_by_server(options, &plain).await.unwrap()
    })
}
