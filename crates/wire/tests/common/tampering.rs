//! A proxy between a client and a real server that keeps, cuts or changes what the server says.

use std::io;

use ciphertax_wire::mysql::ConnectOptions;

use crate::common::*;

/// What is done to the bytes of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tampering {
    Nothing,
    /// Closes the connection after so many bytes.
    CutAfter(usize),
    /// Changes the bits of the byte at this position by exclusive or.
    Flip(usize, u8),
}

/// Passes on one connection.
pub(crate) struct Proxy {
    address: SocketAddr,
    thread: JoinHandle<Vec<u8>>,
}

impl Proxy {
    pub(crate) fn start(target: SocketAddr, tampering: Tampering) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            pass_on(client, TcpStream::connect(target).unwrap(), tampering)
        });
        Self { address, thread }
    }

    /// The same connection through the proxy.
    pub(crate) fn options(&self, options: &ConnectOptions) -> ConnectOptions {
        ConnectOptions {
            host: self.address.ip().to_string(),
            port: self.address.port(),
            ..options.clone()
        }
    }

    /// Everything that the server said, once the connection has ended.
    pub(crate) fn recorded(self) -> Vec<u8> {
        self.thread.join().unwrap()
    }
}

fn pass_on(client: TcpStream, server: TcpStream, tampering: Tampering) -> Vec<u8> {
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let questions = thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let mut recorded = Vec::new();
    // Errors are those of a client or a server that has heard enough.
    let _ = pass_on_answers(&client, &server, tampering, &mut recorded);
    let _ = client.shutdown(Shutdown::Write);
    let _ = server.shutdown(Shutdown::Both);
    questions.join().unwrap();
    recorded
}

fn pass_on_answers(
    mut client: &TcpStream,
    mut server: &TcpStream,
    tampering: Tampering,
    recorded: &mut Vec<u8>,
) -> io::Result<()> {
    let mut buffer = [0; 16 << 10];
    loop {
        let count = server.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        let bytes = &mut buffer[..count];
        recorded.extend_from_slice(bytes);
        let before = recorded.len() - count;
        match tampering {
            Tampering::CutAfter(position) if position <= recorded.len() => {
                return client.write_all(&bytes[..position - before]);
            }
            Tampering::Flip(position, bits) if (before..recorded.len()).contains(&position) => {
                bytes[position - before] ^= bits;
            }
            _ => {}
        }
        client.write_all(bytes)?;
    }
}
