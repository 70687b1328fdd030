//! Servers that do not say what TLS a session has: no witnesses, neither of plaintext nor of TLS.

use ciphertax_wire::{Expectation, Word, mysql, postgresql};

use crate::common::pg_messages::{self, done, ready};
use crate::common::{packets, *};

#[test]
fn a_server_without_the_variables_of_tls_says_nothing_of_a_session() {
    for (rows, is_silent) in [(0, true), (1, true), (2, false)] {
        let mut script = [packets::welcome(), packets::two_columns()].concat();
        let names = ["Ssl_version", "Ssl_cipher"];
        for (sequence, name) in (4..).zip(&names[..rows]) {
            let row = [&[name.len() as u8], name.as_bytes(), &[0]].concat();
            script.extend(packets::packet(sequence, row));
        }
        script.extend(packets::end_of_rows(4 + rows as u8));
        let server = FakeServer::start(script, Ending::Close);
        let word = word_of::<mysql::Session>(&server.options());
        assert_eq!(matches!(word, Word::Silent(_)), is_silent, "{word:?}");
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
