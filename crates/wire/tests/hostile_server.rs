//! Servers that break the protocol, by mistake or on purpose: each ends in an error, soon, and learns nothing.

use ciphertax_wire::mysql::ConnectOptions;

use crate::common::packets::{
    OK, end_of_rows, error, greeting, greeting_payload, native_switch, one_column, packet, welcome,
};
use crate::common::*;

#[test]
fn an_honest_script_is_understood() {
    let script = [welcome(), one_column(), packet(3, b"\x02ok"), end_of_rows(4)].concat();
    let server = FakeServer::start(script, Ending::Close);
    assert_eq!(ask(&server.options()).unwrap(), ["ok"]);
}

#[test]
fn what_is_no_greeting_is_no_server() {
    let old_protocol = packet(0, b"\x095.0.0\0");
    for script in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(),
        vec![0; 100],
        vec![0xFF; 100],
        packet(0, []),
        packet(0, [10]),
        packet(0, b"\x0A5.5.5-10.11.6-MariaDB"),
        old_protocol,
        packet(1, &greeting("mysql_native_password")[4..]),
    ] {
        breach_in(script);
    }
}

#[test]
fn a_greeting_cut_short_anywhere_is_no_greeting() {
    let payload = greeting_payload("mysql_native_password", 21);
    for length in 0..payload.len() - "mysql_native_password\0".len() {
        breach_in(packet(0, &payload[..length]));
    }
}

#[test]
fn wrong_sequence_numbers_are_noticed_at_every_stage() {
    let welcome = welcome();
    let stages = [
        packet(7, OK),
        [greeting("mysql_native_password"), packet(9, OK)].concat(),
        [welcome.clone(), packet(0, [1])].concat(),
        [welcome.clone(), one_column(), packet(5, b"\x01x")].concat(),
        [welcome, one_column(), packet(3, b"\x01x"), end_of_rows(9)].concat(),
    ];
    for script in stages {
        assert!(breach_in(script).contains("instead of"));
    }
}

#[test]
fn a_packet_of_16_mib_is_refused_before_it_arrives() {
    let longest = [0xFF, 0xFF, 0xFF];
    let welcome = welcome();
    for (before, sequence) in [
        (Vec::new(), 0),
        (greeting("mysql_native_password"), 2),
        (welcome.clone(), 1),
        ([welcome, one_column()].concat(), 3),
    ] {
        let script = [before.as_slice(), &longest, &[sequence]].concat();
        let server = FakeServer::start(script, Ending::Silence);
        assert!(matches!(ask(&server.options()), Err(WireError::Protocol(_))));
    }
}

#[test]
fn a_request_for_a_file_is_refused() {
    let script = [welcome(), packet(1, b"\xFB/etc/passwd")].concat();
    let server = FakeServer::start(script, Ending::Silence);
    let problem = ask(&server.options()).unwrap_err().to_string();
    assert!(problem.contains("file of this machine"), "{problem}");
    let heard = server.heard();
    let ends = heard.ends_with(b"SELECT 1");
    assert!(ends, "something was sent after the question");
}

#[test]
fn no_number_of_columns_is_taken_on_trust() {
    for count in [1 << 60, u64::MAX, 4097, 0] {
        let count = [&[0xFE], u64::to_le_bytes(count).as_slice()].concat();
        problem_with([welcome(), packet(1, count)].concat());
    }
    for unreadable in [b"".as_slice(), b"\xFC", b"\xFC\x01", b"\xFE\x01\x02", b"\xFD"] {
        breach_in([welcome(), packet(1, unreadable)].concat());
    }
}

#[test]
fn an_error_at_any_stage_is_the_servers_own() {
    let welcome = welcome();
    for (before, sequence) in [
        (Vec::new(), 0),
        (greeting("mysql_native_password"), 2),
        ([greeting("mysql_native_password"), native_switch(2)].concat(), 4),
        (welcome.clone(), 1),
        ([welcome.clone(), one_column()].concat(), 3),
        ([welcome, one_column(), packet(3, b"\x01x")].concat(), 4),
    ] {
        let script = [before, error(sequence, 1105, "out of order")].concat();
        let server = FakeServer::start(script, Ending::Close);
        let problem = ask(&server.options()).unwrap_err();
        let is_servers = matches!(problem, WireError::Server { code: 1105, .. });
        assert!(is_servers, "{problem}");
        assert!(problem.to_string().contains("out of order"), "{problem}");
    }
    for cut_short in [b"\xFF".as_slice(), b"\xFF\x10"] {
        breach_in(packet(0, cut_short));
    }
}

#[test]
fn rows_that_lie_about_their_values_are_refused() {
    for row in [
        b"\x05abc".as_slice(),
        b"\xFC\xFF",
        b"\xFD\xFF\xFF\xFFx",
        b"\x01a\xFF",
    ] {
        breach_in([welcome(), one_column(), packet(3, row)].concat());
    }
}

#[test]
fn silence_ends_at_the_deadline_at_every_stage() {
    let welcome = welcome();
    let cut = |mut bytes: Vec<u8>| {
        bytes.truncate(bytes.len() - 1);
        bytes
    };
    for script in [
        Vec::new(),
        cut(greeting("mysql_native_password")),
        greeting("mysql_native_password"),
        welcome.clone(),
        [welcome.clone(), one_column()].concat(),
        cut([welcome, one_column(), packet(3, b"\x01x")].concat()),
    ] {
        let server = FakeServer::start(script, Ending::Silence);
        expect_deadline(&server.options());
    }
    let server = FakeServer::start(greeting("mysql_native_password"), Ending::Silence);
    expect_deadline(&server.encrypted_options());
}

fn expect_deadline(options: &ConnectOptions) {
    let limit = Duration::from_millis(100);
    let began = Instant::now();
    let outcome = run_within(limit, async |reactor| ask_in(reactor, options).await);
    assert!(outcome.is_none(), "{outcome:?}");
    assert!(began.elapsed() >= limit);
}
