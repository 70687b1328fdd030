//! Logins by every plugin that the server has, over TCP and over its Unix socket.

use ciphertax_lab::catalogue::MARIADB_11_8;
use ciphertax_model::PasswordCache;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, ExpectedLogin, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Client as _, Session as _};

use crate::common::packets::offer_key;
use crate::common::*;

#[test]
fn each_account_is_logged_in_by_the_plugin_it_uses() {
    administer(
        server(),
        &[
            "CREATE USER native IDENTIFIED VIA mysql_native_password USING PASSWORD('a native secret')",
            "CREATE USER nothing IDENTIFIED BY ''",
        ],
    );
    let method = |user: &str, password: &str| {
        facts(&as_user(encrypted(server(), V1_3), user, password))
            .authentication
            .method
    };
    assert_eq!(method("native", "a native secret"), "mysql_native_password");
    assert_eq!(method("nothing", ""), "mysql_native_password");
}

/// The keys that a real server names over TLS are those that it sends without; a fake one's is another.
#[test]
fn a_password_is_encrypted_with_the_key_that_the_server_names_over_tls() {
    let Some(_) = fetched(&MYSQL) else { return };
    let server = builder_of(&MYSQL).start().unwrap();
    for plugin in ["sha256_password", "caching_sha2_password"] {
        administer(
            &server,
            &[&format!(
                "CREATE USER {plugin} IDENTIFIED WITH {plugin} BY 'a hashed secret'"
            )],
        );
        let verified = |options: ConnectOptions| {
            let policy = TlsPolicy::new(None, Verification::Ca(server.ca_file().unwrap().to_owned()));
            let address = server.address();
            ConnectOptions {
                trusted_keys: TrustedKeys::OverTls(Arc::new(KeysOverTls::new(
                    policy,
                    address.ip().to_string(),
                    address.port(),
                ))),
                ..as_user(options, plugin, "a hashed secret")
            }
        };
        // What asks for the key leaves the server remembering the password, so that it has to forget it.
        let options = verified(plain(&server));
        facts(&options);
        administer(&server, &["FLUSH PRIVILEGES"]);
        let login = facts(&options).authentication;
        let path = match plugin {
            "sha256_password" => LoginPath::Single,
            _ => LoginPath::Full,
        };
        assert_eq!((login.method.as_str(), login.path), (plugin, path));

        let other = Rsa::generate(2048).unwrap().public_key_to_pem().unwrap();
        let impostor = FakeServer::start(offer_key(plugin, &other), Ending::Close);
        let problem = refusal(&verified(impostor.options()));
        assert!(matches!(problem, WireError::PasswordWithheld(_)), "{problem}");
        says(&problem, "not the one that it names over TLS");
        assert!(!contains(&impostor.heard(), "a hashed secret"));
    }
}

#[test]
fn over_the_unix_socket_a_session_is_what_it_is_over_tcp() {
    for options in [plain(server()), encrypted(server(), V1_3)] {
        let options = ConnectOptions {
            host: "nowhere.invalid".into(),
            socket: local(server()).socket,
            ..options
        };
        run(async |reactor| {
            let (mut session, trace) = Session::connect(reactor, &options).await.unwrap();
            let phases: Vec<Phase> = trace.phases().map(|(phase, _)| phase).collect();
            let mut expected = vec![Phase::Tcp, Phase::Preface, Phase::Auth];
            if options.tls.is_some() {
                expected.insert(2, Phase::Tls);
            }
            assert_eq!(phases, expected);
            let rows = session
                .query("SELECT USER(), REPEAT('x', 3000000)")
                .await
                .unwrap();
            assert!(rows[0].text(0).ends_with("@localhost"), "{}", rows[0].text(0));
            assert_eq!(rows[0].text(1).len(), 3_000_000);
            let flights: u32 = trace.phases().map(|(_, phase)| phase.flights).sum();
            assert!(flights < session.traffic().flights);
            session.close().await.unwrap();
        });
    }
}

#[test]
fn the_user_of_the_operating_system_logs_in_without_a_password() {
    let user = system_user();
    administer(
        server(),
        &[
            &format!("CREATE USER '{user}'@localhost IDENTIFIED VIA unix_socket"),
            "CREATE USER free@localhost IDENTIFIED BY ''",
        ],
    );
    let by_kernel = |name: &str| ConnectOptions {
        authentication: Some(AuthenticationMethod::UnixSocket),
        ..as_user(local(server()), name, "a password that must not be sent")
    };
    let expectation = Expectation {
        login: Some(ExpectedLogin::by(
            AuthenticationMethod::UnixSocket,
            PasswordCache::Warm,
        )),
        ..Expectation::new(Transport::Plain)
    };
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &by_kernel(&user)).await.unwrap();
        assert_eq!(session.authentication().method, "unix_socket");
        expectation.check(&session).unwrap();
        expectation.check_status(&mut session).await.unwrap().unwrap();

        // The client cannot tell an account without a password from one of the operating system; the server can.
        let (mut session, _) = Session::connect(reactor, &by_kernel("free")).await.unwrap();
        expectation.check(&session).unwrap();
        let problem = expectation.check_status(&mut session).await.unwrap().unwrap_err();
        assert!(problem.contains("another plugin"), "{problem}");
    });

    let with_password = ConnectOptions {
        authentication: Some(AuthenticationMethod::UnixSocket),
        ..local(server())
    };
    assert!(refusal(&with_password).is_access_denied());
    let over_tcp = ConnectOptions {
        socket: None,
        ..by_kernel(&user)
    };
    let problem = refusal(&over_tcp);
    assert!(matches!(problem, WireError::Authentication(_)), "{problem}");
    assert!(problem.to_string().contains("Unix socket"), "{problem}");
}

#[test]
fn a_login_by_another_plugin_or_path_is_told() {
    let expecting = |method: &str, path| Expectation {
        login: Some(ExpectedLogin {
            method: Some(method.into()),
            path,
        }),
        ..Expectation::new(Transport::Plain)
    };
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain(server())).await.unwrap();
        for (method, path) in [
            ("mysql_native_password", None),
            ("mysql_native_password", Some(LoginPath::Single)),
        ] {
            expecting(method, path).check(&session).unwrap();
        }
        for (method, path) in [
            ("ed25519", None),
            ("mysql_native_password", Some(LoginPath::Fast)),
        ] {
            let problem = expecting(method, path).check(&session).unwrap_err();
            says(&problem, "mysql_native_password/single … expected");
        }
        let proved = Expectation::new(Transport::Plain).proved(&session.facts().await.unwrap());
        assert_eq!(
            proved.login.unwrap().method.as_deref(),
            Some("mysql_native_password")
        );
    });
}

#[test]
fn a_socket_that_is_not_there_is_named() {
    let missing = ConnectOptions {
        socket: Some(server().folder().join("no-such.sock")),
        ..plain(server())
    };
    let problem = refusal(&missing);
    let is_told = problem.is_disconnect() && problem.to_string().contains("no-such.sock");
    assert!(is_told, "{problem}");
}

fn local(server: &PrivateServer) -> ConnectOptions {
    ConnectOptions {
        socket: Some(server.socket().unwrap().to_owned()),
        ..plain(server)
    }
}

/// The name of the user that this process runs as.
fn system_user() -> String {
    let id = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(id.stdout).unwrap().trim().to_owned()
}

mod test_all {
    use super::*;

    /// The plugin belongs to a package besides that of the server's core, so the server is one that is fetched with all.
    #[test]
    fn ed25519_logs_in() {
        let Some(_) = fetched(&MARIADB_11_8) else { return };
        let server = builder_of(&MARIADB_11_8).start().unwrap();
        administer(&server, &["INSTALL SONAME 'auth_ed25519'"]);
        administer(
            &server,
            &["CREATE USER edwards IDENTIFIED VIA ed25519 USING PASSWORD('a curved secret')"],
        );
        for options in [plain(&server), encrypted(&server, V1_3), local(&server)] {
            let facts = facts(&as_user(options, "edwards", "a curved secret"));
            assert_eq!(facts.authentication.method, AuthenticationMethod::Ed25519.name());
        }
        assert!(refusal(&as_user(plain(&server), "edwards", "wrong")).is_access_denied());
    }

    #[test]
    fn parsec_logs_in_alone_and_as_an_alternative() {
        let Some(_) = fetched(&MARIADB_11_8) else { return };
        let server = builder_of(&MARIADB_11_8).start().unwrap();
        let [signed, gssapi] = ["PASSWORD('a signed secret')", "'realm'"];
        for soname in ["auth_ed25519", "auth_parsec"] {
            administer(&server, &[&format!("INSTALL SONAME '{soname}'")]);
        }
        for (user, via, method) in [
            (
                "alone",
                format!("parsec USING {signed}"),
                AuthenticationMethod::Parsec,
            ),
            (
                "second",
                format!("ed25519 USING PASSWORD('another') OR parsec USING {signed}"),
                AuthenticationMethod::Parsec,
            ),
            (
                "first",
                format!("ed25519 USING {signed} OR parsec USING PASSWORD('another')"),
                AuthenticationMethod::Ed25519,
            ),
        ] {
            administer(&server, &[&format!("CREATE USER {user} IDENTIFIED VIA {via}")]);
            for options in [plain(&server), encrypted(&server, V1_3), local(&server)] {
                let facts = facts(&as_user(options, user, "a signed secret"));
                assert_eq!(facts.authentication.method, method.name());
            }
            assert!(refusal(&as_user(plain(&server), user, "wrong")).is_access_denied());
        }
        // Of plugins that are not spoken the first says who is refused by those before it.
        let via = format!("parsec USING {signed} OR pam USING {gssapi}");
        administer(
            &server,
            &[
                "INSTALL SONAME 'auth_pam'",
                &format!("CREATE USER pam IDENTIFIED VIA {via}"),
            ],
        );
        assert_eq!(
            facts(&as_user(plain(&server), "pam", "a signed secret"))
                .authentication
                .method,
            AuthenticationMethod::Parsec.name()
        );
        let refused = refusal(&as_user(plain(&server), "pam", "wrong"));
        assert!(
            refused.is_access_denied() && refused.to_string().contains("parsec does not let the user in"),
            "{refused}"
        );
    }
}
