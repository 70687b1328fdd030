//! A schema that is there (`--schema`), for accounts that may make none.

use crate::common::*;

const GIVEN: &str = "--schema=shop";

/// An account with these rights in `shop` alone; somebody else's table there of the name `taken`, and one of a name that this run
/// does not need.
fn works_in_it(server: &dyn AnyOwn, taken: &str, make: &dyn Fn(&str), drop: &dyn Fn(&str)) {
    let target = server.app_url();
    let before = (server.all(), server.shop());
    let after = || (server.all(), server.shop());
    refused(&target, "ciphertax … have its administrator run");

    let measured = Sandbox::new();
    start_study(&measured, &target, &[GIVEN]).finish().measured();
    assert_eq!(after(), before);
    assert!(record(&measured.run()).head.command.contains("--schema shop"));

    make(taken);
    let foreign = after();
    let sandbox = Sandbox::new();
    let finished = start_study(&sandbox, &target, &[GIVEN]).finish();
    let has = format!("shop has a table {taken} that ciphertax did not make");
    finished.refuses(&format!("{has} … rename it, or give another schema"));
    assert!(!sandbox.run().exists());
    assert_eq!(after(), foreign);
    drop(taken);

    let sandbox = Sandbox::new();
    let mut running = start_study(&sandbox, &target, &["--time=60", GIVEN]);
    running.measures();
    running.kill();
    assert!(within(PATIENCE, || server.is_free()));
    assert_ne!(after(), before);
    make("pgbench_accounts");
    let left = after();
    sandbox.finish(&["clean", &target]);
    assert_eq!(after(), left);
    let cleaned = sandbox.finish(&["clean", &target, GIVEN]);
    cleaned.shows("Removed what ciphertax makes in the  …  shop from ");
    drop("pgbench_accounts");
    assert_eq!(after(), before);
    sandbox
        .finish(&["clean", &target, GIVEN])
        .shows("Nothing to remove");
}

#[test]
fn tables_are_made_and_removed_beside_others_on_mariadb() {
    let server = OwnServer::start();
    server.make_shop();
    server.session(|query| {
        query("CREATE USER app@'%' IDENTIFIED BY 'tr0ub4dor'");
        query("GRANT CREATE, DROP, ALTER, INDEX, SELECT, INSERT, UPDATE, DELETE ON shop.* TO app@'%'");
    });
    let make = |name: &str| drop(server.query(&format!("CREATE TABLE shop.{name} (id INT PRIMARY KEY)")));
    let remove = |name: &str| drop(server.query(&format!("DROP TABLE shop.{name}")));
    works_in_it(&server, "sbtest1", &make, &remove);

    server.query("REVOKE DROP ON shop.* FROM app@'%'");
    let sandbox = Sandbox::new();
    let finished = start_study(&sandbox, &server.app_url(), &[GIVEN]).finish();
    finished.refuses(
        "DROP … GRANT CREATE, DROP, ALTER, INDEX, SELECT, INSERT, UPDATE, DELETE ON `shop`.* TO `app`@`%`",
    );
    for (schema, said) in [
        ("nowhere", "no schema named nowhere"),
        ("mysql", "the server's own"),
        ("a-b", "letters, digits"),
    ] {
        let finished = sandbox.finish(&study(&server.app_url(), &["--schema", schema]));
        finished.refuses(said);
    }
}

#[test]
fn tables_are_made_and_removed_beside_others_on_postgresql() {
    let server = OwnPostgreSql::start();
    server.make_shop();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    server.let_in("app");
    let sandbox = Sandbox::new();
    let finished = start_study(&sandbox, &server.app_url(), &[GIVEN]).finish();
    let grant = "GRANT CREATE, USAGE ON SCHEMA \"shop\" TO app";
    finished.refuses(&format!("have its administrator run: {grant}"));
    server.query(grant);
    // Of tables to which it has no right an account sees nothing in the information schema.
    let make = |name: &str| drop(server.query(&format!("CREATE TABLE shop.{name} (id INT PRIMARY KEY)")));
    let remove = |name: &str| drop(server.query(&format!("DROP TABLE shop.{name}")));
    works_in_it(&server, "sbtest1", &make, &remove);
}

#[test]
fn collections_are_made_and_removed_beside_others_on_mongodb() {
    let server = OwnMongoDb::start();
    server.make_shop();
    server.ask(&rawdoc! {
        "createUser": "app", "pwd": "tr0ub4dor", "roles": [{ "role": "readWrite", "db": "shop" }], "$db": "admin",
    });
    let make = |name: &str| server.insert("shop", name, [rawdoc! { "_id": 1_i32 }]);
    // More than a server names at once.
    (0..120).for_each(|number| make(&format!("orders_{number}")));
    let remove = |name: &str| drop(server.ask(&rawdoc! { "drop": name, "$db": "shop" }));
    works_in_it(&server, "usertable", &make, &remove);
}

mod test_all {
    use super::*;

    const STUDY: &str = r#"
name = "words"
question = "What does it cost?"
time_s = 4
slice_s = 0.1
dataset = { table_size = 1000 }
tpcc = { warehouses = 1 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [
    { name = "rows", workload = "oltp_read_write", load = { connections = 1 } },
    { name = "accounts", workload = "pgbench_tpcb_like", load = { connections = 1 } },
    { name = "records", workload = "ycsb_a", load = { connections = 1 } },
    { name = "orders", workload = "tpcc", load = { connections = 1 } },
]
"#;

    #[test]
    fn a_schema_may_be_called_by_a_word_of_the_language() {
        let works = |server: &dyn AnyOwn| {
            let (before, sandbox) = (server.all(), Sandbox::new());
            let mut command = sandbox.study(STUDY, &["--schema=order"]);
            command.arg(server.url_with(server.password()));
            Running::start(command).finish_within(2 * PATIENCE).measured();
            no_slice_failed(&record(&sandbox.run()));
            assert_eq!(server.all(), before);
        };
        let mariadb = OwnServer::start();
        mariadb.query("CREATE SCHEMA `order`");
        works(&mariadb);
        let postgresql = OwnPostgreSql::start();
        postgresql.query("CREATE SCHEMA \"order\"");
        works(&postgresql);
    }
}
