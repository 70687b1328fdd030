//! A server that says what it was told to say, whatever it hears.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use ciphertax_model::Secret;
use ciphertax_wire::mysql::ConnectOptions;

/// The password that fake servers must never learn.
pub const PASSWORD: &str = "correct-horse-battery-staple";

/// What a fake server does when it has said all.
pub enum Ending {
    /// Closes its side.
    Close,
    /// Keeps the connection and says nothing more.
    Silence,
    /// Says the same again and again, until nobody listens.
    Repeat(Vec<u8>),
}

/// Serves one connection.
pub struct FakeServer {
    address: SocketAddr,
    thread: JoinHandle<Vec<u8>>,
}

impl FakeServer {
    /// Says all of `script` at once: answers wait in the client's buffer until it has asked the questions.
    pub fn start(script: impl Into<Vec<u8>>, ending: Ending) -> Self {
        let script = script.into();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            serve(stream, &script, &ending)
        });
        Self { address, thread }
    }

    pub fn options(&self) -> ConnectOptions {
        ConnectOptions {
            host: self.address.ip().to_string(),
            port: self.address.port(),
            user: "somebody".into(),
            password: Secret::new(PASSWORD),
            database: None,
            tls: None,
        }
    }

    /// Everything that the client sent, once it has closed the connection.
    pub fn heard(self) -> Vec<u8> {
        self.thread.join().unwrap()
    }
}

/// Errors are those of a client that has heard enough.
fn serve(mut stream: TcpStream, script: &[u8], ending: &Ending) -> Vec<u8> {
    let mut ear = stream.try_clone().unwrap();
    let listener = thread::spawn(move || {
        let mut heard = Vec::new();
        let _ = ear.read_to_end(&mut heard);
        heard
    });
    let mut written = stream.write_all(script);
    match ending {
        Ending::Close => {
            let _ = stream.shutdown(Shutdown::Write);
        }
        Ending::Silence => {}
        Ending::Repeat(bytes) => {
            while written.is_ok() {
                written = stream.write_all(bytes);
            }
        }
    }
    listener.join().unwrap()
}
