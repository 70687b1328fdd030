//! Servers that break PostgreSQL's protocol, hang up, or lie: errors, never panics, hangs or secrets given away.

use base64::Engine as _;
use ciphertax_wire::Session as _;
use ciphertax_wire::postgresql::{ConnectOptions, ProtocolVersion, Session, Statement};
use ciphertax_wire::sql::SqlSession as _;
use proptest::prelude::*;

use crate::common::pg_messages::{
    authentication, done, error, key, let_in, message, notice, one_column, ready, row, setting, welcome,
};
use crate::common::*;

#[test]
fn an_honest_script_is_understood_with_notices_anywhere() {
    for script in [
        [welcome(), one_column(), row(b"ok"), done("SELECT 1"), ready()].concat(),
        [
            notice(),
            let_in(),
            notice(),
            key(),
            setting("a", "b"),
            ready(),
            notice(),
            one_column(),
            setting("TimeZone", "UTC"),
            row(b"ok"),
            message(b'A', b"\0\0\0\x07channel\0payload\0"),
            done("SELECT 1"),
            notice(),
            ready(),
        ]
        .concat(),
    ] {
        let server = FakeServer::start(script, Ending::Close);
        assert_eq!(ask(&server.postgresql_options()).unwrap(), ["ok"]);
    }
}

#[test]
fn a_conversation_cut_anywhere_is_a_connection_that_is_gone() {
    let whole = [welcome(), one_column(), row(b"ok"), done("SELECT 1"), ready()].concat();
    for length in 0..whole.len() {
        let problem = problem_with(whole[..length].to_vec());
        assert!(problem.is_disconnect(), "{length}: {problem}");
    }
}

#[test]
fn what_is_no_postgresql_is_refused() {
    for script in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(),
        vec![0; 100],
        vec![0xFF; 100],
        b"\x4A\0\0\0\x0A5.5.5-10.11.6-MariaDB\0".to_vec(),
    ] {
        breach_in(script);
    }
}

#[test]
fn no_length_is_taken_on_trust() {
    for length in [0_u32, 3, 65_537, 0x7FFF_FFFF, 0xFFFF_FFFF] {
        for (before, kind) in [(Vec::new(), b'R'), (Vec::new(), b'E'), (let_in(), b'S')] {
            // What follows the login may be longer.
            if length == 65_537 && kind == b'S' {
                continue;
            }
            let claimed = [&[kind], &length.to_be_bytes()[..]].concat();
            let server = FakeServer::start([before, claimed].concat(), Ending::Silence);
            let problem = ask(&server.postgresql_options()).unwrap_err();
            assert!(matches!(problem, WireError::Protocol(_)), "{length}: {problem}");
        }
    }
    let claimed = [b"D".as_slice(), &(17_u32 << 20).to_be_bytes()].concat();
    let server = FakeServer::start([welcome(), one_column(), claimed].concat(), Ending::Silence);
    let problem = ask(&server.postgresql_options()).unwrap_err();
    assert!(matches!(problem, WireError::Protocol(_)), "{problem}");
}

#[test]
fn messages_out_of_order_are_refused() {
    for script in [
        // Before and during the login.
        key(),
        ready(),
        row(b"x"),
        [let_in(), let_in()].concat(),
        [let_in(), row(b"x")].concat(),
        [let_in(), key(), key()].concat(),
        [let_in(), message(b'K', b"\0\0\0\x07")].concat(),
        [let_in(), message(b'K', [0; 300])].concat(),
        [let_in(), message(b'Z', b"X")].concat(),
        [let_in(), message(b'Z', b"")].concat(),
        [let_in(), message(b'S', b"no end")].concat(),
        // In answer to text.
        [welcome(), ready()].concat(),
        [welcome(), row(b"x")].concat(),
        [welcome(), one_column(), one_column()].concat(),
        [welcome(), one_column(), ready()].concat(),
        [welcome(), done("SELECT 1"), row(b"x")].concat(),
        [welcome(), message(b'2', [])].concat(),
        [welcome(), message(b'C', b"INSERT 0 x\0")].concat(),
        [welcome(), one_column(), message(b'D', b"\0\x01\0\0\0\x05abc")].concat(),
        [
            welcome(),
            one_column(),
            message(b'D', b"\0\x01\xFF\xFF\xFF\xFEabc"),
        ]
        .concat(),
        [welcome(), one_column(), message(b'D', b"")].concat(),
        [welcome(), message(b'G', b"\0\0\0")].concat(),
        [welcome(), message(b'H', b"\0\0\0")].concat(),
        [welcome(), error("ERROR", "42000", "no"), row(b"x")].concat(),
        [
            welcome(),
            error("ERROR", "42000", "no"),
            error("ERROR", "42000", "no"),
        ]
        .concat(),
    ] {
        let shown = String::from_utf8_lossy(&script).into_owned();
        let problem = problem_with(script);
        let is_second_error = matches!(&problem, WireError::PostgreSql { .. });
        let is_refused = matches!(problem, WireError::Protocol(_)) || is_second_error;
        assert!(is_refused, "{shown}: {problem}");
    }
}

#[test]
fn the_answer_to_a_prepared_statement_is_one_too() {
    let prepared = [
        message(b'1', []),
        message(b't', b"\0\0"),
        message(b'n', []),
        ready(),
    ]
    .concat();
    let good = [message(b'2', []), row(b"x"), done("SELECT 1"), ready()].concat();
    assert_eq!(execute([&prepared[..], &good].concat()).unwrap(), 1);
    for script in [
        [message(b'2', []), ready()].concat(),
        [message(b't', b"\0\0"), message(b'n', []), ready()].concat(),
        [
            message(b'1', []),
            message(b't', b"\0\x02\0\0\0\x14"),
            message(b'n', []),
            ready(),
        ]
        .concat(),
        [message(b'1', []), message(b't', b""), message(b'n', []), ready()].concat(),
        [message(b'1', []), message(b't', b"\0\0"), ready()].concat(),
        [&prepared[..], &done("SELECT 1")].concat(),
        [&prepared[..], &row(b"x")].concat(),
        [&prepared[..], &message(b'2', []), &ready()].concat(),
        [&prepared[..], &message(b'2', []), &done("SELECT 1"), &row(b"x")].concat(),
        [&prepared[..], &message(b'2', []), &message(b's', [])].concat(),
    ] {
        let problem = execute(script.clone()).unwrap_err();
        let is_one = matches!(problem, WireError::Protocol(_));
        assert!(is_one, "{}: {problem}", String::from_utf8_lossy(&script));
    }
}

#[test]
fn an_error_at_any_stage_is_the_servers_own() {
    for (before, severity) in [
        (Vec::new(), "FATAL"),
        (let_in(), "FATAL"),
        (welcome(), "ERROR"),
        (welcome(), "FATAL"),
        ([welcome(), one_column()].concat(), "ERROR"),
        ([welcome(), one_column(), row(b"x")].concat(), "PANIC"),
    ] {
        let script = [before, error(severity, "XX000", "out of order"), ready()].concat();
        let problem = problem_with(script);
        let is_servers = matches!(&problem, WireError::PostgreSql { sql_state, .. } if sql_state == "XX000");
        assert!(is_servers, "{problem}");
        assert!(problem.to_string().contains("out of order"), "{problem}");
    }
    for cut_short in [b"".as_slice(), b"\0", b"SERROR\0\0", b"SERROR\0C42000\0Mno end"] {
        breach_in(message(b'E', cut_short));
    }
}

#[test]
fn a_no_to_the_request_for_tls_is_named_and_what_follows_a_yes_is_refused() {
    let no = FakeServer::start(Vec::new(), Ending::Answer(b"N".to_vec()));
    let problem = ask(&encrypted(&no)).unwrap_err();
    assert!(matches!(problem, WireError::TlsNotOffered), "{problem}");
    assert_eq!(no.heard(), b"\0\0\0\x08\x04\xD2\x16\x2F");

    let injected = [b"S".to_vec(), welcome()].concat();
    let refused = error("FATAL", "XX000", "said by nobody known");
    for (answer, words) in [
        (injected, "plaintext data"),
        (b"SS".to_vec(), "plaintext data"),
        (refused, "instead of an answer"),
        (b"H".to_vec(), "not that of a PostgreSQL"),
        (vec![0x16, 3, 3], "not that of a PostgreSQL"),
    ] {
        let server = FakeServer::start(Vec::new(), Ending::Answer(answer));
        let problem = ask(&encrypted(&server)).unwrap_err();
        assert!(matches!(problem, WireError::Protocol(_)), "{problem}");
        let said = problem.to_string();
        assert!(said.contains(words), "{words}: {problem}");
        assert!(!said.contains("nobody known"), "{problem}");
        let is_withheld = !contains(&server.heard(), "somebody");
        assert!(is_withheld, "the login was sent unencrypted");
    }
}

#[test]
fn a_login_that_is_none_gets_no_password() {
    let mechanisms = |names: &[&str]| {
        let names: String = names.iter().map(|name| format!("{name}\0")).collect();
        authentication(10, format!("{names}\0"))
    };
    for (wanted, script) in [
        (None, authentication(3, [])),
        (None, authentication(2, [])),
        (None, authentication(7, [])),
        (None, authentication(9, [])),
        (None, authentication(99, [])),
        (None, authentication(5, b"abc")),
        (None, message(b'R', b"\0\0")),
        (None, authentication(11, b"r=x")),
        (None, authentication(12, b"v=x")),
        (None, mechanisms(&[])),
        (None, mechanisms(&["SCRAM-SHA-1", "PLAIN"])),
        (Some(Method::ScramSha256), authentication(3, [])),
        (Some(Method::ScramSha256), authentication(5, b"salt")),
        (Some(Method::Md5), mechanisms(&["SCRAM-SHA-256"])),
        (Some(Method::Trust), authentication(3, [])),
        (Some(Method::Md5), let_in()),
    ] {
        let server = FakeServer::start(script.clone(), Ending::Close);
        let options = ConnectOptions {
            method: wanted,
            ..server.postgresql_options()
        };
        let problem = ask(&options).unwrap_err();
        assert!(
            matches!(
                problem,
                WireError::Authentication(_) | WireError::Protocol(_) | WireError::PasswordWithheld(_)
            ),
            "{problem}"
        );
        let heard = server.heard();
        let is_withheld = !contains(&heard, PASSWORD) && !contains(&heard, "n,,");
        assert!(is_withheld, "{script:?}");
    }
}

#[test]
fn a_server_without_the_right_signature_is_not_believed() {
    type End = fn(&[u8]) -> Vec<u8>;
    let right: End = |signature| {
        let signature = format!("v={}", BASE64_STANDARD.encode(signature));
        [authentication(12, signature), welcome()].concat()
    };
    log_in(4096, right).unwrap();
    log_in(1, right).unwrap();
    let wrong: [(End, &str); 5] = [
        (
            |_| [authentication(12, "v=AAAA"), welcome()].concat(),
            "signature is wrong",
        ),
        (
            |signature| {
                let mut signature = signature.to_vec();
                signature[0] ^= 1;
                let signature = format!("v={}", BASE64_STANDARD.encode(signature));
                [authentication(12, signature), welcome()].concat()
            },
            "signature is wrong",
        ),
        (|_| welcome(), "not shown that it knows the password"),
        (
            |_| [authentication(12, []), welcome()].concat(),
            "not shown that it knows the password",
        ),
        (
            |_| [authentication(12, "e=invalid-proof"), welcome()].concat(),
            "invalid-proof",
        ),
    ];
    for (end, words) in wrong {
        let problem = log_in(4096, end).unwrap_err();
        assert!(matches!(problem, WireError::Authentication(_)), "{problem}");
        assert!(problem.to_string().contains(words), "{problem}");
    }
    for iterations in [0, 1_000_001] {
        let problem = log_in(iterations, right).unwrap_err();
        assert!(problem.to_string().contains("iterations"), "{problem}");
    }
    let signed_off: End = |signature| {
        let signature = format!("v={}", BASE64_STANDARD.encode(signature));
        [authentication(12, signature), ready()].concat()
    };
    assert!(matches!(log_in(4096, signed_off), Err(WireError::Protocol(_))));
}

#[test]
fn a_version_that_nobody_asked_for_is_refused() {
    let negotiate = |newest: u32, unknown: u32| {
        let body = [newest.to_be_bytes(), unknown.to_be_bytes()].concat();
        [
            message(b'v', body),
            welcome(),
            one_column(),
            done("SELECT 0"),
            ready(),
        ]
        .concat()
    };
    let asked = |script: Vec<u8>, protocol| {
        let server = FakeServer::start(script, Ending::Close);
        ask(&ConnectOptions {
            protocol,
            ..server.postgresql_options()
        })
    };
    for older in [0x0003_0000, 0] {
        asked(negotiate(older, 0), ProtocolVersion::V3_2).unwrap();
    }
    for (newest, unknown, protocol) in [
        (0x0003_0000, 0, ProtocolVersion::V3_0),
        (0x0003_0002, 0, ProtocolVersion::V3_2),
        (0x0003_0001, 0, ProtocolVersion::V3_2),
        (0x0002_0000, 0, ProtocolVersion::V3_2),
        (0x0003_0000, 1, ProtocolVersion::V3_2),
        (0xFFFF_FFFF, 0, ProtocolVersion::V3_2),
    ] {
        let problem = asked(negotiate(newest, unknown), protocol).unwrap_err();
        assert!(matches!(problem, WireError::Protocol(_)), "{newest:x}: {problem}");
    }
    let short = [message(b'v', b"\0\x03"), welcome()].concat();
    assert!(matches!(
        asked(short, ProtocolVersion::V3_2),
        Err(WireError::Protocol(_))
    ));
}

#[test]
fn notices_and_steps_without_end_end() {
    for before in [Vec::new(), let_in(), welcome()] {
        let server = FakeServer::start(before, Ending::Repeat(notice().repeat(100)));
        let problem = ask(&server.postgresql_options()).unwrap_err();
        assert!(problem.to_string().contains("without end"), "{problem}");
    }
    let server = FakeServer::start(
        [welcome(), one_column()].concat(),
        Ending::Repeat(row(&[b'x'; 999])),
    );
    let problem = ask(&server.postgresql_options()).unwrap_err();
    assert!(problem.to_string().contains("more rows"), "{problem}");
}

#[test]
fn silence_ends_at_the_deadline_at_every_stage() {
    for script in [
        Vec::new(),
        let_in(),
        welcome(),
        [welcome(), one_column()].concat(),
        [welcome(), one_column(), row(b"x")[..7].to_vec()].concat(),
    ] {
        let server = FakeServer::start(script, Ending::Silence);
        let options = server.postgresql_options();
        let limit = Duration::from_millis(100);
        let outcome = run_within(limit, async |reactor| {
            let (mut session, _) = Session::connect(reactor, &options).await?;
            session.query("SELECT 1").await
        });
        assert!(outcome.is_none(), "{outcome:?}");
    }
    let server = FakeServer::start(Vec::new(), Ending::Silence);
    let options = encrypted(&server);
    let outcome = run_within(Duration::from_millis(100), async |reactor| {
        Session::connect(reactor, &options).await.map(drop)
    });
    assert!(outcome.is_none(), "{outcome:?}");
}

#[test]
fn text_with_a_zero_in_it_is_not_sent() {
    let server = FakeServer::start(welcome(), Ending::Close);
    let options = server.postgresql_options();
    let problem = run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
        session.query("SELECT 1\0; DROP TABLE t").await.unwrap_err()
    });
    assert!(matches!(problem, WireError::Request(_)), "{problem}");
    let user = ConnectOptions {
        user: "a\0database\0b".into(),
        ..options
    };
    assert!(matches!(
        ask(&user),
        Err(WireError::Request(_) | WireError::Connect { .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_of_a_server_make_the_client_panic_or_hang(
        stage in 0_usize..4,
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        kind in prop::sample::select(b"RKZTDCEINSA12tnGHWsv".to_vec()),
    ) {
        let before = [Vec::new(), let_in(), welcome(), [welcome(), one_column()].concat()];
        let script = [before[stage].clone(), message(kind, &bytes)].concat();
        let server = FakeServer::start(script, Ending::Close);
        prop_assert!(ask(&server.postgresql_options()).is_err());
    }
}

fn ask(options: &ConnectOptions) -> Result<Vec<String>, WireError> {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await?;
        let rows = session.query("SELECT 1").await?;
        Ok(rows.iter().map(|row| row.text(0)).collect())
    })
}

/// Prepares and executes a statement, after a login.
fn execute(answers: Vec<u8>) -> Result<u64, WireError> {
    let server = FakeServer::start(welcome(), Ending::Answer(answers));
    let options = server.postgresql_options();
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await?;
        let mut statement: Statement = session.prepare("SELECT 1", &[]).await?;
        Ok(session.execute(&mut statement).await?.rows)
    })
}

fn problem_with(script: Vec<u8>) -> WireError {
    let server = FakeServer::start(script, Ending::Close);
    ask(&server.postgresql_options()).unwrap_err()
}

fn breach_in(script: Vec<u8>) -> String {
    let problem = problem_with(script);
    assert!(matches!(problem, WireError::Protocol(_)), "{problem}");
    problem.to_string()
}

fn encrypted(server: &FakeServer) -> ConnectOptions {
    let policy = TlsPolicy::new(V1_3, Verification::None);
    ConnectOptions {
        tls: Some(Arc::new(TlsConnector::new(&policy).unwrap())),
        ..server.postgresql_options()
    }
}

/// Logs in to a server that does what the standard says, up to its last message, which is made from its signature.
fn log_in(iterations: usize, end: fn(&[u8]) -> Vec<u8>) -> Result<(), WireError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || serve(listener.accept().unwrap().0, iterations, end));
    let options = ConnectOptions::new(
        "127.0.0.1",
        port,
        "somebody",
        ciphertax_base::Secret::new(PASSWORD),
    );
    let outcome = run(async |reactor| Session::connect(reactor, &options).await.map(drop));
    assert!(!contains(&server.join().unwrap(), PASSWORD));
    outcome
}

/// Returns all that the client said.
fn serve(mut stream: TcpStream, iterations: usize, end: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    const SALT: &[u8] = b"a salt of some length";
    let mut heard = read(&mut stream, 0);
    let offer = authentication(10, b"SCRAM-SHA-256\0\0");
    stream.write_all(&offer).unwrap();
    let first = read(&mut stream, 1);
    let begin = first.windows(2).rposition(|pair| pair == b"n=").unwrap();
    let bare = String::from_utf8(first[begin..].to_vec()).unwrap();
    let nonce = format!("{}server", bare.split_once("r=").unwrap().1);
    let challenge = format!("r={nonce},s={},i={iterations}", BASE64_STANDARD.encode(SALT));
    stream.write_all(&authentication(11, &challenge)).unwrap();
    let mut last = Vec::new();
    if (1..=1_000_000).contains(&iterations) {
        last = read(&mut stream, 1);
        let signed = format!("{bare},{challenge},c=biws,r={nonce}");
        let mut salted = [0; 32];
        let digest = MessageDigest::sha256();
        pbkdf2_hmac(PASSWORD.as_bytes(), SALT, iterations, digest, &mut salted).unwrap();
        let hmac = |key: &[u8], message: &[u8]| {
            let key = PKey::hmac(key).unwrap();
            let mut signer = Signer::new(digest, &key).unwrap();
            signer.sign_oneshot_to_vec(message).unwrap()
        };
        let signature = hmac(&hmac(&salted, b"Server Key"), signed.as_bytes());
        stream.write_all(&end(&signature)).unwrap();
    }
    heard.extend([first, last].concat());
    heard
}

/// A message whose length comes after `kind` bytes that say what it is.
fn read(stream: &mut TcpStream, kind: usize) -> Vec<u8> {
    let mut head = vec![0; kind + 4];
    stream.read_exact(&mut head).unwrap();
    let length = u32::from_be_bytes(head[kind..].try_into().unwrap());
    let mut body = vec![0; length as usize - 4];
    stream.read_exact(&mut body).unwrap();
    [head, body].concat()
}
