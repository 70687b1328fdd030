//! How clients of a database log in: those of ciphertax, and programs of the user's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use ciphertax_base::Secret;
use ciphertax_lab::Account;
use ciphertax_lab::catalogue::Entry;
use ciphertax_model::load::Placeholder;
use ciphertax_model::{Arm, AuthenticationMethod};
use ciphertax_wire::tls::TlsConnector;
use ciphertax_wire::{Client, Expectation};
use ciphertax_workload::Access;
use ciphertax_workload::sql::Columns;

use super::Canary;
use super::counted::Counted;
use super::program::Reached;
use super::reached::Endpoint;
use crate::error::Result;

/// The data model of databases that speak SQL.
pub(crate) enum Relational {}
/// That of document databases.
pub(crate) enum Documents {}

/// How a database's clients log in, those of ciphertax and programs of the user's own. The value itself is what one group of servers
/// needs to remember.
pub(crate) trait Clients: Sized + 'static {
    /// What is said of a server that demands TLS, with the settings that have it do so.
    const DEMANDS_TLS: &'static str;
    /// True if a server that demands TLS may say only that access is denied.
    const DENIAL_MAY_MEAN_TLS: bool;
    const TLS_VERSIONS_STUDY: &'static str;
    /// The protocol that TLS connections of arms are said to be for (ALPN); `None` where nothing is said of it.
    const ALPN: Option<&'static str> = None;
    /// The method that logs in by the certificate which the clients of an arm show; `None` where there is none.
    const CERTIFICATE: Option<AuthenticationMethod> = None;
    /// The method of arms that go over the Unix socket of a private server; `None` where there is none.
    const SOCKET: Option<AuthenticationMethod> = None;
    /// How else than by the environment a program is configured, as the rest of a sentence.
    const PROGRAMS_READ: &'static str;
    /// What the database's own clients call what they must see of a server, in the order of
    /// [`ProgramTrust`](super::program::ProgramTrust); in MySQL's words where they have none.
    const SSL_MODES: [&'static str; 4] = ["DISABLED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"];
    /// The files that placeholders of a program's arguments stand for, by name.
    const FILES: &'static [(Placeholder, &'static str)] = &[];

    /// Which implementation of [`Tables`](super::Tables) is its own.
    type Model;
    type Login: Clone;
    type Options: Clone + Send;
    type Session: Client<Options = Self::Options>;

    /// How the workloads of an arm reach it, and what each of their sessions must be.
    type Access: Access<Session = Self::Session>;

    /// Of private servers: by their entry in the catalogue, how they encrypt columns, where arms ask them to, and where the members of
    /// a replica set reach each other.
    fn of_private(entry: &Entry, columns: Option<Columns>, members: Option<&[Endpoint]>) -> Self;

    fn login_of(account: &Account) -> Self::Login;

    /// User and password, for programs of the user's own; nothing where a login needs none.
    fn user_and_password(login: &Self::Login) -> (String, Secret);

    fn lacks_password(login: &Self::Login) -> bool {
        let (user, password) = Self::user_and_password(login);
        !user.is_empty() && password.expose().is_empty()
    }

    /// How a session is opened that says nothing of an arm.
    fn options(
        &self,
        endpoint: &Endpoint,
        login: &Self::Login,
        tls: Option<Arc<TlsConnector>>,
    ) -> Self::Options;

    /// The same for an arm.
    fn options_of_arm(&self, options: Self::Options, arm: &Arm) -> Self::Options;

    /// What the sessions of an arm must be, before any proof.
    fn expectation(arm: &Arm, login: &Self::Login) -> Expectation;

    /// What the workloads of a proved arm are given; `measured` is where the servers are reached.
    fn access(
        &self,
        arm: &Arm,
        options: Self::Options,
        expectation: Expectation,
        measured: &[Endpoint],
    ) -> Self::Access;

    /// Sends a canary in plaintext to the server behind an address and gets it back, for proofs of tunnels.
    fn canary(options: &Self::Options) -> Canary;

    /// The arm as the URL that everybody knows; it may hold a password.
    fn url(reached: &Reached<'_, Self>) -> String;

    /// Names and values of further variables of a program's environment, by which the database's own programs are told of an
    /// arm; what is empty is not handed on. None is the password.
    fn variables(_reached: &Reached<'_, Self>) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Files for a program besides the environment, by name: for an arm that is reached so.
    fn files(reached: &Reached<'_, Self>) -> Result<Vec<(&'static str, Vec<u8>)>>;

    /// What the server counted while a program ran, from its counters at the end and their change.
    fn counted(at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Counted;
}
