//! From an address to a connection that can be logged in over.

use std::rc::Rc;

use bytes::BytesMut;
use ciphertax_reactor::Reactor;
use ciphertax_records::Phase;
use postgres_protocol::message::frontend;

use super::messages::{ERROR, Messages};
use super::options::{ALPN, ConnectOptions, Negotiation};
use crate::error::WireError;
use crate::reach::reach;
use crate::stream::Stream;
use crate::tls::{Offer, TlsConnector};
use crate::trace::Tracer;

/// Connects and begins TLS where asked for.
pub(super) async fn open(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    offer: Offer,
    tracer: &mut Tracer,
) -> Result<Messages, WireError> {
    let stream = reach(
        reactor,
        options.socket.as_deref(),
        &options.host,
        options.port,
        tracer,
    )
    .await?;
    let mut messages = Messages::new(stream);
    let Some(tls) = &options.tls else {
        return Ok(messages);
    };
    let cpu_ns = match options.negotiation {
        Negotiation::Request => {
            request_tls(&mut messages).await?;
            tracer.end(Phase::Preface, messages.stream.traffic(), None);
            messages.stream.start_tls(tls, offer).await?
        }
        Negotiation::Direct => begin_tls(&mut messages.stream, tls, offer).await?,
    };
    tracer.end(Phase::Tls, messages.stream.traffic(), Some(cpu_ns));
    Ok(messages)
}

/// Asks for TLS and waits for the server's yes.
async fn request_tls(messages: &mut Messages) -> Result<(), WireError> {
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
async fn begin_tls(stream: &mut Stream, tls: &TlsConnector, offer: Offer) -> Result<u64, WireError> {
    let shaken = stream.start_tls(tls, offer).await;
    let cpu_ns = shaken.map_err(|error| stream.hung_up(error, true))?;
    match stream.tls().and_then(|tls| tls.alpn()) {
        Some(protocol) if protocol == ALPN.as_bytes() => Ok(cpu_ns),
        _ => Err(WireError::Tls(format!(
            "direct TLS without an agreement on the protocol {ALPN:?} (ALPN)"
        ))),
    }
}
