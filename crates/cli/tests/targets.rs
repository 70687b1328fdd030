//! What a server of the user's own has, demands and allows: what can be measured there is, and what cannot is said.

use ciphertax_records::{ConnectionRecord, ServerRecord};

use crate::common::*;

/// A study that is over in a moment, or as soon as a hypervisor lets slices count.
const STUDY: &str = r#"
    name = "short"
    question = "?"
    time_s = 10
    slice_s = 0.05
    precision = { cpu = 0.5, throughput = 0.5 }
    dataset = { table_size = 1000 }
    arm = [
        { name = "plain", transport = "plain" },
        { name = "tls1.2", transport = "tls1.2" },
        { name = "tls1.3", transport = "tls1.3" },
    ]
    cell = [
        { name = "queries", workload = "oltp_point_select", load = { connections = 3 } },
        { name = "connects", workload = "connect", load = { connections = 1 } },
    ]
"#;

#[test]
fn an_account_that_demands_tls_is_told_from_a_wrong_password() {
    let server = OwnServer::start();
    server.session(|query| {
        query("CREATE USER secure IDENTIFIED BY 'tr0ub4dor' REQUIRE SSL");
        query("GRANT ALL ON ciphertax.* TO secure");
    });
    let url = |password| format!("mysql://secure:{password}@127.0.0.1:{}/", server.port());
    refused(
        &url("tr0ub4dor"),
        "REQUIRE SSL … ciphertax run mysql-tls-versions",
    );
    refused(&url("wrong"), "Access denied … check user and password");
}

#[test]
fn other_clients_keep_connections_and_the_advice_fits() {
    let server = OwnServer::start_with(|builder| builder.option("--max-connections=30"));
    let url = server.url_with(server.password());
    let before = server.schemas();
    // Eight of the queries and two of the results for each of four arms, two connects at a time that follow upon two, and the
    // control session.
    let said = refused(
        &url,
        "opens 43 connections at a time … \
         of the 30 that max_connections allows 0 are open and 5 are kept for other clients",
    );
    let is_told = said.contains("ciphertax run quick … --set load.connections=2");
    assert!(is_told, "{said}");
    assert_eq!(server.schemas(), before);
    // Four more for each arm than the control session; a server counts those that were closed for a moment longer, and a busy one for
    // several. Those that are kept for others stay free.
    let mut used = most_open(&server);
    for _ in 0..2 {
        if used > 25 {
            used = used.min(most_open(&server));
        }
    }
    assert!((17..=25).contains(&used), "{used} connections");
}

/// The most connections that the server has had open at a time in a run that takes the advice.
fn most_open(server: &OwnServer) -> u32 {
    server.query("FLUSH STATUS");
    let sandbox = Sandbox::new();
    let fewer = ["--set=load.connections=2", "--time=4"];
    let target = server.url_with(server.password());
    let finished = start_study(&sandbox, &target, &fewer).finish();
    finished.measured();
    no_slice_failed(&record(&sandbox.run()));
    let used = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'max_used_connections'";
    server.query(used)[0].parse().unwrap()
}

#[test]
fn the_limit_of_a_user_counts_too() {
    let server = OwnServer::start();
    server.session(|query| {
        query("CREATE USER few IDENTIFIED BY 'tr0ub4dor' WITH MAX_USER_CONNECTIONS 30");
        query("GRANT ALL ON ciphertax.* TO few");
    });
    let url = format!("mysql://few:tr0ub4dor@127.0.0.1:{}/", server.port());
    refused(
        &url,
        "of the 30 that max_user_connections allows … 5 are kept … --set load.connections=",
    );
}

#[test]
fn a_missing_right_is_named_with_the_statement_that_gives_it_before_anything_is_written() {
    let server = OwnServer::start();
    server.session(|query| {
        query(r"CREATE USER 'CORP\\o''brien'@'127.0.0.1' IDENTIFIED BY 'tr0ub4dor'");
        // Who may write, and not remove what was written.
        query("CREATE USER own@'%' IDENTIFIED BY 'tr0ub4dor'");
        query("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX ON ciphertax.* TO own@'%'");
    });
    let before = server.schemas();
    for (user, account, words) in [
        ("own", "`own`@`%`", "DROP command denied"),
        (
            "CORP%5Co%27brien",
            r"`CORP\o'brien`@`127.0.0.1`",
            "command denied",
        ),
    ] {
        let url = server.url_of(&format!("{user}:tr0ub4dor"));
        let grant = format!("GRANT ALL ON ciphertax.* TO {account}");
        let said = refused(&url, &format!("{words} … have its administrator run … {grant}"));
        assert!(!said.contains("Loading"), "{said}");
        assert_eq!(server.schemas(), before);
        server.query(&grant);
        measured(&url);
    }
}

/// An account of any name goes before one of any host, has no rights, and must get none.
#[test]
fn an_anonymous_account_before_the_users_is_named_and_not_given_rights() {
    let server = OwnServer::start();
    let anonymous = "DROP USER ''@`127.0.0.1`";
    let url = server.url_of("app:tr0ub4dor");
    // One session, since the anonymous account goes before the administrator's too.
    server.session(|query| {
        query("GRANT ALL ON ciphertax.* TO app@'%' IDENTIFIED BY 'tr0ub4dor'");
        query("CREATE USER ''@'127.0.0.1' IDENTIFIED BY 'tr0ub4dor'");
        let said = refused(
            &url,
            &format!("an anonymous account that goes before … {anonymous}"),
        );
        assert!(!said.contains("GRANT"), "{said}");
        query(anonymous);
    });
    measured(&url);
}

#[test]
fn a_unix_socket_is_measured_in_plaintext_and_over_tls_with_the_servers_cpu() {
    let server = OwnServer::start();
    let (sandbox, _) = measured(&server.socket_url());
    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
    let [own]: &[ServerRecord; 1] = run.head.servers[..].try_into().unwrap();
    let is_socket = own.address.ends_with(".sock") || own.address.ends_with("socket");
    assert!(is_socket, "{own:?}");
    assert_eq!((own.same_host, &own.cpu_unread), (true, &None));
    for arm in ["tls1.2", "tls1.3"] {
        let arm = arm_of(&run, arm);
        assert!(arm.sessions[0].facts.tls.is_some());
        let mut measured = run.results.measurements.iter();
        let holds = measured.any(|row| row.arm == arm.name && row.metric == Metric::ServerCpuPerOp);
        assert!(holds, "{}", arm.name);
    }
    // The command that repeats it names the socket.
    says(&run.head.command, "localhost/?socket=");
    refused(
        "mysql://app@localhost/?socket=/nowhere/at.sock",
        "/nowhere/at.sock … is the server running",
    );
}

#[test]
fn other_names_of_the_scheme_and_addresses_of_version_6_work() {
    if TcpListener::bind("[::1]:0").is_err() {
        return not_tested("this machine has no IPv6");
    }
    let server = OwnServer::start_with(|builder| builder.option("--bind-address=127.0.0.1,::1"));
    let (sandbox, _) = measured(&format!(
        "mariadb://{}:{}@[::1]:{}/?ssl-mode=VERIFY_CA&ssl-ca={}",
        server.user(),
        server.password(),
        server.port(),
        server.ca_file().display()
    ));
    let own = &record(&sandbox.run()).head.servers[0];
    assert_eq!(own.address, format!("[::1]:{}", server.port()));
    assert!(own.same_host && own.cpu_unread.is_none(), "{own:?}");
}

#[test]
fn why_the_servers_cpu_cannot_be_read_is_said() {
    if !is_root() {
        return not_tested("only root can start a server and measure it as somebody else");
    }
    let server = OwnServer::start();
    let sandbox = Sandbox::new();
    let url = server.url_with(server.password());
    let finished =
        crate::ordinary_user::finish_as_ordinary_user(&sandbox, &["quick", &url, "--time=2", "--out=run"]);
    finished.measured();
    let reason = record(&sandbox.run()).head.servers[0].cpu_unread.clone().unwrap();
    let user = owner_of(&server);
    let is_told = reason.contains(&format!("run ciphertax as root or as {user}"));
    assert!(is_told, "{reason}");
    let shown: String = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains(&format!(
            "Server CPU is not measured on {}: {reason}.",
            server.url()
        )),
        "{shown}"
    );
}

#[test]
fn a_certificate_for_another_name_is_mended_by_the_options_of_mysql() {
    let server = OwnServer::start_with(|builder| builder.option("--bind-address=127.0.0.2"));
    refused(
        &format!("{}&ssl-mode=VERIFY_IDENTITY", server.verified_url()).replace("127.0.0.1", "127.0.0.2"),
        "it is for other names … ssl-mode=VERIFY_CA",
    );
}

#[test]
fn nobody_logs_in_where_the_server_is_not_the_one_that_is_meant() {
    let server = OwnServer::start_with(|builder| builder.option("--bind-address=127.0.0.1,127.0.0.2"));
    server.session(|query| {
        query("SET GLOBAL log_output = 'TABLE'");
        query("SET GLOBAL general_log = ON");
        query("CREATE USER app IDENTIFIED BY 'tr0ub4dor'");
        query("GRANT ALL ON ciphertax.* TO app");
    });
    let url = |host, mode| {
        format!(
            "mysql://app:tr0ub4dor@{host}:{}/?ssl-mode={mode}&ssl-ca={}",
            server.port(),
            server.ca_file().display()
        )
    };
    let logins = || {
        server.query(
            "SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Connect' AND argument LIKE 'app@%'",
        )
    };
    let sandbox = Sandbox::new();
    let study =
        |url: &str| sandbox.finish(&["run", "mysql-tls-versions", url, "--time", "2", "--out", "run"]);
    study(&url("127.0.0.2", "VERIFY_IDENTITY")).refuses("it is for other names");
    assert_eq!(logins(), ["0"]);
    study(&url("127.0.0.1", "VERIFY_IDENTITY")).measured();
    assert_ne!(logins(), ["0"]);
}

/// The name of the user whose process the server is.
fn owner_of(server: &OwnServer) -> String {
    let folder = std::fs::read_dir(server.folder()).unwrap().flatten();
    let sockets = folder
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "sock"));
    let socket = sockets.into_iter().next().unwrap();
    let named = Command::new("stat")
        .args(["-c", "%U"])
        .arg(socket)
        .output()
        .unwrap();
    String::from_utf8(named.stdout).unwrap().trim().to_owned()
}

fn measured(url: &str) -> (Sandbox, Finished) {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.work().join("study.toml"), STUDY).unwrap();
    let finished = sandbox.finish(&["run", "study.toml", url, "--out", "run"]);
    finished.measured();
    (sandbox, finished)
}

/// A name as `/etc/hosts` often has it, of a server that listens on IPv4 alone.
#[test]
fn all_addresses_of_a_name_are_tried_and_the_one_that_answers_is_used_everywhere() {
    if TcpListener::bind("[::1]:0").is_err() {
        return not_tested("this machine has no IPv6");
    }
    on_each(|server| {
        let sandbox = Sandbox::new();
        fs::write(sandbox.work().join("hosts"), "::1 two.test\n127.0.0.1 two.test\n").unwrap();
        let target = server.url_with(server.password());
        let line = format!(
            "mount --bind hosts /etc/hosts && exec {} quick '{}' --time 2 --out run",
            env!("CARGO_BIN_EXE_ciphertax"),
            target.replace("127.0.0.1", "two.test")
        );
        let arguments = [crate::faults::private_mounts(), &["sh", "-c", &line]].concat();
        Running::start(sandbox.command_of(Path::new("unshare"), &arguments))
            .finish()
            .measured();
        let own = &record(&sandbox.run()).head.servers[0];
        assert_eq!(own.address, format!("two.test:{}", server.port()));
        assert!(own.same_host && own.cpu_unread.is_none(), "{own:?}");
    });
}

/// Of an account that is to show a certificate no plain arm can be measured, and the remedy names the options that show one.
#[test]
fn accounts_that_demand_a_certificate_or_a_suite_are_measured() {
    const SUITE: &str = "ECDHE-ECDSA-AES256-GCM-SHA384";
    let server = OwnServer::start();
    let files = server.client_files();
    let certificate = openssl::x509::X509::from_pem(&fs::read(&files.certificate).unwrap()).unwrap();
    let name = |name: &openssl::x509::X509NameRef| {
        let parts = name.entries().map(|entry| {
            let kind = entry.object().nid().short_name().unwrap();
            format!("/{kind}={}", entry.data().to_string().unwrap())
        });
        parts.collect::<String>()
    };
    let (subject, issuer) = (name(certificate.subject_name()), name(certificate.issuer_name()));
    let shows = format!(
        "&ssl-cert={}&ssl-key={}",
        files.certificate.display(),
        files.key.display()
    );
    let suite = format!("&ssl-cipher={SUITE}");
    let connect = |target: &str| Sandbox::new().finish(&["connect", target, "--json"]);
    for (demand, options, lacks) in [
        ("X509".to_owned(), &shows, "ssl-cert=FILE and ssl-key=FILE"),
        (
            format!("SUBJECT '{subject}'"),
            &shows,
            "ssl-cert=FILE and ssl-key=FILE",
        ),
        (
            format!("ISSUER '{issuer}'"),
            &shows,
            "ssl-cert=FILE and ssl-key=FILE",
        ),
        (format!("CIPHER '{SUITE}'"), &suite, "ssl-cipher=NAME"),
    ] {
        server.session(|query| {
            query(&format!(
                "CREATE OR REPLACE USER app IDENTIFIED BY 'tr0ub4dor' REQUIRE {demand}"
            ));
            query("GRANT ALL ON ciphertax.* TO app");
        });
        let finished = connect(&(server.app_url() + options));
        assert_eq!(finished.code, Some(0), "{demand}: {finished:?}");
        let record: ConnectionRecord = serde_json::from_str(&finished.stdout).unwrap();
        let is_suite = record.facts.tls.unwrap().cipher == SUITE;
        assert_eq!(is_suite, demand.starts_with("CIPHER"), "{demand}");
        connect(&server.app_url()).refuses(&format!("Access denied … {lacks}"));
        if demand != "X509" {
            continue;
        }
        let target = server.app_url() + options;
        refused(&target, "REQUIRE SSL … ciphertax run mysql-tls-versions");
        let sandbox = Sandbox::new();
        let versions = ["run", "mysql-tls-versions", &target, "--time=3", "--out=run"];
        sandbox.finish(&versions).measured();
        no_slice_failed(&crate::common::record(&sandbox.run()));
    }
}
