//! The scenarios on PostgreSQL beside sysbench and pgbench themselves, on the same server: the same statements in the same
//! order, prepared or not, by the server's own log. `scripts/setup.sh test` installs both.

use ciphertax_engine::Workload;
use ciphertax_lab::Account;
use ciphertax_lab::postgresql::DATABASE;
use ciphertax_testkit::peers::{Pgbench, PgbenchCall, PgbenchScript};
use ciphertax_wire::Expectation;
use ciphertax_wire::postgresql::{ConnectOptions, Session};
use ciphertax_workload::sql::Tables;

use crate::common::*;
use crate::postgresql::administer;

const DATASET: Dataset = Dataset {
    tables: 2,
    table_size: 2000,
    distribution: Distribution::Uniform,
};
/// The whole of it is there: oltp_delete comes last.
const TABLES: Tables = Tables {
    dataset: DATASET,
    thinned: false,
};
const SCALE: ciphertax_model::Pgbench = ciphertax_model::Pgbench { scale: 1 };
const METHOD: AuthenticationMethod = AuthenticationMethod::Trust;

/// Transactions of sysbench and pgbench.
const FEW: u64 = 20;
const SLICE: Duration = Duration::from_millis(200);

#[test]
fn every_scenario_sends_the_statements_that_sysbench_sends() {
    let Some(mut bed) = Bed::with(&crate::common::sbtest(DATASET)) else {
        return;
    };
    compare_scenarios(&mut bed, TABLES);
    bed.compare_bulk_inserts();
}

#[test]
fn pgbenchs_workloads_send_the_statements_that_pgbench_sends() {
    let Some(bed) = Bed::with(&crate::common::pgbench(SCALE)) else {
        return;
    };
    let pgbench = Pgbench::find().unwrap();
    let theirs = |script| {
        let call = PgbenchCall {
            server: &bed.server,
            method: METHOD,
            transport: Transport::Plain,
            script,
            connections: 1,
            threads: 1,
        };
        let logged = bed.logged(|| {
            pgbench.run(&call, Limit::Transactions(FEW)).unwrap();
        });
        // What it asks before, about its tables, is not prepared.
        logged
            .into_iter()
            .filter(|statement| statement.is_prepared)
            .collect::<Vec<_>>()
    };
    let (select_only, tpcb_like) = (theirs(PgbenchScript::SelectOnly), theirs(PgbenchScript::TpcbLike));
    let tables = SCALE;
    bed.expect("select-only", &select_only, 1, |access| SelectOnly {
        access,
        tables,
    });
    bed.expect("tpcb-like", &tpcb_like, 7, |access| TpcbLike { access, tables });
}

/// A statement as the server logged it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Statement {
    is_prepared: bool,
    /// One text for all tables and values; parameters are as they were written.
    text: String,
}

impl Statement {
    /// `None` for other lines.
    fn of(line: &str) -> Option<Self> {
        let (_, said) = line.split_once("LOG:  ")?;
        let (is_prepared, text) = match said.strip_prefix("statement: ") {
            Some(text) => (false, without_values(text)),
            None => (
                true,
                said.strip_prefix("execute ")?.split_once(": ")?.1.to_owned(),
            ),
        };
        Some(Self {
            is_prepared,
            text: of_any_table(&words(text.trim_end_matches(';'))),
        })
    }

    fn begins_with(&self, text: &str) -> bool {
        self.text.starts_with(text)
    }
}

/// A text with one space wherever there is any.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Which of several tables is asked is a matter of chance.
fn of_any_table(text: &str) -> String {
    (1..=DATASET.tables).fold(text.to_owned(), |text, table| {
        text.replace(&format!("sbtest{table}"), "sbtest")
    })
}

/// A text with `0` for each number that is a value and `''` for each text.
fn without_values(text: &str) -> String {
    let mut kept = String::new();
    let (mut in_text, mut before) = (false, ' ');
    for letter in text.chars() {
        if letter == '\'' {
            in_text = !in_text;
            kept.push(letter);
        } else if !in_text {
            let is_number = letter.is_ascii_digit() && !before.is_ascii_alphabetic();
            match (is_number, before.is_ascii_digit()) {
                (true, true) => {}
                (true, false) => kept.push('0'),
                (false, _) => kept.push(letter),
            }
        }
        before = letter;
    }
    kept
}

/// A server that logs every statement.
struct Bed {
    server: PrivateServer,
}

impl Bed {
    /// One with these tables, if there is any.
    fn with(contents: &Contents) -> Option<Self> {
        fetched(&POSTGRESQL)?;
        let server = PrivateServer::builder(&POSTGRESQL)
            .account(METHOD)
            .option("--log_statement=all")
            .option("--log_parameter_max_length=0")
            .option("--synchronous_commit=off");
        let bed = Self {
            server: server.start().unwrap(),
        };
        prepared::<Session>(&bed.options(), contents).unwrap();
        Some(bed)
    }

    /// Holds a workload to the statements of so many transactions.
    fn expect<W: Workload>(
        &self,
        name: &str,
        theirs: &[Statement],
        statements: usize,
        workload: impl Fn(PostgresqlAccess) -> W,
    ) {
        assert_eq!(theirs.len(), FEW as usize * statements, "{name}: {theirs:#?}");
        let mut engine = self.engine(workload);
        engine.prepare(0).unwrap().unwrap();
        let mut operations = 0;
        let ours = self.logged(|| operations = slice(&mut engine));
        assert_eq!(ours.len(), operations as usize * statements, "{name}");
        let compared = ours.len().min(theirs.len());
        assert!(compared >= statements, "{name}");
        assert_eq!(ours[..compared], theirs[..compared], "{name}");
    }

    /// sysbench counts a row as a transaction here, so that as many rows must be as many statements.
    fn compare_bulk_inserts(&self) {
        let mut engine = self.engine(BulkInsert::new);
        engine.prepare(0).unwrap().unwrap();
        let ours = self.logged(|| assert!(slice(&mut engine) > 0));
        let rows = administer(&self.server, "SELECT COUNT(*) FROM ciphertax.sbbulk1");
        for sql in [
            "DROP TABLE ciphertax.sbtest1",
            "CREATE TABLE ciphertax.sbtest1 (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))",
        ] {
            administer(&self.server, sql);
        }
        let theirs = self.of_sysbench("bulk_insert", rows[0].parse().unwrap());
        assert_eq!(ours.len(), theirs.len(), "{rows:?}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let row_of = |statement: &Statement| {
                assert!(!statement.is_prepared);
                let text = statement.text.replace("sbbulk1", "sbtest");
                let (beginning, rows) = text.split_once('(').unwrap();
                let (row, rest) = rows.split_once(')').unwrap();
                let rest = rest.replace(' ', "");
                assert!(rest.split(",(0,0)").all(str::is_empty), "{beginning}({row})");
                format!("{beginning}({row})").replace(", ", ",")
            };
            assert_eq!(row_of(ours), row_of(theirs));
        }
    }

    /// The statements of sysbench's transactions alone.
    fn of_sysbench(&self, name: &str, transactions: u64) -> Vec<Statement> {
        let address = self.server.address();
        let mut command = Command::new("sysbench");
        command.env("PGSSLMODE", "disable").args([
            "--db-driver=pgsql".to_owned(),
            format!("--pgsql-host={}", address.ip()),
            format!("--pgsql-port={}", address.port()),
            format!("--pgsql-user={}", self.account().user),
            format!("--pgsql-db={DATABASE}"),
            format!("--events={transactions}"),
            "--time=0".to_owned(),
            format!("--rand-type={}", DATASET.distribution.name()),
            format!("--tables={}", DATASET.tables),
            format!("--table-size={}", DATASET.table_size),
        ]);
        command.args([name, "run"]);
        let logged = self.logged(|| drop(run_program(&mut command, "").unwrap()));
        let is_of_a_transaction = |statement: &Statement| !statement.begins_with("DEALLOCATE");
        logged.into_iter().filter(is_of_a_transaction).collect()
    }

    /// What the server logs of what somebody does.
    fn logged(&self, act: impl FnOnce()) -> Vec<Statement> {
        let log = self.server.folder().join("server.log");
        let before = length(&log);
        act();
        let bytes = fs::read(&log).unwrap().split_off(before);
        // A statement goes on in lines that begin with a tab.
        let log = String::from_utf8(bytes).unwrap().replace("\n\t", " ");
        log.lines().filter_map(Statement::of).collect()
    }

    fn engine<W: Workload>(&self, workload: impl Fn(PostgresqlAccess) -> W) -> Engine {
        let access = PostgresqlAccess {
            options: ConnectOptions {
                schema: Some(SCHEMA.to_string()),
                ..self.options()
            },
            expectation: Expectation::new(Transport::Plain),
            connections: 1,
            is_pooled: false,
            columns: None,
        };
        Engine::start(vec![workload(access)], &Load::closed(1), 1).unwrap()
    }

    /// How who is trusted logs in.
    fn options(&self) -> ConnectOptions {
        let (address, account) = (self.server.address(), self.account());
        let host = address.ip().to_string();
        ConnectOptions {
            database: Some(DATABASE.to_owned()),
            method: Method::called(METHOD.name()),
            ..ConnectOptions::new(host, address.port(), &account.user, account.password.clone())
        }
    }

    fn account(&self) -> &Account {
        self.server.account(METHOD).unwrap()
    }
}

impl Compare<PostgresqlAccess> for Bed {
    /// One connection on each side.
    fn compare<W: Workload>(
        &mut self,
        name: &str,
        statements: usize,
        workload: impl Fn(PostgresqlAccess) -> W,
    ) {
        let theirs = self.of_sysbench(name, FEW);
        self.expect(name, &theirs, statements, workload);
    }
}

/// A slice of operations that all succeed, and how many.
fn slice(engine: &mut Engine) -> u64 {
    let yielded = engine.slice(0, SLICE).unwrap();
    let found = (yielded.failures, yielded.restarts);
    assert_eq!(found, (0, 0), "{:?}", yielded.first_failure);
    yielded.operations.iter().map(|operations| operations.count).sum()
}

fn length(file: &Path) -> usize {
    fs::metadata(file).unwrap().len() as usize
}
