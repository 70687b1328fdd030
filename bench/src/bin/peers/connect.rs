//! New connections: connect, log in, disconnect. On MariaDB beside sysbench, which is the C connector, and on PostgreSQL
//! beside pgbench, which is libpq.

use std::fs;
use std::time::Duration;

use ciphertax_bench::{Document, Login, PeerTable, Result, Slice, billing, in_turns, start};
use ciphertax_engine::Engine;
use ciphertax_model::{AuthenticationMethod, Load, PasswordCache, TlsLibrary, Transport};
use ciphertax_testkit::peers::PgbenchScript;
use ciphertax_wire::tls::{ClientCertificate, TlsPolicy};
use ciphertax_workload::connect::{Connect, Nothing};
use ciphertax_workload::mysql::MysqlAccess;

use crate::beside_pgbench::{BesidePgbench, arm};
use crate::beside_sysbench::{BesideSysbench, call, session};

/// Length of one measurement in seconds.
const SECONDS: u32 = 2;
/// Connections being opened at a time.
const FEW: u32 = 2;
const MANY: u32 = 8;
/// The file of sysbench's script.
const SCRIPT: &str = "connect.lua";
/// A connection for each event.
const CONNECT: &str = r"
function thread_init()
   driver = sysbench.sql.driver()
end
function event()
   driver:connect():disconnect()
end
";
/// The most that ciphertax may take of libpq's CPU for a connection.
const BAR: f64 = 0.67;
const LIBRARIES: [TlsLibrary; 2] = [TlsLibrary::OpenSsl, TlsLibrary::Rustls];

pub(crate) fn measure(document: &mut Document, repeats: u32) -> Result<()> {
    let asked = format!("connect, log in, disconnect; {SECONDS} s a turn");
    document.fact("asked", asked);
    on_mariadb(document, repeats)?;
    on_postgresql(document, repeats)?;
    document.paragraph(&billing("a peer", "connection"));
    document.paragraph(
        "Handshakes are full ones with the server's certificate, ECDSA P-256, which ciphertax and libpq verify against the private \
         authority. MariaDB asks for a client's certificate; sysbench always presents one, so ciphertax presents the same here. On \
         PostgreSQL both tie the login to the TLS session (SCRAM-SHA-256-PLUS). libpq derives SCRAM's keys from the password for every \
         login, by a loop of its own over OpenSSL's digests; *kept* keys are derived by the first login of a run alone, as pools and \
         drivers of other databases have it. The servers counted every connection of ciphertax.",
    );
    Ok(())
}

fn on_mariadb(document: &mut Document, repeats: u32) -> Result<()> {
    let mut beside = BesideSysbench::prepare(document, SECONDS, repeats)?;
    fs::write(beside.sysbench.folder().join(SCRIPT), CONNECT)?;
    let mut table = PeerTable::new("sysbench", "connection");
    for (transport, at_a_time, libraries) in [
        (Transport::Plain, FEW, &LIBRARIES[..1]),
        (Transport::Plain, MANY, &LIBRARIES[..1]),
        (Transport::Tls13, FEW, &LIBRARIES),
    ] {
        let arms = libraries
            .iter()
            .map(|library| mariadb(&beside, transport, *library, at_a_time));
        let mut engine = start(&Load::closed(at_a_time), arms)?;
        let what = format!("{at_a_time} at a time, {transport}");
        let call = call(SCRIPT, transport, at_a_time);
        let figures = beside.compare(&what, (&mut engine, libraries), &call, "Connections")?;
        let ways = libraries
            .iter()
            .map(|library| format!("{at_a_time} at a time, {}", session(transport, *library)));
        table.rows(ways, &figures, None);
    }
    document.table("MariaDB, beside sysbench", &table.0);
    Ok(())
}

fn mariadb(
    beside: &BesideSysbench,
    transport: Transport,
    library: TlsLibrary,
    at_a_time: u32,
) -> Result<Connect<MysqlAccess, Nothing>> {
    let folder = beside.sysbench.folder();
    let mut access = Login::to(&beside.ground.server, transport).access(|policy| TlsPolicy {
        library,
        // The same as sysbench presents.
        client_certificate: Some(ClientCertificate {
            certificate: folder.join("client-cert.pem"),
            key: folder.join("client-key.pem"),
            password: None,
        }),
        ..policy
    })?;
    access.connections = at_a_time as usize;
    let task = Nothing;
    Ok(Connect { access, task })
}

fn on_postgresql(document: &mut Document, repeats: u32) -> Result<()> {
    const METHOD: AuthenticationMethod = AuthenticationMethod::ScramSha256Plus;
    const TRANSPORT: Transport = Transport::Tls13;
    let mut beside = BesidePgbench::prepare(document)?;
    let (mut arms, mut names) = (Vec::new(), Vec::new());
    for library in LIBRARIES {
        for (keys, cache) in [("derived", PasswordCache::Cold), ("kept", PasswordCache::Warm)] {
            let arm = arm(TRANSPORT, library, METHOD, cache);
            let (access, task) = (beside.ground.access(&arm, FEW as usize)?, Nothing);
            arms.push(Connect { access, task });
            names.push(format!("{}, keys {keys}", library.name()));
        }
    }
    let ours = arms.len();
    names.push("pgbench".to_owned());
    let mut engine = Engine::start(arms, &Load::closed(FEW), 1)?;
    let figures = in_turns("PostgreSQL", &names, repeats, |index| {
        if index == ours {
            let script = PgbenchScript::Connect(&beside.nothing);
            return beside.measure(&beside.call(METHOD, TRANSPORT, script, FEW), SECONDS);
        }
        let before = beside.ground.sessions()?;
        let duration = Duration::from_secs(SECONDS.into());
        let slice = Slice::without_server(&mut engine, index, duration)?;
        beside.ground.check_sessions_since(before, slice.operations)?;
        Ok(slice.turn)
    })?;
    let mut table = PeerTable::new("pgbench", "connection");
    let ways = names[..ours].iter();
    let ways = ways.map(|name| format!("{FEW} at a time, {TRANSPORT} by {name}"));
    table.rows(ways, &figures, Some(BAR));
    document.table("PostgreSQL, beside pgbench", &table.0);
    Ok(())
}
