//! tokio's runtime of one thread.

use std::mem;
use std::time::Instant;

use ::tokio::io::{AsyncReadExt, AsyncWriteExt};
use ::tokio::net::TcpStream;
use ::tokio::runtime::{Builder, Runtime};
use ::tokio::task::JoinSet;
use ciphertax_bench::bare::exchange::{ANSWER_ROOM, Exchange};
use ciphertax_bench::bare::login;
use ciphertax_bench::{Login, Result};

use crate::Driver;

/// One task a connection.
pub(crate) struct CurrentThread {
    runtime: Runtime,
    connections: Vec<(TcpStream, Exchange)>,
}

impl CurrentThread {
    pub(crate) fn connect(login: &Login, connections: u32) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let inside = runtime.enter();
        let connections = (0..connections)
            .map(|seed| {
                let (socket, exchange) = login::blocking(login, seed.into())?;
                Ok((TcpStream::from_std(socket)?, exchange))
            })
            .collect::<Result<_>>()?;
        drop(inside);
        Ok(Self { runtime, connections })
    }
}

impl Driver for CurrentThread {
    fn label(&self) -> String {
        "tokio".to_owned()
    }

    fn run(&mut self, deadline: Instant) -> Result<u64> {
        let connections = mem::take(&mut self.connections);
        let mut operations = 0;
        self.runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for (socket, exchange) in connections {
                tasks.spawn(work_until(deadline, socket, exchange));
            }
            while let Some(ended) = tasks.join_next().await {
                let (count, socket, exchange) = ended??;
                operations += count;
                self.connections.push((socket, exchange));
            }
            Ok(operations)
        })
    }
}

async fn work_until(
    deadline: Instant,
    mut socket: TcpStream,
    mut exchange: Exchange,
) -> std::io::Result<(u64, TcpStream, Exchange)> {
    let mut buffer = [0; ANSWER_ROOM];
    let mut operations = 0;
    while Instant::now() < deadline {
        socket.write_all(exchange.request()).await?;
        loop {
            let count = socket.read(&mut buffer).await?;
            if exchange.received(&buffer[..count])? {
                break;
            }
        }
        operations += 1;
    }
    Ok((operations, socket, exchange))
}
