//! What it takes to open an encrypted file of SQLite, beside OpenSSL's own derivation of its key.

use ciphertax_model::SqlCipher;
use ciphertax_wire::sql::{SqlSession as _, Statement as _};
use ciphertax_wire::sqlite::{Cipher, ConnectOptions, Parameter, Query, Session};
use rustix::time::{ClockId, clock_gettime};

use crate::common::*;

/// Of each a few in turns, of which the least is taken: what else the machine does can only add to it. More of them where
/// they are not enough.
const TURNS: u32 = 7;
const MOST_TURNS: u32 = 60;
const PASSPHRASE: &str = "correct horse battery staple";
const KIB: u32 = 1024;

/// Nothing is asserted of how long it takes here, only of what takes as long as what.
#[test]
fn the_phase_of_key_derivation_is_as_much_work_as_pbkdf2_of_so_many_rounds_and_half_of_it_half_as_much() {
    const ROUNDS: u32 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let [whole, half] = [ROUNDS, ROUNDS / 2].map(|rounds| file(folder.path(), rounds));
    let is_near = |ratio: f64, expected: f64| (ratio / expected - 1.0).abs() <= 0.2;
    let mut least = [u64::MAX; 3];
    let is_as_much = (1..=MOST_TURNS).any(|turns| {
        let turn = [derivation(&whole), derivation(&half), pbkdf2(ROUNDS)];
        least = std::array::from_fn(|which| least[which].min(turn[which]));
        let [whole, half, pbkdf2] = least.map(|ns| ns as f64);
        turns >= TURNS && is_near(whole / pbkdf2, 1.0) && is_near(half / whole, 0.5)
    });
    let holds = is_as_much;
    assert!(holds, "the whole, half of it, and by itself, in ns: {least:?}");
}

#[test]
fn values_of_every_kind_are_handed_over_by_text_and_by_prepared_statements() {
    let folder = tempfile::tempdir().unwrap();
    let options = ConnectOptions::new(&folder.path().join("file"), None, 4 * KIB);
    let mut session = Session::create(&options).unwrap();
    let sql = "SELECT -9223372036854775808, 9223372036854775807, 0.1, -1e300, '', 'ünïcödé', x'00FF', NULL";
    let values = [
        Value::Integer(i64::MIN),
        Value::Integer(i64::MAX),
        Value::Text(b"0.1"),
        Value::Text(b"-1e300"),
        Value::Text(b""),
        Value::Text("ünïcödé".as_bytes()),
        Value::Text(&[0, 0xFF]),
        Value::Null,
    ];
    run(async |_| {
        let mut rows = 0;
        let mut compare = |row: &[Value<'_>]| {
            assert_eq!(row, values);
            rows += 1;
            Ok(())
        };
        let mut statement = session.prepare(sql, &[]).await.unwrap();
        session
            .execute_values(&mut statement, &mut compare)
            .await
            .unwrap();
        session
            .run_values(&mut Query::new(sql), &mut compare)
            .await
            .unwrap();
        assert_eq!(rows, 2);

        let mut length = session
            .prepare("SELECT length(?)", &[Parameter::VariableText])
            .await
            .unwrap();
        for bytes in [0, 250, 251, 65_535] {
            length.set_text(0, &vec![b'x'; bytes]).unwrap();
            let check = |row: &[Value<'_>]| {
                assert_eq!(row, [Value::Integer(bytes as i64)]);
                Ok(())
            };
            session.execute_values(&mut length, check).await.unwrap();
        }
        assert!(length.set_text(0, &[b'x'; 65_536]).is_err());
        let mut many = Query::new(&format!("SELECT {}", vec!["1"; 65].join(", ")));
        assert!(session.run_values(&mut many, |_| Ok(())).await.is_err());
    });
}

/// Beside a session that reads much, another keeps what it has: each has the memory that it was given, and no other's.
#[test]
fn what_a_session_keeps_in_memory_no_other_takes_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let options = ConnectOptions::new(&folder.path().join("file"), None, 4 * KIB);
    let mut session = Session::create(&options).unwrap();
    // One megabyte, which fits, and twenty.
    for (table, rows) in [("small", 5_000), ("large", 100_000)] {
        for sql in [
            format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, x BLOB)"),
            format!(
                "INSERT INTO {table} WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows}) \
                 SELECT n, randomblob(190) FROM n"
            ),
        ] {
            session.command(&sql).unwrap();
        }
    }
    session.command("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let [mut keeps, mut reads_much] = [(); 2].map(|()| Session::open(&options).unwrap().0);
    let mut small = || {
        let before = bytes_read();
        keeps.query("SELECT count(x) FROM small").unwrap();
        bytes_read() - before
    };
    assert!(small() > 1_000_000);
    for _ in 0..2 {
        reads_much.query("SELECT count(x) FROM large").unwrap();
    }
    let again = small();
    assert!(again < 100_000, "{again} bytes are not in memory any more");
}

/// By this thread, from files.
fn bytes_read() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.unwrap().parse().unwrap()
}

fn file(folder: &Path, kdf_iter: u32) -> ConnectOptions {
    let cipher = Cipher {
        passphrase: Secret::new(PASSPHRASE),
        settings: SqlCipher {
            kdf_iter,
            ..SqlCipher::default()
        },
    };
    let options = ConnectOptions::new(&folder.join(kdf_iter.to_string()), Some(cipher), 8 * KIB);
    let mut session = Session::create(&options).unwrap();
    session.command("CREATE TABLE t (x INTEGER)").unwrap();
    session.close().unwrap();
    options
}

/// CPU time of the phase, as every connect of a run has it.
fn derivation(options: &ConnectOptions) -> u64 {
    let (session, trace) = Session::open(options).unwrap();
    session.close().unwrap();
    let derivation = trace.phases().find(|(phase, _)| *phase == Phase::KeyDerivation);
    let (_, took) = derivation.unwrap();
    took.client_cpu_ns.unwrap()
}

/// CPU time of the same derivation by the library itself.
fn pbkdf2(rounds: u32) -> u64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let mut key = [0; 32];
    let before = now();
    let digest = MessageDigest::sha512();
    pbkdf2_hmac(PASSPHRASE.as_bytes(), &[7; 16], rounds as usize, digest, &mut key).unwrap();
    now() - before
}
