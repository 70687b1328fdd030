//! From an address to a session that can be asked.

use std::rc::Rc;

use bytes::BytesMut;
use ciphertax_base::{ConnectTrace, Phase};
use ciphertax_reactor::Reactor;
use postgres_protocol::message::frontend;

use super::authentication;
use super::messages::{ERROR, Messages, not_writable};
use super::options::{ALPN, ConnectOptions, Negotiation, ProtocolVersion};
use super::result::{READY, server_error};
use super::row::int4;
use super::session::Session;
use crate::address::{Place, reach};
use crate::error::{Result, WireError};
use crate::stream::Stream;
use crate::tls::{Offer, TlsConnector};
use crate::trace::Tracer;

/// Connects and begins TLS where asked for.
pub(super) async fn open(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    offer: Offer,
    tracer: &mut Tracer,
) -> Result<Messages> {
    let place = Place {
        relay: options.relay,
        socket: options.socket.as_deref(),
        host: &options.host,
        port: options.port,
    };
    let stream = reach(reactor, place, tracer).await?;
    let mut messages = Messages::new(stream);
    let Some(tls) = &options.tls else {
        return Ok(messages);
    };
    let cpu_ns = match options.negotiation {
        Negotiation::Request => {
            request_tls(&mut messages).await?;
            tracer.end(Phase::Preface, messages.stream.traffic(), None);
            messages.stream.start_tls(tls, &options.host, offer).await?
        }
        Negotiation::Direct => begin_tls(&mut messages.stream, tls, &options.host, offer).await?,
    };
    tracer.end(Phase::Tls, messages.stream.traffic(), Some(cpu_ns));
    Ok(messages)
}

async fn request_tls(messages: &mut Messages) -> Result<()> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    messages.stream.send(&request).await?;
    match messages.answer_to_request_for_tls().await? {
        b'S' => Ok(()),
        b'N' => Err(WireError::TlsNotOffered),
        // What it says was said by nobody known (CVE-2024-10977).
        ERROR => Err(WireError::protocol(
            "an error instead of an answer to the request for TLS: it is too old or has no room for a connection",
        )),
        _ => Err(WireError::protocol(
            "the answer to the request for TLS is not that of a PostgreSQL server: is it another server's port?",
        )),
    }
}

/// Begins TLS without a question. That the server agrees to the protocol's name shows that it knows what is meant.
async fn begin_tls(stream: &mut Stream, tls: &TlsConnector, host: &str, offer: Offer) -> Result<u64> {
    let shaken = stream.start_tls(tls, host, offer).await;
    let cpu_ns = shaken.map_err(|error| stream.hung_up(error, true))?;
    match stream.tls().and_then(|tls| tls.alpn()) {
        Some(protocol) if protocol == ALPN.as_bytes() => Ok(cpu_ns),
        _ => Err(WireError::Tls(format!(
            "direct TLS without an agreement on the protocol {ALPN:?} (ALPN)"
        ))),
    }
}

const NEGOTIATE_VERSION: u8 = b'v';
const BACKEND_KEY: u8 = b'K';
/// Bytes of what cancels a query, at most (protocol 3.2).
const LONGEST_KEY: usize = 256;
/// How much of a version's number is the minor one.
const MINOR: i32 = 0xFFFF;

/// Connects, negotiates TLS where asked for, logs in and waits until the server is ready.
pub(super) async fn connect_offering(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    offer: Offer,
) -> Result<(Session, ConnectTrace)> {
    authentication::check(options)?;
    let mut tracer = Tracer::start();
    let mut messages = open(reactor, options, offer, &mut tracer).await?;
    messages.stream.send(&startup(options)?).await?;
    let protocol = version(&mut messages, options).await?;
    let logged_in = authentication::log_in(&mut messages, options).await?;
    tracer.end(Phase::Auth, messages.stream.traffic(), Some(logged_in.cpu_ns));

    messages.logged_in();
    let process = await_ready(&mut messages).await?;
    tracer.end(Phase::Setup, messages.stream.traffic(), None);
    Ok((
        Session::new(messages, logged_in, protocol, process),
        tracer.finish(),
    ))
}

/// The first message: the version, who connects to what, and settings.
fn startup(options: &ConnectOptions) -> Result<BytesMut> {
    let user = [("user", options.user.as_str())];
    let database = options.database.as_deref().map(|database| ("database", database));
    let schema = options.schema.as_deref().map(|schema| ("search_path", schema));
    let settings = options
        .settings
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let parameters = user
        .into_iter()
        .chain(database)
        .chain([("client_encoding", "UTF8")])
        .chain(schema)
        .chain(settings);
    let mut message = BytesMut::new();
    frontend::startup_message(parameters, &mut message).map_err(not_writable)?;
    // It is written as one of 3.0; the version follows the length.
    message[4..8].copy_from_slice(&options.protocol.number().to_be_bytes());
    Ok(message)
}

/// The version of the protocol: that which was asked for, unless the server says that it has an older one.
async fn version(messages: &mut Messages, options: &ConnectOptions) -> Result<ProtocolVersion> {
    let Some(body) = messages.read_if(NEGOTIATE_VERSION).await? else {
        return Ok(options.protocol);
    };
    let unreadable = || WireError::protocol("a version of the protocol that nobody asked for");
    let (newest, rest) = int4(body).ok_or_else(unreadable)?;
    let (unknown, _) = int4(rest).ok_or_else(unreadable)?;
    // Said as the minor version alone, or with the major one before it.
    let is_3 = newest <= MINOR || newest & !MINOR == ProtocolVersion::V3_0.number();
    let is_older = (0..options.protocol.number() & MINOR).contains(&(newest & MINOR));
    // Of the versions between there is none that anybody speaks.
    if !is_3 || !is_older || newest & MINOR != 0 || unknown != 0 {
        return Err(unreadable());
    }
    Ok(ProtocolVersion::V3_0)
}

/// Reads what the server says of itself until it is ready, and tells which of its processes it is; 0 if it has not told.
async fn await_ready(messages: &mut Messages) -> Result<u32> {
    let mut process = None;
    loop {
        let message = messages.read().await?;
        match message.kind {
            BACKEND_KEY if process.is_none() => {
                let (number, _) = int4(message.body)
                    .filter(|(_, secret)| (1..=LONGEST_KEY).contains(&secret.len()))
                    .ok_or_else(|| WireError::protocol("a key to cancel by that is none"))?;
                process = Some(number.cast_unsigned());
            }
            READY => {
                messages.ready()?;
                return Ok(process.unwrap_or(0));
            }
            ERROR => return Err(server_error(message.body)),
            _ => return Err(message.unexpected("the end of the login")),
        }
    }
}
