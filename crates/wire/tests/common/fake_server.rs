//! A server that says what it was told to say, whatever it hears.

use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_wire::postgresql;

use crate::common::*;

/// The password that fake servers must never learn.
pub(crate) const PASSWORD: &str = "correct-horse-battery-staple";

/// What a fake server does when it has said all.
pub(crate) enum Ending {
    /// Closes its side.
    Close,
    /// Keeps the connection and says nothing more.
    Silence,
    /// Hears something, then says this and closes its side.
    Answer(Vec<u8>),
    /// Says the same again and again, until nobody listens.
    Repeat(Vec<u8>),
}

/// Serves one connection.
pub(crate) struct FakeServer {
    address: SocketAddr,
    thread: JoinHandle<Vec<u8>>,
}

impl FakeServer {
    /// Says all of `script` at once: answers wait in the client's buffer until it has asked the questions.
    pub(crate) fn start(script: impl Into<Vec<u8>>, ending: Ending) -> Self {
        let script = script.into();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            serve(stream, &script, &ending)
        });
        Self { address, thread }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn options(&self) -> ConnectOptions {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        ConnectOptions::new(host, port, "somebody", Secret::new(PASSWORD))
    }

    pub(crate) fn postgresql_options(&self) -> postgresql::ConnectOptions {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        postgresql::ConnectOptions::new(host, port, "somebody", Secret::new(PASSWORD))
    }

    pub(crate) fn encrypted_options(&self) -> ConnectOptions {
        super::with_tls(self.options(), TlsVersion::V1_3, Verification::None)
    }

    /// Everything that the client sent, once it has closed the connection.
    pub(crate) fn heard(self) -> Vec<u8> {
        self.thread.join().unwrap()
    }
}

/// Errors are those of a client that has heard enough.
fn serve(mut stream: TcpStream, script: &[u8], ending: &Ending) -> Vec<u8> {
    let _ = stream.write_all(script);
    let mut heard = Vec::new();
    if let Ending::Answer(bytes) = ending {
        heard.resize(4096, 0);
        let count = stream.read(&mut heard).unwrap_or(0);
        heard.truncate(count);
        let _ = stream.write_all(bytes);
    }
    let mut ear = stream.try_clone().unwrap();
    let listener = thread::spawn(move || {
        let _ = ear.read_to_end(&mut heard);
        heard
    });
    match ending {
        Ending::Silence => {}
        Ending::Close | Ending::Answer(_) => drop(stream.shutdown(Shutdown::Write)),
        Ending::Repeat(bytes) => while stream.write_all(bytes).is_ok() {},
    }
    listener.join().unwrap()
}
