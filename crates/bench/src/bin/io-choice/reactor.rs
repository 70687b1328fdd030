//! ciphertax's own event loop.

use std::mem;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_bench::bare::exchange::{ANSWER_ROOM, Exchange};
use ciphertax_bench::bare::login::{self, Next};
use ciphertax_bench::{Login, Result};
use ciphertax_reactor::{EventLoop, PollDelay, Reactor, Socket};

use crate::Driver;

const PATIENCE: Duration = Duration::from_secs(10);

/// The event loop by either of its interfaces, which waits a little for more sockets, or not.
pub(crate) struct WithDelay {
    reactor: Rc<Reactor>,
    connections: Vec<(Socket, Exchange)>,
    poll_delay_us: u32,
}

impl WithDelay {
    pub(crate) fn connect(
        login: &Login,
        connections: u32,
        poll_delay_us: u32,
        event_loop: EventLoop,
    ) -> Result<Self> {
        let reactor = Reactor::with(event_loop)?;
        let connections = (0..connections)
            .map(|seed| {
                let task = open(&reactor, login, seed.into());
                reactor
                    .run_one(task, Instant::now() + PATIENCE)?
                    .ok_or("the server does not answer")?
            })
            .collect::<Result<_>>()?;
        reactor.set_poll_delay(PollDelay::micros(poll_delay_us));
        Ok(Self {
            reactor,
            connections,
            poll_delay_us,
        })
    }
}

impl Driver for WithDelay {
    fn label(&self) -> String {
        let event_loop = self.reactor.event_loop();
        match self.poll_delay_us {
            0 => format!("reactor by {event_loop}"),
            micros => format!("reactor by {event_loop}, poll delay {micros} µs"),
        }
    }

    fn run(&mut self, deadline: Instant) -> Result<u64> {
        let tasks = self
            .connections
            .iter_mut()
            .map(|(socket, exchange)| work_until(deadline, socket, exchange));
        let outcomes = self.reactor.run(tasks, deadline + PATIENCE)?;
        let counts = outcomes
            .into_iter()
            .map(|outcome| outcome.ok_or("an answer did not come")?);
        counts.sum()
    }
}

async fn open(reactor: &Rc<Reactor>, login: &Login, seed: u64) -> Result<(Socket, Exchange)> {
    let socket = Socket::connect(reactor, format!("{}:{}", login.host, login.port).parse()?).await?;
    let mut steps = login::Login::new(login, seed);
    let mut buffer = [0; ANSWER_ROOM];
    let mut count = 0;
    loop {
        match steps.advance(&buffer[..mem::take(&mut count)])? {
            Next::Send(bytes) => socket.send_all(&bytes).await?,
            Next::Receive => {
                count = socket.receive(&mut buffer).await?;
                if count == 0 {
                    return Err("the server closed".into());
                }
            }
            Next::Done(exchange) => return Ok((socket, exchange)),
        }
    }
}

async fn work_until(deadline: Instant, socket: &Socket, exchange: &mut Exchange) -> Result<u64> {
    let mut buffer = [0; ANSWER_ROOM];
    let mut operations = 0;
    while Instant::now() < deadline {
        socket.send_all(exchange.request()).await?;
        loop {
            let count = socket.receive(&mut buffer).await?;
            if exchange.received(&buffer[..count])? {
                break;
            }
        }
        operations += 1;
    }
    Ok(operations)
}
