//! What PostgreSQL says that its sessions wait for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;
use ciphertax_wire::postgresql::{ConnectOptions, Session};

use crate::wait_events::Ask;

/// Of all sessions that are at work for a client, those of ciphertax's own questions left out: one is this, others are idle then.
/// The function takes no lock that a view would keep until the end of the transaction.
const QUESTION: &str = "\
    SELECT COALESCE(wait_event_type || ':' || wait_event, ''), COUNT(*) \
    FROM pg_catalog.pg_stat_get_activity(NULL) \
    WHERE backend_type = 'client backend' AND state IN ('active', 'fastpath function call') \
        AND pid <> pg_catalog.pg_backend_pid() \
    GROUP BY 1";
/// A transaction sees the sessions as they were when it looked first, unless it is told to look anew.
const LOOK_ANEW: &str = "SELECT pg_catalog.pg_stat_clear_snapshot()";
/// All questions are one transaction, which ends with the session: a server counts transactions, and so counts none of them.
const BEGIN: &str = "BEGIN READ ONLY";
/// Which session of the server answers: behind a pooler none of that number, which would be kept from all others for the whole run.
const WHO: &str = "SELECT pg_catalog.pg_backend_pid()";
/// It is idle between slices for longer than a server may allow.
const STAY: &str = "\
    SELECT pg_catalog.set_config(name, '0', true) FROM pg_catalog.pg_settings \
    WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')";

/// How long the server may take for an answer: one that takes longer is not asked any more.
const ANSWER: Duration = Duration::from_secs(1);

/// Opens a session of its own to ask over.
pub(super) fn asking(options: &ConnectOptions) -> Option<Ask> {
    let reactor = Reactor::new().ok()?;
    let connecting = async {
        let (mut session, _) = Session::connect(&reactor, options).await.ok()?;
        let rows = session.query(WHO).await.ok()?;
        if rows.first()?.text(0) != session.id().to_string() {
            return None;
        }
        session.query(BEGIN).await.ok()?;
        session.query(STAY).await.ok()?;
        Some(session)
    };
    let mut session = reactor.run_one(connecting, Instant::now() + ANSWER).ok()???;
    Some(Box::new(move || {
        let asking = async {
            session.query(LOOK_ANEW).await.ok()?;
            let rows = session.query(QUESTION).await.ok()?;
            let events = rows
                .iter()
                .map(|row| Some((row.text(0), row.text(1).parse().ok()?)));
            events.collect::<Option<BTreeMap<String, u64>>>()
        };
        reactor.run_one(asking, Instant::now() + ANSWER).ok()??
    }))
}

#[cfg(test)]
mod real_servers {
    use ciphertax_testkit::{not_tested, unpacked_tunnels};

    use super::*;
    use crate::footprint::real_servers::server_beside;
    use crate::postgresql::PostgreSql;

    #[test]
    fn a_pooler_before_the_server_is_not_asked() {
        let pooled = "pooler = { pgbouncer = \"transaction\" }";
        if unpacked_tunnels().is_none() {
            return not_tested("pgbouncer is not unpacked");
        }
        let Some((server, arm)) = server_beside::<PostgreSql>("postgresql", 64, pooled) else {
            return;
        };
        let direct = server.control.ways[0].clone();
        let mut ask = asking(&direct).unwrap();
        assert!(ask().is_some());
        let pooled = server.arm(&arm).unwrap();
        assert_ne!(pooled.endpoint.port, direct.port);
        let pooled = pooled.options(&server.database, &arm).unwrap();
        assert!(asking(&pooled).is_none());
        drop(ask);
        server.close().unwrap();
    }
}
