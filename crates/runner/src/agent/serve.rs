//! The agent: what runs on the server's machine.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::ToSocketAddrs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ciphertax_observe::{Meter, SocketOwner, host, is_of_this_machine, listener, port_listener};
use ciphertax_records::why::SymbolTable;
use ciphertax_supervise::say;
use serde::Serialize;

use super::names::{Known, Names};
use super::protocol::{
    Answer, Found, Hello, LONGEST, PROTOCOL, Reading, Request, Seen, Server, VERSION, boot,
};
use crate::look::{Looker, Looking};
use crate::meter::{ServedBy, ServerMeter};
use crate::server_process::{Asker, is_database, process_of, program, serving};

/// Longest that quiet is waited for, whatever is asked.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers on standard output what is asked on standard input, until nobody asks any more.
pub fn main() -> ExitCode {
    match serve(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // Who asked is gone, which is how it ends.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("ciphertax agent: {error}"));
            ExitCode::from(2)
        }
    }
}

/// Answers until nothing is asked any more.
pub(super) fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    tell(
        output,
        &Hello {
            ciphertax_agent: PROTOCOL,
            version: VERSION.to_owned(),
        },
    )?;
    let mut agent = Agent::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(LONGEST as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let arrived = Instant::now();
        let request = serde_json::from_slice(&line);
        let request = request
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, format!("no request: {error}")))?;
        tell(output, &agent.answer(request, arrived))?;
    }
}

/// What has been asked for so far.
#[derive(Default)]
pub(crate) struct Agent {
    meter: Option<ServerMeter>,
    looker: Option<Looker>,
    /// When it began to look into the slice.
    began: Option<Instant>,
}

impl Agent {
    /// The answer to what arrived then.
    pub(crate) fn answer(&mut self, request: Request, arrived: Instant) -> Answer {
        match request {
            Request::Find(server) => match find(&server) {
                Ok(meter) => {
                    let pid = meter.root.pid();
                    self.meter = Some(meter);
                    Answer::Found(Found {
                        pid,
                        program: program(pid),
                        host: host(),
                        boot: boot(),
                    })
                }
                Err(reason) => Answer::Refused(reason),
            },
            Request::Look { profile, slice_ns } => {
                let slice = Duration::from_nanos(slice_ns);
                let looking = Looking::open(profile, slice, SymbolTable::default());
                self.looker = looking.looker;
                Answer::Looks {
                    refused: looking.refused,
                }
            }
            Request::Read { quiet_ns, at_most_ns } => match &self.meter {
                Some(meter) => {
                    let [quiet_for, at_most] = [quiet_ns, at_most_ns].map(Duration::from_nanos);
                    read(meter, quiet_for.min(PATIENCE), at_most.min(PATIENCE), arrived)
                }
                None => nobody(),
            },
            Request::Begin | Request::Stop | Request::Seen(_) | Request::Names(_) => self.look(request),
        }
    }

    fn look(&mut self, request: Request) -> Answer {
        let (Some(meter), Some(looker)) = (&self.meter, &mut self.looker) else {
            return nobody();
        };
        match request {
            Request::Begin => {
                let has_children = meter.served_by() == ServedBy::Processes;
                looker.begin(vec![meter.root.pid()], has_children);
                self.began = Some(Instant::now());
                Answer::Begun
            }
            Request::Stop => {
                let looked = self.began.take().map_or(Duration::ZERO, |began| began.elapsed());
                looker.stop();
                Answer::Stopped {
                    looked_ns: nanoseconds(looked),
                }
            }
            Request::Seen(slice) => Answer::Seen(Box::new(Seen {
                looked: looker.seen(&slice),
                names: Known::all_of(&looker.symbols),
            })),
            Request::Names(known) => Answer::Names(Names::after(known, &looker.symbols)),
            Request::Find(_) | Request::Look { .. } | Request::Read { .. } => nobody(),
        }
    }
}

fn nobody() -> Answer {
    Answer::Refused("no server was looked for, or nobody said how to look into it".into())
}

fn read(meter: &ServerMeter, quiet_for: Duration, at_most: Duration, arrived: Instant) -> Answer {
    let is_quiet = quiet_for.is_zero() || meter.settle(quiet_for, at_most).unwrap_or(false);
    let begun = arrived.elapsed();
    let usage = match meter.read() {
        Ok(usage) => usage,
        Err(_) if !meter.root.is_alive() => {
            return Answer::Ended(format!("its process {} ended", meter.root.pid()));
        }
        Err(error) => return Answer::Refused(error.to_string()),
    };
    let ended = arrived.elapsed();
    // A reading is made in the middle of the time it takes.
    let read_after = (begun + ended) / 2;
    Answer::Read(Box::new(Reading {
        usage,
        is_quiet,
        read_after_ns: nanoseconds(read_after),
        answered_after_ns: nanoseconds(ended - read_after),
    }))
}

/// The processes of a server: those that serve the session that is open. Where none is, or it does not say, those that listen where its
/// clients end up, and where clients reach it at an address that this machine does not know, those that listen on the port.
fn find(server: &Server) -> Result<ServerMeter, String> {
    let serving = serving(&server.seen, server.served_by);
    if serving != SocketOwner::Nobody {
        return process_of(&serving, server.served_by, Asker::Agent);
    }
    let (host, port) = (server.host.as_str(), server.port);
    let addresses = (host, port).to_socket_addrs().into_iter().flatten();
    let own = addresses.filter(|address| is_of_this_machine(address.ip()));
    // Of several addresses of the name the server may listen on one alone.
    let listening = own
        .map(listener)
        .min_by_key(|owner| *owner == SocketOwner::Nobody)
        .unwrap_or_else(|| port_listener(port));
    // What does not have the session may only pass it on.
    let found = match server.seen.peer_port.is_none() || is_database(&listening) {
        true => listening,
        false => SocketOwner::Nobody,
    };
    process_of(&found, server.served_by, Asker::Agent)
}

fn tell(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}
