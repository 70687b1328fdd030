//! One connection after the other, each with its trace and its CPU time on both sides.

use std::cell::OnceCell;
use std::rc::Rc;

use ciphertax_base::SeenByServer;
use ciphertax_estimate::connection::{Seen, SeenConnection, Tried};
use ciphertax_model::{Arm, Resumption, TlsSettings, Transport};
use ciphertax_reactor::{Reactor, Socket};
use ciphertax_stats::BalancedOrder;
use ciphertax_wire::tls::rehearse;
use ciphertax_wire::{Client, WireError, is_silent_once_reached, note_thread_cpu, resolve};
use rand::RngExt;

use super::taken_apart::{Negotiation, taken_apart, when_quiet};
use crate::database::{Clients, ControlOptions, Database, Endpoint, ReachedArm};
use crate::error::{Result, RunError};
use crate::server::{OTHERS, TargetServers};
use crate::server_process::{Asker, ServerProcess};
use crate::timeout::{unusable, wait_for};

/// What takes turns: connections as they were asked for, and those that take up a session.
const TURNS: usize = 2;
const ASKED: usize = 0;
const RESUMED: usize = 1;

/// How to connect, and how often.
pub(crate) struct Connecting {
    pub(crate) arm: Arm,
    pub(crate) count: u32,
}

/// What was seen, and where.
pub(crate) struct Found {
    pub(crate) seen: Seen,
    pub(crate) address: String,
    pub(crate) same_host: bool,
    /// What listens in the server's place.
    pub(crate) through: Option<String>,
}

/// The server, with what is needed to connect to it.
struct Subject<'a, D: Clients> {
    servers: &'a TargetServers<D>,
    endpoint: &'a Endpoint,
    reactor: Rc<Reactor>,
    listening: ServerProcess,
    /// The server's own, once a session has told which it is.
    serving: OnceCell<ServerProcess>,
    arm: &'a Arm,
    is_encrypted: bool,
}

impl<D: Database> TargetServers<D> {
    /// The first of the servers that takes connections; the first of all where none does.
    fn answering(&self, reactor: &Rc<Reactor>) -> Result<&Endpoint> {
        let several = (self.endpoints.len() > 1).then_some(&self.endpoints);
        for endpoint in several.into_iter().flatten() {
            for address in resolve(&endpoint.host, endpoint.port).unwrap_or_default() {
                let connect = Socket::connect(reactor, address);
                match wait_for(reactor, &self.display, OTHERS, connect) {
                    Ok(Ok(_)) => return Ok(endpoint),
                    Err(RunError::Stopped) => return Err(RunError::Stopped),
                    Ok(Err(_)) | Err(_) => {}
                }
            }
        }
        Ok(&self.endpoints[0])
    }

    /// Connects to the first of the servers that takes connections.
    pub(crate) fn observe(&self, asked: &Connecting, progress: &mut dyn FnMut(u32)) -> Result<Found> {
        let reactor = Reactor::new().map_err(|error| unusable(&self.display, error.to_string()))?;
        let endpoint = self.answering(&reactor)?;
        let subject = Subject {
            servers: self,
            endpoint,
            reactor,
            listening: ServerProcess::listening_at(endpoint, D::SERVED_BY, Asker::Connect),
            serving: OnceCell::new(),
            arm: &asked.arm,
            is_encrypted: asked.arm.transport.is_encrypted(),
        };
        let seen = subject.observe(asked, progress)?;
        let process = subject.serving.into_inner().unwrap_or(subject.listening);
        Ok(Found {
            seen,
            address: endpoint.to_string(),
            same_host: process.same_host,
            through: process.through,
        })
    }

    fn options_of(&self, arm: &Arm, endpoint: &Endpoint) -> Result<D::Options> {
        let trust = self.trust();
        let policy = arm.transport.is_encrypted().then(|| trust.policy(arm));
        let reached = ReachedArm::<D> {
            endpoint: endpoint.clone(),
            login: self.login.clone(),
            policy: policy.transpose()?,
        };
        reached.options(&self.database, arm)
    }
}

impl<D: Database> Subject<'_, D> {
    fn observe(&self, asked: &Connecting, progress: &mut dyn FnMut(u32)) -> Result<Seen> {
        note_thread_cpu();
        if self.is_encrypted {
            rehearse(&self.servers.trust().policy(&asked.arm)?);
        }
        let options = self.servers.options_of(&asked.arm, self.endpoint)?;
        let mut resuming = self.resuming(&asked.arm, self.endpoint)?;
        if asked.count > 1 {
            // What is done for the first one only belongs to none of the others.
            self.one(&options)?;
        }
        let mut connections = Vec::new();
        let mut last = None;
        for (number, turns) in (1..=asked.count).zip(BalancedOrder::new(TURNS, rand::rng().random())) {
            // Whoever comes second finds what the first has left in caches; a single connection is not to find anything.
            let turns = if asked.count > 1 {
                turns
            } else {
                vec![ASKED, RESUMED]
            };
            for turn in turns {
                if turn == RESUMED {
                    if let Some((options, tried)) = &mut resuming {
                        self.resume(options, tried)?;
                    }
                    continue;
                }
                let (connection, negotiation) = self.one(&options)?;
                connections.push(connection);
                last = Some(negotiation);
            }
            progress(number);
        }
        let Some(Negotiation { facts, chain }) = last else {
            return Err(unusable(&self.servers.display, "nobody asked for a connection"));
        };
        Ok(Seen {
            connections,
            facts,
            chain,
            tried: resuming.map(|(_, tried)| tried),
        })
    }

    /// How TLS sessions are resumed; nothing in plaintext.
    fn resuming(&self, arm: &Arm, endpoint: &Endpoint) -> Result<Option<(D::Options, Tried)>> {
        if !self.is_encrypted {
            return Ok(None);
        }
        let arm = Arm {
            tls: TlsSettings {
                resumption: Resumption::Ticket,
                ..arm.tls.clone()
            },
            ..arm.clone()
        };
        let tried = Tried {
            way: "resuming the TLS session",
            walls_ns: Vec::new(),
            impossible: None,
        };
        Ok(Some((self.servers.options_of(&arm, endpoint)?, tried)))
    }

    /// Takes up an earlier session, after getting one where there is none left; not where that has failed before. What the
    /// server does not let clients do is no reason to end: the connections asked for are made all the same.
    fn resume(&self, options: &D::Options, tried: &mut Tried) -> Result<()> {
        if tried.impossible.is_some() {
            return Ok(());
        }
        let resuming = async {
            D::Session::warm_up(&self.reactor, options, 1).await?;
            taken_apart::<D::Session>(&self.reactor, options, || Err(String::new()), |_| ()).await
        };
        let outcome = match wait_for(
            &self.reactor,
            &self.servers.display,
            self.servers.patience,
            resuming,
        ) {
            Err(RunError::Stopped) => return Err(RunError::Stopped),
            Err(error) => Err(error.to_string()),
            Ok(outcome) => outcome.map_err(|error| match error {
                WireError::NoSession => "no session ticket was sent".to_owned(),
                error => error.to_string(),
            }),
        };
        match outcome {
            Ok((connection, Negotiation { facts, .. }))
                if facts.tls.as_ref().is_some_and(|tls| tls.resumed) =>
            {
                tried.walls_ns.push(connection.trace.handshake_ns());
            }
            Ok(_) => tried.impossible = Some(not_taken_up(tried.walls_ns.len())),
            Err(why) => tried.impossible = Some(why),
        }
        Ok(())
    }

    fn one(&self, options: &D::Options) -> Result<(SeenConnection, Negotiation)> {
        let read = self.process();
        let server = || when_quiet(read.process.as_ref());
        let look = |seen: &SeenByServer| {
            let look = || ServerProcess::of(self.endpoint, seen, D::SERVED_BY, Asker::Connect);
            self.serving.get_or_init(look);
        };
        let connecting = taken_apart::<D::Session>(&self.reactor, options, server, look);
        let TargetServers {
            display, patience, ..
        } = self.servers;
        match wait_for(&self.reactor, display, *patience, connecting) {
            Err(RunError::Server { .. }) if is_silent_once_reached() => Err(unusable(
                display,
                format!(
                    "it takes connections, and within {} s nothing came that a {} server sends: is it another server's port?",
                    patience.as_secs(),
                    D::Session::PROTOCOL
                ),
            )),
            outcome => {
                let (mut connection, negotiation) =
                    outcome?.map_err(|error| self.refused(&error, options))?;
                if let Some(why) = not_of(read, self.process()) {
                    connection.server_cpu_ns = Err(why);
                }
                Ok((connection, negotiation))
            }
        }
    }

    /// The server's, as far as is known by now.
    fn process(&self) -> &ServerProcess {
        self.serving.get().unwrap_or(&self.listening)
    }

    /// How the server is reached, and over TLS where it was not, unless that could tell anybody the password unasked.
    fn ways(&self, options: &D::Options) -> ControlOptions<D> {
        let arm = Arm {
            transport: Transport::Tls,
            ..self.arm.clone()
        };
        let encrypted = self.servers.options_of(&arm, self.endpoint);
        ControlOptions {
            default: vec![options.clone()],
            is_encrypted: self.is_encrypted,
            encrypted: encrypted
                .into_iter()
                .filter(|_| !(D::DENIAL_MAY_MEAN_TLS && self.servers.is_unverified()))
                .collect(),
            lacks_password: D::lacks_password(&self.servers.login),
            patience: self.servers.patience,
        }
    }

    /// Why clients are not served, and what to do.
    fn refused(&self, error: &WireError, options: &D::Options) -> RunError {
        let protocol = D::Session::PROTOCOL;
        // A PostgreSQL hangs up on direct TLS alone, which it may not have.
        let lacks_tls = match error {
            WireError::TlsNotOffered => true,
            WireError::HungUp { encrypted: true } => protocol != ciphertax_wire::Protocol::PostgreSql,
            _ => false,
        };
        let problem = if lacks_tls {
            "it offers no TLS; switch TLS on there, or take an unencrypted connection apart: --transport plain".to_owned()
        } else if self.ways(options).find_demand_of_tls(&self.reactor, error) {
            format!("{error}; {}: leave --transport plain out", D::DEMANDS_TLS)
        } else if let Some(version) = self.arm.transport.tls_version()
            && error.is_version_refused()
        {
            format!(
                "the server offers no {version} ({error}); --transport tls takes the best version that both sides have"
            )
        } else if error.is_of_password() && D::lacks_password(&self.servers.login) {
            format!("{error}; give the password in the environment variable CIPHERTAX_PASSWORD")
        } else if error.is_missing_right() {
            format!("{error}; leave it out of the URL, or name one that the account may use")
        } else {
            let may_mean_tls = D::DENIAL_MAY_MEAN_TLS && error.is_access_denied() && !error.is_of_pg_hba();
            let tls = match may_mean_tls && !self.is_encrypted && self.servers.is_unverified() {
                true => "; or leave --transport plain out, where it is TLS that is demanded",
                false => "",
            };
            format!("{error}{}{tls}", error.remedy(protocol))
        };
        unusable(&self.servers.display, problem)
    }
}

/// Why the clock that was read says nothing of the server, whose process is known since.
fn not_of(read: &ServerProcess, known: &ServerProcess) -> Option<String> {
    match (&read.process, &known.process) {
        (Ok(read), Ok(known)) if read.root.pid() == known.root.pid() => None,
        (_, Err(why)) => Some(why.clone()),
        (_, Ok(_)) => Some(match &known.through {
            Some(listener) => {
                format!("{listener} listens there in the server's place; to have it, add --count 2")
            }
            None => "its process was found by this connection only; to have it, add --count 2".to_owned(),
        }),
    }
}

/// A ticket that was declined, after so many that were not.
fn not_taken_up(before: usize) -> String {
    let declined = "the server gave a session and did not take it up again";
    match before {
        0 => declined.to_owned(),
        before => format!("{declined}, after {before} that it did"),
    }
}
