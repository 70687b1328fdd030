//! Proof that an arm on PostgreSQL is what it says, before anything is measured.

use std::net::SocketAddr;

use ciphertax_model::Transport;
use ciphertax_wire::WireError;
use ciphertax_wire::postgresql::{ConnectOptions, Expectation, Method, Session};

use crate::proof::{self, Claim, ProofError, Provable, Proved, WrongLogins};

/// The conditions under which an arm is proved, besides what its sessions must be.
#[derive(Clone, Copy, Default)]
pub struct Conditions<'a> {
    /// For logins by certificate: the same connection with a certificate of the same authority that no account has.
    pub unknown_client: Option<&'a ConnectOptions>,
    /// For arms with a pooler: how bytes travel between it and the server, which is what the server sees.
    pub behind_pooler: Option<Transport>,
}

/// Asks which process of the server has this session, from where, and what TLS the server says that it has.
const BEHIND_POOLER: &str = "SELECT 'process ' || pg_catalog.pg_backend_pid(), \
     pg_catalog.host(pg_catalog.inet_client_addr()) || ':' || pg_catalog.inet_client_port(), \
     (SELECT coalesce(version, '') FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid())";

/// Proves an arm by four witnesses: the client, the server, a relay that looks for a canary, and a wrong password or
/// certificate, where there is one.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub fn prove(
    arm: &str,
    options: &ConnectOptions,
    expectation: &Expectation,
    wrong_logins: &WrongLogins,
    conditions: Conditions<'_>,
) -> Result<Proved, ProofError> {
    let is_by_certificate = options.method == Some(Method::Certificate);
    let claim = Claim::<Session> {
        options,
        expectation,
        behind_pooler: conditions.behind_pooler,
        unknown_client: conditions.unknown_client.filter(|_| is_by_certificate),
        wrong_logins,
        others: (),
    };
    proof::prove(arm, &claim)
}

/// For [`RunningTunnel::prove`](crate::tunnel::RunningTunnel::prove): logs in by `options` at the address it is given,
/// always without TLS, and selects the canary.
pub fn select_canary(options: &ConnectOptions) -> impl FnMut(SocketAddr, &str) -> Result<(), String> + use<> {
    proof::canary_by::<Session>(ConnectOptions {
        tls: None,
        ..options.clone()
    })
}

impl Provable for Session {
    /// Of a single session its own view says more than what the server counts.
    type Others = ();

    async fn send(&mut self, canary: &str) -> Result<bool, WireError> {
        proof::select(self, canary).await
    }

    async fn behind_pooler(&mut self) -> Result<[String; 3], WireError> {
        proof::ask_behind_pooler(self, BEHIND_POOLER).await
    }

    /// PgBouncer and Pgpool-II have one code for everything.
    fn is_refusal(error: &WireError) -> bool {
        match error {
            WireError::PostgreSql {
                sql_state, message, ..
            } if ["08P01", "XX000"].contains(&sql_state.as_str()) => {
                message.contains("authentication failed")
            }
            error => error.is_access_denied(),
        }
    }
}
