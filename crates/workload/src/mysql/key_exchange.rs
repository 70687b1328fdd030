//! How a session of a server with EncDB begins: the server gets the master key, and encrypts cells of results by it.

use ciphertax_columns::MasterKey;
use ciphertax_columns::encdb::exchange::{ExchangeError, QUESTION, ServerInfo, Suite, check_taken};
use ciphertax_engine::{Failure, Result};
use ciphertax_model::CellAlgorithm;
use ciphertax_wire::mysql::Session;
use ciphertax_wire::sql::SqlSession as _;

use crate::driver::failure;

/// What every session of an arm gives its server, whose suite was seen when the arm was proved. It is not tried on a real PolarDB-X or
/// RDS.
#[derive(Debug, Clone)]
pub struct KeyExchange {
    /// The key of the arm's cells, which the server gets.
    pub key: MasterKey,
    /// What the server is asked to encrypt cells with.
    pub algorithm: CellAlgorithm,
    /// What every session's server must open envelopes with, and derive data keys by.
    pub suite: Suite,
}

impl KeyExchange {
    /// Gives the server of a new session the master key.
    ///
    /// # Errors
    /// As [`exchange_keys`]; and when the server has another suite than that which the arm was proved with.
    pub async fn begin(&self, session: &mut Session) -> Result<()> {
        let info = exchange_keys(session, self.algorithm, &self.key).await?;
        match info.suite == self.suite {
            true => Ok(()),
            false => Err(Failure::FactsDiffer(format!(
                "the server's cipher suite is {}, and was {} when the arm was proved",
                info.suite, self.suite
            ))),
        }
    }
}

/// Asks a server what it is, and gives it the master key; from then on it encrypts cells of this session's results.
///
/// # Errors
/// Names what keeps it from that: a server that has no such function, refuses, or answers something else.
pub async fn exchange_keys(
    session: &mut Session,
    algorithm: CellAlgorithm,
    key: &MasterKey,
) -> Result<ServerInfo> {
    let info = ServerInfo::parse(&ask(session, QUESTION).await?).map_err(|error| wrong(&error))?;
    let statement = info.statement(algorithm, key).map_err(|error| wrong(&error))?;
    check_taken(&ask(session, &statement).await?).map_err(|error| wrong(&error))?;
    Ok(info)
}

/// The one value that a server answers.
async fn ask(session: &mut Session, sql: &str) -> Result<String> {
    let rows = session.query(sql).await.map_err(|error| match failure(error) {
        Failure::Error(problem) => not_exchanged(&problem),
        gone => gone,
    })?;
    Ok(rows.first().map(|row| row.text(0)).unwrap_or_default())
}

fn wrong(error: &ExchangeError) -> Failure {
    not_exchanged(&error.to_string())
}

fn not_exchanged(problem: &str) -> Failure {
    Failure::Error(format!(
        "the exchange of keys for encrypted results failed: {problem}; is it a PolarDB-X or RDS whose always-encrypted columns are \
         switched on, and may this account call encdb_process_message()?"
    ))
}
