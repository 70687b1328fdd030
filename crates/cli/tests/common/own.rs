//! A server that ciphertax is given by URL, the "user's own", whichever database it is.

use std::fmt::Display;

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::Protocol;
use ciphertax_lab::certificates::ClientCertificateFiles;
use ciphertax_supervise::GuardProgram;
use ciphertax_testkit::lease;

use crate::common::*;

/// A server of the test's own, or one that it borrows.
type Held = Box<dyn Deref<Target = PrivateServer> + Send + Sync>;

pub(crate) struct Own {
    pub(super) server: Held,
    /// How its URL begins and ends, and the parameter that names a CA in one.
    scheme: &'static str,
    database: &'static str,
    ca: &'static str,
}

impl Own {
    pub(super) fn start(
        entry: &'static Entry,
        set_up: impl FnOnce(PrivateServerBuilder) -> PrivateServerBuilder,
    ) -> Self {
        ciphertax_lab::install(entry, &AtomicBool::new(false), &mut |_| {}).unwrap();
        let guard = GuardProgram::new(env!("CARGO_BIN_EXE_ciphertax"));
        let builder = set_up(PrivateServer::builder(entry).guard(guard));
        Self::of(Box::new(Box::new(builder.start().unwrap())))
    }

    /// One as it is by default, which is reset afterwards.
    pub(super) fn lent(entry: &'static Entry) -> Self {
        Self::of(Box::new(lease(entry)))
    }

    fn of(server: Held) -> Self {
        let (scheme, database, ca) = match server.entry().protocol() {
            Some(Protocol::PostgreSql) => ("postgresql", DATABASE, "sslrootcert"),
            Some(Protocol::MongoDb) => ("mongodb", "", "tlsCAFile"),
            _ => ("mysql", "", "ssl-ca"),
        };
        Self {
            server,
            scheme,
            database,
            ca,
        }
    }

    /// The default account.
    pub(crate) fn user(&self) -> &str {
        self.server.user()
    }

    pub(crate) fn password(&self) -> &str {
        self.server.password().expose()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.server.folder()
    }

    pub(crate) fn ca_file(&self) -> &Path {
        self.server.ca_file().unwrap()
    }

    /// A client's certificate of the same authority, and its key.
    pub(crate) fn client_files(&self) -> ClientCertificateFiles {
        let issued = self.server.client_certificate(CertificateKind::EcdsaP256);
        issued.unwrap().unwrap()
    }

    /// The port of its TCP socket.
    pub(crate) fn port(&self) -> u16 {
        self.server.address().port()
    }

    /// The addresses of all its nodes.
    pub(crate) fn nodes(&self) -> Vec<SocketAddr> {
        self.server.addresses()
    }

    /// Where it is reached, as in a URL: a replica set by all its members.
    pub(crate) fn hosts(&self) -> String {
        let nodes = self.nodes();
        let all = if self.scheme == "mongodb" {
            &nodes[..]
        } else {
            &nodes[..1]
        };
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        all.join(",")
    }

    /// Its URL without the password and options.
    pub(crate) fn url(&self) -> String {
        self.url_of(self.user())
    }

    /// Its URL with a password.
    pub(crate) fn url_with(&self, password: impl Display) -> String {
        self.url_of(&format!("{}:{password}", self.user()))
    }

    /// Its URL for somebody else, or for nobody.
    pub(crate) fn url_of(&self, user: &str) -> String {
        let at = if user.is_empty() { "" } else { "@" };
        format!("{}://{user}{at}{}/{}", self.scheme, self.hosts(), self.database)
    }

    /// A URL of it with the authority of its certificate.
    pub(crate) fn with_ca(&self, url: &str) -> String {
        format!("{url}?{}={}", self.ca, self.ca_file().display())
    }

    /// Its URL with its password and the authority of its certificate.
    pub(crate) fn verified_url(&self) -> String {
        self.with_ca(&self.url_with(self.password()))
    }

    /// Its URL for the account `app` with its password and the authority of its certificate.
    pub(crate) fn app_url(&self) -> String {
        self.with_ca(&self.url_of("app:tr0ub4dor"))
    }
}

/// Runs a test on a server of every database.
pub(crate) fn on_each(test: impl Fn(&dyn AnyOwn)) {
    test(&OwnServer::start());
    test(&OwnPostgreSql::start());
    test(&OwnMongoDb::start());
}

/// The arguments that measure a target by a built-in study in a moment, unless `options` say for how long.
pub(crate) fn study<'a>(target: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    let (study, records) = match target.starts_with("mongodb") {
        true => ("mongodb-tls-connection", "--set=ycsb.record_count=500"),
        false => ("quick", "--set=dataset.table_size=2000"),
    };
    let mut arguments = vec!["run", study, target, records, "--set=slice_s=0.05"];
    for (option, default) in [("--time", "--time=3"), ("--out", "--out=run")] {
        if !options.iter().any(|given| given.starts_with(option)) {
            arguments.push(default);
        }
    }
    [&arguments[..], options].concat()
}

pub(crate) fn start_study(sandbox: &Sandbox, target: &str, options: &[&str]) -> Running {
    sandbox.start(&study(target, options))
}

/// Where `quick` has measured a target in two seconds.
pub(crate) fn measured_in_a_moment(target: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let finished = sandbox.finish(&["quick", target, "--time", "2", "--out", "run"]);
    finished.measured();
    sandbox
}

/// A run that is refused, of which nothing is left; returns what it says.
pub(crate) fn refused(target: &str, words: &str) -> String {
    let sandbox = Sandbox::new();
    let finished = start_study(&sandbox, target, &[]).finish();
    finished.refuses(words);
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
    finished.stderr
}

/// What tests do with any of them.
pub(crate) trait AnyOwn: Deref<Target = Own> {
    /// All that it holds but what is the system's, in alphabetical order.
    fn all(&self) -> Vec<String>;

    /// The first column of the last statement's rows.
    fn sql(&self, statements: &[&str]) -> Vec<String>;

    /// Has something that is somebody else's.
    fn make_shop(&self) {
        self.sql(&[
            "CREATE SCHEMA shop",
            "CREATE TABLE shop.orders (id INT PRIMARY KEY, item VARCHAR(20))",
            "INSERT INTO shop.orders VALUES (1, 'a chair'), (2, 'a table')",
        ]);
    }

    /// What became of that, unless it is among all.
    fn shop(&self) -> Vec<String> {
        self.sql(&["SELECT CONCAT(id, item) FROM shop.orders ORDER BY id"])
    }

    /// Makes a schema or database of the name that ciphertax gives its own, with something in it.
    fn make_precious(&self) {
        self.sql(&[
            "CREATE SCHEMA ciphertax",
            "CREATE TABLE ciphertax.precious (id INT)",
        ]);
    }

    /// Makes what looks like ciphertax's mark there.
    fn make_mark(&self) {
        self.sql(&[
            "CREATE TABLE ciphertax.made_by_ciphertax (mark VARCHAR(100))",
            "INSERT INTO ciphertax.made_by_ciphertax VALUES ('so they say')",
        ]);
    }

    /// True if no run measures it any more, as far as it has noticed.
    fn is_free(&self) -> bool;

    /// True if it has a schema or database of ciphertax's name.
    fn has_ours(&self) -> bool {
        self.all().iter().any(|name| name.starts_with("ciphertax"))
    }

    /// Starts a run, and kills it when it measures; returns when the server has noticed.
    fn leave_behind(&self, target: &str) {
        let sandbox = Sandbox::new();
        let mut running = start_study(&sandbox, target, &["--time=60", "--out=killed"]);
        running.measures();
        running.kill();
        assert!(self.has_ours());
        assert!(super::within(super::PATIENCE, || self.is_free()));
    }
}

impl AnyOwn for OwnServer {
    fn all(&self) -> Vec<String> {
        self.sql(&["SELECT schema_name FROM information_schema.schemata UNION ALL \
             SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables WHERE table_schema NOT IN \
             ('mysql', 'sys', 'information_schema', 'performance_schema') ORDER BY 1"])
    }

    fn sql(&self, statements: &[&str]) -> Vec<String> {
        self.session(|query| statements.iter().map(|sql| query(sql)).last().unwrap())
    }

    fn is_free(&self) -> bool {
        self.query("SELECT IS_FREE_LOCK('ciphertax')") == ["1"]
    }
}

impl AnyOwn for OwnPostgreSql {
    fn all(&self) -> Vec<String> {
        self.contents()
    }

    fn sql(&self, statements: &[&str]) -> Vec<String> {
        self.session(|query| statements.iter().map(|sql| query(sql)).last().unwrap())
    }

    fn is_free(&self) -> bool {
        self.query("SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'ciphertax'") == ["0"]
    }
}

impl AnyOwn for OwnMongoDb {
    fn all(&self) -> Vec<String> {
        let contents = self.contents().into_iter();
        contents.map(|(name, hash)| format!("{name} {hash}")).collect()
    }

    fn sql(&self, _: &[&str]) -> Vec<String> {
        Vec::new()
    }

    fn make_shop(&self) {
        self.insert("shop", "orders", [rawdoc! { "_id": 1_i32, "item": "a chair" }]);
    }

    fn make_precious(&self) {
        self.insert("ciphertax", "precious", [rawdoc! { "_id": 1_i32 }]);
    }

    fn make_mark(&self) {
        self.insert("ciphertax", "ciphertax_mark", [rawdoc! { "mark": "so they say" }]);
    }

    fn is_free(&self) -> bool {
        let idle = rawdoc! { "currentOp": true, "$all": true, "active": false, "$db": "admin" };
        let answer = self.ask(&idle);
        !answer.get_array("inprog").unwrap().into_iter().any(|session| {
            let session = session.unwrap().as_document().unwrap();
            session.get_document("clientMetadata").is_ok()
        })
    }
}
