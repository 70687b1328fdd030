//! Real private servers: how they are made, who can reach them, and that nothing of them stays.

use ciphertax_testkit::*;

use crate::postgresql::servers;
use crate::prelude::*;

#[test]
pub(crate) fn every_server_is_reached_from_here_alone_and_stops_without_a_trace() {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let first_ephemeral: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
    for entry in every_family() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let (address, folder, pid) = (server.address(), server.folder().to_owned(), server.pids()[0]);
        assert!(address.ip().is_loopback());
        assert!(address.port() < first_ephemeral, "{address}");
        assert!(server.is_alive());
        assert!(entry.name == MONGODB.name || server.socket().unwrap().exists());
        // A session that is open does not keep it from ending.
        let _session = TcpStream::connect(address).unwrap();

        server.stop().unwrap();
        assert!(!folder.exists());
        is_gone(&folder, pid);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        assert!(TcpStream::connect(address).is_err());
    }
}

/// Waits for the end of all processes that served the folder, and for that of what they shared.
fn is_gone(folder: &Path, pid: u32) {
    let name = folder.file_name().unwrap().to_str().unwrap();
    assert!(within(PATIENCE, || command_lines_with(name).is_empty()));
    assert!(within(PATIENCE, || !has_shared_memory(pid)));
}

/// One server of each family.
fn every_family() -> impl Iterator<Item = &'static Entry> {
    let others = [&MARIADB, &MONGODB].into_iter();
    others.filter(|entry| fetched(entry).is_some()).chain(servers())
}

#[test]
fn only_its_user_may_read_its_secrets() {
    let server = builder().start().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(server.folder()), 0o700);
    assert_eq!(mode(&server.folder().join("server-key.pem")), 0o600);
    assert_eq!(mode(&server.folder().join("my.cnf")), 0o600);
    let keys = files_with(server.folder(), b"PRIVATE KEY");
    assert_eq!(
        keys,
        [server.folder().join("server-key.pem")],
        "the authority's key was written"
    );
}

#[test]
pub(crate) fn the_password_is_in_no_file_argument_or_debug_text() {
    for entry in every_family() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let password = server.password().expose();
        let files = files_with(server.folder(), password.as_bytes());
        assert_eq!(files, Vec::<std::path::PathBuf>::new());
        for process in fs::read_dir("/proc").unwrap().flatten() {
            for file in ["cmdline", "environ"] {
                let text = fs::read(process.path().join(file)).unwrap_or_default();
                let path = process.path();
                assert!(!contains(&text, password.as_bytes()), "{}", path.display());
            }
        }
        assert!(!format!("{server:?}").contains(password));
    }
}

#[test]
pub(crate) fn a_server_that_was_killed_is_known_to_be_dead_and_leaves_nothing() {
    for entry in every_family() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let (folder, pid) = (server.folder().to_owned(), server.pids()[0]);
        let first = rustix::process::Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(first, rustix::process::Signal::KILL).unwrap();
        assert!(within(PATIENCE, || !server.is_alive()));
        // Other processes of it notice, and its shared memory goes with the last of them.
        is_gone(&folder, pid);
        drop(server);
        assert!(!folder.exists());
    }
}

#[test]
fn every_kind_of_certificate_is_accepted_by_the_server() {
    for kind in CertificateKind::ALL {
        // By default its library takes no key as weak as RSA 1024.
        let server = builder()
            .certificate(kind)
            .option("--ssl-cipher=ALL:@SECLEVEL=0")
            .start()
            .unwrap();
        assert!(offers_tls(server.address()), "{kind}: {}", server.log_tail());
        assert!(server.ca_file().unwrap().exists());
    }
}

#[test]
fn without_tls_the_server_does_not_offer_it() {
    let server = builder().without_tls().start().unwrap();
    assert!(!offers_tls(server.address()));
    assert_eq!(server.ca_file(), None);
}

#[test]
fn options_reach_the_server_and_its_record() {
    let server = builder()
        .option("--require-secure-transport=ON")
        .option("--tls-version=TLSv1.2")
        .start()
        .unwrap();
    assert_eq!(server.settings()["require_secure_transport"], "ON");
    assert_eq!(server.settings()["innodb_buffer_pool_size"], "256M");
    let line = fs::read(format!("/proc/{}/cmdline", server.pids()[0])).unwrap();
    assert!(contains(
        &line,
        b"--require-secure-transport=ON\0--tls-version=TLSv1.2"
    ));
}

#[test]
pub(crate) fn an_option_the_server_refuses_is_reported_in_its_words() {
    for entry in every_family().filter(|entry| entry.name != MONGODB.name) {
        let builder = PrivateServer::builder(entry).option("--no-such-option=1");
        let error = builder.start().unwrap_err().to_string();
        assert!(error.replace('_', "-").contains("no-such-option"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}

fn builder() -> PrivateServerBuilder {
    PrivateServer::builder(&MARIADB)
}

/// Whether the greeting has the capability `CLIENT_SSL` (0x0800), in the two bytes that follow the protocol version, the
/// server version (ended by zero), the thread number (4), the scramble's first part (8) and a filler.
fn offers_tls(address: std::net::SocketAddr) -> bool {
    let packet = first_packet(address);
    let version_end = packet[5..].iter().position(|byte| *byte == 0).unwrap() + 5;
    let capabilities = &packet[version_end + 1 + 4 + 8 + 1..];
    u16::from_le_bytes([capabilities[0], capabilities[1]]) & 0x0800 != 0
}

fn first_packet(address: std::net::SocketAddr) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut packet = header.to_vec();
    packet.resize(
        4 + u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize,
        0,
    );
    stream.read_exact(&mut packet[4..]).unwrap();
    packet
}
