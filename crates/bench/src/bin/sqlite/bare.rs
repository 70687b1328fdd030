//! A loop over `rusqlite`, with nothing around it.

use std::time::{Duration, Instant};

use ciphertax_bench::Result;
use ciphertax_observe::ThreadUsage;
use ciphertax_wire::sqlite::ConnectOptions;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rusqlite::{Connection, OpenFlags};

use crate::{Asked, ROWS};

/// Operations between two looks at the clock.
const AT_A_TIME: u32 = 64;

/// A connection to the file of an arm, opened as its sessions are.
pub(crate) fn open(options: &ConnectOptions) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(options.path(), flags)?;
    if let Some(cipher) = options.cipher() {
        let passphrase = cipher.passphrase.expose();
        connection.execute_batch(&format!("PRAGMA key = '{passphrase}'"))?;
    }
    let settings = format!(
        "PRAGMA cache_size = -{}; PRAGMA synchronous = NORMAL",
        options.cache_kib()
    );
    connection.execute_batch(&settings)?;
    Ok(connection)
}

/// CPU time of an operation in microseconds.
pub(crate) fn measure(connection: &Connection, asked: Asked, seed: u64, duration: Duration) -> Result<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut statement = connection.prepare(asked.sql())?;
    let mut value = [b'0'; 119];
    let mut operations = 0_u64;
    let before = ThreadUsage::now();
    let deadline = Instant::now() + duration;
    while Instant::now() < deadline {
        for _ in 0..AT_A_TIME {
            let id = random.random_range(1..=ROWS);
            let done = match asked {
                Asked::PointSelect => {
                    statement.query_row([id], |row| Ok(row.get_ref(0)?.as_bytes()?.len()))? == value.len()
                }
                Asked::Update => {
                    for byte in &mut value {
                        *byte = b'0' + random.random_range(0..10);
                    }
                    statement.execute((std::str::from_utf8(&value)?, id))? == 1
                }
            };
            if !done {
                return Err(format!("the row {id} is not there").into());
            }
        }
        operations += u64::from(AT_A_TIME);
    }
    let used = ThreadUsage::now().since(&before);
    Ok(used.cpu.total_ns as f64 / operations as f64 / 1e3)
}
