//! Memory of real servers, and how they write, by their own words.

use ciphertax_lab::catalogue::{CATALOGUE, Protocol};
use ciphertax_wire::Session as _;
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{mongodb, postgresql as pg};

use super::common::{ask, plain};
use crate::prelude::*;

const MEMORY_MB: u32 = 96;
const MEMORY: &str = "100663296";

#[test]
fn the_cache_of_mongodb_is_as_large_as_it_is_told() {
    let Some(_) = fetched(&MONGODB) else { return };
    let server = plain(&MONGODB)
        .access_control(false)
        .storage(memory(288))
        .start()
        .unwrap();
    let address = server.address();
    let login = mongodb::Login::None;
    let options = mongodb::ConnectOptions::new(address.ip().to_string(), address.port(), login);
    let said = run(async |reactor| {
        let (mut session, _) = mongodb::Session::connect(reactor, &options).await.unwrap();
        let status = session
            .command(&rawdoc! { "serverStatus": 1_i32, "$db": "admin" })
            .await
            .unwrap();
        let cache = status
            .get_document("wiredTiger")
            .unwrap()
            .get_document("cache")
            .unwrap();
        let bytes = cache.get("maximum bytes configured").unwrap().unwrap();
        bytes.as_i64().or(bytes.as_i32().map(i64::from)).unwrap()
    });
    assert_eq!(said, 288 << 20);
}

#[test]
fn the_shared_buffers_of_postgresql_are_as_large_as_they_are_told() {
    for entry in servers(Protocol::PostgreSql) {
        let server = plain(entry).storage(memory(MEMORY_MB)).start().unwrap();
        let address = server.address();
        let options = pg::ConnectOptions {
            database: Some(postgresql::DATABASE.into()),
            ..pg::ConnectOptions::new(
                address.ip().to_string(),
                address.port(),
                server.user(),
                server.password().clone(),
            )
        };
        let said = run(async |reactor| {
            let (mut session, _) = pg::Session::connect(reactor, &options).await.unwrap();
            let rows = session.query("SHOW shared_buffers").await.unwrap();
            rows[0].text(0)
        });
        assert_eq!(said, format!("{MEMORY_MB}MB"));
    }
}

fn memory(megabytes: u32) -> Storage {
    Storage {
        memory_mb: Some(megabytes),
        ..Storage::default()
    }
}

fn servers(protocol: Protocol) -> impl Iterator<Item = &'static Entry> {
    let spoken = move |entry: &&'static Entry| entry.protocol() == Some(protocol) && fetched(entry).is_some();
    CATALOGUE.iter().copied().filter(spoken)
}

mod test_all {
    use super::*;

    #[test]
    fn every_server_of_mysqls_family_has_the_memory_and_writes_as_it_is_told() {
        for entry in servers(Protocol::MySql) {
            for (storage, expected) in [
                (
                    Storage {
                        memory_mb: Some(MEMORY_MB),
                        flush: Some(FlushMethod::Direct),
                        flush_log_at_trx_commit: Some(1),
                        binary_log: true,
                        sync_binlog: Some(7),
                        doublewrite: Some(false),
                    },
                    [
                        ("innodb_buffer_pool_size", MEMORY),
                        ("innodb_flush_method", "O_DIRECT"),
                        ("innodb_flush_log_at_trx_commit", "1"),
                        ("log_bin", "1"),
                        ("sync_binlog", "7"),
                        ("innodb_doublewrite", "0"),
                    ],
                ),
                (
                    Storage {
                        flush: Some(FlushMethod::Buffered),
                        flush_log_at_trx_commit: Some(0),
                        doublewrite: Some(true),
                        ..Storage::default()
                    },
                    [
                        ("innodb_buffer_pool_size", "268435456"),
                        ("innodb_flush_method", "fsync"),
                        ("innodb_flush_log_at_trx_commit", "0"),
                        ("log_bin", "0"),
                        ("innodb_doublewrite", "1"),
                        ("max_connections", "2000"),
                    ],
                ),
            ] {
                let server = plain(entry).storage(storage).start().unwrap();
                for (name, value) in expected {
                    let said = ask(&server, &format!("SELECT @@GLOBAL.{name}"));
                    let said = match said.as_str() {
                        "ON" | "DETECT_AND_RECOVER" => "1",
                        "OFF" => "0",
                        // What the server takes if it is told nothing, in its own spelling.
                        "" if entry == &MYSQL_5_6 => "fsync",
                        said => said,
                    };
                    assert_eq!(said, value, "{entry}: {name}");
                }
            }
        }
    }
}
