//! A real private MongoDB: how it is made, who can reach it and may do what, and that nothing of it stays.

use ciphertax_base::Secret;
use ciphertax_lab::WrongLogins;
use ciphertax_lab::certificates::ClientCertificateFiles;
use ciphertax_lab::mongodb::{self, Conditions};
use ciphertax_wire::Session as _;
use ciphertax_wire::mongodb::{ConnectOptions, Expectation, Others, Session};

use crate::prelude::*;

#[test]
fn accounts_log_in_by_their_method_and_with_their_password_alone() {
    let Some(_) = fetched(&MONGODB) else { return };
    let methods = [AuthenticationMethod::ScramSha1, AuthenticationMethod::MongodbX509];
    let server = methods
        .into_iter()
        .fold(builder(), PrivateServerBuilder::account)
        .start()
        .unwrap();
    assert_eq!(server.account(AuthenticationMethod::NoLogin), None);
    for method in [AuthenticationMethod::ScramSha256, AuthenticationMethod::ScramSha1] {
        let account = server.account(method).unwrap();
        let options = options(server.address(), account);
        assert_eq!(users(&options), [(account.user.clone(), "admin".to_owned())]);
        let wrong = Account {
            password: Secret::new("wrong"),
            ..account.clone()
        };
        let error = outcome(&self::options(server.address(), &wrong), &whoami()).unwrap_err();
        assert!(error.is_access_denied(), "{error}");
    }
    let account = server.account(AuthenticationMethod::MongodbX509).unwrap();
    let with_certificate = encrypted(&server, options(server.address(), account), true);
    let expected = [(account.user.clone(), "$external".to_owned())];
    assert_eq!(users(&with_certificate), expected);
    let without = encrypted(&server, options(server.address(), account), false);
    assert!(outcome(&without, &whoami()).unwrap_err().is_access_denied());
    no_secret_is_readable_or_kept(&server);
}

fn no_secret_is_readable_or_kept(server: &PrivateServer) {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(server.folder()), 0o700);
    assert_eq!(mode(&server.folder().join("server.pem")), 0o600);
    let scram_1 = server.account(AuthenticationMethod::ScramSha1).unwrap();
    for password in [server.password(), &scram_1.password] {
        let needle = password.expose().as_bytes();
        assert_eq!(files_with(server.folder(), needle), Vec::<PathBuf>::new());
        for pid in server.pids() {
            for file in ["cmdline", "environ"] {
                let text = fs::read(format!("/proc/{pid}/{file}")).unwrap();
                assert!(!contains(&text, needle));
            }
        }
        assert!(!format!("{server:?}").contains(password.expose()));
    }
}

#[test]
fn without_a_login_everything_is_allowed_if_access_control_is_off_and_nothing_if_it_is_on() {
    let Some(_) = fetched(&MONGODB) else { return };
    let open = builder().access_control(false).start().unwrap();
    let guarded = builder().start().unwrap();
    let write = rawdoc! { "insert": "canaries", "documents": [{ "_id": 1_i32 }], "$db": "ciphertax" };
    let written = outcome(&anonymous(open.address()), &write).unwrap();
    assert_eq!(written.get_i32("n").unwrap(), 1);
    let error = outcome(&anonymous(guarded.address()), &write).unwrap_err();
    assert!(matches!(error, WireError::Command { code: 13, .. }), "{error}");
    assert_eq!((open.user(), open.password().expose()), ("", ""));
    let none = open.account(AuthenticationMethod::NoLogin).unwrap();
    assert_eq!(users(&options(open.address(), none)), []);
}

#[test]
fn arms_are_proved_by_every_witness_and_a_false_one_is_found_out() {
    let Some(_) = fetched(&MONGODB) else { return };
    let server = builder()
        .account(AuthenticationMethod::MongodbX509)
        .start()
        .unwrap();
    let alone = Conditions {
        others: Others::None,
        unknown_client: None,
    };
    let prove = |options: &ConnectOptions, expectation: &Expectation, conditions| {
        mongodb::prove("it", options, expectation, &WrongLogins::default(), conditions)
    };
    let default_account = options(
        server.address(),
        server.account(AuthenticationMethod::ScramSha256).unwrap(),
    );
    let plain = Expectation::new(Transport::Plain);
    let tls = Expectation::new(Transport::Tls13);
    let over_tls = encrypted(&server, default_account.clone(), false);
    for (options, expectation) in [(&default_account, &plain), (&over_tls, &tls)] {
        let proved = prove(options, expectation, alone).unwrap();
        let claims: Vec<String> = proved
            .proofs
            .iter()
            .map(|proof| proof.witness.to_string())
            .collect();
        let witnesses = [
            "client",
            "server",
            "authentication",
            "wire",
            "authentication",
            "access control",
        ];
        assert_eq!(claims, witnesses, "{:?}", proved.proofs);
    }
    for (options, expectation) in [(&default_account, &tls), (&over_tls, &plain)] {
        let error = prove(options, expectation, alone).unwrap_err();
        assert!(matches!(error, ProofError::Disproved { .. }), "{error}");
    }

    let x509 = options(
        server.address(),
        server.account(AuthenticationMethod::MongodbX509).unwrap(),
    );
    let files = server
        .unknown_client_certificate(CertificateKind::EcdsaP256)
        .unwrap()
        .unwrap();
    let unknown = encrypted_with(&server, x509.clone(), Some(files));
    let by_certificate = encrypted(&server, x509, true);
    let conditions = Conditions {
        unknown_client: Some(&unknown),
        ..alone
    };
    let proved = prove(&by_certificate, &tls, conditions).unwrap();
    assert!(
        proved
            .proofs
            .iter()
            .any(|proof| proof.claim == "a certificate of nobody is refused")
    );

    let open = builder().access_control(false).start().unwrap();
    let proved = prove(&anonymous(open.address()), &plain, alone).unwrap();
    let last = proved.proofs.last().unwrap();
    assert_eq!(last.claim, "a write without a login succeeds");
    let error = prove(&anonymous(server.address()), &plain, alone).unwrap_err();
    assert!(error.to_string().contains("requires authentication"), "{error}");
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let Some(_) = fetched(&MONGODB) else { return };
    let error = builder().cache_mb(1).start().unwrap_err().to_string();
    let is_told = error.contains("cacheSizeGB") || error.contains("cache size");
    assert!(is_told, "{error}");
}

fn builder() -> PrivateServerBuilder {
    PrivateServer::builder(&MONGODB)
}

fn anonymous(server: SocketAddr) -> ConnectOptions {
    ConnectOptions::new(server.ip().to_string(), server.port(), Login::None)
}

fn options(server: SocketAddr, account: &Account) -> ConnectOptions {
    let login = Login::by(account.method, account.user.clone(), account.password.clone());
    ConnectOptions {
        login: login.unwrap(),
        ..anonymous(server)
    }
}

fn encrypted(server: &PrivateServer, options: ConnectOptions, with_certificate: bool) -> ConnectOptions {
    let issue = || {
        server
            .client_certificate(CertificateKind::EcdsaP256)
            .unwrap()
            .unwrap()
    };
    encrypted_with(server, options, with_certificate.then(issue))
}

fn encrypted_with(
    server: &PrivateServer,
    options: ConnectOptions,
    certificate: Option<ClientCertificateFiles>,
) -> ConnectOptions {
    let ca = server.ca_file().unwrap().to_owned();
    let mut policy = TlsPolicy::new(
        TlsVersion::V1_3,
        Verification::HostName(ca, server.address().ip().to_string()),
    );
    policy.client_certificate = certificate.map(|files| ClientCertificate {
        certificate: files.certificate,
        key: files.key,
        password: None,
    });
    ConnectOptions {
        tls: Some(Arc::new(TlsConnector::new(&policy).unwrap())),
        ..options
    }
}

fn whoami() -> RawDocumentBuf {
    rawdoc! { "connectionStatus": 1_i32, "$db": "admin" }
}

/// Who is logged in, and by the word of which database.
fn users(options: &ConnectOptions) -> Vec<(String, String)> {
    let status = outcome(options, &whoami()).unwrap();
    let users = status
        .get_document("authInfo")
        .unwrap()
        .get_array("authenticatedUsers");
    let user = |user: &RawDocumentBuf, name: &str| user.get_str(name).unwrap().to_owned();
    users
        .unwrap()
        .into_iter()
        .map(|found| found.unwrap().as_document().unwrap().to_owned())
        .map(|found| (user(&found, "user"), user(&found, "db")))
        .collect()
}

/// What comes of a command on a session of its own.
fn outcome(options: &ConnectOptions, command: &RawDocumentBuf) -> Result<RawDocumentBuf, WireError> {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await?;
        session.command(command).await
    })
}

mod test_all {
    use super::*;

    #[test]
    fn a_replica_set_has_one_primary_and_elects_another_when_it_steps_down_or_dies() {
        let Some(_) = fetched(&MONGODB) else { return };
        let set = ReplicaSet {
            members: 3,
            read_only_member: true,
        };
        let server = builder().replica_set(set).start().unwrap();
        let members = server.addresses();
        assert_eq!(members.len(), 4);
        let hello = rawdoc! { "hello": 1_i32, "$db": "admin" };
        let roles_are_clear = || {
            let primary = server.primary().unwrap();
            members.iter().all(|member| {
                let answer = outcome(&anonymous(*member), &hello).unwrap();
                let is = |role: &str| answer.get_bool(role).unwrap();
                let is_primary = *member == primary;
                is("isWritablePrimary") == is_primary && is("secondary") != is_primary
            })
        };
        // Whenever the machine stands still for a while, the members elect another.
        assert!(within(PATIENCE, roles_are_clear));
        for (number, member) in members.iter().enumerate() {
            let answer = outcome(&anonymous(*member), &hello).unwrap();
            assert_eq!(answer.get_str("setName").unwrap(), server.set_name().unwrap());
            // What can never become the primary is not among the hosts.
            let passive = answer.get("passive").unwrap().is_some();
            assert_eq!(passive, number == 3, "{answer:?}");
            let default_account = server.account(AuthenticationMethod::ScramSha256).unwrap();
            assert_eq!(users(&options(*member, default_account)).len(), 1);
            assert!(outcome(&anonymous(*member), &whoami()).is_ok());
        }
        let key = server.folder().join("members.key");
        assert_eq!(fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);

        // That may happen here too.
        let followed = (0..5).find_map(|_| {
            let (first, second) = (server.primary().unwrap(), server.step_down().unwrap());
            assert!(second != members[3]);
            (first != second && server.primary().unwrap() == second).then_some(first)
        });
        let first = followed.expect("another primary");

        server.kill_member(first).unwrap();
        assert_eq!(server.dead_member(), Some(first));
        assert!(!server.is_alive());
        let (folder, pids) = (server.folder().to_owned(), server.pids());
        server.stop().unwrap();
        assert!(!folder.exists());
        assert!(
            pids.iter()
                .all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
        );
    }
}
