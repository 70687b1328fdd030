//! Real poolers before a real private PostgreSQL: who logs in, what is encrypted where, who shares connections, and
//! that nothing of them stays.

use ciphertax_lab::WrongLogins;
use ciphertax_wire::Session as _;
use std::sync::OnceLock;

use ciphertax_lab::pooler::RunningPooler;
use ciphertax_model::PoolerProgram::{Odyssey, Pgbouncer, Pgpool};
use ciphertax_testkit::command_lines_with;
use ciphertax_wire::postgresql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::sql::{Parameter, SqlSession as _, Statement as _};

use crate::postgresql::{ask, options as postgresql_options};
use crate::prelude::*;

#[test]
fn accounts_log_in_through_it_by_their_methods_and_arms_are_proved() {
    let Some(server) = server() else { return };
    for (program, transport, behind) in [
        (Pgbouncer, Transport::Plain, Transport::Plain),
        (Pgbouncer, Transport::Tls13, Transport::Plain),
        (Pgbouncer, Transport::Tls12, Transport::Tls13),
        (Pgbouncer, Transport::Tls10, Transport::Plain),
        (Odyssey, Transport::Plain, Transport::Plain),
        (Odyssey, Transport::Tls13, Transport::Plain),
        (Odyssey, Transport::Tls12, Transport::Tls13),
        (Pgpool, Transport::Plain, Transport::Plain),
        (Pgpool, Transport::Plain, Transport::Tls13),
        (Pgpool, Transport::Tls12, Transport::Tls13),
    ] {
        let pooler = start(server, program, PoolMode::Session, transport, behind);
        let has_its_iterations =
            |account: &&Account| program == Pgbouncer || account.scram_iterations.is_none();
        for account in accounts(server).into_iter().filter(has_its_iterations) {
            let arm = ConnectOptions {
                method: Method::called(account.method.name()),
                ..options(server, &pooler, account, transport)
            };
            let conditions = postgresql::Conditions {
                behind_pooler: Some(behind),
                ..postgresql::Conditions::default()
            };
            let proved = postgresql::prove(
                "arm",
                &arm,
                &Expectation::new(transport),
                &WrongLogins::default(),
                conditions,
            )
            .unwrap_or_else(|error| panic!("{}, {transport}, {behind}: {error}", account.user));
            let has_password = account.method != AuthenticationMethod::Trust;
            assert_eq!(proved.proofs.len(), if has_password { 4 } else { 3 });
            let by_pooler = pooler.prove::<Session>("arm", &arm).unwrap();
            let [said, wire] = [&by_pooler[0].evidence, &by_pooler[1].claim];
            let can_be_read = if behind == Transport::Plain {
                "travels"
            } else {
                "does not travel"
            };
            assert_eq!(
                wire,
                &format!("behind the pooler a canary value {can_be_read} in plaintext")
            );
            let tls = behind.tls_version().map_or("no TLS", TlsVersion::name);
            let is_told = said.contains(&format!("of the server says: {tls} from 127.0.0.1:"));
            assert!(is_told, "{said}");
            let socket = format!(", which is a socket of {} (process ", program.name());
            assert!(said.contains(&socket), "{said}");
            let is_its_first = said.ends_with(&format!("(process {})", pooler.pid()));
            assert_eq!(is_its_first, program != Pgpool, "{said}");
            // The server knows its own accounts, whoever stands before it.
            assert_eq!(ask(&arm, "SELECT current_user").unwrap(), account.user);
        }
        assert_eq!(pooler.death(), None);
    }
}

#[test]
fn what_is_not_asked_for_is_refused() {
    let Some(server) = server() else { return };
    for program in [Pgbouncer, Odyssey, Pgpool] {
        let pooler = start(
            server,
            program,
            PoolMode::Session,
            Transport::Tls13,
            Transport::Tls13,
        );
        let account = server.default_account();
        let plain = options(server, &pooler, account, Transport::Plain);
        let old = options(server, &pooler, account, Transport::Tls12);
        let nobody = ConnectOptions {
            user: "postgres".into(),
            ..options(server, &pooler, account, Transport::Tls13)
        };
        // The others cannot be told which versions they take; what an arm's clients offer decides.
        let old = (program == Pgbouncer).then_some(old);
        for refused in [plain, nobody].into_iter().chain(old) {
            assert!(ask(&refused, "SELECT 42").is_err(), "{}", program.name());
        }
        let with_tls = options(server, &pooler, account, Transport::Tls13);
        assert_eq!(ask(&with_tls, "SELECT 42").unwrap(), "42", "{}", program.name());
    }
}

#[test]
fn sessions_keep_a_connection_and_transactions_share_one() {
    let Some(server) = server() else { return };
    for (program, said, mode, connections) in [
        (Pgbouncer, ["pool_mode", "session"], PoolMode::Session, 8..=8),
        (
            Pgbouncer,
            ["pool_mode", "transaction"],
            PoolMode::Transaction,
            1..=1,
        ),
        (Odyssey, ["pool", "session"], PoolMode::Session, 8..=8),
        // It takes a connection back only after it has passed the end of a transaction on.
        (Odyssey, ["pool", "transaction"], PoolMode::Transaction, 1..=7),
        (Pgpool, ["num_init_children", "10"], PoolMode::Session, 8..=8),
    ] {
        let pooler = start(server, program, mode, Transport::Plain, Transport::Plain);
        let facts = pooler.facts();
        assert_eq!(facts[said[0]], said[1]);
        let release = facts["program"].strip_prefix(&format!("{} ", program.name()));
        let is_known = release.is_some_and(|version| !version.starts_with('0'));
        assert!(is_known, "{facts:?}");
        let arm = options(server, &pooler, server.default_account(), Transport::Plain);
        let mut backends = run(async |reactor| {
            let (mut sessions, mut backends) = (Vec::new(), Vec::new());
            for _ in 0..8 {
                sessions.push(Session::connect(reactor, &arm).await?.0);
            }
            for session in &mut sessions {
                let rows = session.query("SELECT pg_backend_pid()").await?;
                backends.push(rows[0].text(0));
            }
            Ok::<_, WireError>(backends)
        })
        .unwrap();
        backends.sort_unstable();
        backends.dedup();
        let found = backends.len();
        let holds = connections.contains(&found);
        assert!(holds, "{found}: {}, {}", program.name(), mode.name());
    }
}

#[test]
fn with_shared_connections_prepared_statements_are_found_again() {
    let Some(server) = server() else { return };
    for program in [Pgbouncer, Odyssey] {
        let pooler = start(
            server,
            program,
            PoolMode::Transaction,
            Transport::Tls13,
            Transport::Plain,
        );
        assert!(pooler::release(program).unwrap().keeps_prepared_statements());
        let remembered = pooler.facts().remove("max_prepared_statements");
        assert_eq!(remembered.as_deref(), (program == Pgbouncer).then_some("1000"));
        let arm = options(server, &pooler, server.default_account(), Transport::Tls13);
        let found = run(async |reactor| {
            let mut sessions = Vec::new();
            for number in 0..3 {
                let (mut session, _) = Session::connect(reactor, &arm).await?;
                let sql = format!("SELECT $1::int8 + {number}");
                let mut statement = session.prepare(&sql, &[Parameter::Integer]).await?;
                statement.set_integer(0, 1);
                sessions.push((session, statement));
            }
            let mut found = 0;
            for _ in 0..3 {
                for (session, statement) in &mut sessions {
                    found += session.execute(statement).await?.rows;
                }
            }
            Ok::<_, WireError>(found)
        });
        assert_eq!(found.unwrap(), 9, "{}", program.name());
    }
}

#[test]
fn it_runs_as_nobody_else_shows_its_files_to_nobody_and_leaves_nothing() {
    let Some(server) = server() else { return };
    for program in [Pgbouncer, Odyssey, Pgpool] {
        let pooler = start(
            server,
            program,
            PoolMode::Session,
            Transport::Tls13,
            Transport::Tls13,
        );
        let (address, folder, pid) = (pooler.address(), pooler.folder().to_owned(), pooler.pid());
        for account in server_accounts(server) {
            let password = account.password.expose();
            // It lets clients in, and logs in to the server, by what the server keeps of passwords; the others need them.
            if !password.is_empty() && program == Pgbouncer {
                assert_eq!(files_with(&folder, password), Vec::<PathBuf>::new());
            }
        }
        let mode = fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        // Root's right to read files, or where it cannot do that alone, to write them too.
        let rights = ["CapEff:\t0000000000000004", "CapEff:\t0000000000000002"];
        let has_one = rights.iter().any(|right| status.contains(right));
        assert_eq!(has_one, is_root(), "{status}");
        assert!(!status.contains("Uid:\t0\t"), "{status}");
        // A client that stays does not keep it from ending.
        let _client = TcpStream::connect(address).unwrap();
        pooler.stop().unwrap();
        assert!(!folder.exists());
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        assert_eq!(command_lines_with(folder.to_str().unwrap()), Vec::<String>::new());
        assert!(TcpStream::connect(address).is_err());
    }
}

/// The server of all these tests, with an account for every method that a pooler serves. Its guard ends it with the program.
fn server() -> Option<&'static PrivateServer> {
    static SERVER: OnceLock<PrivateServer> = OnceLock::new();
    fetched(&POSTGRESQL)?;
    // With it come Odyssey, and a PgBouncer that keeps prepared statements.
    fetched(&POSTGRESQL_18)?;
    let start = || {
        let builder = PrivateServer::builder(&POSTGRESQL)
            .tls_versions(&TlsVersion::ALL)
            .account(AuthenticationMethod::Md5)
            .account(AuthenticationMethod::Trust)
            .account(AuthenticationMethod::Password)
            .scram_account(AuthenticationMethod::ScramSha256, 20_000);
        builder.start().unwrap()
    };
    Some(SERVER.get_or_init(start))
}

/// The accounts that a pooler serves.
fn accounts(server: &PrivateServer) -> Vec<&Account> {
    let mut accounts = server_accounts(server);
    accounts.retain(|account| account.method.is_served_by_poolers());
    assert_eq!(accounts.len(), 4);
    accounts
}

fn server_accounts(server: &PrivateServer) -> Vec<&Account> {
    let methods = [
        AuthenticationMethod::Md5,
        AuthenticationMethod::Trust,
        AuthenticationMethod::Password,
    ];
    let further = methods.into_iter().filter_map(|method| server.account(method));
    let iterations = server.scram_account(AuthenticationMethod::ScramSha256, 20_000);
    [server.default_account()]
        .into_iter()
        .chain(further)
        .chain(iterations)
        .collect()
}

fn start(
    server: &PrivateServer,
    program: PoolerProgram,
    mode: PoolMode,
    transport: Transport,
    behind: Transport,
) -> RunningPooler {
    let pooler = Pooler {
        program,
        pool_mode: mode,
        server_transport: behind,
    };
    pooler::start(pooler, transport, 10, server, None, &GuardProgram::this_program()).unwrap()
}

/// A connection of an account through a pooler.
fn options(
    server: &PrivateServer,
    pooler: &RunningPooler,
    account: &Account,
    transport: Transport,
) -> ConnectOptions {
    let address = pooler.address();
    let verification = Verification::HostName(server.ca_file().unwrap().to_owned(), "127.0.0.1".into());
    let tls = transport.is_encrypted().then(|| {
        let policy = TlsPolicy::new(transport.tls_version(), verification);
        Arc::new(TlsConnector::new(&policy).unwrap())
    });
    ConnectOptions {
        host: address.ip().to_string(),
        port: address.port(),
        tls,
        ..postgresql_options(server, account)
    }
}
