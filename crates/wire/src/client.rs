//! What the clients of all databases have, for code that need not know which database it is.

use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

use ciphertax_base::{
    AuthenticationFacts, ChainCertificate, ConnectTrace, PhaseTrace, SeenByServer, SessionFacts,
};
use ciphertax_reactor::Reactor;

use crate::Protocol;
use crate::error::Result;
use crate::expectation::{Expectation, Word};
use crate::session_settings::Overridden;
use crate::stream::Stream;
use crate::tls::{TlsSession, TlsSummary};
use crate::trace::Traffic;

/// A connection to a database, logged in where the options say so. Statements and commands are not here: they differ.
pub trait Session: Sized {
    /// Where to connect, as whom and how.
    type Options: Clone;

    /// The client's last message; empty where it says goodbye by saying nothing more.
    const GOODBYE: &'static [u8] = &[];

    /// Connects, negotiates TLS where asked for, and logs in; the trace tells what each phase took.
    ///
    /// # Errors
    /// Whatever keeps the session from being what `options` ask for.
    async fn connect(reactor: &Rc<Reactor>, options: &Self::Options) -> Result<(Self, ConnectTrace)>;

    /// Reads the settings that statements of ciphertax depend on, sets for this session alone what it must not take over, and tells
    /// which.
    ///
    /// # Errors
    /// Those of the connection; and what keeps a setting from being set.
    async fn override_settings(&mut self) -> Result<Vec<Overridden>> {
        Ok(Vec::new())
    }

    /// Connects, and overrides settings: for every session but those whose connecting is measured.
    ///
    /// # Errors
    /// Those of both.
    async fn connect_with_settings(
        reactor: &Rc<Reactor>,
        options: &Self::Options,
    ) -> Result<(Self, Vec<Overridden>)> {
        let (mut session, _) = Self::connect(reactor, options).await?;
        let overridden = session.override_settings().await?;
        Ok((session, overridden))
    }

    /// How the login went.
    fn authentication(&self) -> &AuthenticationFacts;

    /// What carries the session; `None` for a database in its client.
    fn stream(&self) -> Option<&Stream> {
        None
    }

    /// [`Session::stream`], to be written to and read from.
    fn stream_mut(&mut self) -> Option<&mut Stream> {
        None
    }

    /// What went over the connection so far.
    fn traffic(&self) -> Traffic {
        self.stream().map(Stream::traffic).unwrap_or_default()
    }

    /// The TLS session; `None` for a plaintext one.
    fn tls_summary(&self) -> Option<TlsSummary> {
        self.stream().and_then(Stream::tls).map(TlsSession::summary)
    }

    /// The certificates that the server sent, its own first; none in plaintext.
    ///
    /// # Errors
    /// When one cannot be read.
    fn chain(&self) -> Result<Vec<ChainCertificate>> {
        let tls = self.stream().and_then(Stream::tls);
        tls.map_or_else(|| Ok(Vec::new()), TlsSession::chain)
    }

    /// Says goodbye and tells what that took. Nothing is left to be done with the session but to wait for
    /// [`Session::gone`].
    ///
    /// # Errors
    /// Those of the connection.
    async fn leave(&mut self) -> Result<PhaseTrace> {
        match self.stream_mut() {
            Some(stream) => stream.leave(Self::GOODBYE).await,
            None => Ok(PhaseTrace::default()),
        }
    }

    /// After [`Session::leave`]: waits until the server has closed, and returns the bytes that it still sent.
    async fn gone(mut self) -> u64 {
        match self.stream_mut() {
            Some(stream) => stream.gone().await,
            None => 0,
        }
    }

    /// Says goodbye, waits until the server has closed, and tells how long that took.
    ///
    /// # Errors
    /// Those of the connection.
    async fn close(mut self) -> Result<PhaseTrace> {
        match self.stream_mut() {
            Some(stream) => stream.close(Self::GOODBYE).await,
            None => self.leave().await,
        }
    }
}

/// What of a session is needed besides to prove what it is, and to try what must fail.
pub trait Client: Session {
    /// What it speaks.
    const PROTOCOL: Protocol;

    /// Connects, and once more where a server had forgotten what it is expected to remember of a login.
    ///
    /// # Errors
    /// Those of connecting.
    async fn connect_as(
        reactor: &Rc<Reactor>,
        options: &Self::Options,
        _expectation: &Expectation,
    ) -> Result<Self> {
        Ok(Self::connect(reactor, options).await?.0)
    }

    /// Makes sure that the next `connections` connections at a time find what they are to resume: TLS sessions, and
    /// keys of logins. Otherwise, and when there are enough, it does nothing, so it may be called before every
    /// measurement.
    ///
    /// # Errors
    /// Those of connecting; and when the server gives no session of the kind that is asked for.
    async fn warm_up(reactor: &Rc<Reactor>, options: &Self::Options, connections: usize) -> Result<()>;

    /// Asks the server what it thinks of this session, which `options` opened.
    ///
    /// # Errors
    /// Those of a question.
    async fn check_by_server(&mut self, options: &Self::Options, expectation: &Expectation) -> Result<Word>;

    /// Asks the server from where it sees this session, and which process it is.
    ///
    /// # Errors
    /// Those of the connection; what the server refuses to say is absent.
    async fn seen_by_server(&mut self) -> Result<SeenByServer>;

    /// Everything that was negotiated. The server may be asked for its version.
    ///
    /// # Errors
    /// Those of a question; and when the server's certificate cannot be read.
    async fn facts(&mut self) -> Result<SessionFacts>;

    /// Asks the least that there is to ask, which every account may: `SELECT 1`, or `ping`.
    ///
    /// # Errors
    /// The server's own, and those of the connection.
    async fn ask(&mut self) -> Result<()>;

    /// Where `options` connect to.
    fn endpoint(options: &Self::Options) -> Endpoint<'_>;

    /// The same through a relay before the server.
    fn through(options: &Self::Options, relay: SocketAddr) -> Self::Options;

    /// The same with a secret that the server must refuse, and what that is (`a wrong password`); `None` where the
    /// options hold no secret that could be wrong.
    fn with_wrong_secret(options: &Self::Options) -> Option<(&'static str, Self::Options)>;

    /// Where TLS begins in what a server sends; `None` if that is not there yet.
    fn tls_begins_at(answers: &[u8]) -> Option<usize>;
}

/// Where a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint<'a> {
    /// Host name or address, and TCP port.
    Tcp(&'a str, u16),
    /// A Unix socket of this machine.
    Unix(&'a Path),
}
