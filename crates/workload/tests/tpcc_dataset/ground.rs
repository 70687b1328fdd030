//! A server and how its sessions are opened, whichever database it is.

use ciphertax_workload::dataset;
use ciphertax_workload::dataset::tpcc::restore;
use ciphertax_workload::sql::TextRow;

use crate::common::*;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);
/// More columns than any question of these tests has.
const COLUMNS: usize = 4;

pub(crate) struct Ground<S: SqlSession> {
    /// Lives as long as it.
    _server: Lease,
    pub(crate) options: S::Options,
    /// Matches a regular expression.
    pub(crate) matches: &'static str,
}

pub(crate) fn mariadb() -> Ground<mysql::Session> {
    of_mysql(&MARIADB)
}

pub(crate) fn mysql() -> Option<Ground<mysql::Session>> {
    fetched(&MYSQL)?;
    Some(of_mysql(&MYSQL))
}

fn of_mysql(entry: &'static Entry) -> Ground<mysql::Session> {
    let server = lease(entry);
    Ground {
        options: plain(&server),
        _server: server,
        matches: "REGEXP",
    }
}

pub(crate) fn postgresql() -> Option<Ground<postgresql::Session>> {
    fetched(&POSTGRESQL)?;
    let server = lease(&POSTGRESQL);
    let options = plain_postgresql(&server);
    Some(Ground {
        options,
        _server: server,
        matches: "~",
    })
}

/// The tables of one warehouse, in one plain set.
pub(crate) fn one_warehouse() -> TpccContents {
    TpccContents::plain(Tpcc {
        warehouses: 1,
        load_workers: 2,
        ..Tpcc::default()
    })
}

impl<S: SqlSession> Ground<S> {
    /// Makes the data set, and returns what progress was heard.
    pub(crate) fn prepare(&self, contents: &TpccContents) -> Result<Vec<u64>, DatasetError> {
        prepared::<S>(&self.options, &crate::common::tpcc(contents.clone()))
    }

    /// Has the tables there, and tells whether they hold nothing.
    pub(crate) fn begin(&self, contents: &TpccContents) -> bool {
        let contents = crate::common::tpcc(contents.clone());
        run_within(PATIENCE, async |reactor| {
            dataset::begin::<S>(reactor, &self.options, &contents).await
        })
        .unwrap()
        .unwrap()
    }

    /// Writes a part of the rows, and returns how many.
    pub(crate) fn load_part(&self, contents: &TpccContents, index: u32, of: u32) -> u64 {
        let heard = load_part::<S>(&self.options, &crate::common::tpcc(contents.clone()), index, of);
        heard.last().copied().unwrap_or(0)
    }

    /// Begins to make the data set and ends in the middle, as one who is killed, when so many rows are there.
    pub(crate) fn interrupt(&self, contents: &TpccContents, rows: u64) {
        run_within(PATIENCE, async |reactor| {
            let reached = Cell::new(false);
            let contents = crate::common::tpcc(contents.clone());
            let mut progress = |there| reached.set(there >= rows);
            let mut opened = Vec::new();
            let load =
                dataset::prepare_contents::<S>(reactor, &self.options, &contents, &mut opened, &mut progress);
            let mut load = pin!(load);
            poll_fn(|context| match load.as_mut().poll(context) {
                Poll::Ready(outcome) => panic!("it was not interrupted: {outcome:?}"),
                Poll::Pending if reached.get() => Poll::Ready(()),
                Poll::Pending => Poll::Pending,
            })
            .await;
        })
        .unwrap();
    }

    pub(crate) fn restore(&self, contents: &TpccContents) -> Vec<u64> {
        let mut heard = Vec::new();
        run_within(PATIENCE, async |reactor| {
            let mut progress = |rows| heard.push(rows);
            restore::<S>(reactor, &self.options, contents, &mut Vec::new(), &mut progress).await
        })
        .unwrap()
        .unwrap();
        heard
    }

    pub(crate) fn with_session<T>(&self, task: impl AsyncFnOnce(&mut S) -> T) -> T {
        run_within(PATIENCE, async |reactor| {
            let (mut session, _) = S::connect(reactor, &self.options).await.unwrap();
            task(&mut session).await
        })
        .unwrap()
    }

    /// The rows of a statement, columns parted by spaces.
    pub(crate) fn ask(&self, statement: &str) -> Vec<String> {
        self.with_session(async |session| {
            let rows = session.query(statement).await;
            let rows = rows.unwrap_or_else(|error| panic!("{statement}: {error}"));
            let row = |row: &TextRow| {
                let columns: Vec<String> = (0..COLUMNS).map(|column| row.text(column)).collect();
                columns.join(" ").trim_end().to_owned()
            };
            rows.iter().map(row).collect()
        })
    }

    pub(crate) fn number(&self, question: &str) -> f64 {
        let rows = self.ask(question);
        rows[0].parse().unwrap_or_else(|_| panic!("{question}: {rows:?}"))
    }
}
