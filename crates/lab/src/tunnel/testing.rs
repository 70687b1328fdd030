//! Helpers that the tests of tunnels share: a server that echoes, and halves that do not fit together.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use ciphertax_model::{SshCipher, Tunnel};
use ciphertax_supervise::guard::{GuardProgram, Helper};

use super::RunningTunnel;
use super::pair::{About, Pair, Route, Word};
use crate::error::Result;

ciphertax_testkit::plays_roles!();

/// What keeps a tunnel of two halves that do not fit together from being measured.
pub(super) fn refusal(server: impl Pair + 'static, client: impl Pair + 'static) -> String {
    let pair = Box::new(Mismatched { server, client });
    let tunnel = Tunnel::Ssh(SshCipher::Aes256Cbc);
    RunningTunnel::start(tunnel, pair, echo(), None, &GuardProgram::this_program())
        .and_then(|mut tunnel| tunnel.prove(echoed))
        .unwrap_err()
        .to_string()
}

#[derive(Debug)]
struct Mismatched<S, C> {
    server: S,
    client: C,
}

impl<S: Pair, C: Pair> Pair for Mismatched<S, C> {
    fn about(&self) -> &About {
        self.client.about()
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
}

/// Sends a canary to [`echo`].
pub(super) fn echoed(address: SocketAddr, canary: &str) -> Result<(), String> {
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
