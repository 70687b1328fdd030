//! A real private MongoDB: how it is made, who can reach it, and that nothing of it stays.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ciphertax_lab::catalogue::MONGODB;
use ciphertax_lab::{GuardProgram, PrivateMongoDb, PrivateMongoDbBuilder, install};

#[test]
#[ignore = "the guard of the private servers in these tests"]
fn guard() {
    ciphertax_lab::guard::main();
}

#[test]
fn it_listens_on_loopback_below_the_ephemeral_range_and_stops_without_a_trace() {
    let server = builder().start().unwrap();
    let (address, folder, pids) = (server.address(), server.folder().to_owned(), server.pids());
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let first_ephemeral: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
    assert!(address.ip().is_loopback());
    assert!(address.port() < first_ephemeral, "{address}");
    assert!(TcpStream::connect(address).is_ok());
    assert!(server.is_alive());

    server.stop().unwrap();
    assert!(!folder.exists());
    for pid in pids {
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn only_its_user_may_read_its_secrets() {
    let server = builder().start().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(server.folder()), 0o700);
    assert_eq!(mode(&server.folder().join("server.pem")), 0o600);
}

/// A server that is fetched if it is not there yet.
fn builder() -> PrivateMongoDbBuilder {
    install(&MONGODB, &AtomicBool::new(false), &mut |_| {}).unwrap();
    PrivateMongoDb::builder().guard(GuardProgram::this_test_program("guard"))
}
