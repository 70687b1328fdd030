//! One ciphertax at a time measures a server.

use std::thread;
use std::time::{Duration, Instant};

use super::clients::PostgreSql;
use crate::database::Control;
use crate::error::RunError;

/// The advisory lock that says so, by its two numbers: `ciph` and `erta` in ASCII.
const LOCK: [u32; 2] = [0x6369_7068, 0x6572_7461];

/// How long a session that was ended may keep its claim, and how often it is looked for.
const ENDING: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

impl Control<PostgreSql> {
    /// Makes sure that no other ciphertax measures this server: the schema is for one at a time, and so is the server's
    /// CPU. The claim ends with the session. A lock is for one database, but all can be seen from everywhere.
    pub(super) fn claim(&mut self) -> Result<(), RunError> {
        self.refuse_pooler()?;
        let [first, second] = LOCK;
        let others = format!(
            "SELECT pid FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND classid = {first} AND objid = {second} \
             AND objsubid = 2 AND granted AND pid <> pg_catalog.pg_backend_pid()"
        );
        let lock = format!("SELECT pg_catalog.pg_try_advisory_lock({first}, {second})");
        let granted = self.rows(&lock)?.first().is_some_and(|row| row.text(0) == "t");
        let holder = self.rows(&others)?.first().map(|row| row.text(0));
        match (granted, holder) {
            (true, None) => Ok(()),
            (_, holder) => Err(self.unusable(format!(
                "another ciphertax measures it, over the session of the server's process {}; wait for its end, or end that \
                 session with pg_terminate_backend if it is left from a run that is gone",
                holder.unwrap_or_else(|| "that has just ended".into())
            ))),
        }
    }

    /// The same after a new session was taken in the place of one that was claimed by. The server may say that it ends a
    /// session before it lets go of its claim.
    pub(super) fn claim_again(&mut self) -> Result<(), RunError> {
        let deadline = Instant::now() + ENDING;
        loop {
            match self.claim() {
                Err(error) if Instant::now() >= deadline => return Err(error),
                Err(RunError::Stopped) => return Err(RunError::Stopped),
                Err(_) => thread::sleep(LOOK),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Behind a pooler no two questions need reach the same session of the server, and what the server says of TLS is
    /// said of the pooler's connections.
    fn refuse_pooler(&mut self) -> Result<(), RunError> {
        let told = self.ask(async |session| Ok(session.id()))?;
        let rows = self.rows("SELECT pg_catalog.pg_backend_pid()")?;
        let own: Option<u32> = rows.first().and_then(|row| row.text(0).parse().ok());
        match own {
            Some(own) if told != 0 && own != told => Err(self.unusable(format!(
                "a pooler answers for it (the session is of its process {own}, and {told} is said to clients); name the \
                 server itself"
            ))),
            _ => Ok(()),
        }
    }
}
