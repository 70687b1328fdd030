//! What a server is told that it is asked for (SNI, RFC 6066): the target's name, whatever is verified, and never an address.

use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::tls::ServerKey;

use crate::common::{packets, *};

#[test]
fn a_server_is_told_its_name_whatever_is_verified_and_never_an_address() {
    let ca = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ca.path(), ServerKey::new().unwrap().certificate.to_pem().unwrap()).unwrap();
    let ca = ca.path().to_owned();
    for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
        for (host, name) in [
            ("db.example", Some("db.example")),
            ("db.example.", Some("db.example")),
            ("localhost", Some("localhost")),
            ("192.0.2.1", None),
            ("2001:db8::1", None),
        ] {
            for verification in [
                Verification::None,
                Verification::Ca(ca.clone()),
                Verification::HostName(ca.clone(), host.to_owned()),
            ] {
                let told = told(host, library, &verification);
                assert_eq!(told.as_deref(), name, "{host}, {library:?}, {verification:?}");
            }
        }
        // What resolvers alone read as an address.
        assert_eq!(told("127.1", library, &Verification::None), None);
    }
}

/// The name in the first message of a client that was given this host.
fn told(host: &str, library: TlsLibrary, verification: &Verification) -> Option<String> {
    let server = FakeServer::start(packets::greeting("mysql_native_password"), Ending::Close);
    let policy = by(library, TlsPolicy::new(None, verification.clone()));
    let options = ConnectOptions {
        host: host.to_owned(),
        tls: Some(Arc::new(TlsConnector::new(&policy).unwrap())),
        ..server.options()
    };
    let options = Session::through(&options, server.address());
    run(async |reactor| drop(Session::connect(reactor, &options).await.err().unwrap()));
    let heard = server.heard();
    // The request for TLS: a packet of 32 bytes.
    name_in(&heard[4 + 32..])
}

/// Reads a record with a ClientHello (RFC 8446, 4.1.2).
fn name_in(record: &[u8]) -> Option<String> {
    // Headers of record and message, version and random number.
    let rest = &record[5 + 4 + 2 + 32..];
    let (_session, rest) = counted(rest, 1);
    let (_suites, rest) = counted(rest, 2);
    let (_compressions, rest) = counted(rest, 1);
    let (mut extensions, _) = counted(rest, 2);
    while !extensions.is_empty() {
        let (kind, rest) = extensions.split_at(2);
        let (extension, others) = counted(rest, 2);
        if kind == [0, 0] {
            // A list of one name, which is a host's.
            let (names, _) = counted(extension, 2);
            let (name, _) = counted(&names[1..], 2);
            return Some(String::from_utf8(name.to_vec()).unwrap());
        }
        extensions = others;
    }
    None
}

/// What the first `width` bytes count, and what follows.
fn counted(bytes: &[u8], width: usize) -> (&[u8], &[u8]) {
    let (count, rest) = bytes.split_at(width);
    rest.split_at(
        count
            .iter()
            .fold(0, |count, byte| count << 8 | usize::from(*byte)),
    )
}
