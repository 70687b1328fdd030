//! Logins: which commands they take, along with the greeting or after it; and whose they are.

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf, cstr};
use bson::spec::BinarySubtype;
use bson::{Binary, rawdoc};
use ciphertax_base::{LoginPath, Secret};
use ciphertax_model::AuthenticationMethod;

use super::connect::{ConnectOptions, Login};
use super::message::Messages;
use super::reply::number;
use super::unreadable;
use crate::error::{Result, WireError};
use crate::scram::{self, Binding, Exchange, Mechanism, Rules, ScramKeys};

/// The database of users that something else than the server knows.
const EXTERNAL: &str = "$external";

/// A login in progress.
pub(super) enum Attempt<'a> {
    Scram {
        exchange: Exchange<'a>,
        account: &'a Account,
        keys: &'a ScramKeys,
        mechanism: Mechanism,
    },
    X509,
}

pub(super) struct LoggedIn {
    pub(super) path: LoginPath,
    /// CPU time of the client's steps in nanoseconds; `None` where there are none.
    pub(super) cpu_ns: Option<u64>,
}

impl<'a> Attempt<'a> {
    /// `None` where there is no login.
    pub(super) fn new(options: &'a ConnectOptions) -> Result<Option<Self>> {
        match &options.login {
            Login::None => Ok(None),
            Login::Scram(account) => {
                let mechanism = account.mechanism.unwrap_or(Mechanism::ScramSha256);
                Self::scram(account, &options.scram_keys, mechanism).map(Some)
            }
            Login::X509 if options.tls.is_none() => Err(WireError::Authentication(
                "MONGODB-X509 needs TLS, where the client shows its certificate".into(),
            )),
            Login::X509 => Ok(Some(Self::X509)),
        }
    }

    fn scram(account: &'a Account, keys: &'a ScramKeys, mechanism: Mechanism) -> Result<Self> {
        Ok(Self::Scram {
            exchange: Exchange::new(account.scram(mechanism), keys, Binding::None)?,
            account,
            keys,
            mechanism,
        })
    }

    /// The user whose mechanisms the greeting asks for (`saslSupportedMechs`), where none is named.
    pub(super) fn user_without_mechanism(&self) -> Option<String> {
        match self {
            Self::Scram { account, .. } if account.mechanism.is_none() => {
                Some(format!("{}.{}", account.source, account.user))
            }
            _ => None,
        }
    }

    /// The same by SHA-1, which drivers take where a server does not name SHA-256.
    pub(super) fn by_sha_1(self) -> Result<Self> {
        match self {
            Self::Scram { account, keys, .. } => Self::scram(account, keys, Mechanism::ScramSha1),
            Self::X509 => Ok(self),
        }
    }

    /// The method, by the server's name for it.
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::Scram { mechanism, .. } => mechanism.method().name(),
            Self::X509 => AuthenticationMethod::MongodbX509.name(),
        }
    }

    /// The first step as it travels with the greeting, where the database is named `db`.
    pub(super) fn speculative_step(&self) -> RawDocumentBuf {
        let mut step = self.first_step();
        step.append(cstr!("db"), self.database());
        step
    }

    /// Takes the login to its end, beginning with the answer that the greeting brought, if it brought one: a server
    /// that does not know the user, or speculation, leaves it out.
    pub(super) async fn complete(
        mut self,
        messages: &mut Messages,
        answer: Option<RawDocumentBuf>,
    ) -> Result<LoggedIn> {
        let answer = match answer {
            Some(answer) => answer,
            None => {
                let mut step = self.first_step();
                step.append(cstr!("$db"), self.database());
                messages.command(&step).await?.document().to_owned()
            }
        };
        let Self::Scram {
            exchange, account, ..
        } = &mut self
        else {
            return Ok(LoggedIn {
                path: LoginPath::Single,
                cpu_ns: None,
            });
        };
        let challenge = Step::parse(&answer)?;
        let proof = exchange.final_message(challenge.payload)?;
        let next = rawdoc! {
            "saslContinue": 1_i32,
            "conversationId": challenge.conversation,
            "payload": payload(proof),
            "$db": account.source.as_str(),
        };
        let end = messages.command(&next).await?;
        let end = Step::parse(end.document())?;
        exchange.verify(end.payload)?;
        if !end.done {
            return Err(WireError::protocol("a login that goes on after its last step"));
        }
        Ok(LoggedIn {
            path: exchange.path,
            cpu_ns: Some(exchange.cpu_ns),
        })
    }

    fn first_step(&self) -> RawDocumentBuf {
        match self {
            Self::Scram { exchange, .. } => rawdoc! {
                "saslStart": 1_i32,
                "mechanism": self.method(),
                "payload": payload(exchange.first_message()),
                // Else the server waits for an empty message after the last.
                "options": { "skipEmptyExchange": true },
            },
            Self::X509 => rawdoc! { "authenticate": 1_i32, "mechanism": "MONGODB-X509" },
        }
    }

    fn database(&self) -> &str {
        match self {
            Self::Scram { account, .. } => &account.source,
            Self::X509 => EXTERNAL,
        }
    }
}

/// The server's half of a step of SCRAM.
struct Step<'a> {
    conversation: i32,
    done: bool,
    payload: &'a [u8],
}

impl<'a> Step<'a> {
    fn parse(document: &'a RawDocument) -> Result<Self> {
        let get = |name: &str| document.get(name).map_err(unreadable);
        let conversation = get("conversationId")?.and_then(number);
        let (Some(conversation), Some(RawBsonRef::Boolean(done)), Some(RawBsonRef::Binary(payload))) = (
            conversation.and_then(|id| i32::try_from(id).ok()),
            get("done")?,
            get("payload")?,
        ) else {
            return Err(WireError::protocol("a step of a login that cannot be read"));
        };
        Ok(Self {
            conversation,
            done,
            payload: payload.bytes,
        })
    }
}

fn payload(text: String) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes: text.into_bytes(),
    }
}

/// MongoDB's specification and RFC 7677, section 4, name 4,096 iterations.
pub(crate) const RULES: Rules = Rules {
    fewest_iterations: 4096,
    names_user: true,
    takes_any_password: false,
};

/// Who logs in by SCRAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The hash; `None` for SHA-256 where the server has it for this user, else SHA-1.
    pub mechanism: Option<Mechanism>,
    /// User name.
    pub user: String,
    /// Password.
    pub password: Secret,
    /// The database that knows the user (`authSource`).
    pub source: String,
}

impl Account {
    /// The same, for the exchange.
    pub(super) fn scram(&self, mechanism: Mechanism) -> scram::Account<'_> {
        scram::Account {
            rules: RULES,
            mechanism,
            user: &self.user,
            realm: &self.source,
            password: &self.password,
        }
    }
}
