//! From an address to a session that can be asked.

use std::rc::Rc;

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf, cstr};
use bson::rawdoc;
use ciphertax_reactor::Reactor;
use ciphertax_records::{ConnectTrace, LoginPath, Phase};

use super::login::{self, Attempt};
use super::message::Messages;
use super::options::ConnectOptions;
use super::reply::number;
use super::session::Session;
use super::unreadable;
use crate::error::WireError;
use crate::reach::reach;
use crate::tls::Offer;
use crate::trace::Tracer;

/// What MongoDB 4.4 says of itself: the first to know `hello` and logins that begin with it.
const OLDEST_WIRE_VERSION: i64 = 9;

impl Session {
    /// Connects, negotiates TLS where asked for, greets, and logs in; the trace tells what each phase took. The phase
    /// `preface` is the greeting (`hello`), which here comes after TLS; without a login there is no phase `auth`.
    ///
    /// # Errors
    /// Whatever keeps the session from being what `options` ask for.
    pub async fn connect(
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
    ) -> Result<(Self, ConnectTrace), WireError> {
        connect(reactor, options, Offer::WhatThereIs).await
    }
}

/// Connects, negotiates TLS where asked for, greets (the phase `preface`), and logs in.
pub(super) async fn connect(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    offer: Offer,
) -> Result<(Session, ConnectTrace), WireError> {
    let attempt = Attempt::new(options)?;
    let mut tracer = Tracer::start();
    let mut stream = reach(reactor, None, &options.host, options.port, &mut tracer).await?;
    if let Some(tls) = &options.tls {
        let shaken = stream.start_tls(tls, offer).await;
        let cpu_ns = shaken.map_err(|error| stream.hung_up(error, true))?;
        tracer.end(Phase::Tls, stream.traffic(), Some(cpu_ns));
    }

    let mut messages = Messages::new(stream);
    let step = attempt
        .as_ref()
        .filter(|_| options.speculative)
        .map(Attempt::speculative_step);
    let greeted = greet(&mut messages, step.as_deref()).await;
    let answer = greeted.map_err(|error| messages.stream.hung_up(error, options.tls.is_some()))?;
    tracer.end(Phase::Preface, messages.stream.traffic(), None);

    let mut path = LoginPath::Single;
    if let Some(attempt) = attempt {
        let logged_in = attempt.complete(&mut messages, answer).await?;
        tracer.end(Phase::Auth, messages.stream.traffic(), logged_in.cpu_ns);
        path = logged_in.path;
    }
    Ok((
        Session::new(messages, login::facts(options, path)),
        tracer.finish(),
    ))
}

/// Says `hello`, along with the first `step` of a login, and returns the answer to that step, if there is one.
/// Compression is not offered, so it is not had.
async fn greet(
    messages: &mut Messages,
    step: Option<&RawDocument>,
) -> Result<Option<RawDocumentBuf>, WireError> {
    let mut hello = rawdoc! {
        "hello": 1_i32,
        "client": {
            "driver": { "name": "ciphertax", "version": env!("CARGO_PKG_VERSION") },
            "os": { "type": std::env::consts::OS },
        },
        "$db": "admin",
    };
    if let Some(step) = step {
        hello.append(cstr!("speculativeAuthenticate"), step);
    }
    let answer = messages.command(&hello).await?.document();
    let get = |name: &str| answer.get(name).map_err(unreadable);
    let version = get("maxWireVersion")?.and_then(number).unwrap_or(0);
    if version < OLDEST_WIRE_VERSION {
        return Err(WireError::protocol("the server is older than MongoDB 4.4"));
    }
    let longest = get("maxMessageSizeBytes")?.and_then(number);
    let step = match get("speculativeAuthenticate")? {
        Some(RawBsonRef::Document(answer)) if step.is_some() => Some(answer.to_owned()),
        _ => None,
    };
    if let Some(longest) = longest {
        messages.limit(usize::try_from(longest).unwrap_or(0));
    }
    Ok(step)
}
