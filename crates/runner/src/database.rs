//! The wall: what a database adds to servers, routes, tunnels and records that are the same for all.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::{Account, PrivateServer, Proved};
use ciphertax_model::{Arm, Cell, Secret, Study};
use ciphertax_wire::tls::TlsConnector;
use ciphertax_wire::{Client, Expectation};
use ciphertax_workload::Driver;

use crate::command::{Counted, Reached};
use crate::connections::Limit;
use crate::error::RunError;
use crate::server::{Control, Endpoint};

/// A database, as the generic servers know it: its clients, its control session, its witnesses, its data set, its counters,
/// and what it cannot do. The value itself is what one group of servers needs to remember.
pub(crate) trait Database: Sized + 'static {
    /// What ciphertax makes on a server, in words.
    const MADE: &'static str;
    /// The built-in study that compares TLS versions with each other on it.
    const TLS_VERSIONS_STUDY: &'static str;
    /// What is said of a server that demands TLS, with the settings that have it do so.
    const DEMANDS_TLS: &'static str;
    /// True if a server that demands TLS may say only that access is denied.
    const DENIAL_MAY_MEAN_TLS: bool;
    /// How else than by the environment a program is configured, as the rest of a sentence.
    const PROGRAMS_READ: &'static str;

    /// The option files that programs are given besides the environment.
    const OPTION_FILES: &'static [&'static str];

    /// Who logs in, and how.
    type Login: Clone;
    /// What a connection needs to know.
    type Options: Clone;
    /// A session of its client.
    type Session: Client<Options = Self::Options>;
    /// How the workloads of an arm reach it, and what each of their sessions must be.
    type Access: Driver;

    /// Of private servers.
    fn of_private(server: &PrivateServer) -> Self;

    /// The login of a private server's account.
    fn login_of(account: &Account) -> Self::Login;

    /// User and password, for programs of the user's own; nothing where a login needs none.
    fn user_and_password(login: &Self::Login) -> (String, Secret);

    /// How a session is opened that says nothing of an arm.
    fn options(endpoint: &Endpoint, login: &Self::Login, tls: Option<Arc<TlsConnector>>) -> Self::Options;

    /// The same for an arm.
    fn options_of_arm(&self, options: Self::Options, arm: &Arm) -> Self::Options;

    /// True if a password is empty that should not be.
    fn lacks_password(options: &Self::Options) -> bool;

    /// What the sessions of an arm must be, before any proof.
    fn expectation(arm: &Arm, login: &Self::Login) -> Expectation;

    /// Makes sure that no other ciphertax measures a server of the user's own. The claim ends with the session.
    ///
    /// # Errors
    /// Says who does, and what to do.
    fn claim(control: &mut Control<Self>) -> Result<(), RunError>;

    /// The limits on connections that can be seen.
    fn limits(control: &mut Control<Self>) -> Result<Vec<Limit>, RunError>;

    /// Where the servers of the user's own are that form one database, the one that takes writes first; `None` for a server
    /// of its own.
    ///
    /// # Errors
    /// When they are not what the target says.
    fn members(&self, _control: &mut Control<Self>) -> Result<Option<Vec<Endpoint>>, RunError> {
        Ok(None)
    }

    /// Makes sure that the name of ciphertax's data is free or its own, and that the account may remove them: before anything
    /// is written.
    ///
    /// # Errors
    /// Names what is missing, and the statement that gives it.
    fn refuse_what_cannot_be_removed(&self, control: &mut Control<Self>) -> Result<(), RunError>;

    /// Makes what the arms need on a private server besides its accounts.
    fn set_up(
        &mut self,
        _control: &mut Control<Self>,
        _server: &PrivateServer,
        _arms: &[&Arm],
    ) -> Result<(), RunError> {
        Ok(())
    }

    /// Which server it is, and what of its settings matters; `private` is its entry in the catalogue.
    fn describe(&self, control: &mut Control<Self>, private: Option<&Entry>)
    -> Result<Description, RunError>;

    /// The witnesses: proves that sessions opened by `options` are what an arm says.
    ///
    /// # Errors
    /// Names the arm, and what contradicts it or keeps it from being tried.
    fn prove(
        &self,
        control: &Control<Self>,
        arm: &str,
        options: &Self::Options,
        expectation: &Expectation,
        conditions: Conditions<'_, Self>,
    ) -> Result<Proved, RunError>;

    /// Sends a canary in plaintext to the server behind an address and gets it back, for proofs of tunnels.
    fn canary(options: &Self::Options) -> Canary;

    /// What the workloads of a proved arm are given; `measured` is where the servers are reached.
    fn access(
        &self,
        arm: &Arm,
        options: Self::Options,
        expectation: Expectation,
        measured: &[Endpoint],
    ) -> Self::Access;

    /// The way back.
    fn options_of_access(access: &Self::Access) -> &Self::Options;

    /// Makes the data sets that the study's cells ask; false if they ask none. `progress` hears the rows that are there, and
    /// of how many.
    ///
    /// # Errors
    /// When they cannot be made, or what is there is not ciphertax's own.
    fn load(
        &mut self,
        control: &mut Control<Self>,
        study: &Study,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<bool, RunError>;

    /// Removes them if they are there, and tells whether they were.
    ///
    /// # Errors
    /// When they are not ciphertax's own, or the server refuses.
    fn remove(&self, control: &Control<Self>) -> Result<bool, RunError>;

    /// The server's own counters now, [`UPTIME`] among them where it is known.
    ///
    /// # Errors
    /// When it does not answer.
    fn counters(&self, control: &mut Control<Self>) -> Result<BTreeMap<String, i64>, RunError>;

    /// What it cannot do that a cell asks, besides workloads in a vocabulary that its client does not speak; `private` is
    /// the catalogue's entry of a private server.
    fn refuse(study: &Study, cell: &Cell, private: Option<&Entry>) -> Vec<String>;

    /// Makes sure that private servers remember what a warm login finds there, before a program makes one that cannot
    /// remind them.
    fn remind(&self, _control: &Control<Self>, _access: &Self::Access) {}

    /// The arm as the URL that everybody knows; it may hold a password.
    fn url(reached: &Reached<'_, Self>) -> String;

    /// Files for a program besides the environment, by name: for an arm that is reached so.
    ///
    /// # Errors
    /// When a file cannot be read that goes into them.
    fn files(reached: &Reached<'_, Self>) -> Result<Vec<(&'static str, Vec<u8>)>, RunError>;

    /// What the server counted while a program ran, from its counters at the end and their change.
    fn counted(at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Counted;

    /// Where TLS begins in what a server sends; `None` if that is not there yet.
    fn tls_begins_at(answers: &[u8]) -> Option<usize>;
}

/// The counter that falls when a server was restarted.
pub(crate) const UPTIME: &str = "Uptime";

/// Given an address and a canary: sends it there, in plaintext, and gets it back.
pub(crate) type Canary = Box<dyn FnMut(SocketAddr, &str) -> Result<(), String>>;

/// Which server it is.
pub(crate) struct Description {
    pub(crate) product: String,
    /// Its own version string.
    pub(crate) version: String,
    /// Empty where it does not say.
    pub(crate) tls_library: String,
    /// By its own names.
    pub(crate) settings: BTreeMap<String, String>,
}

/// What a proof needs to know of an arm besides what its sessions must be.
pub(crate) struct Conditions<'a, D: Database> {
    pub(crate) is_private: bool,
    /// Where the servers are reached by measured connections.
    pub(crate) measured: &'a [Endpoint],
    /// For logins by certificate: the same connection with a certificate of the same authority that no account has.
    pub(crate) unknown_client: Option<D::Options>,
}
