//! One session of rustls, on buffers: records are decrypted where the socket put them.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

use ciphertax_base::{ChainCertificate, TlsFacts, Verified};
use openssl::x509::X509;
use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};
use rustls::{HandshakeKind, ProtocolVersion};

use super::super::hello::HelloWatch;
use super::super::{FLIGHT, OUTGOING, Progress, TlsSession, TlsSummary, certificate, group_called};
use super::{LIBRARY, OneConnection, config, failure};
use crate::buffer::ReadBuffer;
use crate::error::{Result, WireError};

/// What a record adds to its plaintext at most: header, nonce of TLS 1.2 or type of TLS 1.3, tag.
const RECORD_OVERHEAD: usize = 32;
/// Plaintext of a record at most.
const RECORD: usize = 1 << 14;

pub(super) struct Session {
    connection: UnbufferedClientConnection,
    incoming: ReadBuffer,
    outgoing: Vec<u8>,
    /// Plaintext that came when nobody asked, or was more than was asked for.
    surplus: VecDeque<u8>,
    hello: HelloWatch,
    /// Once something failed nothing more is done: rustls itself would go on with the next record.
    failed: bool,
    /// Bytes of `incoming` that `hello` was shown; `None` once some were consumed.
    heard: Option<usize>,
    verification: Verified,
    /// What the connection was given to take up; `None` where every handshake is a full one.
    resumable: Option<Arc<OneConnection>>,
}

impl Session {
    /// A session before its handshake.
    pub(super) fn new(
        connection: UnbufferedClientConnection,
        verification: Verified,
        resumable: Option<Arc<OneConnection>>,
    ) -> Self {
        Self {
            connection,
            incoming: ReadBuffer::with_room(FLIGHT),
            outgoing: Vec::with_capacity(OUTGOING),
            surplus: VecDeque::new(),
            hello: HelloWatch::default(),
            failed: false,
            heard: Some(0),
            verification,
            resumable,
        }
    }
}

/// What is to be done once rustls has done its own.
enum Job<'a> {
    Handshake,
    Encrypt(&'a [u8]),
    Decrypt(&'a mut [u8]),
    Close,
}

/// What a step of rustls led to.
enum Step {
    /// There is more to do.
    Again,
    /// The job is done; so many bytes were decrypted.
    Done(usize),
    NeedsInput,
}

impl Session {
    /// Does a job as far as the ciphertext received allows; `None` if there is too little. Otherwise the number of
    /// bytes decrypted.
    fn perform(&mut self, mut job: Job<'_>) -> Result<Option<usize>> {
        if self.failed {
            return Err(WireError::Closed);
        }
        loop {
            match self.step(&mut job) {
                Ok(Step::Again) => {}
                Ok(Step::Done(count)) => return Ok(Some(count)),
                Ok(Step::NeedsInput) => return Ok(None),
                Err(error) => {
                    self.failed = true;
                    self.encode_alert();
                    return Err(error);
                }
            }
        }
    }

    fn step(&mut self, job: &mut Job<'_>) -> Result<Step> {
        let UnbufferedStatus { mut discard, state } =
            self.connection.process_tls_records(self.incoming.unread_mut());
        let step = match state.map_err(failure) {
            Err(error) => Err(error),
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                append(&mut self.outgoing, 1024, |space| data.encode(space)).map(|()| Step::Again)
            }
            // The stream sends all that is in `outgoing` before it waits.
            Ok(ConnectionState::TransmitTlsData(data)) => {
                data.done();
                Ok(Step::Again)
            }
            Ok(ConnectionState::ReadTraffic(mut traffic)) => match traffic.next_record() {
                None => Ok(Step::Again),
                Some(Err(error)) => Err(failure(error)),
                Some(Ok(record)) => {
                    discard += record.discard;
                    Ok(take(job, record.payload, &mut self.surplus))
                }
            },
            Ok(ConnectionState::WriteTraffic(mut traffic)) => match job {
                Job::Handshake => Ok(Step::Done(0)),
                Job::Decrypt(_) => Ok(Step::NeedsInput),
                Job::Encrypt(plaintext) => {
                    let size = plaintext.len() + (plaintext.len() / RECORD + 1) * RECORD_OVERHEAD;
                    append(&mut self.outgoing, size, |space| {
                        traffic.encrypt(plaintext, space)
                    })
                    .map(|()| Step::Done(0))
                }
                Job::Close => append(&mut self.outgoing, 1024, |space| {
                    traffic.queue_close_notify(space)
                })
                .map(|()| Step::Done(0)),
            },
            Ok(ConnectionState::BlockedHandshake) => Ok(Step::NeedsInput),
            Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => Err(WireError::Closed),
            Ok(_) => Err(WireError::Tls(
                "rustls is in a state that a client has no use for".into(),
            )),
        };
        if discard > 0 {
            self.incoming.consume(discard);
            self.heard = None;
        }
        step
    }

    /// Says why it failed, where rustls has something to say: one alert, before anything else.
    fn encode_alert(&mut self) {
        let incoming = self.incoming.unread_mut();
        if let Ok(ConnectionState::EncodeTlsData(mut data)) =
            self.connection.process_tls_records(incoming).state
        {
            // An alert that cannot be said changes nothing: the error says it all.
            let _ = append(&mut self.outgoing, 1024, |space| data.encode(space));
        }
    }

    /// Shows the first words of the server to `hello`. rustls consumes whole records, so what was not consumed begins
    /// with the first.
    fn listen(&mut self) {
        if let Some(heard) = &mut self.heard {
            let unread = self.incoming.unread();
            self.hello.received(&unread[*heard..]);
            *heard = unread.len();
            if let Some(resumable) = self.resumable.as_ref().filter(|_| self.hello.ticket_follows()) {
                resumable.expect_ticket();
            }
        }
    }

    /// Those that the server sent.
    fn certificates(&self) -> Result<Vec<X509>> {
        self.connection
            .peer_certificates()
            .into_iter()
            .flatten()
            .map(|certificate| X509::from_der(certificate))
            .collect::<Result<_, _>>()
            .map_err(certificate::unreadable)
    }

    fn group_name(&self) -> &'static str {
        self.connection
            .negotiated_key_exchange_group()
            .and_then(|group| group.name().as_str())
            .unwrap_or_default()
    }
}

/// Gives a record's plaintext to a job that wants it; the rest waits.
fn take(job: &mut Job<'_>, payload: &[u8], surplus: &mut VecDeque<u8>) -> Step {
    match job {
        Job::Decrypt(plaintext) if !payload.is_empty() => {
            let (now, later) = payload.split_at(payload.len().min(plaintext.len()));
            plaintext[..now.len()].copy_from_slice(now);
            surplus.extend(later);
            Step::Done(now.len())
        }
        _ => {
            surplus.extend(payload);
            Step::Again
        }
    }
}

/// Lets `write` append to `outgoing`, with `size` bytes of space or as many as it says it needs.
fn append<E: NeedsSpace>(
    outgoing: &mut Vec<u8>,
    size: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<()> {
    let before = outgoing.len();
    outgoing.resize(before + size, 0);
    let mut written = write(&mut outgoing[before..]);
    if let Some(needed) = written.as_ref().err().and_then(NeedsSpace::needed) {
        outgoing.resize(before + needed, 0);
        written = write(&mut outgoing[before..]);
    }
    outgoing.truncate(before + *written.as_ref().unwrap_or(&0));
    written
        .map(|_| ())
        .map_err(|error| WireError::Tls(error.to_string()))
}

/// Errors of rustls that may only ask for more space.
trait NeedsSpace: std::fmt::Display {
    /// Bytes of space needed, if that was all.
    fn needed(&self) -> Option<usize>;
}

impl NeedsSpace for EncodeError {
    fn needed(&self) -> Option<usize> {
        match self {
            Self::InsufficientSize(InsufficientSizeError { required_size }) => Some(*required_size),
            Self::AlreadyEncoded => None,
        }
    }
}

impl NeedsSpace for EncryptError {
    fn needed(&self) -> Option<usize> {
        match self {
            Self::InsufficientSize(InsufficientSizeError { required_size }) => Some(*required_size),
            Self::EncryptExhausted => None,
        }
    }
}

impl TlsSession for Session {
    fn handshake(&mut self) -> Result<Progress> {
        self.listen();
        let written = self.outgoing.len();
        let performed = self.perform(Job::Handshake);
        self.hello.sent(&self.outgoing[written..]);
        Ok(performed?.map_or(Progress::NeedsInput, |_| Progress::Done))
    }

    fn encrypt(&mut self, plaintext: &[u8]) -> Result<()> {
        match self.perform(Job::Encrypt(plaintext))? {
            Some(_) => Ok(()),
            None => Err(WireError::Tls(
                "there is nobody to encrypt for before the handshake".into(),
            )),
        }
    }

    fn decrypt(&mut self, plaintext: &mut [u8]) -> Result<usize> {
        if !self.surplus.is_empty() {
            return Ok(self.surplus.read(plaintext)?);
        }
        if self.incoming.unread().is_empty() {
            return Ok(0);
        }
        Ok(self.perform(Job::Decrypt(plaintext))?.unwrap_or(0))
    }

    fn close(&mut self) {
        // A goodbye that cannot be said changes nothing: the socket is closed next.
        let _ = self.perform(Job::Close);
    }

    fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    fn incoming(&mut self) -> &mut ReadBuffer {
        &mut self.incoming
    }

    fn summary(&self) -> TlsSummary {
        let suite = self.connection.negotiated_cipher_suite();
        TlsSummary {
            version: match self.connection.protocol_version() {
                Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
                Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
                _ => "",
            },
            cipher: suite.map_or("", |suite| config::openssl_name(suite.suite())),
            group: group_called(self.group_name()),
            offered: self
                .resumable
                .as_ref()
                .is_some_and(|resumable| resumable.offered()),
            resumed: self.connection.handshake_kind() == Some(HandshakeKind::Resumed),
        }
    }

    fn alpn(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    fn end_point(&self) -> Result<Vec<u8>> {
        let chain = self.connection.peer_certificates();
        let leaf = chain.and_then(<[_]>::first).map(|leaf| X509::from_der(leaf));
        certificate::end_point(leaf.transpose().map_err(certificate::unreadable)?.as_deref())
    }

    fn facts(&self) -> Result<TlsFacts> {
        let summary = self.summary();
        let chain = self.certificates()?;
        let leaf = chain.first().map(|leaf| &**leaf);
        let certificates = chain.iter().map(|certificate| &**certificate);
        Ok(TlsFacts {
            version: summary.version.to_owned(),
            cipher: summary.cipher.to_owned(),
            group: summary
                .group
                .map_or(self.group_name(), |group| group.name())
                .to_owned(),
            certificate: certificate::facts(leaf, certificates, summary.resumed)?,
            resumed: summary.resumed,
            hello_retry_request: self.hello.hello_retry_request(),
            client_hello_bytes: self.hello.client_hello_bytes(),
            verification: self.verification,
            client_library: LIBRARY.to_owned(),
        })
    }

    fn chain(&self) -> Result<Vec<ChainCertificate>> {
        let sent = self.certificates()?;
        certificate::chain(sent.iter().map(|certificate| &**certificate))
    }
}
