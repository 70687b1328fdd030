//! What the catalogue says of a server, held against the server itself: it is started, driven, and leaves nothing.
//!
//! All but the distribution's MariaDB are fetched, some 200 MB in all, unless they are in the user's cache.

use ciphertax_base::LoginPath;
use ciphertax_lab::Installation;
use ciphertax_lab::catalogue::*;
use ciphertax_model::*;
use ciphertax_wire::Client as _;
use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;

use crate::prelude::*;

use super::can;

#[test]
fn every_mariadb_is_what_the_catalogue_says() {
    for entry in [&MARIADB, &MARIADB_11_8, &MARIADB_10_2] {
        hold_to_the_catalogue(entry);
    }
}

#[test]
fn every_mysql_and_what_is_built_with_wolfssl_is_what_the_catalogue_says() {
    for entry in [&MYSQL, &MYSQL_5_6, &MARIADB_10_11_WOLFSSL, &MARIADB_11_4_WOLFSSL] {
        hold_to_the_catalogue(entry);
    }
}

fn hold_to_the_catalogue(entry: &'static Entry) {
    let installation = match entry == &MARIADB {
        true => Installation::of(entry).unwrap(),
        false => match fetched(entry) {
            Some(installation) => installation,
            None => return,
        },
    };
    let server = with_everything(entry, &installation).start().unwrap();
    it_is_the_version_with_our_settings(&server, &installation);
    every_account_logs_in_by_its_method(&server);
    nobody_else_has_an_account(&server);
    passwords_are_forgotten_on_demand(&server);
    no_password_is_in_a_file(&server);
    let mut wrong = Vec::new();
    wrong.extend(tls_versions_that_differ(&server));
    wrong.extend(groups_that_differ(&server));
    wrong.extend(ciphers_that_differ(&server));
    wrong.extend(resumptions_that_differ(&server));
    wrong.extend(renegotiation_that_differs(&server));
    stop_without_a_trace(server);
    wrong.extend(certificates_that_differ(entry));
    tls_can_be_off(entry);
    assert!(
        wrong.is_empty(),
        "{entry} is not as the catalogue says:\n{}",
        wrong.join("\n")
    );
}

/// A server with all that it can do at once, but for logins whose plugin the distribution has in another package.
fn with_everything(entry: &'static Entry, installation: &Installation) -> PrivateServerBuilder {
    let builder = builder(entry)
        .certificate(CertificateKind::Rsa2048)
        .tls_versions(entry.capabilities.tls_versions);
    entry
        .capabilities
        .authentication
        .iter()
        .filter(|method| installation.is_complete() || **method != AuthenticationMethod::Ed25519)
        .fold(builder, |builder, method| builder.account(*method))
}

fn it_is_the_version_with_our_settings(server: &PrivateServer, installation: &Installation) {
    let rows = query(
        &plain(server),
        "SELECT VERSION(), @@max_connections, @@innodb_buffer_pool_size, @@skip_name_resolve, @@log_bin",
    );
    let version = installation.version().unwrap();
    let is_version = rows[0].starts_with(version.split('-').next().unwrap());
    assert!(is_version, "{rows:?}");
    assert_eq!(&rows[1..], ["2000", "268435456", "1", "0"]);
}

fn every_account_logs_in_by_its_method(server: &PrivateServer) {
    let methods = server.entry().capabilities.authentication;
    for account in methods.iter().filter_map(|method| server.account(*method)) {
        let mut options = as_account(plain(server), account);
        if account.method == AuthenticationMethod::UnixSocket {
            options.socket = Some(server.socket().unwrap().to_owned());
            options.authentication = Some(AuthenticationMethod::UnixSocket);
        }
        let mut ways = vec![options];
        if account.method != AuthenticationMethod::UnixSocket {
            ways.push(as_account(encrypted(server, policy(server)), account));
        }
        for options in ways {
            let facts = facts(&options).unwrap_or_else(|error| panic!("{account:?}: {error}"));
            let name = account.method.name();
            assert!(facts.authentication.method.contains(name), "{name}: {facts:?}");
            let user = query(&options, "SELECT CURRENT_USER()");
            assert!(user[0].starts_with(&account.user), "{user:?}");
        }
    }
}

fn passwords_are_forgotten_on_demand(server: &PrivateServer) {
    let forget = server.entry().capabilities.forget_passwords;
    let Some(account) = server.account(AuthenticationMethod::CachingSha2Password) else {
        assert_eq!(forget, None);
        return;
    };
    let options = as_account(encrypted(server, policy(server)), account);
    let path = || facts(&options).unwrap().authentication.path;
    let _ = path();
    assert_eq!(
        path(),
        if forget.is_some() {
            LoginPath::Fast
        } else {
            LoginPath::Full
        }
    );
    if let Some(statement) = forget {
        execute(&plain(server), statement);
        assert_eq!(path(), LoginPath::Full);
    }
}

fn nobody_else_has_an_account(server: &PrivateServer) {
    // Those of the server itself are locked.
    let statement =
        "SELECT GROUP_CONCAT(user) FROM mysql.user WHERE user NOT LIKE '%.sys' AND user NOT LIKE 'mysql.%'";
    let users = query(&plain(server), statement).remove(0);
    let methods = server.entry().capabilities.authentication;
    let mut expected: Vec<&str> = methods
        .iter()
        .filter_map(|method| server.account(*method))
        .map(|account| account.user.as_str())
        .chain([server.user()])
        .collect();
    expected.sort_unstable();
    let mut found: Vec<&str> = users.split(',').collect();
    found.sort_unstable();
    assert_eq!(found, expected);
}

fn no_password_is_in_a_file(server: &PrivateServer) {
    let methods = server.entry().capabilities.authentication;
    let accounts = methods.iter().filter_map(|method| server.account(*method));
    let passwords = accounts
        .map(|account| &account.password)
        .chain([server.password()]);
    for password in passwords.filter(|password| !password.expose().is_empty()) {
        let files = files_with(server.folder(), password.expose().as_bytes());
        assert_eq!(files, Vec::<PathBuf>::new());
    }
}

fn tls_versions_that_differ(server: &PrivateServer) -> Vec<String> {
    let differ = |version: &TlsVersion| {
        let mut policy = policy(server);
        policy.version = Some(*version);
        let outcome = facts(&encrypted(server, policy));
        let promised = server.entry().capabilities.tls_versions.contains(version);
        broken_promise(version, promised, outcome)
    };
    TlsVersion::ALL.iter().filter_map(differ).collect()
}

fn groups_that_differ(server: &PrivateServer) -> Vec<String> {
    let differ = |group: &Group| {
        let mut policy = policy(server);
        policy.group = Some(*group);
        if TlsConnector::new(&policy).is_err() {
            // No client can ask for it in the versions of this server.
            assert!(!server.entry().capabilities.groups.contains(group), "{group}");
            return None;
        }
        let outcome = facts(&encrypted(server, policy));
        let outcome = outcome.and_then(|facts| match &facts.tls {
            Some(tls) if tls.group.is_empty() => Err(WireError::Tls("it is not used".into())),
            _ => Ok(facts),
        });
        broken_promise(group, server.entry().capabilities.groups.contains(group), outcome)
    };
    Group::ALL.iter().filter_map(differ).collect()
}

/// Suites for RSA keys of every kind that a client of today has.
const CIPHERS: [(TlsVersion, &str); 27] = [
    (TlsVersion::V1_3, "TLS_AES_128_GCM_SHA256"),
    (TlsVersion::V1_3, "TLS_AES_256_GCM_SHA384"),
    (TlsVersion::V1_3, "TLS_CHACHA20_POLY1305_SHA256"),
    (TlsVersion::V1_3, "TLS_AES_128_CCM_SHA256"),
    (TlsVersion::V1_2, "ECDHE-RSA-AES128-GCM-SHA256"),
    (TlsVersion::V1_2, "ECDHE-RSA-AES256-GCM-SHA384"),
    (TlsVersion::V1_2, "ECDHE-RSA-CHACHA20-POLY1305"),
    (TlsVersion::V1_2, "ECDHE-RSA-AES128-SHA256"),
    (TlsVersion::V1_2, "ECDHE-RSA-AES256-SHA384"),
    (TlsVersion::V1_2, "ECDHE-RSA-AES128-SHA"),
    (TlsVersion::V1_2, "ECDHE-RSA-AES256-SHA"),
    (TlsVersion::V1_2, "DHE-RSA-AES128-GCM-SHA256"),
    (TlsVersion::V1_2, "DHE-RSA-AES256-GCM-SHA384"),
    (TlsVersion::V1_2, "DHE-RSA-CHACHA20-POLY1305"),
    (TlsVersion::V1_2, "DHE-RSA-AES256-SHA"),
    (TlsVersion::V1_2, "AES128-GCM-SHA256"),
    (TlsVersion::V1_2, "AES256-GCM-SHA384"),
    (TlsVersion::V1_2, "AES128-SHA"),
    (TlsVersion::V1_2, "AES256-SHA"),
    (TlsVersion::V1_1, "AES128-SHA"),
    (TlsVersion::V1_1, "AES256-SHA"),
    (TlsVersion::V1_1, "DHE-RSA-AES128-SHA"),
    (TlsVersion::V1_1, "DHE-RSA-AES256-SHA"),
    (TlsVersion::V1_0, "AES128-SHA"),
    (TlsVersion::V1_0, "AES256-SHA"),
    (TlsVersion::V1_0, "DHE-RSA-AES128-SHA"),
    (TlsVersion::V1_0, "DHE-RSA-AES256-SHA"),
];

fn ciphers_that_differ(server: &PrivateServer) -> Vec<String> {
    let capabilities = server.entry().capabilities;
    let differ = |(version, cipher): &(TlsVersion, &str)| {
        let mut arm = Arm::new("it", transport(*version));
        arm.tls.cipher = Some((*cipher).into());
        let promised = can(&capabilities, &arm, CertificateKind::Rsa2048);
        let mut policy = TlsPolicy::new(*version, ca(server));
        policy.legacy = true;
        policy.cipher = Some((*cipher).into());
        broken_promise(
            &format!("{cipher} in {version}"),
            promised,
            facts(&encrypted(server, policy)),
        )
    };
    let versions = capabilities.tls_versions;
    CIPHERS
        .iter()
        .filter(|(version, _)| versions.contains(version))
        .filter_map(differ)
        .collect()
}

fn resumptions_that_differ(server: &PrivateServer) -> Vec<String> {
    let capabilities = server.entry().capabilities;
    let mut wrong = Vec::new();
    for version in capabilities.tls_versions {
        for way in [Resumption::SessionId, Resumption::Ticket] {
            let mut arm = Arm::new("it", transport(*version));
            arm.tls.resumption = way;
            let promised = can(&capabilities, &arm, CertificateKind::Rsa2048);
            let mut policy = TlsPolicy::new(*version, ca(server));
            policy.legacy = true;
            policy.resumption = way;
            if TlsConnector::new(&policy).is_err() {
                assert!(
                    !promised,
                    "{way:?} in {version} is promised and no client can ask for it"
                );
                continue;
            }
            let options = encrypted(server, policy);
            let outcome = facts(&options).and_then(resumed);
            wrong.extend(broken_promise(
                &format!("{} in {version}", way.name()),
                promised,
                outcome,
            ));
        }
    }
    wrong
}

fn resumed(facts: SessionFacts) -> Result<SessionFacts, WireError> {
    if facts.tls.as_ref().is_some_and(|tls| tls.resumed) {
        Ok(facts)
    } else {
        Err(WireError::Tls("the session was not resumed".into()))
    }
}

/// Only seen in TLS 1.2: a client allows legacy connections with anything older.
fn renegotiation_that_differs(server: &PrivateServer) -> Option<String> {
    let capabilities = server.entry().capabilities;
    if !capabilities.tls_versions.contains(&TlsVersion::V1_2) {
        return None;
    }
    let outcome = facts(&encrypted(server, TlsPolicy::new(TlsVersion::V1_2, ca(server))));
    broken_promise("secure renegotiation", capabilities.secure_renegotiation, outcome)
}

fn certificates_that_differ(entry: &'static Entry) -> Vec<String> {
    let differ = |kind: &CertificateKind| {
        if !entry.capabilities.certificates.contains(kind) {
            return Vec::new();
        }
        let server = builder(entry).certificate(*kind).start().unwrap();
        let outcome = |library| {
            let mut arm = Arm::new("it", Transport::Tls);
            arm.tls.library = library;
            let promised = can(&entry.capabilities, &arm, *kind);
            let mut policy = policy(&server);
            policy.library = library;
            if TlsConnector::new(&policy).is_err() {
                assert!(
                    !promised,
                    "{kind} with {library:?} is promised and no client can ask for it"
                );
                return None;
            }
            let outcome = facts(&encrypted(&server, policy));
            broken_promise(&format!("{kind} with {}", library.name()), promised, outcome)
        };
        let wrong: Vec<String> = [TlsLibrary::OpenSsl, TlsLibrary::Rustls]
            .into_iter()
            .filter_map(outcome)
            .map(|wrong| format!("{wrong}; {}", server.log_tail()))
            .collect();
        stop_without_a_trace(server);
        wrong
    };
    CertificateKind::ALL.iter().flat_map(differ).collect()
}

fn tls_can_be_off(entry: &'static Entry) {
    let server = builder(entry).without_tls().start().unwrap();
    facts(&plain(&server)).unwrap();
    let policy = TlsPolicy::new(None, Verification::None);
    let error = facts(&encrypted(&server, policy)).unwrap_err();
    assert!(matches!(error, WireError::TlsNotOffered), "{error}");
    stop_without_a_trace(server);
}

fn stop_without_a_trace(server: PrivateServer) {
    let (address, folder, pid) = (server.address(), server.folder().to_owned(), server.pids()[0]);
    server.stop().unwrap();
    assert!(!folder.exists());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert!(TcpStream::connect(address).is_err());
}

/// What is wrong with a promise; `None` if it is held.
fn broken_promise(
    what: &(impl std::fmt::Display + ?Sized),
    promised: bool,
    outcome: Result<SessionFacts, WireError>,
) -> Option<String> {
    match (promised, outcome) {
        (true, Err(error)) => Some(format!("{what} is promised: {error}")),
        (false, Ok(facts)) => Some(format!("{what} is not promised and works: {facts:?}")),
        _ => None,
    }
}

fn builder(entry: &'static Entry) -> PrivateServerBuilder {
    PrivateServer::builder(entry)
}

fn transport(version: TlsVersion) -> Transport {
    match version {
        TlsVersion::V1_0 => Transport::Tls10,
        TlsVersion::V1_1 => Transport::Tls11,
        TlsVersion::V1_2 => Transport::Tls12,
        TlsVersion::V1_3 => Transport::Tls13,
    }
}

/// TLS of the newest version that both sides can, with a server of any age.
fn policy(server: &PrivateServer) -> TlsPolicy {
    let newest = *server.entry().capabilities.tls_versions.last().unwrap();
    TlsPolicy {
        legacy: true,
        ..TlsPolicy::new(newest, ca(server))
    }
}

fn ca(server: &PrivateServer) -> Verification {
    let address = server.address().ip().to_string();
    Verification::HostName(server.ca_file().unwrap().to_owned(), address)
}

fn encrypted(server: &PrivateServer, policy: TlsPolicy) -> ConnectOptions {
    ConnectOptions {
        tls: Some(Arc::new(TlsConnector::new(&policy).unwrap())),
        ..plain(server)
    }
}

fn as_account(options: ConnectOptions, account: &Account) -> ConnectOptions {
    ConnectOptions {
        user: account.user.clone(),
        password: account.password.clone(),
        ..options
    }
}

/// What a new session is; it is used once and closed in order.
fn facts(options: &ConnectOptions) -> Result<SessionFacts, WireError> {
    run(async |reactor| {
        Session::warm_up(reactor, options, 1).await?;
        let (mut session, _) = Session::connect(reactor, options).await?;
        session.query("SELECT 1").await?;
        let facts = session.facts().await?;
        session.close().await?;
        Ok(facts)
    })
}

/// The only row of the result of a statement.
fn query(options: &ConnectOptions, statement: &str) -> Vec<String> {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await.unwrap();
        let rows = session.query(statement).await.unwrap();
        let columns = statement.matches(',').count() + 1;
        (0..columns).map(|column| rows[0].text(column)).collect()
    })
}

fn execute(options: &ConnectOptions, statement: &str) {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await.unwrap();
        session.query(statement).await.unwrap();
    });
}
