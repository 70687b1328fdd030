//! TPC-C's transactions on real servers: they ask what they must, and leave consistent tables.

use ciphertax_model::workload::NOT_DONE;
use ciphertax_model::{Isolation, StatementKind};
use ciphertax_wire::Expectation;
use ciphertax_workload::dataset::tpcc::Counted;
use ciphertax_workload::sql::tpcc::Terminals;

use crate::common::*;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// A server with tables, and how terminals reach it.
struct Ground<C: Access<Session: SqlSession>> {
    access: C,
    options: <C::Session as ciphertax_wire::Session>::Options,
    tables: Tpcc,
    /// What was asked since the tables were made.
    counted: Counted,
    _server: Lease,
}

#[test]
fn mariadb_is_asked_what_it_must_be_and_its_tables_stay_consistent() {
    let mut ground = of_mysql(&MARIADB, 2);
    ground.asks_and_stays_consistent(StatementKind::Prepared, None, 1, 2000);
    ground.asks_and_stays_consistent(StatementKind::Prepared, None, 8, 2000);
    ground.asks_and_stays_consistent(StatementKind::Text, Some(Isolation::RepeatableRead), 8, 1000);
}

fn of_mysql(entry: &'static Entry, warehouses: u32) -> Ground<MysqlAccess> {
    let server = lease(entry);
    let options = plain(&server);
    let access = MysqlAccess {
        forget_passwords: None,
        columns: None,
        key_exchange: None,
        options: mysql::ConnectOptions {
            database: Some(SCHEMA.to_string()),
            ..options.clone()
        },
        expectation: Expectation::new(Transport::Plain),
        connections: 1,
        is_pooled: false,
    };
    Ground::prepare(server, access, options, warehouses)
}

fn of_postgresql(warehouses: u32) -> Ground<PostgresqlAccess> {
    let server = lease(&POSTGRESQL);
    let options = plain_postgresql(&server);
    let access = PostgresqlAccess {
        options: postgresql::ConnectOptions {
            schema: Some(SCHEMA.to_string()),
            ..options.clone()
        },
        expectation: Expectation::new(Transport::Plain),
        connections: 1,
        is_pooled: false,
        columns: None,
    };
    Ground::prepare(server, access, options, warehouses)
}

impl<C: Access<Session: SqlSession>> Ground<C> {
    fn prepare(
        server: Lease,
        access: C,
        options: <C::Session as ciphertax_wire::Session>::Options,
        warehouses: u32,
    ) -> Self {
        let tables = Tpcc {
            warehouses,
            ..Tpcc::default()
        };
        prepared::<C::Session>(&options, &crate::common::tpcc(TpccContents::plain(tables))).unwrap();
        Self {
            access,
            options,
            tables,
            counted: Counted::default(),
            _server: server,
        }
    }

    fn asks_and_stays_consistent(
        &mut self,
        statements: StatementKind,
        isolation: Option<Isolation>,
        terminals: u32,
        transactions: u32,
    ) {
        let tables = Tpcc {
            statements,
            isolation,
            ..self.tables
        };
        let workload = Terminals {
            access: self.access.clone(),
            tables,
            names: TableNames::ONLY,
            columns: ArmColumns::default(),
            seed: 7,
        };
        let load = Load {
            workers: Some(1),
            batch: Some(transactions),
            ..Load::closed(terminals)
        };
        // Another list of transactions each time.
        let seed = u64::from(transactions + terminals) + statements as u64;
        let mut engine = Engine::start(vec![workload], &load, seed).unwrap();
        engine.prepare(0).unwrap().unwrap();
        let before = self.statements();
        let yielded = engine.slice_of(seed, 0, Duration::ZERO).unwrap();
        let after = self.statements();
        drop(engine);
        let counts: BTreeMap<&str, u64> = after
            .iter()
            .map(|(verb, count)| (*verb, count - before[verb]))
            .collect();
        self.asked_what_it_must(&yielded, &counts, transactions);
        self.is_consistent(&yielded);
    }

    fn asked_what_it_must(&self, yielded: &SliceYield, counts: &BTreeMap<&str, u64>, transactions: u32) {
        let failure = &yielded.first_failure;
        assert_eq!((yielded.failures, yielded.unfinished), (0, 0), "{failure:?}");
        let kind = |name| count_of(yielded, name);
        let [new_orders, payments, asked, deliveries, levels] =
            ["new_order", "payment", "order_status", "delivery", "stock_level"].map(kind);
        let all = new_orders + payments + asked + deliveries + levels;
        assert_eq!(all, u64::from(transactions));
        // 10, 10, 1, 1 and 1 of 23 cards.
        for (count, cards) in [new_orders, payments, asked, deliveries, levels]
            .iter()
            .zip([10, 10, 1, 1, 1])
        {
            let dealt = all * cards / 23;
            let is_near = count.abs_diff(dealt) <= 12 + dealt / 8;
            assert!(is_near, "{count} of {all}, {cards} of 23");
        }
        if counts.is_empty() || yielded.restarts > 0 {
            return;
        }
        let [rolled_back, skipped] = yielded.counts_of(NOT_DONE);
        let is_rare = rolled_back <= 5 + new_orders / 25;
        assert!(is_rare, "{rolled_back} of {new_orders}");
        assert_eq!(counts["insert"], 3 * new_orders + payments);
        assert_eq!(counts["delete"], deliveries);
        assert_eq!(counts["commit"], new_orders - rolled_back + payments + deliveries);
        assert_eq!(counts["rollback"], rolled_back + asked + levels);
        let without_lines = new_orders + 3 * payments + 12 * deliveries - skipped;
        let lines = counts["update"] - without_lines;
        let mean = lines as f64 / new_orders as f64;
        assert!((9.0..11.0).contains(&mean), "{mean} lines an order");
        let without_names = 4 * new_orders + 3 * payments + 3 * asked + 12 * deliveries + levels;
        let by_name = counts["select"] - without_names;
        let share = by_name as f64 / (payments + asked) as f64;
        assert!((0.6..0.8).contains(&share), "{share} by name or with bad credit");
        let sum = counts.values().sum::<u64>();
        let kinds = [new_orders, payments, asked, deliveries, levels];
        assert_eq!(
            yielded.queries, sum,
            "{counts:?} of {kinds:?}, {rolled_back} rolled back, {skipped} skipped"
        );
    }

    fn is_consistent(&mut self, yielded: &SliceYield) {
        let kind = |name| count_of(yielded, name);
        let [rolled_back, skipped] = yielded.counts_of(NOT_DONE);
        self.counted.new_orders += kind("new_order") - rolled_back;
        self.counted.rolled_back += rolled_back;
        self.counted.payments += kind("payment");
        self.counted.deliveries += 10 * kind("delivery") - skipped;
        let tables = self.tables;
        let counted = self.counted;
        self.with_session(async |session| {
            let when = When::AfterRun(Some(counted));
            let results = check(session, TableNames::ONLY, &tables, when, &[])
                .await
                .unwrap();
            assert!(results.len() >= 12, "{results:?}");
        });
    }

    /// What the server says it was asked, by verb; nothing where it does not count.
    fn statements(&self) -> BTreeMap<&'static str, u64> {
        // The last is how a look at stock says that it needs less isolation.
        const VERBS: [&str; 7] = [
            "select",
            "insert",
            "update",
            "delete",
            "commit",
            "rollback",
            "set_option",
        ];
        self.with_session(async |session| {
            let mut counts = BTreeMap::new();
            for verb in VERBS {
                let status = format!("SHOW GLOBAL STATUS LIKE 'Com_{verb}'");
                if let Ok(rows) = session.query(&status).await {
                    counts.insert(verb, rows[0].text(1).parse().unwrap());
                }
            }
            counts
        })
    }

    fn with_session<T>(&self, task: impl AsyncFnOnce(&mut C::Session) -> T) -> T {
        run_within(PATIENCE, async |reactor| {
            let inside = C::Session::within(&self.options, Some(&SCHEMA));
            let (mut session, _) = <C::Session as ciphertax_wire::Session>::connect(reactor, &inside)
                .await
                .unwrap();
            task(&mut session).await
        })
        .unwrap()
    }
}

mod test_all {
    use super::*;

    #[test]
    fn mysql_is_asked_what_it_must_be_and_its_tables_stay_consistent() {
        let Some(_) = fetched(&MYSQL) else { return };
        let mut ground = of_mysql(&MYSQL, 1);
        ground.asks_and_stays_consistent(StatementKind::Prepared, None, 8, 2000);
        ground.asks_and_stays_consistent(StatementKind::Text, None, 1, 500);
    }

    #[test]
    fn postgresql_is_asked_what_it_must_be_and_its_tables_stay_consistent() {
        let Some(_) = fetched(&POSTGRESQL) else { return };
        let mut ground = of_postgresql(2);
        ground.asks_and_stays_consistent(StatementKind::Prepared, None, 1, 1000);
        ground.asks_and_stays_consistent(StatementKind::Prepared, Some(Isolation::RepeatableRead), 8, 2000);
        ground.asks_and_stays_consistent(StatementKind::Text, None, 8, 1000);
    }
}
