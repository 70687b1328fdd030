//! What a database cannot do, wherever it is.

use ciphertax_base::format;
use ciphertax_lab::catalogue::{MYSQL, Protocol};
use ciphertax_model::load::{Part, Placeholder, parts};
use ciphertax_model::workload::{Tables, Vocabulary};
use ciphertax_model::{
    Cell, CellEncoding, CellFormat, ColumnEncryption, ColumnFeature, ColumnFunctions, Pace, PasswordCache,
    Placement, Refusal, Workload, refuse_if,
};
use ciphertax_observe::host;

use super::{At, Rule, of_arm_in, of_cell};
use crate::databases::spoken;
use crate::mysql::COLD_LOGINS;

pub(super) const RULES: &[Rule] = &[
    of_cell("workload", |_, at| {
        let (name, spoken) = spoken(at.protocol);
        let workload = at.cell.workload;
        let is_spoken = workload.is_program() || spoken.contains(&workload.descriptor().vocabulary);
        (!is_spoken).then(|| not_spoken(name, spoken, at.cell))
    }),
    of_cell("replica-set", |_, at| {
        let is_mongodb = at.protocol == Some(Protocol::MongoDb);
        let why = "replica_set is for MongoDB alone; leave it out, or take server = \"mongodb\"";
        refuse_if(at.spec.replica_set.is_some() && !is_mongodb, why)
    }),
    of_cell("placeholder", |_, at| {
        let (takes_sockets, instead) = match at.protocol? {
            Protocol::MySql => return None,
            Protocol::MongoDb => (false, "on MongoDB take CIPHERTAX_URL from the environment"),
            Protocol::PostgreSql => (
                true,
                "on PostgreSQL take PGHOST, PGUSER … or CIPHERTAX_URL from the environment",
            ),
        };
        let is_of_mysql = |placeholder: &Placeholder| match placeholder {
            Placeholder::Socket => !takes_sockets,
            other => matches!(other, Placeholder::MyCnf | Placeholder::SysbenchCnf),
        };
        let words = at.cell.command.as_ref()?.run.iter();
        let mut parts = words.flat_map(|word| parts(word)).flatten();
        let name = parts.find_map(|part| match part {
            Part::Placeholder(placeholder) => is_of_mysql(&placeholder).then(|| placeholder.name()),
            Part::Text(_) => None,
        })?;
        let cannot = format!("{{{name}}} is for programs that speak to MySQL");
        Some(Refusal::new(format!("{cannot}; {instead}")))
    }),
    of_cell("too-many-cold-logins", |asked, at| {
        at.entry?.capabilities.forget_passwords?;
        let logins = match at.cell.load.pace() {
            Pace::Closed => 0.0,
            Pace::Batch { operations } => f64::from(operations),
            Pace::Open { rate } => f64::from(rate) * asked.study.slice_seconds(),
        };
        let mut caches = asked
            .study
            .arms_of(at.cell)
            .map(|arm| arm.authentication.password_cache);
        let why = format!(
            "a slice has more logins than the {COLD_LOGINS} accounts that a cold arm has; take smaller batches, a lower \
             rate, or shorter slices"
        );
        refuse_if(
            logins > COLD_LOGINS as f64 && caches.any(|cache| cache == PasswordCache::Cold),
            why,
        )
    }),
    of_arm_in("setting-of-postgresql", |_, at, arm| {
        let is_elsewhere = at
            .protocol
            .is_some_and(|protocol| protocol != Protocol::PostgreSql);
        let setting = arm.setting_of_postgresql()?;
        let why = format!("{setting} is for PostgreSQL alone; leave it out, or take server = \"postgresql\"");
        refuse_if(is_elsewhere, why)
    }),
    of_arm_in("pooler-of-mysql", |_, at, arm| {
        let is_elsewhere = at.entry.is_some_and(|entry| *entry != MYSQL);
        let is_its = !arm.pooler?.program.is_of_postgresql();
        let why = "mysqlrouter stands before MySQL alone; take server = \"mysql\"";
        refuse_if(is_its && is_elsewhere, why)
    }),
    of_arm_in("probe-of-variable", |_, at, arm| {
        let is_unset = matches!(at.protocol, Some(Protocol::MongoDb | Protocol::PostgreSql));
        let is_of_variable = arm.probe.as_ref()?.cpus.is_none() && at.spec.replica_set.is_none();
        let why = "ciphertax sets variables of MySQL's family alone, where all sessions have the new value at once; take \
                   probe = { cpus = 1 }, or server = \"mariadb\"";
        refuse_if(is_unset && is_of_variable, why)
    }),
    of_arm_in("functions", |_, at, arm| {
        let known = match at.protocol {
            Some(Protocol::MySql) => Some(ColumnFunctions::AesEncrypt),
            Some(Protocol::PostgreSql) => Some(ColumnFunctions::Pgcrypto),
            Some(Protocol::MongoDb) | None => None,
        };
        let columns = arm.at_rest.columns.filter(|columns| Some(*columns) != known)?;
        let instead = known.map_or("leave columns out".to_owned(), |known| {
            format!("take columns = \"{known}\"")
        });
        let cannot = format!(
            "the server of cell {:?} cannot encrypt columns by {columns}",
            at.cell.name
        );
        Some(Refusal::new(format!(
            "{cannot}; {instead}, or name the other arms in the cell's arms"
        )))
    }),
    of_arm_in("cells", |_, at, arm| {
        let columns = arm.columns.as_ref()?;
        let in_results = columns.feature == ColumnFeature::InResults;
        let is_csfle = columns.format == CellFormat::Csfle;
        let is_field = columns.stores() && at.cell.workload.asks_usertable();
        let is = |encoding| is_field && columns.encoding == encoding;
        let why = match (at.protocol, in_results, is_csfle) {
            (Some(Protocol::MySql), _, false) | (None, false, false) => return None,
            (Some(Protocol::MongoDb), false, true) if !is(CellEncoding::Base64) => return None,
            (Some(Protocol::PostgreSql), false, false) if !is(CellEncoding::Binary) => return None,
            (Some(Protocol::MongoDb), false, true) => {
                "cells are bytes on MongoDB; take encoding = \"binary\""
            }
            (Some(Protocol::MongoDb), false, false) => {
                "cells in MongoDB are those of csfle; take format = \"csfle\""
            }
            (Some(Protocol::PostgreSql), false, false) => {
                "cells are text on PostgreSQL; take encoding = \"base64\""
            }
            (_, true, _) => {
                "cells in results are made over MySQL's protocol alone so far; take server = \"mariadb\""
            }
            (_, false, true) => "cells of csfle are stored in MongoDB alone; take another format",
        };
        Some(Refusal::new(why))
    }),
    of_cell("sqlite", |asked, at| {
        in_its_client(at)?;
        let (cell, tables) = (at.cell, at.cell.workload.descriptor().tables);
        let has_one_thread = asked.study.placement == Placement::Together;
        let asks = [
            (
                asked.study.link(cell).is_some(),
                "sqlite has no distance, since it runs in its client; leave link out",
            ),
            (
                cell.command.is_some(),
                "sqlite is asked by ciphertax's own load threads alone; take another workload than command",
            ),
            (
                tables == Some(Tables::Pgbench),
                "sqlite adds no key to a table that has rows, as pgbench does; take oltp_point_select or oltp_read_write",
            ),
            (
                tables == Some(Tables::Tpcc),
                "sqlite has one writer at a time, which TPC-C's terminals would only wait for; take server = \"mariadb\" \
                 or \"postgresql\"",
            ),
            (
                has_one_thread && cell.load.connections > 1,
                "sqlite needs a thread for each connection, and placement = \"together\" has one; leave it out",
            ),
        ];
        asks.into_iter()
            .find_map(|(is_asked, why)| refuse_if(is_asked, why))
    }),
    of_arm_in("sqlite-without-server", |_, at, arm| {
        in_its_client(at)?;
        let stores = arm.columns.as_ref().is_some_and(ColumnEncryption::stores);
        let asks = [
            (
                arm.tunnel.is_some(),
                "a tunnel has nothing to stand between; leave it out",
            ),
            (
                arm.pooler.is_some(),
                "a pooler has nothing to stand between; leave it out",
            ),
            (
                arm.probe.is_some(),
                "there is no server that a probe could change; leave it out",
            ),
            (
                stores,
                "there is no server to hide fields from; take sqlcipher in place of columns",
            ),
        ];
        let (_, why) = asks.into_iter().find(|(is_asked, _)| *is_asked)?;
        Some(Refusal::new(format!("sqlite runs in its client, so {why}")))
    }),
    // A daemon's CPU and that of the kernel's workers are read with a server's, at the same point of every round.
    of_arm_in("sqlite-on-file-system", |_, at, arm| {
        in_its_client(at)?;
        Some(Refusal::new(format!(
            "sqlite runs in its client, and who works for a file system besides is billed to servers alone, so that {} \
             would seem to cost less than it does; take sqlcipher in its place, or a server",
            arm.at_rest.file_system?
        )))
    }),
    // Every connection of every arm has a cache of its own, and all stay open.
    of_cell("sqlite-caches", |asked, at| {
        in_its_client(at)?;
        let (memory_mb, machine) = (at.spec.storage.memory_mb?, host().memory_bytes);
        let sessions =
            u64::from(at.cell.load.connections) * asked.study.measured_arms_of(at.cell).len() as u64;
        let wanted = sessions * (u64::from(memory_mb) << 20);
        let why = format!(
            "each of the {sessions} connections of all arms has a cache of {memory_mb} MB for itself, {} in all, and this \
             machine has {}; ask for fewer connections or a smaller storage.memory_mb",
            format::bytes(wanted as f64),
            format::bytes(machine as f64)
        );
        refuse_if(machine > 0 && wanted > machine, why)
    }),
];

/// A place whose database runs in its client.
fn in_its_client<'a, 'b>(at: &'b At<'a>) -> Option<&'b At<'a>> {
    at.protocol.is_none().then_some(at)
}

/// The refusal of a workload in a vocabulary that a database's client does not speak.
pub(crate) fn not_spoken(name: &str, spoken: &[Vocabulary], cell: &Cell) -> Refusal {
    let is_spoken = |workload: &Workload| spoken.contains(&workload.descriptor().vocabulary);
    let available = Workload::ALL.into_iter().filter(is_spoken).map(Workload::name);
    let available: Vec<&str> = available.collect();
    let cannot = format!("{} is not available on {name}", cell.workload.name());
    Refusal::new(format!("{cannot}; take one of {}", available.join(", ")))
}
