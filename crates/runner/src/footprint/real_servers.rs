//! What servers say of their pages and logs, held against rows of known size on known pages.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ciphertax_base::counter;
use ciphertax_model::{Arm, Study};
use ciphertax_records::ServerId;
use ciphertax_testkit::{PATIENCE, fetched, within};
use ciphertax_wire::mongodb::bson::spec::BinarySubtype;
use ciphertax_wire::mongodb::bson::{Binary, RawArrayBuf, rawdoc};
use ciphertax_wire::sql::SqlSession as _;

use crate::counters::change;
use crate::database::Database;
use crate::groups::groups;
use crate::mongodb::MongoDb;
use crate::mysql::MySql;
use crate::postgresql::PostgreSql;
use crate::server::{GroupServer, Identity, Server};
use crate::servers_to_play::entry;

ciphertax_testkit::plays_roles!();

/// A server with this much memory for data; `None` if it is not available here.
pub(crate) fn server<D: Database>(name: &str, memory_mb: u32) -> Option<GroupServer<D>> {
    let (server, _) = server_beside::<D>(name, memory_mb, "")?;
    Some(server)
}

/// The same with an arm beside the plain one, which has these settings too, and that arm.
pub(crate) fn server_beside<D: Database>(
    name: &str,
    memory_mb: u32,
    settings: &str,
) -> Option<(GroupServer<D>, Arm)> {
    fetched(entry(name).unwrap())?;
    let text = format!(
        "name = \"s\"\nquestion = \"?\"\nserver = \"{name}\"\ntime_s = 1\n\
         storage = {{ memory_mb = {memory_mb} }}\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n\
         [[arm]]\nname = \"beside\"\ntransport = \"plain\"\n{settings}\n[[cell]]\nname = \"only\"\n\
         workload = \"ycsb_c\"\nload = {{ connections = 1 }}\n"
    );
    let study = Study::from_toml(&text).unwrap();
    let spec = study.server_spec(&study.cells[0]);
    let arms = study.measured_arms();
    let group = &groups(&study, &spec, arms.iter().collect())[0];
    let identity = Identity {
        id: ServerId::numbered(1),
        cells: Vec::new(),
    };
    let server = GroupServer::private(&study, &spec, group, identity, None).unwrap();
    Some((server, study.arms[1].clone()))
}

/// What counters rise by while something is done.
pub(crate) fn rise<D: Database>(
    server: &mut GroupServer<D>,
    task: impl FnOnce(&mut GroupServer<D>),
) -> BTreeMap<String, i64> {
    let before = server.counters().unwrap();
    task(server);
    change(&before, &server.counters().unwrap())
}

#[track_caller]
pub(crate) fn lies_between(what: &str, number: i64, least: i64, most: i64) {
    assert!(
        (least..=most).contains(&number),
        "{what}: {number}, not {least} to {most}"
    );
}

/// Two rows of so many bytes fill a page of InnoDB's.
pub(crate) const HALF_A_PAGE: i64 = 7_900;
const ROWS: i64 = 8_000;

/// Pages of the server's own that may be dirty at any time.
const OF_ITS_OWN: i64 = 100;

fn innodb_counts_pages(name: &str) {
    const POOL_MB: i64 = 8;
    let Some(mut server) = server::<MySql>(name, POOL_MB as u32) else {
        return;
    };
    let pages = ROWS / 2;
    let in_pool = POOL_MB * 64;
    let run = |server: &mut GroupServer<MySql>, sql: &str| {
        let answer = server.control.ask(async |session| session.query(sql).await);
        answer.unwrap().first().map(|row| row.text(1)).unwrap_or_default()
    };
    run(&mut server, "CREATE SCHEMA ciphertax");
    run(
        &mut server,
        "CREATE TABLE ciphertax.usertable (id INT PRIMARY KEY, n INT NOT NULL, payload VARBINARY(8000) NOT NULL) \
         ENGINE = InnoDB",
    );
    let inserted = rise(&mut server, |server| {
        for first in (0..ROWS).step_by(1_000) {
            let rows: Vec<String> = (first..first + 1_000)
                .map(|id| format!("({id}, 0, REPEAT('x', {HALF_A_PAGE}))"))
                .collect();
            run(
                server,
                &format!("INSERT INTO ciphertax.usertable VALUES {}", rows.join(", ")),
            );
        }
    });
    let bytes = ROWS * HALF_A_PAGE;
    lies_between(
        "log of inserts",
        inserted[counter::LOG_BYTES],
        bytes,
        bytes * 3 / 2,
    );

    let scan = "SELECT COUNT(*), SUM(LENGTH(payload)) FROM ciphertax.usertable";
    let scanned = rise(&mut server, |server| drop(run(server, scan)));
    // What was in memory before is not read; what leads to the pages is.
    let most = pages + pages / 10;
    lies_between("pages read", scanned[counter::PAGES_READ], pages - in_pool, most);
    assert!(scanned[counter::PAGES_REQUESTED] >= pages, "{scanned:?}");
    // Rows of half a page each: the first is read, the second is there.
    let hits = counter::cache_hit_rate(&scanned).unwrap();
    assert!((0.0..0.9).contains(&hits), "{hits} {scanned:?}");
    if let Some(evicted) = scanned.get(counter::PAGES_EVICTED) {
        // A page that is read takes the place of another, unless the page cleaner has made room before: of as much as there is room
        // at the beginning nothing is seen, and as much room may be left at the end. What was changed is written out instead.
        lies_between("pages evicted", *evicted, pages - 3 * in_pool, most + in_pool);
    }

    let updated = rise(&mut server, |server| {
        run(server, "UPDATE ciphertax.usertable SET n = n + 1");
        run(
            server,
            "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0, GLOBAL innodb_max_dirty_pages_pct = 0",
        );
        let dirty = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'";
        let server = RefCell::new(server);
        let is_clean = || run(&mut server.borrow_mut(), dirty).parse::<i64>().unwrap() < OF_ITS_OWN;
        assert!(within(PATIENCE, is_clean), "pages stay dirty");
    });
    lies_between(
        "pages written",
        updated[counter::PAGES_WRITTEN],
        pages - OF_ITS_OWN,
        pages * 2,
    );

    let footprint = server.footprint().unwrap().unwrap();
    assert_eq!(footprint.memory_bytes, POOL_MB as u64 * (1 << 20));
    let size = footprint.tables["usertable"];
    for bytes in [size.data_bytes, size.disk_bytes] {
        // A tablespace grows by several extents of a megabyte at a time.
        lies_between(
            "bytes",
            bytes as i64,
            pages << 14,
            (pages << 14) * 11 / 10 + (8 << 20),
        );
    }
    server.close().unwrap();
}

#[test]
fn mariadb_counts_pages_and_tells_how_large_its_tables_are() {
    innodb_counts_pages("mariadb");
}

#[test]
fn mysql_counts_pages_and_tells_how_large_its_tables_are() {
    innodb_counts_pages("mysql");
}

fn postgresql_counts_pages(name: &str) {
    const BUFFERS_MB: i64 = 8;
    let Some(mut server) = server::<PostgreSql>(name, BUFFERS_MB as u32) else {
        return;
    };
    // A row of so many bytes fills a page.
    let (pages, bytes) = (ROWS / 2, ROWS / 2 * HALF_A_PAGE);
    let run = |server: &mut GroupServer<PostgreSql>, sql: &str| {
        let answer = server.control.ask(async |session| session.query(sql).await);
        drop(answer.unwrap());
    };
    run(&mut server, "CREATE SCHEMA ciphertax");
    run(
        &mut server,
        "CREATE TABLE ciphertax.usertable (id INT NOT NULL, payload TEXT NOT NULL)",
    );
    // Neither compressed nor put elsewhere.
    run(
        &mut server,
        "ALTER TABLE ciphertax.usertable ALTER COLUMN payload SET STORAGE PLAIN",
    );
    let inserted = rise(&mut server, |server| {
        let before = server.counters().unwrap()[counter::PAGES_WRITTEN];
        run(
            server,
            &format!(
                "INSERT INTO ciphertax.usertable SELECT id, REPEAT('x', {HALF_A_PAGE}) FROM generate_series(1, {pages}) id"
            ),
        );
        run(server, "CHECKPOINT");
        // Processes tell what they wrote a while after.
        let server = RefCell::new(server);
        let written = || server.borrow_mut().counters().unwrap()[counter::PAGES_WRITTEN];
        assert!(
            within(PATIENCE, || written() - before >= pages),
            "pages are not written"
        );
    });
    lies_between(
        "log of inserts",
        inserted[counter::LOG_BYTES],
        bytes,
        bytes * 3 / 2,
    );
    // Before PostgreSQL 16 a new page is written as zeros first, when its file grows.
    lies_between(
        "pages written",
        inserted[counter::PAGES_WRITTEN],
        pages,
        pages * 5 / 2,
    );
    // The first look at new rows marks them as there for all.
    let scan = "SELECT COUNT(*), SUM(LENGTH(payload)) FROM ciphertax.usertable";
    run(&mut server, scan);
    drop(server.counters().unwrap());
    let scanned = rise(&mut server, |server| {
        run(server, scan);
        // The next reading has what the session was asked to tell by this one.
        drop(server.counters().unwrap());
    });
    lies_between(
        "pages read",
        scanned[counter::PAGES_READ],
        pages - BUFFERS_MB * 128,
        pages + pages / 10,
    );
    assert!(scanned[counter::PAGES_REQUESTED] >= pages, "{scanned:?}");
    if let Some(evicted) = scanned.get(counter::PAGES_EVICTED) {
        lies_between("pages evicted", *evicted, pages - 2 * BUFFERS_MB * 128, pages * 2);
    }

    let footprint = server.footprint().unwrap().unwrap();
    assert_eq!(footprint.memory_bytes, BUFFERS_MB as u64 * (1 << 20));
    let size = footprint.tables["usertable"];
    for bytes in [size.data_bytes, size.disk_bytes] {
        lies_between("bytes", bytes as i64, pages << 13, (pages << 13) * 11 / 10);
    }
    server.close().unwrap();
}

#[test]
fn postgresql_counts_pages_and_tells_how_large_its_tables_are() {
    postgresql_counts_pages("postgresql");
}

#[test]
fn mongodb_counts_its_log_and_tells_how_large_its_collection_is() {
    const CACHE_MB: u32 = 256;
    const RECORDS: i64 = 5_000;
    const PAYLOAD: usize = 4_000;
    let Some(mut server) = server::<MongoDb>("mongodb", CACHE_MB) else {
        return;
    };
    // Half of each payload is noise, which cannot be compressed.
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let inserted = rise(&mut server, |server| {
        for first in (0..RECORDS).step_by(500) {
            let records = (first..first + 500).map(|id| {
                let mut bytes = vec![0; PAYLOAD];
                bytes[..PAYLOAD / 2].fill_with(&mut noise);
                let payload = Binary {
                    subtype: BinarySubtype::Generic,
                    bytes,
                };
                rawdoc! { "_id": id, "payload": payload }
            });
            let documents: RawArrayBuf = records.collect();
            let insert = rawdoc! { "insert": "usertable", "documents": documents, "$db": "ciphertax" };
            let answer = server.control.ask(async |session| session.command(&insert).await);
            assert_eq!(answer.unwrap().get_i32("n").unwrap(), 500);
        }
    });
    let (bytes, noise_bytes) = (RECORDS * PAYLOAD as i64, RECORDS * PAYLOAD as i64 / 2);
    lies_between(
        "log of inserts",
        inserted[counter::LOG_BYTES],
        noise_bytes,
        bytes * 3 / 2,
    );
    assert!(
        inserted[counter::PAGES_REQUESTED] > 0 && inserted[counter::PAGES_READ] < 100,
        "{inserted:?}"
    );

    let footprint = server.footprint().unwrap().unwrap();
    assert_eq!(footprint.memory_bytes, u64::from(CACHE_MB) << 20);
    let size = footprint.tables["usertable"];
    lies_between("bytes in memory", size.data_bytes as i64, bytes, bytes * 11 / 10);
    lies_between(
        "bytes on the disk",
        size.disk_bytes as i64,
        noise_bytes,
        bytes * 8 / 10,
    );
    server.close().unwrap();
}

mod test_all {
    use super::*;

    #[test]
    fn postgresql_18_counts_pages_and_tells_how_large_its_tables_are() {
        postgresql_counts_pages("postgresql-18");
    }
}
