//! Servers that answer in another's name learn no password, unless the URL says that whoever answers may. They are on what counts as
//! another machine: an address of a network that the test has made.

use ciphertax_records::{LeftOut, LeftOutReason};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::common::impostor::{Asks, Impostor};
use crate::common::*;

const PASSWORD: &str = "correct-horse-battery-staple";
/// TEST-NET-1 (RFC 5737): nobody's.
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A short study of these arms, each with the transport that it is named for.
fn study(server: &str, arms: &[&str]) -> String {
    let arms = arms.iter().map(|name| {
        let transport = name.split(' ').next().unwrap();
        format!("{{ name = \"{name}\", transport = \"{transport}\" }}")
    });
    format!(
        r#"
name = "short"
question = "What does TLS cost?"
server = "{server}"
time_s = 2
dataset = {{ table_size = 2000 }}
arm = [{}]
cell = [{{ name = "queries", workload = "oltp_point_select", load = {{ connections = 1 }} }}]
"#,
        arms.collect::<Vec<_>>().join(", ")
    )
}

/// Runs a test in a network of its own.
fn elsewhere(test: impl FnOnce() + Send + 'static) {
    if !is_root() {
        return not_tested("an address of a network of one's own needs root");
    }
    let in_its_network = move || {
        // SAFETY: a network namespace changes nothing that other threads rely on.
        if let Err(refusal) = unsafe { unshare_unsafe(UnshareFlags::NEWNET) } {
            return not_tested(format_args!("root may not make a network here: {refusal}"));
        }
        for arguments in [
            "link set lo up".to_owned(),
            format!("address add {ELSEWHERE}/32 dev lo"),
        ] {
            let done = Command::new("ip").args(arguments.split(' ')).status().unwrap();
            assert!(done.success(), "ip {arguments}");
        }
        test();
    };
    thread::spawn(in_its_network).join().unwrap();
}

/// A certificate of an authority that nobody trusts.
fn own_certificate(sandbox: &Sandbox) -> CertificateFiles {
    let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
    authority.issue_for_localhost(sandbox.root()).unwrap()
}

fn url(impostor: &Impostor, asks: Asks, options: &str) -> String {
    let scheme = if asks == Asks::PostgreSql {
        "postgres"
    } else {
        "mysql"
    };
    format!("{scheme}://app@{}/?{options}", impostor.address())
}

/// A sandbox with a study of plain arms alone, so that there is no TLS to begin with.
fn with_plain_study(asks: Asks) -> Sandbox {
    let sandbox = Sandbox::new();
    let server = if asks == Asks::PostgreSql {
        "postgresql"
    } else {
        "mysql"
    };
    let plain = study(server, &["plain", "plain too"]);
    fs::write(sandbox.work().join("plain.toml"), plain).unwrap();
    sandbox
}

/// Runs a command with the password where it belongs.
fn finish(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    let mut command = sandbox.command(arguments);
    command.env("CIPHERTAX_PASSWORD", PASSWORD);
    Running::start(command).finish()
}

/// All that logs in by itself to a server of the user's own.
fn each_command(target: &str) -> [Vec<&str>; 5] {
    [
        vec!["quick", target, "--time=2", "--out=run"],
        vec!["run", "plain.toml", target, "--time=2", "--out=run"],
        vec!["connect", target],
        vec!["clean", target],
        vec!["connect", target, "--transport=plain"],
    ]
}

#[test]
fn without_tls_a_password_goes_to_nobody_on_another_machine() {
    elsewhere(|| {
        for asks in [Asks::CachingSha2, Asks::Sha256, Asks::Clear, Asks::PostgreSql] {
            let sandbox = with_plain_study(asks);
            let impostor = Impostor::start(ELSEWHERE, asks, None);
            let target = url(&impostor, asks, "");
            for command in each_command(&target) {
                let finished = finish(&sandbox, &command);
                let is_over_tls = command == ["connect", &target];
                // Only what uses TLS, or may, is about certificates.
                let warns = !command.contains(&"plain.toml") && !command.contains(&"--transport=plain");
                let is_warned = finished.stderr.starts_with("Warning: the certificate of ");
                assert_eq!(is_warned, warns, "{finished:?}");
                finished.refuses(if is_over_tls {
                    "offers no TLS"
                } else {
                    "the password was not sent"
                });
                assert!(!sandbox.run().exists());
            }
            assert!(impostor.has_heard("app"), "nobody has logged in");
            assert!(!impostor.has_heard(PASSWORD), "{asks:?}");
        }
    });
}

/// Where the URL names a CA, not even a name goes to whom it did not sign for, here as elsewhere, unless `connect` is told to log in
/// without TLS where there is none (or on PostgreSQL, whose plain logins need no key): then the name does, and no password.
#[test]
fn who_has_no_certificate_of_the_named_authority_hears_of_no_login() {
    elsewhere(|| {
        let (_kept, ca) = another_ca();
        for (asks, option) in [
            (Asks::CachingSha2, "ssl-ca"),
            (Asks::Sha256, "ssl-ca"),
            (Asks::Clear, "ssl-ca"),
            (Asks::PostgreSql, "sslrootcert"),
        ] {
            for (at, speaks_tls) in [(ELSEWHERE, true), (ELSEWHERE, false), (HERE, true), (HERE, false)] {
                let sandbox = with_plain_study(asks);
                let certificate = own_certificate(&sandbox);
                let impostor = Impostor::start(at, asks, speaks_tls.then_some(&certificate));
                let target = url(&impostor, asks, &format!("{option}={}", ca.display()));
                let is_mysql = asks != Asks::PostgreSql;
                for command in each_command(&target) {
                    let is_told = command.contains(&"--transport=plain");
                    let finished = finish(&sandbox, &command);
                    // A login that sends a proof alone is what `--transport=plain` asks for.
                    finished.refuses(match (speaks_tls, is_told) {
                        (false, false) => "TLS",
                        (true, false) => "signed by another CA",
                        (true, true) if is_mysql => "signed by another CA",
                        (_, true) => "the password was not sent",
                    });
                    // The last of them, so that what it tells was told by no other.
                    let tells = is_told && !(speaks_tls && is_mysql);
                    assert_eq!(impostor.has_heard("app"), tells, "{asks:?} at {at}: {command:?}");
                    assert!(!finished.stderr.contains("Warning"), "{}", finished.stderr);
                    assert!(!impostor.has_heard(PASSWORD), "{asks:?} at {at}: {command:?}");
                }
            }
        }
    });
}

#[test]
fn whoever_answers_learns_the_password_where_the_url_or_nobody_minds_and_a_line_says_so() {
    elsewhere(|| {
        let sandbox = Sandbox::new();
        let certificate = own_certificate(&sandbox);
        let get_key = "get-server-public-key=true";
        for (asks, at, options, transport, learns, warns) in [
            // Told to.
            (Asks::CachingSha2, ELSEWHERE, get_key, "plain", true, false),
            (Asks::Sha256, ELSEWHERE, get_key, "plain", true, false),
            // This machine's own.
            (Asks::CachingSha2, HERE, "", "plain", true, false),
            (Asks::CachingSha2, HERE, "", "tls", true, false),
            // As with all other clients, a certificate that nobody verifies is worth nothing.
            (Asks::CachingSha2, ELSEWHERE, "", "tls", true, true),
            (Asks::PostgreSql, ELSEWHERE, "", "tls", true, true),
            // As it is, MySQL's own clients send it nobody who does not ask for it explicitly.
            (Asks::Clear, ELSEWHERE, "", "tls", false, true),
            (Asks::Clear, ELSEWHERE, get_key, "tls", false, true),
            (Asks::Clear, HERE, "", "plain", false, false),
        ] {
            let impostor = Impostor::start(at, asks, Some(&certificate));
            let target = url(&impostor, asks, options);
            let finished = finish(&sandbox, &["connect", &target, "--transport", transport]);
            finished.refuses(if learns {
                "ssword"
            } else {
                "the password was not sent"
            });
            let row = format!("{asks:?} {at} {options} {transport}: {}", finished.stderr);
            assert_eq!(impostor.has_heard(PASSWORD), learns, "{row}");
            let warning = finished.stderr.lines().next().unwrap_or_default();
            let is_warned = warning.starts_with("Warning: the certificate of ");
            assert_eq!(is_warned, warns, "{row}");
            assert!(!warns || warning.contains("=FILE"), "{row}");
            assert!(!finished.stderr.contains(PASSWORD));
        }
    });
}

/// Over TLS `channel_binding=require` takes no login but that which is tied to the certificate, whoever logs in for whatever reason.
#[test]
fn a_login_that_must_be_tied_to_the_certificate_is_no_other() {
    elsewhere(|| {
        let sandbox = Sandbox::new();
        let certificate = own_certificate(&sandbox);
        let tls = study("postgresql", &["tls1.3", "tls1.2", "tls"]);
        fs::write(sandbox.work().join("tls.toml"), tls).unwrap();
        for command in ["quick", "run tls.toml", "connect", "clean"] {
            let impostor = Impostor::start(ELSEWHERE, Asks::PostgreSql, Some(&certificate));
            let target = url(&impostor, Asks::PostgreSql, "channel_binding=require");
            let words: Vec<&str> = command.split(' ').chain([target.as_str()]).collect();
            // What goes on in plaintext after TLS was refused is said there.
            let over_tls = matches!(command, "run tls.toml" | "connect");
            finish(&sandbox, &words).refuses(match over_tls {
                true => "expected SCRAM-SHA-256-PLUS",
                false => "the password was not sent",
            });
            let has_only_the_name = impostor.has_heard("app") && !impostor.has_heard(PASSWORD);
            assert!(has_only_the_name, "{command}");
        }
    });
}

/// All that an agent on the server's machine is sent, and the environment of the `ssh` that starts it.
#[test]
fn an_agent_is_told_no_password() {
    let (server, sandbox) = (OwnServer::start(), Sandbox::new());
    let (ssh, told) = (sandbox.work().join("ssh"), sandbox.work().join("told"));
    let script = format!(
        "#!/bin/sh\n(echo \"$@\"; env) >>{0}\nfor last; do :; done\ntee -a {0} | $last\n",
        told.display()
    );
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", sandbox.work().display(), std::env::var("PATH").unwrap());
    let agent = format!(
        "--server-agent=ssh://app@127.0.0.1{}",
        env!("CARGO_BIN_EXE_ciphertax")
    );
    let mut command = sandbox.command(&["quick", &server.url(), "--time=2", "--out=run", &agent]);
    command
        .env("CIPHERTAX_PASSWORD", server.password())
        .env("PGPASSWORD", server.password())
        .env("PATH", path);
    Running::start(command).finish().measured();
    let told = fs::read_to_string(told).unwrap();
    let is_whole = told.contains("BatchMode") && told.contains("PATH=") && told.contains('{');
    assert!(is_whole, "{told}");
    assert!(!told.contains(server.password()));
}

/// A real server on another machine whose plain arm needs a key: it is taken over verified TLS, or else the arm is left out and the
/// others are measured.
#[test]
fn a_plain_arm_is_measured_with_a_key_that_came_over_verified_tls_and_else_left_out() {
    let Some(_) = fetched(&MYSQL) else { return };
    elsewhere(|| {
        let server = OwnServer::start_of(&MYSQL, |builder| builder);
        server.query("CREATE USER sha256 IDENTIFIED WITH sha256_password BY 'a secret for all'");
        server.query("CREATE USER caching IDENTIFIED WITH caching_sha2_password BY 'a secret for all'");
        for user in ["sha256", "caching"] {
            server.query(&format!("GRANT ALL ON ciphertax.* TO {user}"));
        }
        let address = forwarded(SocketAddr::new(HERE, server.port()));
        let key = &server.query("SELECT CONCAT(@@datadir, @@sha256_password_public_key_path)")[0];
        let ca = format!("?ssl-ca={}", server.ca_file().display());
        for (user, options, is_measured) in [
            ("sha256", "", false),
            ("sha256", ca.as_str(), true),
            ("sha256", &format!("?server-public-key-path={key}"), true),
            ("sha256", "?get-server-public-key=true", true),
            // It remembers who has logged in over TLS.
            ("caching", "", true),
            ("caching", &ca, true),
        ] {
            let (run, said) = measured(&format!(
                "mysql://{user}:a%20secret%20for%20all@{address}/{options}"
            ));
            match is_measured {
                true => assert_eq!(run.head.left_out, [], "{user} {options}"),
                false => {
                    assert!(said.contains("Leaving out plain: the password was not sent"));
                    assert!(matches!(
                        run.head.left_out[..],
                        [LeftOut { ref arm, reason: LeftOutReason::PasswordWithheld { .. } }] if arm == "plain"
                    ));
                }
            }
            let first = if is_measured { "plain" } else { "tls1.3" };
            assert_eq!(run.head.arms[0].name, first, "{user} {options}");
        }
        // What it cannot do is not what finds out what it asks for.
        server.query("SET GLOBAL tls_version = 'TLSv1.2'");
        server.query("ALTER INSTANCE RELOAD TLS");
        let (run, _) = measured(&format!("mysql://sha256:a%20secret%20for%20all@{address}/"));
        let left_out: Vec<&str> = run.head.left_out.iter().map(|left| left.arm.as_str()).collect();
        assert_eq!(left_out, ["tls1.3", "plain"]);
        assert_eq!(run.head.arms[0].name, "tls1.2");
    });
}

/// What came of a short study of a server, and what was said meanwhile.
fn measured(target: &str) -> (Run, String) {
    let sandbox = Sandbox::new();
    let tls = study("mysql", &["plain", "tls1.3", "tls1.2", "tls"]);
    fs::write(sandbox.work().join("tls.toml"), tls).unwrap();
    let finished = sandbox.finish(&["run", "tls.toml", target, "--time=2", "--out=run"]);
    finished.measured();
    sandbox.expect_nothing_left();
    (record(&sandbox.run()), finished.stderr)
}

/// An address elsewhere that leads to a server here.
fn forwarded(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind((ELSEWHERE, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(to) else {
                continue;
            };
            for (mut from, mut to) in [
                (client.try_clone().unwrap(), server.try_clone().unwrap()),
                (server, client),
            ] {
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    address
}
