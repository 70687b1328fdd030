//! Every workload on real files, in plaintext and encrypted: no operation fails, each connection works, and the rows are
//! what `rusqlite` finds by itself.

use ciphertax_lab::catalogue::SQLITE;
use ciphertax_lab::sqlite::options;
use ciphertax_model::workload::{Tables, Vocabulary};
use ciphertax_model::{AtRest, SqlCipher, Storage, Study, Workload};
use ciphertax_records::Yield;
use ciphertax_testkit::run;
use ciphertax_wire::Expectation;
use ciphertax_wire::sqlite::{ConnectOptions, Session};
use ciphertax_workload::Job;
use ciphertax_workload::dataset;
use ciphertax_workload::sqlite::SqliteAccess;
use rusqlite::Connection;

use crate::common::*;

const SLICE: Duration = Duration::from_millis(60);
const ROWS: u32 = 1500;
const CONNECTIONS: u32 = 3;

#[test]
fn every_workload_works_on_plain_and_encrypted_files_and_leaves_the_rows_that_it_should() {
    for sqlcipher in [None, Some(cheap())] {
        let file = File::make(sqlcipher);
        let study = study(Workload::OltpReadWrite);
        file.load(&study);
        file.load(&self::study(Workload::YcsbA));
        // What deletes rows comes last: the others would miss them.
        let (deleting, others): (Vec<Workload>, Vec<Workload>) = Workload::ALL
            .into_iter()
            .filter(|workload| is_measured(*workload))
            .partition(|workload| workload.descriptor().deletes_rows);
        for workload in others.into_iter().chain(deleting) {
            let yielded = file
                .slice(workload)
                .unwrap_or_else(|failure| panic!("{}: {failure:?}", workload.name()));
            assert_eq!(yielded.workers, CONNECTIONS, "a thread for each connection");
            let count: u64 = yielded.operations.iter().map(|kind| kind.count).sum();
            assert!(count >= u64::from(CONNECTIONS), "{}: {count}", workload.name());
            assert_eq!((yielded.bytes_sent, yielded.bytes_received), (0, 0));
        }
        let connection = file.foreign();
        let ask = |sql: &str| {
            connection
                .query_row(sql, (), |row| row.get::<_, String>(0))
                .unwrap()
        };
        assert_eq!(ask("PRAGMA integrity_check"), "ok");
        // What read_write and write_only took they put back, and what delete took is gone; inserts came after the last.
        let there = ask(&format!(
            "SELECT CAST(COUNT(*) AS TEXT) FROM sbtest1 WHERE id <= {ROWS}"
        ));
        assert!(there.parse::<u32>().unwrap() < ROWS, "{there}");
        let lengths =
            ask("SELECT MIN(LENGTH(c)) || ',' || MAX(LENGTH(c)) || ',' || MIN(LENGTH(pad)) FROM sbtest1");
        assert_eq!(lengths, "119,119,59");
        assert_eq!(ask("SELECT CAST(COUNT(*) AS TEXT) FROM bulk"), "16");
        // Its index and its table have the same rows.
        let by_index = ask("SELECT CAST(SUM(k) AS TEXT) FROM sbtest1 INDEXED BY k_1 WHERE k > -1");
        assert_eq!(
            by_index,
            ask("SELECT CAST(SUM(k) AS TEXT) FROM sbtest1 NOT INDEXED")
        );
    }
}

#[test]
fn the_data_set_is_taken_up_where_it_was_left_and_damage_is_mended() {
    let file = File::make(None);
    let study = study(Workload::OltpReadOnly);
    file.load(&study);
    let sum = "SELECT COUNT(*) || ',' || SUM(k) || ',' || GROUP_CONCAT(SUBSTR(c, 1, 3)) FROM sbtest1";
    let ask = |sql: &str| {
        file.foreign()
            .query_row(sql, (), |row| row.get::<_, String>(0))
            .unwrap()
    };
    let before = ask(sum);
    let damage = "DELETE FROM sbtest1 WHERE id IN (7, 1200); UPDATE sbtest1 SET c = 'x' WHERE id = 1; \
                  INSERT INTO sbtest1 (id, k) VALUES (9000, 1)";
    file.foreign().execute_batch(damage).unwrap();
    assert_ne!(ask(sum), before);
    file.load(&study);
    assert_eq!(ask(sum), before);
    // The same for every arm, however it is encrypted.
    let other = File::make(Some(cheap()));
    other.load(&study);
    assert_eq!(
        other
            .foreign()
            .query_row(sum, (), |row| row.get::<_, String>(0))
            .unwrap(),
        before
    );
}

/// Rounds cost what they cost: an encrypted file takes as much longer to open, and its phase says so.
#[test]
fn opening_an_encrypted_file_is_taken_apart() {
    let phases = |sqlcipher| {
        let file = File::make(sqlcipher);
        file.load(&study(Workload::Connect));
        let yielded = file.slice(Workload::Connect).unwrap();
        let phases = yielded.phases.iter();
        phases
            .map(|sample| (sample.phase, sample.client_cpu_sum_ns))
            .collect::<Vec<_>>()
    };
    let names = |phases: &[(Phase, Option<u64>)]| phases.iter().map(|(phase, _)| *phase).collect::<Vec<_>>();
    let plain = phases(None);
    assert_eq!(
        names(&plain),
        [Phase::Open, Phase::Setup, Phase::FirstOperation, Phase::Close]
    );
    let encrypted = phases(Some(cheap()));
    assert_eq!(
        names(&encrypted),
        [
            Phase::Open,
            Phase::KeyDerivation,
            Phase::Setup,
            Phase::FirstOperation,
            Phase::Close
        ]
    );
    assert!(encrypted[1].1.unwrap() > 0);
}

#[test]
fn a_writer_that_is_in_the_way_is_waited_for_and_then_told() {
    let file = File::make(None);
    file.load(&study(Workload::OltpInsert));
    let other = file.foreign();
    let mut engine = file.prepared(Workload::OltpInsert).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // It goes away while it is waited for.
    let (released, ended, yielded) = thread::scope(|scope| {
        let slice = scope.spawn(|| {
            let yielded = engine.slice(0, SLICE).unwrap();
            (Instant::now(), yielded)
        });
        thread::sleep(Duration::from_millis(500));
        let released = Instant::now();
        other.execute_batch("COMMIT").unwrap();
        let (ended, yielded) = slice.join().unwrap();
        (released, ended, yielded)
    });
    assert!(yielded.first_failure.is_none(), "{:?}", yielded.first_failure);
    assert!(ended >= released, "{:?} too early", released - ended);
}

#[test]
fn a_session_that_is_not_what_its_arm_says_does_no_work() {
    let file = File::make(None);
    file.load(&study(Workload::OltpPointSelect));
    file.foreign()
        .query_row("PRAGMA journal_mode = DELETE", (), |_| Ok(()))
        .unwrap();
    match file.slice(Workload::OltpPointSelect) {
        Err(Failure::FactsDiffer(problem)) => assert!(problem.contains("journal_mode"), "{problem}"),
        other => panic!("{other:?}"),
    }
}

/// What SQLite is measured with.
fn is_measured(workload: Workload) -> bool {
    let descriptor = workload.descriptor();
    descriptor.vocabulary != Vocabulary::Program
        && !matches!(descriptor.tables, Some(Tables::Pgbench | Tables::Tpcc))
}

fn cheap() -> SqlCipher {
    SqlCipher {
        kdf_iter: 1000,
        ..SqlCipher::default()
    }
}

fn study(workload: Workload) -> Study {
    let mix = match workload {
        Workload::Ycsb => "mix = { read = 0.5, insert = 0.25, scan = 0.25 }\n",
        _ => "",
    };
    let text = format!(
        "name = \"mine\"\nquestion = \"?\"\nserver = \"sqlite\"\ntime_s = 1\n\
         dataset = {{ tables = 2, table_size = {ROWS} }}\n\
         ycsb = {{ record_count = 500, field_length = 20, verify = true }}\n\
         [[arm]]\nname = \"plain\"\ntransport = \"plain\"\n\
         [[arm]]\nname = \"other\"\ntransport = \"plain\"\nat_rest = {{ sqlcipher = {{}} }}\n\
         [[cell]]\nname = \"only\"\nworkload = \"{}\"\n{mix}load = {{ connections = {CONNECTIONS} }}\n",
        workload.name()
    );
    Study::from_toml(&text).unwrap()
}

/// A private file, and how it is opened.
struct File {
    server: PrivateServer,
    options: ConnectOptions,
    /// What one workload inserts another must know.
    keys: Arc<KeySpace>,
}

impl File {
    fn make(sqlcipher: Option<SqlCipher>) -> Self {
        let at_rest = AtRest {
            sqlcipher,
            ..AtRest::default()
        };
        let server = PrivateServer::builder(&SQLITE).at_rest(at_rest).start().unwrap();
        let options = options(&server, &Storage::default());
        let keys = Arc::new(KeySpace::new(&study(Workload::YcsbA).ycsb));
        Self {
            server,
            options,
            keys,
        }
    }

    fn load(&self, study: &Study) {
        let contents = Contents::of(study, SqliteAccess::VOCABULARIES);
        let mut opened = Vec::new();
        run(async |reactor| {
            dataset::make_contents::<Session>(reactor, &self.options, &contents, &mut opened, &mut |_| ())
                .await
        })
        .unwrap();
    }

    /// One slice of a workload, or why there was none.
    fn slice(&self, workload: Workload) -> Result<Yield, Failure> {
        let yielded = self.prepared(workload)?.slice(0, SLICE).unwrap();
        match yielded.first_failure {
            None => Ok(yielded.recorded),
            Some(failure) => Err(failure),
        }
    }

    /// The connections of a workload, or why they are none.
    fn prepared(&self, workload: Workload) -> Result<Engine, Failure> {
        let study = study(workload);
        let job = Job {
            study: &study,
            cell: &study.cells[0],
            part: ciphertax_engine::Part::WHOLE,
            keys: vec![Arc::clone(&self.keys)],
            columns: vec![ArmColumns::default()],
            cpu: None,
            seed: 1,
        };
        let access = SqliteAccess {
            options: self.options.clone(),
            expectation: Expectation::new(Transport::Plain),
        };
        let mut engine = SqliteAccess::start(&job, vec![access]).unwrap().unwrap();
        engine.prepare(0).unwrap()?;
        Ok(engine)
    }

    /// Another connection, by what was written for this test alone.
    fn foreign(&self) -> Connection {
        let path: &Path = self.options.path();
        let connection = Connection::open(path).unwrap();
        if let Some(SqlCipher { kdf_iter, .. }) = self.server.at_rest.sqlcipher {
            let passphrase = self.server.password().expose();
            let key = format!("PRAGMA key = '{passphrase}'; PRAGMA kdf_iter = {kdf_iter}");
            connection.execute_batch(&key).unwrap();
        }
        connection
    }
}
