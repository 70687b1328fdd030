//! Helpers that the tests of tunnels share: a server that echoes, and halves that do not fit together.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use ciphertax_model::{SshCipher, Tunnel};
use ciphertax_supervise::PrivateFolder;
use ciphertax_supervise::guard::{Guard, GuardProgram, Helper};

use super::pair::{Pair, Route, RunningPair, Word};
use crate::error::Result;

ciphertax_testkit::plays_roles!();

/// What keeps a tunnel of two halves that do not fit together from being measured.
pub(super) fn refusal(server: impl Pair + 'static, client: impl Pair + 'static) -> String {
    let guard = GuardProgram::this_program();
    let mut guard = Guard::start(&guard, PrivateFolder::create(1).unwrap()).unwrap();
    let tunnel = Tunnel::Ssh(SshCipher::Aes256Cbc);
    RunningPair::start(Box::new(Mismatched { server, client }), &mut guard, echo(), None)
        .and_then(|(pair, _, _)| pair.prove(tunnel, &mut guard, "canary", &mut echoed))
        .unwrap_err()
        .to_string()
}

#[derive(Debug)]
struct Mismatched<S, C> {
    server: S,
    client: C,
}

impl<S: Pair, C: Pair> Pair for Mismatched<S, C> {
    fn names(&self) -> [&'static str; 2] {
        self.client.names()
    }

    fn prepare(&self, folder: &Path) -> Result<()> {
        self.client.prepare(folder)
    }

    fn server_half(&self, folder: &Path, listen: SocketAddr, target: SocketAddr) -> Result<Helper> {
        self.server.server_half(folder, listen, target)
    }

    fn client_half(&self, folder: &Path, listen: SocketAddr, route: &Route) -> Result<Helper> {
        self.client.client_half(folder, listen, route)
    }

    fn word(&self, log: &str) -> Option<Word> {
        self.client.word(log)
    }

    fn cipher(&self) -> &str {
        self.client.cipher()
    }

    fn facts(&self) -> BTreeMap<String, String> {
        self.client.facts()
    }
}

/// Sends a canary to [`echo`].
pub(super) fn echoed(address: SocketAddr, canary: &str) -> std::result::Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    stream.write_all(canary.as_bytes()).map_err(failed)?;
    stream.read_exact(&mut vec![0; canary.len()]).map_err(failed)
}

/// A server that sends back what it gets.
pub(super) fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut buffer = [0; 1024];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                stream.write_all(&buffer[..count]).unwrap();
            }
        }
    });
    address
}
