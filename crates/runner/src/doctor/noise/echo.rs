//! A target that does nothing but give back what it gets.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::rc::Rc;
use std::thread;

use ciphertax_engine::{Context, Failure, Operation, Slot, Workload};
use ciphertax_reactor::{Reactor, Socket};

/// A server on this machine that gives so many connections back what it gets. Its threads end when their connections do.
pub(super) fn serve(connections: u32) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().take(connections as usize) {
            let Ok(mut stream) = stream else { break };
            // Without it an answer would wait for the next request.
            let _ = stream.set_nodelay(true);
            thread::spawn(move || {
                let mut buffer = [0; 64];
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    if stream.write_all(&buffer[..count]).is_err() {
                        break;
                    }
                }
            });
        }
    });
    Ok(address)
}

/// Asks for one byte.
pub(super) struct Echo(pub(super) SocketAddr);

impl Workload for Echo {
    type Connection = Socket;

    const KINDS: &'static [&'static str] = &["echo"];

    async fn open(&self, reactor: &Rc<Reactor>, _slot: Slot) -> Result<Socket, Failure> {
        let connected = Socket::connect(reactor, self.0).await;
        connected.map_err(|error| Failure::Error(error.to_string()))
    }

    async fn operate(&self, socket: &mut Socket, _: &Context) -> Result<Operation, Failure> {
        let broken = |error: std::io::Error| Failure::Disconnected(error.to_string());
        socket.send_all(b"x").await.map_err(broken)?;
        let mut answer = [0; 8];
        match socket.receive(&mut answer).await.map_err(broken)? {
            0 => Err(Failure::Disconnected("the target closed".into())),
            _ => Ok(Operation::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ciphertax_engine::Engine;
    use ciphertax_model::Load;

    use super::*;

    #[test]
    fn a_target_that_does_nothing_answers() {
        let server = serve(4).unwrap();
        let load = Load {
            workers: Some(1),
            batch: Some(20),
            ..Load::closed(4)
        };
        let mut engine = Engine::start(vec![Echo(server)], &load, 1).unwrap();
        engine.prepare(0).unwrap().unwrap();
        let slice = engine.slice(0, Duration::from_millis(50)).unwrap();
        assert_eq!(slice.failures, 0, "{:?}", slice.first_failure);
        assert_eq!(slice.operations[0].count, 20);
    }
}
