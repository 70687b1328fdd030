//! pgbench's own scripts, and the load of their tables.

use std::time::{Duration, Instant};

use ciphertax_bench::{Document, Measured, PeerTable, Result, Slice, Table, at_least, billing, in_turns};
use ciphertax_engine::Engine;
use ciphertax_model::{AuthenticationMethod, Load, PasswordCache, Pgbench as Tables, TlsLibrary, Transport};
use ciphertax_testkit::peers::PgbenchScript;
use ciphertax_workload::dataset::{Contents, SCHEMA};
use ciphertax_workload::postgresql::PostgresqlAccess;
use ciphertax_workload::sql::{SelectOnly, TpcbLike};

use crate::beside_pgbench::{BesidePgbench, arm};
use crate::beside_sysbench::session;

/// Length of one measurement in seconds.
const SECONDS: u32 = 2;
/// What is asked: about 150 MB.
const TABLES: Tables = Tables { scale: 10 };
/// Nobody is asked for a password: logins would be most of a short run's CPU.
const METHOD: AuthenticationMethod = AuthenticationMethod::Trust;
/// Scripts, by their names too, and connections, with the most client CPU over that of pgbench.
const BARS: [(PgbenchScript<'static>, &str, u32, f64); 4] = [
    (PgbenchScript::SelectOnly, "select-only", 1, 1.0),
    (PgbenchScript::SelectOnly, "select-only", 8, 0.7),
    (PgbenchScript::SelectOnly, "select-only", 64, 0.7),
    (PgbenchScript::TpcbLike, "tpcb-like", 8, 0.8),
];
const SESSIONS: [(Transport, TlsLibrary); 3] = [
    (Transport::Plain, TlsLibrary::OpenSsl),
    (Transport::Tls13, TlsLibrary::OpenSsl),
    (Transport::Tls13, TlsLibrary::Rustls),
];
/// The least rows per second, over those of pgbench.
const BAR_OF_LOAD: f64 = 1.0;

pub(crate) fn measure(document: &mut Document, repeats: u32) -> Result<()> {
    let mut beside = BesidePgbench::prepare(document)?;
    let asked = format!("{TABLES}, -M prepared, {SECONDS} s a turn; logins by {METHOD}");
    document.fact("asked", asked);
    let loads = load(&mut beside, repeats)?;
    let mut table = PeerTable::new("pgbench", "transaction");
    for (script, name, connections, bar) in BARS {
        for (transport, library) in SESSIONS {
            let access = access(&beside, transport, library, connections)?;
            let (load, tables) = (Load::closed(connections), TABLES);
            let mut engine = match script {
                PgbenchScript::TpcbLike => Engine::start(vec![TpcbLike { access, tables }], &load, 1)?,
                _ => Engine::start(vec![SelectOnly { access, tables }], &load, 1)?,
            };
            let session = session(transport, library);
            let what = format!("{name}, {connections} connections, {session}");
            let figures = in_turns(&what, &["ciphertax", "pgbench"], repeats, |index| {
                if index == 1 {
                    return beside.measure(&beside.call(METHOD, transport, script, connections), SECONDS);
                }
                let duration = Duration::from_secs(SECONDS.into());
                Ok(Slice::without_server(&mut engine, 0, duration)?.turn)
            })?;
            table.rows([what], &figures, Some(bar));
        }
    }
    document.table("Bars: client CPU", &table.0);
    document.table("Bar: load", &loads);
    document.paragraph(&billing("pgbench", "transaction"));
    document.paragraph(
        "pgbench has two threads where it has several connections. Every session of ciphertax is held to what its row says by the \
         server's word. Both load the same rows by `COPY` in plaintext, make the keys afterwards and clear the tables (`VACUUM \
         ANALYZE`); ciphertax has four sessions, and reads all of it again to check it.",
    );
    Ok(())
}

/// Has both load in turns, and ciphertax at the end once more.
fn load(beside: &mut BesidePgbench, repeats: u32) -> Result<Table> {
    let drop_all = format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE");
    let options = access(beside, Transport::Plain, TlsLibrary::OpenSsl, 1)?.options;
    let mut contents = Contents::NONE;
    contents.pgbench = Some(TABLES);
    let user = &options.user;
    let figures = in_turns("load", &["ciphertax", "pgbench"], repeats, |index| {
        // Each begins without tables, and without what the other left to be written.
        beside.ground.ask(&drop_all)?;
        beside.ground.ask("CHECKPOINT")?;
        let took = if index == 0 {
            beside.ground.load(&options, &contents)?
        } else {
            beside
                .ground
                .ask(&format!("CREATE SCHEMA {SCHEMA} AUTHORIZATION {user}"))?;
            let began = Instant::now();
            beside
                .pgbench
                .initialize(&beside.ground.server, METHOD, TABLES.scale)?;
            began.elapsed()
        };
        Ok(Measured {
            throughput: TABLES.rows() as f64 / took.as_secs_f64(),
            ..Measured::client(f64::NAN)
        })
    })?;
    beside.ground.ask(&drop_all)?;
    beside.ground.load(&options, &contents)?;
    let [ours, theirs] = [0, 1].map(|index: usize| figures[index].throughput());
    let ratio = ours.over(&theirs);
    let bar = at_least(&ratio, BAR_OF_LOAD);
    let mut table = Table::new(
        "tables | rows per second, ciphertax / pgbench -i | bar | met | ciphertax rows/s | pgbench rows/s",
    );
    table.row(&format!(
        "{TABLES} | {ratio:.2} | {bar} | {ours:.0} | {theirs:.0}"
    ));
    Ok(table)
}

fn access(
    beside: &BesidePgbench,
    transport: Transport,
    library: TlsLibrary,
    connections: u32,
) -> Result<PostgresqlAccess> {
    let arm = arm(transport, library, METHOD, PasswordCache::Warm);
    beside.ground.access(&arm, connections as usize)
}
