//! Our client with a real MongoDB: logins, TLS, commands, the server's word; and the same beside the official driver.

use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ciphertax_base::Secret;
use ciphertax_base::{ConnectTrace, Phase, PhaseTrace};
use ciphertax_lab::catalogue::MONGODB;
use ciphertax_lab::{PrivateServer, PrivateServerBuilder};
use ciphertax_model::*;
use ciphertax_reactor::Reactor;
use ciphertax_testkit::fetched;
use ciphertax_wire::mongodb::bson::raw::cstr;
use ciphertax_wire::mongodb::bson::{Document, RawDocument, RawDocumentBuf, doc, rawdoc};
use ciphertax_wire::mongodb::{
    Account, ConnectOptions, Login, Others, Request, Role, ScramKeys, ServerCounters, Session, Topology,
    authenticated_users,
};
use ciphertax_wire::tls::{ClientCertificate, TlsConnector, TlsPolicy, Verification};
use ciphertax_wire::{Address, Client as _, Expectation, ExpectedLogin, Protocol, Session as _, WireError};
use mongodb::sync::Client;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::common::{PATIENCE, run, run_within};

#[test]
fn every_login_takes_its_flights_and_is_what_both_sides_say() {
    let Some(_) = fetched(&MONGODB) else { return };
    let deployment = Deployment::start();
    use AuthenticationMethod::{MongodbX509, NoLogin, ScramSha1, ScramSha256};
    // Method, flights of the login after the greeting, and when its first step goes along with the greeting.
    for (method, flights, speculative) in [
        (ScramSha1, 2, 1),
        (ScramSha256, 2, 1),
        (MongodbX509, 1, 0),
        (NoLogin, 0, 0),
    ] {
        for (early, flights) in [(false, flights), (true, speculative)] {
            for keys in [ScramKeys::Derived, ScramKeys::kept()] {
                let cache = match keys {
                    ScramKeys::Derived => PasswordCache::Cold,
                    ScramKeys::Kept(_) => PasswordCache::Warm,
                };
                let options = ConnectOptions {
                    speculative: early,
                    scram_keys: keys,
                    ..deployment.with_tls(deployment.login(method), TlsVersion::V1_3, TlsLibrary::OpenSsl)
                };
                let expectation = Expectation {
                    login: Some(ExpectedLogin::by(method, cache)),
                    ..Expectation::new(Transport::Tls13)
                };
                run(async |reactor| {
                    let mut control = connect(reactor, &deployment.clear(deployment.default_login())).await;
                    Session::warm_up(reactor, &options, 1).await.unwrap();
                    let before = ServerCounters::read(&mut control).await.unwrap();
                    let (mut session, trace) = Session::connect(reactor, &options).await.unwrap();
                    let what = format!("{method} {early} {cache:?}: {trace:?}");
                    expectation.check(&session).unwrap();
                    assert_eq!(phase(&trace, Phase::Preface).unwrap().flights, 1, "{what}");
                    match phase(&trace, Phase::Auth) {
                        Some(auth) => assert_eq!(auth.flights, flights, "{what}"),
                        None => assert_eq!(method, NoLogin),
                    }
                    let users = authenticated_users(&mut session).await.unwrap();
                    assert_eq!(users.len(), usize::from(method != NoLogin), "{users:?}");
                    let after = ServerCounters::read(&mut control).await.unwrap();
                    let counted = after.since(&before);
                    expectation
                        .check_counters(&counted, 1, early, Others::None)
                        .unwrap();
                    let other = Expectation::new(Transport::Plain);
                    assert!(other.check_counters(&counted, 1, early, Others::None).is_err());
                    session.close().await.unwrap();
                });
            }
        }
    }
}

#[test]
fn both_libraries_speak_tls_with_it_and_it_counts_the_versions() {
    let Some(_) = fetched(&MONGODB) else { return };
    let deployment = Deployment::start();
    for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
        for (version, transport) in [
            (TlsVersion::V1_2, Transport::Tls12),
            (TlsVersion::V1_3, Transport::Tls13),
        ] {
            run(async |reactor| {
                let mut control = connect(reactor, &deployment.clear(deployment.default_login())).await;
                let before = ServerCounters::read(&mut control).await.unwrap();
                let options = deployment.with_tls(Login::None, version, library);
                let mut session = connect(reactor, &options).await;
                let expectation = Expectation::new(transport);
                expectation.check(&session).unwrap();
                let facts = session.facts().await.unwrap();
                assert_eq!(facts.tls.unwrap().version, version.name());
                assert_eq!(facts.server_version, "6.0.5");
                session.close().await.unwrap();
                let counted = ServerCounters::read(&mut control).await.unwrap().since(&before);
                expectation
                    .check_counters(&counted, 1, false, Others::None)
                    .unwrap();
            });
        }
    }
}

#[test]
fn a_wrong_password_is_refused_to_both_clients() {
    let Some(_) = fetched(&MONGODB) else { return };
    for method in [AuthenticationMethod::ScramSha1, AuthenticationMethod::ScramSha256] {
        let right = account(shared().login(method));
        let wrong = |user: &str, password: &Secret| Account {
            user: user.into(),
            password: password.clone(),
            ..right.clone()
        };
        let password = Secret::new("wrong");
        for account in [wrong(&right.user, &password), wrong("nobody", &right.password)] {
            for speculative in [false, true] {
                let options = ConnectOptions {
                    speculative,
                    ..shared().clear(Login::Scram(account.clone()))
                };
                let problem = refusal(&options);
                assert!(problem.is_access_denied(), "{problem}");
            }
            let theirs = shared().driver(&account).database("admin");
            let problem = theirs.run_command(doc! { "ping": 1 }).run().unwrap_err();
            assert!(problem.to_string().contains("Authentication failed"), "{problem}");
        }
    }
}

#[test]
fn access_control_refuses_who_has_not_logged_in() {
    let Some(_) = fetched(&MONGODB) else { return };
    run(async |reactor| {
        let mut session = connect(reactor, &shared().clear(Login::None)).await;
        let problem = session.find_all("d", "t", &rawdoc! {}).await.unwrap_err();
        let is_denied = problem.is_access_denied() && !problem.is_disconnect();
        assert!(is_denied, "{problem}");
    });
}

#[test]
fn names_with_signs_of_the_protocol_log_in() {
    let Some(_) = fetched(&MONGODB) else { return };
    run(async |reactor| {
        let account = Account {
            user: "a=b,c=2C".into(),
            password: Secret::new("pencil, Ⅸ and 100 % = fun"),
            ..account(shared().default_login())
        };
        create_account(
            &mut connect(reactor, &shared().clear(shared().default_login())).await,
            &account,
        )
        .await;
        let mut session = connect(reactor, &shared().clear(Login::Scram(account))).await;
        let users = authenticated_users(&mut session).await.unwrap();
        assert_eq!(users, ["a=b,c=2C@admin"]);
    });
}

#[test]
fn both_clients_read_what_the_other_wrote() {
    let Some(_) = fetched(&MONGODB) else { return };
    let account = account(shared().default_login());
    let theirs = shared().driver(&account);
    let collection = theirs.database("both").collection::<Document>("documents");
    let by_them =
        doc! { "_id": "theirs", "text": "ünïcödé 🦀", "number": 7_i64, "none": null, "list": [1, 2.5, true] };
    collection.insert_one(&by_them).run().unwrap();
    let by_us = rawdoc! { "_id": "ours", "text": "漢字", "number": 7_i64, "inner": { "empty": "" } };
    run(async |reactor| {
        let mut session = connect(reactor, &shared().clear(Login::Scram(account.clone()))).await;
        let mut insert = Request::of(&rawdoc! { "insert": "documents", "$db": "both" });
        insert.sequence(cstr!("documents"), |documents| documents.raw_document(&by_us));
        assert_eq!(session.run(&mut insert).await.unwrap().n().unwrap(), 1);
        let twice = session.run(&mut insert).await.unwrap_err();
        assert!(matches!(twice, WireError::Command { code: 11000, .. }), "{twice}");

        let filter = rawdoc! { "_id": "theirs" };
        let found = session.find_all("both", "documents", &filter).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(Document::try_from(found[0].as_ref()).unwrap(), by_them);
    });
    let found = collection
        .find_one(doc! { "_id": "ours" })
        .run()
        .unwrap()
        .unwrap();
    assert_eq!(found, Document::try_from(by_us).unwrap());
}

#[test]
fn batches_are_written_and_read_back_whole() {
    let Some(_) = fetched(&MONGODB) else { return };
    run(async |reactor| {
        let mut session = connect(reactor, &shared().clear(shared().default_login())).await;
        let mut request = Request::new();
        for batch in 0..5 {
            request.command(|command| {
                command.string(cstr!("insert"), "batches");
                command.string(cstr!("$db"), "load");
            });
            request.sequence(cstr!("documents"), |documents| {
                for number in batch * 200..(batch + 1) * 200 {
                    documents.document(|document| {
                        document.int32(cstr!("_id"), number);
                        document.blank_string(cstr!("field0"), 1000).fill(b'x');
                    });
                }
            });
            assert_eq!(session.run(&mut request).await.unwrap().n().unwrap(), 200);
        }
        let all = session.find_all("load", "batches", &rawdoc! {}).await.unwrap();
        assert_eq!(all.len(), 1000);
        request.command(|command| {
            command.string(cstr!("find"), "batches");
            command.document(cstr!("filter"), |filter| {
                filter.document(cstr!("_id"), |id| id.int32(cstr!("$gte"), 500));
            });
            command.int32(cstr!("limit"), 100);
            command.int32(cstr!("batchSize"), 100);
            command.boolean(cstr!("singleBatch"), true);
            command.string(cstr!("$db"), "load");
        });
        let reply = session.run(&mut request).await.unwrap();
        let ids: Vec<i32> = reply
            .batch()
            .unwrap()
            .map(|d| d.unwrap().get_i32("_id").unwrap())
            .collect();
        assert_eq!(ids, (500..600).collect::<Vec<_>>());
        assert_eq!(reply.cursor_id().unwrap(), 0);

        request.command(|command| {
            command.string(cstr!("update"), "batches");
            command.string(cstr!("$db"), "load");
        });
        request.sequence(cstr!("updates"), |updates| {
            updates.document(|update| {
                update.document(cstr!("q"), |filter| filter.int32(cstr!("_id"), 1));
                update.document(cstr!("u"), |change| {
                    change.document(cstr!("$set"), |set| set.string(cstr!("field0"), "y"));
                });
            });
        });
        let reply = session.run(&mut request).await.unwrap();
        assert_eq!(reply.n().unwrap(), 1);
        session
            .command(&rawdoc! { "dropDatabase": 1_i32, "$db": "load" })
            .await
            .unwrap();
    });
}

#[test]
fn sessions_in_plaintext_and_in_tls_close_when_the_server_has_closed() {
    let Some(_) = fetched(&MONGODB) else { return };
    for options in [
        shared().clear(shared().default_login()),
        shared().with_tls(shared().default_login(), TlsVersion::V1_2, TlsLibrary::OpenSsl),
        shared().with_tls(shared().default_login(), TlsVersion::V1_3, TlsLibrary::Rustls),
    ] {
        run(async |reactor| {
            let session = connect(reactor, &options).await;
            let close = session.close().await.unwrap();
            assert!(close.wall_ns > 0);
        });
    }
}

#[test]
fn a_server_of_its_own_is_its_own_primary() {
    let Some(_) = fetched(&MONGODB) else { return };
    let options = shared().clear(shared().default_login());
    let seeds = [Address {
        host: options.host.clone(),
        port: options.port,
    }];
    let topology = run(async |reactor| {
        let deadline = Instant::now() + PATIENCE;
        Topology::wait_for_primary(reactor, &seeds, &options, deadline)
            .await
            .unwrap()
    });
    assert_eq!((topology.set_name.as_deref(), topology.members.len()), (None, 1));
    assert_eq!(topology.members[0].role, Role::Primary);
    let chosen = topology.choose(ReadPreference::Nearest, 3).unwrap();
    assert_eq!(chosen.address, seeds[0]);
}

#[test]
fn a_replica_set_is_discovered_read_from_and_followed_through_a_change_of_primary() {
    let Some(_) = fetched(&MONGODB) else { return };
    let set = ReplicaSet {
        members: 3,
        read_only_member: true,
    };
    let server = builder().replica_set(set).start().unwrap();
    let address = |address: SocketAddr| Address {
        host: address.ip().to_string(),
        port: address.port(),
    };
    let login = Login::by(
        AuthenticationMethod::ScramSha256,
        server.user(),
        server.password().clone(),
    );
    let options = ConnectOptions::new("", 0, login.unwrap());
    // One of those that are asked accepts connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let asked = [silent.local_addr().unwrap()]
        .into_iter()
        .chain(server.addresses());
    let seeds: Vec<_> = asked.map(address).collect();
    run_within(Duration::from_secs(90), async |reactor| {
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut topology = Topology::wait_for_primary(reactor, &seeds, &options, deadline)
            .await
            .unwrap();
        assert_eq!(topology.set_name.as_deref(), server.set_name());
        assert_eq!((topology.members.len(), topology.secondaries().count()), (4, 3));

        let secondary = topology.choose(ReadPreference::Secondary, 0).unwrap();
        let mut session = connect(reactor, &at(&options, &secondary.address)).await;
        let mut find = rawdoc! { "find": "t", "$db": "d" };
        let problem = session.command(&find).await.unwrap_err();
        assert!(problem.is_not_primary(), "{problem}");
        find.append(cstr!("$readPreference"), rawdoc! { "mode": "secondaryPreferred" });
        session.command(&find).await.unwrap();

        let (old, mut session) = loop {
            let old = topology.primary().unwrap().address.clone();
            let mut session = connect(reactor, &at(&options, &old)).await;
            let step_down = rawdoc! { "replSetStepDown": 30_i32, "$db": "admin" };
            match session.command(&step_down).await {
                // The machine stood still for a while, and the members have elected another.
                Err(problem) if problem.is_not_primary() => {}
                stepped_down => {
                    stepped_down.unwrap();
                    break (old, session);
                }
            }
            topology = Topology::wait_for_primary(reactor, &seeds, &options, deadline)
                .await
                .unwrap();
        };
        let problem = session
            .command(&rawdoc! { "insert": "t", "documents": [{ "a": 1_i32 }], "$db": "d" })
            .await;
        assert!(problem.unwrap_err().is_not_primary());
        let topology = Topology::wait_for_primary(reactor, &seeds, &options, deadline)
            .await
            .unwrap();
        assert_ne!(topology.primary().unwrap().address, old);
    })
    .expect("it hangs");
}

/// What the report says of drivers (`ciphertax_explain`): the pool's first connection, and two for each member.
#[test]
fn a_drivers_client_opens_one_connection_and_two_for_every_member() {
    let Some(_) = fetched(&MONGODB) else { return };
    let single = builder().access_control(false).start().unwrap();
    let before = total_created(&single);
    let url = format!("mongodb://{}/", single.address());
    let client = Client::with_uri_str(url).unwrap();
    client
        .database("d")
        .run_command(doc! { "ping": 1 })
        .run()
        .unwrap();
    expect_driver_connections(&single, 1 + 2);
    // By the server's own count too: each look at it is one connection.
    let (once, twice) = (total_created(&single), total_created(&single));
    assert_eq!(twice - once, 1);
    let more = total_created(&single) - before;
    assert_eq!(more, 3 + LOOKS.load(Ordering::Relaxed) + 3);
    drop(client);

    let set = ReplicaSet {
        members: 3,
        read_only_member: false,
    };
    let server = builder().access_control(false).replica_set(set).start().unwrap();
    let members = server.addresses().into_iter().map(|member| member.to_string());
    let members = members.collect::<Vec<_>>().join(",");
    let url = format!("mongodb://{members}/?replicaSet={}", server.set_name().unwrap());
    let client = Client::with_uri_str(url).unwrap();
    client
        .database("d")
        .run_command(doc! { "ping": 1 })
        .run()
        .unwrap();
    expect_driver_connections(&server, 1 + 2 * 3);
}

/// Waits until the official driver has so many connections, and makes sure that it does not open more.
fn expect_driver_connections(server: &PrivateServer, expected: usize) {
    let deadline = Instant::now() + PATIENCE;
    while driver_connections(server) < expected && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(200));
    }
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(driver_connections(server), expected);
}

/// Connections of the official driver, by the word of all members.
fn driver_connections(server: &PrivateServer) -> usize {
    let ask = rawdoc! {
        "aggregate": 1_i32,
        "pipeline": [
            { "$currentOp": { "allUsers": true, "idleConnections": true } },
            { "$match": { "clientMetadata.driver.name": { "$regex": "^mongo-rust-driver" } } },
            { "$group": { "_id": "$connectionId" } },
        ],
        "cursor": {},
        "$readPreference": { "mode": "secondaryPreferred" },
        "$db": "admin",
    };
    let of = |member: SocketAddr| {
        LOOKS.fetch_add(1, Ordering::Relaxed);
        let answer = ask_member(member, &ask);
        let batch = answer
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap();
        batch.into_iter().count()
    };
    server.addresses().into_iter().map(of).sum()
}

/// Connections that [`driver_connections`] made itself.
static LOOKS: AtomicI64 = AtomicI64::new(0);

fn total_created(server: &PrivateServer) -> i64 {
    let status = ask_member(
        server.address(),
        &rawdoc! { "serverStatus": 1_i32, "$db": "admin" },
    );
    let connections = status.get_document("connections").unwrap();
    connections.get_i32("totalCreated").unwrap().into()
}

fn ask_member(member: SocketAddr, command: &RawDocument) -> RawDocumentBuf {
    let options = ConnectOptions::new(member.ip().to_string(), member.port(), Login::None);
    run(async |reactor| connect(reactor, &options).await.command(command).await.unwrap())
}

fn at(options: &ConnectOptions, address: &Address) -> ConnectOptions {
    ConnectOptions {
        host: address.host.clone(),
        port: address.port,
        ..options.clone()
    }
}

#[test]
fn a_server_without_tls_hangs_up_on_it() {
    let Some(_) = fetched(&MONGODB) else { return };
    let without = builder().without_tls().start().unwrap();
    let options = ConnectOptions {
        port: without.address().port(),
        ..shared().with_tls(shared().default_login(), TlsVersion::V1_3, TlsLibrary::OpenSsl)
    };
    let problem = refusal(&options);
    let is_one = matches!(problem, WireError::HungUp { encrypted: true });
    assert!(is_one, "{problem}");
    assert!(problem.is_disconnect() && problem.remedy(Protocol::MongoDb).contains("does not offer TLS"));
}

/// A private server with access control, an account of every mechanism, and a client's certificate.
struct Deployment {
    server: PrivateServer,
    certificate: ClientCertificate,
}

/// The server of the tests that do not ask what it has counted.
fn shared() -> &'static Deployment {
    static SHARED: OnceLock<Deployment> = OnceLock::new();
    SHARED.get_or_init(Deployment::start)
}

impl Deployment {
    fn start() -> Self {
        let server = builder()
            .access_control(true)
            .account(AuthenticationMethod::ScramSha1)
            .account(AuthenticationMethod::MongodbX509)
            .start()
            .unwrap();
        let files = server
            .client_certificate(CertificateKind::EcdsaP256)
            .unwrap()
            .unwrap();
        Self {
            certificate: ClientCertificate {
                certificate: files.certificate,
                key: files.key,
                password: None,
            },
            server,
        }
    }

    /// Everybody's login.
    fn default_login(&self) -> Login {
        self.login(AuthenticationMethod::ScramSha256)
    }

    fn login(&self, method: AuthenticationMethod) -> Login {
        let (user, password) = match self.server.account(method) {
            Some(account) => (account.user.clone(), account.password.clone()),
            None => Default::default(),
        };
        Login::by(method, user, password).unwrap()
    }

    fn clear(&self, login: Login) -> ConnectOptions {
        let address = self.server.address();
        ConnectOptions::new(address.ip().to_string(), address.port(), login)
    }

    fn with_tls(&self, login: Login, version: TlsVersion, library: TlsLibrary) -> ConnectOptions {
        let ca = self.server.ca_file().unwrap().to_owned();
        let host = self.server.address().ip().to_string();
        let policy = TlsPolicy {
            library,
            client_certificate: (login == Login::X509).then(|| self.certificate.clone()),
            ..TlsPolicy::new(version, Verification::HostName(ca, host))
        };
        ConnectOptions {
            tls: Some(Arc::new(TlsConnector::new(&policy).unwrap())),
            ..self.clear(login)
        }
    }

    /// The official driver, logged in likewise.
    fn driver(&self, account: &Account) -> Client {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let url = format!(
            "mongodb://{}:{}@{}/?authMechanism={}&authSource=admin&directConnection=true&serverSelectionTimeoutMS=5000",
            encode(&account.user),
            encode(account.password.expose()),
            self.server.address(),
            account.mechanism.unwrap().method(),
        );
        Client::with_uri_str(url).unwrap()
    }
}

fn builder() -> PrivateServerBuilder {
    PrivateServer::builder(&MONGODB)
}

fn account(login: Login) -> Account {
    match login {
        Login::Scram(account) => account,
        other => panic!("{other:?}"),
    }
}

async fn create_account(session: &mut Session, account: &Account) {
    let create = rawdoc! {
        "createUser": account.user.as_str(), "pwd": account.password.expose(), "roles": ["root"],
        "mechanisms": [account.mechanism.unwrap().method().name()], "$db": "admin",
    };
    session.command(&create).await.unwrap();
}

fn phase(trace: &ConnectTrace, wanted: Phase) -> Option<&PhaseTrace> {
    trace
        .phases()
        .find_map(|(phase, trace)| (phase == wanted).then_some(trace))
}

async fn connect(reactor: &Rc<Reactor>, options: &ConnectOptions) -> Session {
    Session::connect(reactor, options).await.unwrap().0
}

fn refusal(options: &ConnectOptions) -> WireError {
    let outcome = run(async |reactor| Session::connect(reactor, options).await.map(|_| ()));
    outcome.expect_err("a session was opened")
}
