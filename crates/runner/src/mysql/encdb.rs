//! A server of the user's own that encrypts cells of results by itself, for one account, as PolarDB-X and RDS do. The exchange of keys
//! is that of the clients that are published; it was not tried on a real server.

#[cfg(test)]
mod real_servers;

use std::sync::OnceLock;

use ciphertax_base::{Proof, Witness};
use ciphertax_columns::MasterKey;
use ciphertax_columns::encdb::exchange::Suite;
use ciphertax_model::{ColumnEncryption, ColumnFeature, ColumnSelection};
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::{Client, Session as _};
use ciphertax_workload::mysql::{KeyExchange, exchange_keys};

use super::clients::{Keys, Login, MySql};
use crate::database::Control;
use crate::error::Result;
use crate::servers_to_play::EncdbAccount;
use crate::timeout::TIMEOUT;

/// Whose results a server encrypts, and what it gets for that.
pub(crate) struct Encdb {
    account: Login,
    key: MasterKey,
    /// What the server said when the first arm was proved; all its sessions must have the same.
    suite: OnceLock<Suite>,
}

impl Encdb {
    pub(super) fn new(account: &EncdbAccount, key: MasterKey) -> Self {
        Self {
            account: Login {
                user: account.user.clone(),
                password: account.password.clone(),
                schema: None,
                keys: Keys::ThisMachine,
            },
            key,
            suite: OnceLock::new(),
        }
    }

    /// Who logs in for an arm instead of the URL's account; `None` for arms without encrypted results, and for one whose client is
    /// only ready for them: it has full access, and nothing to decrypt.
    pub(super) fn account_of(&self, columns: Option<&ColumnEncryption>) -> Option<&Login> {
        let columns = exchanged(columns)?;
        (columns.columns != ColumnSelection::None).then_some(&self.account)
    }

    /// What an arm's sessions give the server; `None` for arms without encrypted results.
    pub(super) fn exchange_of(&self, columns: Option<&ColumnEncryption>) -> Option<KeyExchange> {
        Some(KeyExchange {
            key: self.key.clone(),
            algorithm: exchanged(columns)?.algorithm,
            suite: *self.suite.get()?,
        })
    }

    /// Gives the server the master key in a session of an arm, and tells what the server said; `None` for arms without encrypted
    /// results.
    pub(super) fn prove(
        &self,
        control: &Control<MySql>,
        arm: &str,
        options: &ConnectOptions,
        expectation: &Expectation,
        columns: Option<&ColumnEncryption>,
    ) -> Result<Option<Proof>> {
        let Some(columns) = exchanged(columns) else {
            return Ok(None);
        };
        let exchange = async {
            let connect = Session::connect_as(&control.reactor, options, expectation);
            let mut session = connect.await.map_err(|error| error.to_string())?;
            let info = exchange_keys(&mut session, columns.algorithm, &self.key).await;
            let info = info.map_err(|failure| failure.message().to_owned())?;
            session.close().await.map_err(|error| error.to_string())?;
            Ok::<_, String>(info)
        };
        let exchanged = control.wait_for(TIMEOUT, exchange)?;
        let info = exchanged.map_err(|problem: String| control.unusable(format!("arm {arm}: {problem}")))?;
        let suite = *self.suite.get_or_init(|| info.suite);
        if suite != info.suite {
            return Err(control.unusable(format!(
                "arm {arm}: its cipher suite is {}, and was {suite} before",
                info.suite
            )));
        }
        Ok(Some(Proof {
            witness: Witness::Server,
            claim: "it takes the master key (an exchange that is untested on a real server)".into(),
            evidence: format!(
                "as {}: cipher suite {suite}, version {}, trusted environment {}; nothing vouches for its public key",
                options.user, info.version, info.tee
            ),
        }))
    }
}

/// What an arm has encrypted in results.
fn exchanged(columns: Option<&ColumnEncryption>) -> Option<&ColumnEncryption> {
    columns.filter(|columns| columns.feature == ColumnFeature::InResults)
}
