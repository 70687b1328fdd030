//! Logins: which one the server asks for, whether that is the one that is wanted, and its steps.

use bytes::BytesMut;
use ciphertax_base::LoginPath;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::message::frontend;

use super::messages::{ERROR, Message, Messages, not_writable};
use super::options::{ConnectOptions, LoggedIn, Method};
use super::result::server_error;
use super::row::int4;
use crate::error::{Result, WireError};
use crate::scram::{Account, Binding, Exchange, Mechanism, Rules};
use crate::trace::thread_cpu_ns;

const AUTHENTICATION: u8 = b'R';

/// A PostgreSQL may be told to ask for fewer iterations than the 4,096 of RFC 7677, for one even (its setting
/// `scram_iterations`), and libpq makes them. It knows the user from the first message of the connection, and salts a password that
/// SASLprep forbids as it is.
pub(crate) const RULES: Rules = Rules {
    fewest_iterations: 1,
    names_user: false,
    takes_any_password: true,
};

/// Says no before anything is sent where the options contradict each other.
pub(super) fn check(options: &ConnectOptions) -> Result<()> {
    match options.method {
        Some(method @ (Method::ScramSha256Plus | Method::Certificate)) if options.tls.is_none() => Err(
            WireError::Authentication(format!("{method} needs TLS, which the login is tied to")),
        ),
        _ => Ok(()),
    }
}

/// Does what the server asks, if it is what is wanted, until the client is let in.
pub(super) async fn log_in(messages: &mut Messages, options: &ConnectOptions) -> Result<LoggedIn> {
    let asked = match Request::parse(messages.read().await?)? {
        Request::Nothing => {
            let method = without_question(options)?;
            return Ok(single(method, 0));
        }
        asked => asked,
    };
    let method = asked.method(options)?;
    let began = thread_cpu_ns();
    let logged_in = match asked {
        Request::Sasl { offers_plus } => {
            let binding = binding(messages, method, offers_plus)?;
            scram(messages, options, method, binding).await?
        }
        Request::Md5(salt) => {
            let (user, password) = (options.user.as_bytes(), options.password.expose().as_bytes());
            let answer = md5_hash(user, password, salt);
            let cpu_ns = thread_cpu_ns() - began;
            send_password(messages, answer.as_bytes()).await?;
            single(method, cpu_ns)
        }
        _ => {
            send_password(messages, options.password.expose().as_bytes()).await?;
            single(method, thread_cpu_ns() - began)
        }
    };
    match Request::parse(messages.read().await?)? {
        Request::Nothing => Ok(logged_in),
        _ => Err(WireError::protocol("a login that goes on after its last step")),
    }
}

fn single(method: Method, cpu_ns: u64) -> LoggedIn {
    LoggedIn {
        method,
        path: LoginPath::Single,
        iterations: None,
        cpu_ns,
    }
}

/// What a server means that lets the client in at once.
fn without_question(options: &ConnectOptions) -> Result<Method> {
    match options.method {
        None => Ok(Method::Trust),
        Some(method) if !method.has_password() => Ok(method),
        Some(method) => Err(WireError::Authentication(format!(
            "the server asks for nothing (trust or a client's certificate); expected {method}"
        ))),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Nothing,
    Password,
    Md5([u8; 4]),
    Sasl { offers_plus: bool },
}

impl Request {
    fn parse(message: Message<'_>) -> Result<Self> {
        let (kind, rest) = authentication(message)?;
        match (kind, rest) {
            (0, []) => Ok(Self::Nothing),
            (3, []) => Ok(Self::Password),
            (5, &[a, b, c, d]) => Ok(Self::Md5([a, b, c, d])),
            (10, mechanisms) => {
                let (mut offers, mut offers_plus) = (false, false);
                for mechanism in mechanisms.split(|byte| *byte == 0) {
                    offers |= mechanism == Method::ScramSha256.name().as_bytes();
                    offers_plus |= mechanism == Method::ScramSha256Plus.name().as_bytes();
                }
                if !offers && !offers_plus {
                    return Err(other("a SASL mechanism that is not SCRAM-SHA-256"));
                }
                Ok(Self::Sasl { offers_plus })
            }
            (2, []) => Err(other("Kerberos")),
            (7 | 8, _) => Err(other("GSSAPI")),
            (9, _) => Err(other("SSPI")),
            (11 | 12, _) => Err(WireError::protocol("a step of a login that was not begun")),
            _ => Err(WireError::protocol("a request to log in that cannot be read")),
        }
    }

    /// The method that answers it, if it is allowed.
    fn method(self, options: &ConnectOptions) -> Result<Method> {
        let wanted = options.method;
        let method = match self {
            Self::Nothing => Method::Trust,
            Self::Password => Method::Password,
            Self::Md5(_) => Method::Md5,
            Self::Sasl { offers_plus } => match wanted {
                Some(Method::ScramSha256Plus) if !offers_plus => {
                    return Err(WireError::Authentication(format!(
                        "the server does not offer {}",
                        Method::ScramSha256Plus
                    )));
                }
                Some(Method::ScramSha256) => Method::ScramSha256,
                _ if offers_plus && options.tls.is_some() => Method::ScramSha256Plus,
                _ => Method::ScramSha256,
            },
        };
        match wanted {
            Some(wanted) if wanted != method => Err(WireError::Authentication(format!(
                "the server asks for {method}; expected {wanted}, which its pg_hba.conf and the kind of password that the \
                 account has (password_encryption) decide"
            ))),
            // psql sends it to whoever asks, unless require_auth says otherwise.
            None if method == Method::Password && options.tls.is_none() && options.socket.is_none() => {
                Err(WireError::PasswordWithheld(
                    "the server asks for it as it is, and without TLS anybody could read it; log in over TLS, or have \
                     pg_hba.conf ask for scram-sha-256"
                        .into(),
                ))
            }
            _ => Ok(method),
        }
    }
}

fn other(what: &str) -> WireError {
    WireError::Authentication(format!(
        "the server asks for {what}, which ciphertax does not speak"
    ))
}

/// The kind of a step of the login, and what it says.
fn authentication(message: Message<'_>) -> Result<(i32, &[u8])> {
    match message.kind {
        AUTHENTICATION => {
            int4(message.body).ok_or_else(|| WireError::protocol("a request to log in that cannot be read"))
        }
        ERROR => Err(server_error(message.body)),
        _ => Err(message.unexpected("a step of the login")),
    }
}

/// What the login is tied to. Who could tie it but was not offered to says so: then the server finds out that somebody
/// between them left the offer out. Who is told to leave it cannot say so.
fn binding(messages: &Messages, method: Method, offered: bool) -> Result<Binding> {
    match (messages.stream.tls(), method) {
        (Some(tls), Method::ScramSha256Plus) => Ok(Binding::EndPoint(tls.end_point()?)),
        (Some(_), _) if !offered => Ok(Binding::NotOffered),
        _ => Ok(Binding::None),
    }
}

/// The exchange of SCRAM, up to the proof that the server knows the password too.
async fn scram(
    messages: &mut Messages,
    options: &ConnectOptions,
    method: Method,
    binding: Binding,
) -> Result<LoggedIn> {
    let mut exchange = Exchange::new(account(options), &options.scram_keys, binding)?;
    let mut message = BytesMut::new();
    let first = exchange.first_message();
    frontend::sasl_initial_response(method.name(), first.as_bytes(), &mut message).map_err(not_writable)?;
    messages.stream.send(&message).await?;

    let (kind, challenge) = authentication(messages.read().await?)?;
    if kind != 11 {
        return Err(WireError::protocol("a login without a challenge"));
    }
    let last = exchange.final_message(challenge)?;
    message.clear();
    frontend::sasl_response(last.as_bytes(), &mut message).map_err(not_writable)?;
    messages.stream.send(&message).await?;

    let (kind, signature) = authentication(messages.read().await?)?;
    if kind != 12 {
        // Whoever lets the client in here has not shown that it knows the password.
        exchange.verify(&[])?;
        return Err(WireError::protocol("a login that does not end"));
    }
    exchange.verify(signature)?;
    Ok(LoggedIn {
        method,
        path: exchange.path,
        iterations: exchange.iterations,
        cpu_ns: exchange.cpu_ns,
    })
}

/// Who logs in by SCRAM.
pub(super) fn account(options: &ConnectOptions) -> Account<'_> {
    Account {
        rules: RULES,
        mechanism: Mechanism::ScramSha256,
        user: &options.user,
        realm: "",
        password: &options.password,
    }
}

async fn send_password(messages: &mut Messages, password: &[u8]) -> Result<()> {
    let mut message = BytesMut::new();
    frontend::password_message(password, &mut message).map_err(not_writable)?;
    messages.stream.send(&message).await
}
