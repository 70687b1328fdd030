//! From an address to a session that can be asked, and members that say nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf, cstr};
use bson::rawdoc;
use ciphertax_base::{AuthenticationFacts, ConnectTrace, LoginPath, Phase, Secret};
use ciphertax_model::AuthenticationMethod;
use ciphertax_reactor::Reactor;

use super::identity::Identity;
use super::login::{Account, Attempt};
use super::message::Messages;
use super::reply::number;
use super::session::Session;
use super::unreadable;
use crate::address::{Address, Place, reach};
use crate::error::{Result, WireError};
use crate::scram::{Mechanism, ScramKeys};
use crate::tls::{Offer, TlsConnector};
use crate::trace::Tracer;

/// What MongoDB 4.4 says of itself: the first to know `hello` and logins that begin with it.
const OLDEST_WIRE_VERSION: i64 = 9;

/// Connects, negotiates TLS where asked for, greets (the phase `preface`), and logs in, unless another server answers than
/// the one that is expected.
pub(super) async fn connect_offering(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    offer: Offer,
) -> Result<(Session, ConnectTrace)> {
    let mut attempt = Attempt::new(options)?;
    let mut tracer = Tracer::start();
    let place = Place {
        relay: options.relay,
        socket: None,
        host: &options.host,
        port: options.port,
    };
    let mut stream = reach(reactor, place, &mut tracer).await?;
    if let Some(tls) = &options.tls {
        let shaken = stream.start_tls(tls, &options.host, offer).await;
        let cpu_ns = shaken.map_err(|error| stream.hung_up(error, true))?;
        tracer.end(Phase::Tls, stream.traffic(), Some(cpu_ns));
    }

    let mut messages = Messages::new(stream);
    let step = attempt
        .as_ref()
        .filter(|_| options.speculative)
        .map(Attempt::speculative_step);
    let user = attempt.as_ref().and_then(Attempt::user_without_mechanism);
    let greeted = greet(&mut messages, step.as_deref(), user.as_deref()).await;
    let Greeted {
        identity,
        answer,
        knows_sha_256,
    } = greeted.map_err(|error| match &options.tls {
        None => messages.stream.hung_up(error, false),
        Some(tls) if error.is_end() && !tls.shows_certificate() => WireError::CertificateDemanded,
        Some(_) => error,
    })?;
    if let Some(problem) = options.identity.contradicted_by(&identity) {
        let address = Address {
            host: options.host.clone(),
            port: options.port,
        }
        .to_string();
        return Err(WireError::OtherServer { address, problem });
    }
    tracer.end(Phase::Preface, messages.stream.traffic(), None);

    let mut facts = AuthenticationFacts {
        method: AuthenticationMethod::NoLogin.name().to_owned(),
        path: LoginPath::Single,
    };
    if user.is_some() && answer.is_none() && !knows_sha_256 {
        attempt = attempt.map(Attempt::by_sha_1).transpose()?;
    }
    if let Some(attempt) = attempt {
        attempt.method().clone_into(&mut facts.method);
        let logged_in = attempt.complete(&mut messages, answer).await?;
        tracer.end(Phase::Auth, messages.stream.traffic(), logged_in.cpu_ns);
        facts.path = logged_in.path;
    }
    Ok((Session::new(messages, facts, identity), tracer.finish()))
}

/// What a greeting brings.
struct Greeted {
    identity: Identity,
    /// The answer to the first step of a login.
    answer: Option<RawDocumentBuf>,
    /// True if the server has SCRAM-SHA-256 for the user whom it was asked for.
    knows_sha_256: bool,
}

/// Says `hello`, along with the first `step` of a login, and asks which mechanisms there are for `user`. Compression is not
/// offered, so it is not had.
async fn greet(messages: &mut Messages, step: Option<&RawDocument>, user: Option<&str>) -> Result<Greeted> {
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
    if let Some(user) = user {
        hello.append(cstr!("saslSupportedMechs"), user);
    }
    let answer = messages.command(&hello).await?.document();
    let get = |name: &str| answer.get(name).map_err(unreadable);
    let version = get("maxWireVersion")?.and_then(number).unwrap_or(0);
    if version < OLDEST_WIRE_VERSION {
        return Err(WireError::protocol("the server is older than MongoDB 4.4"));
    }
    let identity = Identity::parse(answer);
    let longest = get("maxMessageSizeBytes")?.and_then(number);
    let step = match get("speculativeAuthenticate")? {
        Some(RawBsonRef::Document(answer)) if step.is_some() => Some(answer.to_owned()),
        _ => None,
    };
    let sha_256 = AuthenticationMethod::ScramSha256.name();
    let knows_sha_256 = match get("saslSupportedMechs")? {
        Some(RawBsonRef::Array(mechanisms)) => mechanisms
            .into_iter()
            .any(|mechanism| mechanism.is_ok_and(|mechanism| mechanism.as_str() == Some(sha_256))),
        _ => false,
    };
    if let Some(longest) = longest {
        messages.limit(usize::try_from(longest).unwrap_or(0));
    }
    Ok(Greeted {
        identity,
        answer: step,
        knows_sha_256,
    })
}

/// What a connection needs to know.
#[derive(Clone)]
pub struct ConnectOptions {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// A relay before the server, which is then connected to in its place.
    pub relay: Option<SocketAddr>,
    /// Who logs in, and how.
    pub login: Login,
    /// TLS; `None` for a plaintext connection.
    pub tls: Option<Arc<TlsConnector>>,
    /// Sends the first step of the login along with the greeting, which saves a round trip.
    pub speculative: bool,
    /// Where SCRAM takes its keys from.
    pub scram_keys: ScramKeys,
    /// Who must answer: any other server is refused before the login.
    pub identity: Identity,
}

impl ConnectOptions {
    /// A plaintext connection whose login begins with the greeting and derives SCRAM's keys anew.
    pub fn new(host: impl Into<String>, port: u16, login: Login) -> Self {
        Self {
            host: host.into(),
            port,
            relay: None,
            login,
            tls: None,
            speculative: true,
            scram_keys: ScramKeys::Derived,
            identity: Identity::default(),
        }
    }
}

/// How a connection logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// Not at all: to a server without access control, or for commands that need none.
    None,
    /// With a password that is not sent.
    Scram(Account),
    /// By the certificate that the client shows in the TLS handshake.
    X509,
}

impl Login {
    /// A login by this method; user and password are those of an account that the database `admin` knows. `None` for a
    /// method that is not MongoDB's.
    pub fn by(method: AuthenticationMethod, user: impl Into<String>, password: Secret) -> Option<Self> {
        let scram = |mechanism| Account {
            mechanism: Some(mechanism),
            user: user.into(),
            password,
            source: "admin".to_owned(),
        };
        match method {
            AuthenticationMethod::ScramSha1 => Some(Self::Scram(scram(Mechanism::ScramSha1))),
            AuthenticationMethod::ScramSha256 => Some(Self::Scram(scram(Mechanism::ScramSha256))),
            AuthenticationMethod::MongodbX509 => Some(Self::X509),
            AuthenticationMethod::NoLogin => Some(Self::None),
            _ => None,
        }
    }

    /// The method, whose name is the server's; `None` where the server says which.
    pub fn method(&self) -> Option<AuthenticationMethod> {
        match self {
            Self::None => Some(AuthenticationMethod::NoLogin),
            Self::Scram(account) => account.mechanism.map(Mechanism::method),
            Self::X509 => Some(AuthenticationMethod::MongodbX509),
        }
    }
}

/// How long a member that was waited for in vain is not to be waited for again.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Since when which members are silent. The whole process shares it: whoever opens one connection after the other looks
/// at the set each time, and is not to wait each time.
static SILENCE: Mutex<Silence> = Mutex::new(Silence(BTreeMap::new()));

pub(super) struct Silence(BTreeMap<Address, Instant>);

impl Silence {
    /// Notes a member that was waited for in vain; one that is known already is forgotten none the later.
    pub(super) fn note(address: &Address) {
        Self::current()
            .0
            .entry(address.clone())
            .or_insert_with(Instant::now);
    }

    /// Notes a member that has answered.
    pub(super) fn is_over(address: &Address) {
        Self::current().0.remove(address);
    }

    /// True if the member was waited for in vain within the last minute.
    pub(super) fn is_known(address: &Address) -> bool {
        Self::current().0.contains_key(address)
    }

    /// Without what is to be forgotten.
    fn current() -> MutexGuard<'static, Self> {
        let mut silence = SILENCE.lock().unwrap_or_else(PoisonError::into_inner);
        silence.0.retain(|_, since| since.elapsed() < REMEMBERED);
        silence
    }
}
