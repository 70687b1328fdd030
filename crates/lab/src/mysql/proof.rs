//! Proof that an arm is what it says, and the row that a disk is searched for.

use std::net::SocketAddr;

use ciphertax_model::Transport;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};

use crate::proof::{self, Claim, ProofError, Provable, Proved, WrongLogins};
use crate::server::family::Canary;

/// Asks which session of the server this one is, from where on this machine, and what TLS the server says that it has.
const BEHIND_POOLER: &str = "SELECT CONCAT('connection ', CONNECTION_ID()), CONCAT('127.0.0.1:', SUBSTRING_INDEX(host, ':', -1)), \
     (SELECT variable_value FROM performance_schema.session_status WHERE variable_name = 'Ssl_version') \
     FROM information_schema.processlist WHERE id = CONNECTION_ID()";

/// Proves an arm by four witnesses: the client, the server, a relay that looks for a canary, and a wrong password.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub fn prove(
    arm: &str,
    options: &ConnectOptions,
    expectation: &Expectation,
    wrong_logins: &WrongLogins,
    behind_pooler: Option<Transport>,
) -> Result<Proved, ProofError> {
    let claim = Claim::<Session> {
        options,
        expectation,
        behind_pooler,
        unknown_client: None,
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
    /// Of a single session its status variables say more than what the server counts.
    type Others = ();

    async fn send(&mut self, canary: &str) -> Result<bool, WireError> {
        proof::select(self, canary).await
    }

    /// An account with two plugins, of which the first has let the right password in, answers a wrong one by its second.
    fn is_refusal(error: &WireError) -> bool {
        let is_second =
            matches!(error, WireError::Authentication(why) if why.contains("which ciphertax does not speak"));
        is_second || error.is_access_denied()
    }

    async fn behind_pooler(&mut self) -> Result<[String; 3], WireError> {
        proof::ask_behind_pooler(self, BEHIND_POOLER).await
    }
}

/// Of its own, so that it is gone without a trace.
const SCHEMA: &str = "ciphertax_canary";

/// What is written to a table, and with it and the binary log to the disk. What is replicated the server puts together; what a node
/// commits, the others have seen.
pub(super) fn canary_statements(canary: Canary<'_>) -> Vec<String> {
    match canary {
        Canary::Write(canary) => vec![
            format!("CREATE DATABASE {SCHEMA}"),
            format!("CREATE TABLE {SCHEMA}.t (v VARCHAR(250)) ENGINE=InnoDB"),
            format!("INSERT INTO {SCHEMA}.t VALUES ('{canary}')"),
            format!("FLUSH TABLES {SCHEMA}.t FOR EXPORT"),
            "UNLOCK TABLES".into(),
            "FLUSH BINARY LOGS".into(),
        ],
        Canary::Replicate([first, second]) => vec![
            format!("CREATE DATABASE {SCHEMA}"),
            format!("CREATE TABLE {SCHEMA}.t (id INT PRIMARY KEY, v VARCHAR(250)) ENGINE=InnoDB"),
            format!("INSERT INTO {SCHEMA}.t VALUES (1, CONCAT('{first}', '{second}'))"),
        ],
        Canary::Remove => vec![format!("DROP DATABASE IF EXISTS {SCHEMA}")],
    }
}
