//! Setting up servers that run: a replica set, with accounts.
//!
//! The first account is made over MongoDB's localhost exception, by which a server without accounts lets one be made
//! from its own machine. So no password is ever in an argument list or a file.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_model::{AuthenticationMethod, ReplicaSet};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mongodb::bson::raw::{RawBsonRef, RawDocument};
use ciphertax_wire::mongodb::bson::{RawArrayBuf, RawDocumentBuf, rawdoc};
use ciphertax_wire::mongodb::{ConnectOptions, Login, Session};
use ciphertax_wire::{Session as _, WireError};

use crate::accounts::Account;
use crate::catalogue::Entry;
use crate::error::{Error, Result};
use crate::server::family::Members;
use crate::server::{PrivateServer, ask_within};

pub(super) const SET_NAME: &str = "ciphertax";

/// How long a replica set may take to elect a primary and to copy what it has, which is nothing.
const PATIENCE: Duration = Duration::from_secs(60);

const ASK_AGAIN: Duration = Duration::from_millis(10);

/// After this long without a word of the primary, another one is elected. The default is 10 s.
const ELECTION_TIMEOUT_MS: i32 = 2000;

/// How long a primary that has stepped down must not become one again, in seconds.
const STEP_DOWN_S: i32 = 10;

/// Codes of errors: Unauthorized, and that of an account that is there already.
const UNAUTHORIZED: i32 = 13;
const USER_EXISTS: i32 = 51003;

/// States of members, by their numbers in `replSetGetStatus`.
const PRIMARY: i64 = 1;
const SECONDARY: i64 = 2;

/// Makes servers that have just started a replica set, if they are to be one, and the accounts.
pub(super) fn set_up(
    entry: &Entry,
    members: &Members,
    replica_set: Option<ReplicaSet>,
    accounts: &[Account],
) -> Result<()> {
    let servers = &members.from_beside[..];
    run(entry, async |reactor| {
        let Some(set) = replica_set else {
            return make_accounts(reactor, servers[0], accounts, 1).await.map(drop);
        };
        let mut session = connect(reactor, servers[0], Login::None).await?;
        session.command(&initiation(&members.by_clients, set)).await?;
        with_primary(reactor, servers, async |primary| {
            let mut session = make_accounts(reactor, primary, accounts, servers.len()).await?;
            until_all_have_the_data(reactor, &mut session).await
        })
        .await
    })
}

/// Makes the accounts, all of them on so many servers, and returns a session of the first.
async fn make_accounts(
    reactor: &Rc<Reactor>,
    primary: SocketAddr,
    accounts: &[Account],
    servers: usize,
) -> Result<Session, WireError> {
    let mut session = connect(reactor, primary, Login::None).await?;
    if let Some((first, others)) = accounts.split_first() {
        // Once it is there, made with an earlier primary, nobody makes it without a login.
        make(&mut session, first, servers, &[USER_EXISTS, UNAUTHORIZED]).await?;
        session = connect(reactor, primary, login(first)?).await?;
        for account in others {
            make(&mut session, account, servers, &[USER_EXISTS]).await?;
        }
    }
    Ok(session)
}

/// Makes an account, on so many servers; these codes of errors say that it is there already.
async fn make(
    session: &mut Session,
    account: &Account,
    servers: usize,
    is_there: &[i32],
) -> Result<(), WireError> {
    match session.command(&creation(account, servers)).await {
        Err(WireError::Command { code, .. }) if is_there.contains(&code) => Ok(()),
        made => made.map(drop),
    }
}

/// Runs a task to its end, but for no longer than [`PATIENCE`].
pub(super) fn run<T>(
    entry: &Entry,
    task: impl AsyncFnOnce(&Rc<Reactor>) -> Result<T, WireError>,
) -> Result<T> {
    ask_within(PATIENCE, "it was not done", task)
        .and_then(|outcome| outcome.map_err(|error| error.to_string()))
        .map_err(|problem| Error::set_up(entry.name, problem))
}

/// Opens a session in plaintext.
pub(super) async fn connect(
    reactor: &Rc<Reactor>,
    server: SocketAddr,
    login: Login,
) -> Result<Session, WireError> {
    let options = ConnectOptions::new(server.ip().to_string(), server.port(), login);
    Ok(Session::connect(reactor, &options).await?.0)
}

/// How an account logs in over a plaintext connection.
pub(super) fn login(account: &Account) -> Result<Login, WireError> {
    Login::by(account.method, account.user.clone(), account.password.clone())
        .ok_or_else(|| WireError::Authentication(format!("{} is not MongoDB's", account.method)))
}

/// Asks servers in turn until one of those that will do says that it is the primary. One that does not answer is none.
pub(super) async fn find_primary(
    reactor: &Rc<Reactor>,
    servers: &[SocketAddr],
    will_do: impl Fn(SocketAddr) -> bool,
) -> Result<SocketAddr, WireError> {
    loop {
        for server in servers.iter().copied().filter(|server| will_do(*server)) {
            let Ok(mut session) = connect(reactor, server, Login::None).await else {
                continue;
            };
            let hello = rawdoc! { "hello": 1_i32, "$db": "admin" };
            let answer = session.command(&hello).await;
            if answer.is_ok_and(|answer| matches!(answer.get_bool("isWritablePrimary"), Ok(true))) {
                return Ok(server);
            }
        }
        reactor.sleep_until(Instant::now() + ASK_AGAIN).await;
    }
}

/// Does work with the primary, and anew with the next one if that was none any more: whenever the machine stands still for a
/// while, the members elect another.
async fn with_primary<T>(
    reactor: &Rc<Reactor>,
    servers: &[SocketAddr],
    work: impl AsyncFn(SocketAddr) -> Result<T, WireError>,
) -> Result<T, WireError> {
    loop {
        let primary = find_primary(reactor, servers, |_| true).await?;
        let outcome = work(primary).await;
        let is_none_any_more = match &outcome {
            Err(error) if error.is_not_primary() => true,
            // It hangs up on everybody before it takes back what the next primary does not have.
            Err(error) if error.is_disconnect() => connect(reactor, primary, Login::None).await.is_ok(),
            _ => false,
        };
        if !is_none_any_more {
            return outcome;
        }
        reactor.sleep_until(Instant::now() + ASK_AGAIN).await;
    }
}

/// Asks the primary until every member has copied what it has and can be read from.
async fn until_all_have_the_data(reactor: &Rc<Reactor>, primary: &mut Session) -> Result<(), WireError> {
    let ask = rawdoc! { "replSetGetStatus": 1_i32, "$db": "admin" };
    loop {
        if all_have_the_data(&primary.command(&ask).await?) {
            return Ok(());
        }
        reactor.sleep_until(Instant::now() + ASK_AGAIN).await;
    }
}

fn all_have_the_data(status: &RawDocument) -> bool {
    let Ok(members) = status.get_array("members") else {
        return false;
    };
    let mut last = None;
    members.into_iter().all(|member| {
        let Some((PRIMARY | SECONDARY, written)) = member.ok().and_then(state_and_last_write) else {
            return false;
        };
        *last.get_or_insert(written) == written
    })
}

/// What a member is, and how far it has come in the log that all of them share.
fn state_and_last_write(member: RawBsonRef<'_>) -> Option<(i64, &RawDocument)> {
    let member = member.as_document()?;
    let state = member.get("state").ok().flatten()?;
    let state = state.as_i64().or(state.as_i32().map(i64::from))?;
    Some((state, member.get_document("optime").ok()?))
}

/// The command that makes servers a replica set, with the addresses by which their clients find them. One more than its
/// members is for reading only.
fn initiation(addresses: &[SocketAddr], set: ReplicaSet) -> RawDocumentBuf {
    let mut members = RawArrayBuf::new();
    for (number, address) in (0_i32..).zip(addresses) {
        let votes = number < i32::from(set.members);
        members.push(rawdoc! {
            "_id": number,
            "host": address.to_string(),
            "priority": i32::from(votes),
            "votes": i32::from(votes),
        });
    }
    rawdoc! {
        "replSetInitiate": {
            "_id": SET_NAME,
            "members": members,
            "settings": { "electionTimeoutMillis": ELECTION_TIMEOUT_MS },
        },
        "$db": "admin",
    }
}

/// The command that makes an account that may do everything, on all of so many servers.
fn creation(account: &Account, servers: usize) -> RawDocumentBuf {
    let user = account.user.as_str();
    // There are six at most.
    let everywhere = rawdoc! { "w": servers as i32 };
    match account.method {
        AuthenticationMethod::MongodbX509 => rawdoc! {
            "createUser": user,
            "roles": [{ "role": "root", "db": "admin" }],
            "writeConcern": everywhere,
            "$db": "$external",
        },
        method => rawdoc! {
            "createUser": user,
            "pwd": account.password.expose(),
            "roles": ["root"],
            "mechanisms": [method.name()],
            "writeConcern": everywhere,
            "$db": "admin",
        },
    }
}

/// Of replica sets alone.
impl PrivateServer {
    /// The replica set's name; `None` for a server that is none.
    pub fn set_name(&self) -> Option<&'static str> {
        self.replica_set.map(|_| SET_NAME)
    }

    /// The primary of the replica set.
    ///
    /// # Errors
    /// If there is none, and none is elected in time.
    pub fn primary(&self) -> Result<SocketAddr> {
        run(self.entry(), async |reactor| {
            find_primary(reactor, &self.addresses(), |_| true).await
        })
    }

    /// Makes the primary of the replica set step down, waits until there is another, and returns where that is reached.
    ///
    /// # Errors
    /// If there is no primary, it does not step down, or no other is elected in time.
    pub fn step_down(&self) -> Result<SocketAddr> {
        let (servers, account) = (self.addresses(), self.default_account());
        run(self.entry(), async |reactor| {
            let old = with_primary(reactor, &servers, async |primary| {
                let mut session = connect(reactor, primary, login(account)?).await?;
                let command = rawdoc! { "replSetStepDown": STEP_DOWN_S, "$db": "admin" };
                session.command(&command).await.map(|_| primary)
            })
            .await?;
            find_primary(reactor, &servers, |server| server != old).await
        })
    }
}
