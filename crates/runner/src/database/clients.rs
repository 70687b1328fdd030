//! How clients of a database log in: those of ciphertax, and programs of the user's own.

use std::sync::Arc;
use std::time::Duration;

use ciphertax_lab::Account;
use ciphertax_model::load::Placeholder;
use ciphertax_model::{Arm, Secret};
use ciphertax_wire::tls::TlsConnector;
use ciphertax_wire::{Client, Expectation};
use ciphertax_workload::Driver;

use super::endpoint::Endpoint;
use super::program::ProgramTrust;
use crate::patience::PATIENCE;

/// What clients of a database need to know. The value itself is what one group of servers needs to remember.
pub(crate) trait Clients: Sized + 'static {
    /// What is said of a server that demands TLS, with the settings that have it do so.
    const DEMANDS_TLS: &'static str;
    /// True if a server that demands TLS may say only that access is denied.
    const DENIAL_MAY_MEAN_TLS: bool;
    /// The built-in study that compares TLS versions with each other on it.
    const TLS_VERSIONS_STUDY: &'static str;
    /// The protocol that TLS connections of arms are said to be for (ALPN); `None` where nothing is said of it.
    const ALPN: Option<&'static str> = None;

    /// Who logs in, and how.
    type Login: Clone;
    /// What a connection needs to know.
    type Options: Clone;
    /// A session of its client.
    type Session: Client<Options = Self::Options>;

    /// How the workloads of an arm reach it, and what each of their sessions must be.
    type Access: Driver;

    /// The login of a private server's account.
    fn login_of(account: &Account) -> Self::Login;

    /// User and password, for programs of the user's own; nothing where a login needs none.
    fn user_and_password(login: &Self::Login) -> (String, Secret);

    /// How a session is opened that says nothing of an arm.
    fn options(endpoint: &Endpoint, login: &Self::Login, tls: Option<Arc<TlsConnector>>) -> Self::Options;

    /// The same for an arm.
    fn options_of_arm(&self, options: Self::Options, arm: &Arm) -> Self::Options;

    /// How the sessions of a workload are opened.
    fn options_of_access(access: &Self::Access) -> &Self::Options;

    /// How long the first connection to a server may take.
    fn patience(_login: &Self::Login) -> Duration {
        PATIENCE
    }

    /// True if a password is empty that should not be.
    fn lacks_password(options: &Self::Options) -> bool;

    /// What the sessions of an arm must be, before any proof.
    fn expectation(arm: &Arm, login: &Self::Login) -> Expectation;

    /// True if the certificate that an arm's clients show is what they log in by.
    fn is_login_by_certificate(_arm: &Arm) -> bool {
        false
    }

    /// True if an arm goes over the Unix socket of a private server.
    fn is_over_socket(_arm: &Arm) -> bool {
        false
    }

    /// What the database's own clients call what they must see of a server; in MySQL's words where they have none.
    fn ssl_mode(trust: ProgramTrust) -> &'static str {
        match trust {
            ProgramTrust::Plaintext => "DISABLED",
            ProgramTrust::Anybody => "REQUIRED",
            ProgramTrust::Ca => "VERIFY_CA",
            ProgramTrust::HostName => "VERIFY_IDENTITY",
        }
    }

    /// The name of the file that a placeholder of a program's arguments stands for; `None` where the database has no such
    /// file, and for placeholders of something else.
    fn file_of(_placeholder: Placeholder) -> Option<&'static str> {
        None
    }
}
