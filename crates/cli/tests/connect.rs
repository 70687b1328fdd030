//! `ciphertax connect` on servers that the user already has.

use ciphertax_base::LoginPath;
use ciphertax_records::{ConnectionPhase, ConnectionRecord};

use crate::common::*;

/// How far sums may differ by rounding, and by what lies between two readings of a clock.
const ROUNDING: f64 = 1.02;

fn record(finished: &Finished) -> ConnectionRecord {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    follows("connection", &serde_json::from_str(&finished.stdout).unwrap());
    serde_json::from_str(&finished.stdout).unwrap()
}

fn connect(arguments: &[&str]) -> ConnectionRecord {
    let all: Vec<&str> = ["connect"]
        .iter()
        .chain(arguments)
        .chain(&["--json"])
        .copied()
        .collect();
    record(&Sandbox::new().finish(&all))
}

/// The same, up to twice more where the server had other work and its CPU time could not be read.
fn connect_where_quiet(arguments: &[&str]) -> ConnectionRecord {
    let mut found = connect(arguments);
    for _ in 0..2 {
        let unread = found.first_answer.server_cpu_unread.as_deref();
        if !unread.is_some_and(|why| why.contains("other work")) {
            break;
        }
        found = connect(arguments);
    }
    found
}

fn shown(arguments: &[&str]) -> String {
    let all: Vec<&str> = ["connect"].iter().chain(arguments).copied().collect();
    let finished = Sandbox::new().finish(&all);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    finished.stdout
}

fn phase(record: &ConnectionRecord, phase: Phase) -> &ConnectionPhase {
    record.phases.iter().find(|found| found.phase == phase).unwrap()
}

/// Their names in the record, in order.
fn phases(record: &ConnectionRecord) -> String {
    let names = record.phases.iter().map(|phase| phase.phase.name());
    names.collect::<Vec<_>>().join(" ")
}

/// What holds of every connection that is encrypted.
fn makes_sense(record: &ConnectionRecord) {
    let of_phases: Vec<&ConnectionPhase> = record
        .phases
        .iter()
        .filter(|phase| phase.phase != Phase::Close)
        .collect();
    let total = &record.first_answer;
    let sum: f64 = of_phases.iter().map(|phase| phase.wall_us.median).sum();
    if record.connections == 1 {
        let ratio = sum / total.wall_us.median;
        assert!((1.0 / ROUNDING..ROUNDING).contains(&ratio), "{sum} of {total:?}");
        let sent: f64 = of_phases.iter().map(|phase| phase.bytes_sent).sum();
        assert_eq!(sent, total.bytes_sent);
    }
    let handshake = phase(record, Phase::Tls);
    let [cryptography, cpu] =
        [handshake.cryptography_us, handshake.client_cpu_us].map(|cpu| cpu.unwrap().median);
    let is_part = cryptography > 0.0 && cryptography < cpu && cpu < total.client_cpu_us.median;
    assert!(is_part, "{record:?}");
    if record.connections == 1 {
        let sum: f64 = of_phases
            .iter()
            .map(|phase| phase.client_cpu_us.unwrap().median)
            .sum();
        assert!(sum > 0.5 * total.client_cpu_us.median && sum < ROUNDING * total.client_cpu_us.median);
    }
    // It runs here, and its processes may be looked at.
    let is_measured = record.same_host && total.server_cpu_us.unwrap().median > 0.0;
    assert!(is_measured, "{total:?}");
    let tls = record.facts.tls.as_ref().unwrap();
    assert_eq!(tls.version, "TLSv1.3");
    assert_eq!(record.chain[0].key, tls.certificate.key);
    assert_eq!(record.chain.len() as u32, tls.certificate.chain_length);
    let bytes: u32 = record.chain.iter().map(|certificate| certificate.bytes).sum();
    assert_eq!(bytes, tls.certificate.chain_bytes);
    assert!(record.chain[0].days_left >= 0);
    let steps: Vec<&str> = record.work.iter().map(|work| work.step.as_str()).collect();
    let is_named = steps[0].starts_with("key exchange, ") && steps[1] == "server's proof";
    assert!(is_named, "{steps:?}");
}

#[test]
fn a_connection_to_mariadb_is_taken_apart() {
    let server = OwnServer::start();
    let url = server.url_with(server.password());
    let verified = format!("{}&ssl-mode=VERIFY_IDENTITY", server.verified_url());
    let before = server.schemas();
    let found = connect_where_quiet(&[&verified]);
    let expected = "resolve tcp preface tls auth first_operation close";
    assert_eq!(phases(&found), expected);
    makes_sense(&found);
    assert_eq!((found.product.as_str(), found.connections), ("MariaDB", 1));
    assert!(found.target.starts_with(&server.url()), "{}", found.target);
    assert!(!serde_json::to_string(&found).unwrap().contains(server.password()));
    assert_eq!(phase(&found, Phase::Tcp).flights, 1.0);
    let tls = found.facts.tls.as_ref().unwrap();
    assert_eq!(tls.verification, Verified::HostName);
    // The server lets clients resume, which was tried.
    let tried = found.tried.unwrap();
    assert!(tried.impossible.is_none() && tried.wall_us.is_some() && tried.saves_us.is_none());
    assert_eq!(tried.resumed, 1);
    assert_eq!(server.schemas(), before);

    let text = shown(&[&url, "--count", "8"]);
    println!("{text}");
    says(
        &text,
        "until the first answer, the median of 8 connections … client CPU … TLS handshake … quartiles … TLSv1.3 … \
         Certificates: … expires in  … Who computes what … signs by its key … certificate: not verified … \
         certificate was not verified … add ssl-ca=FILE with its CA to the URL",
    );
    assert!(!text.contains('█') && !text.contains(server.password()));
}

#[test]
fn several_connections_have_medians_and_what_resuming_saves_has_an_interval() {
    let server = OwnServer::start_with(|builder| builder.certificate(CertificateKind::Rsa4096));
    let found = connect_where_quiet(&[&server.url_with(server.password()), "--count", "60"]);
    makes_sense(&found);
    assert_eq!((found.connections, found.logins.len()), (60, 60));
    let handshake = phase(&found, Phase::Tls).wall_us;
    assert!(handshake.least <= handshake.low && handshake.low <= handshake.median);
    assert!(handshake.median <= handshake.high && handshake.high <= handshake.most);
    assert!(handshake.least < handshake.most);
    // Without a signature by so large a key.
    let tried = found.tried.unwrap();
    assert_eq!(tried.resumed, 60);
    let saves = tried.saves_us.unwrap();
    let is_sure = saves.low > 0.0 && saves.low < saves.value && saves.value < saves.high;
    assert!(is_sure, "{saves:?}");
    let ids: Vec<&str> = found.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert!(ids.contains(&"resumption") && ids.contains(&"rsa-key"), "{ids:?}");
}

#[test]
fn a_connection_in_plaintext_has_no_certificate_and_one_over_a_socket_no_name_to_look_up() {
    let server = OwnServer::start();
    let found = connect(&[&server.url_with(server.password()), "--transport", "plain"]);
    assert!(found.facts.tls.is_none() && found.chain.is_empty() && found.tried.is_none());
    assert!(!phases(&found).contains("tls"));
    assert_eq!(found.work.len(), 1);

    let found = connect(&[
        &server.socket_url(),
        "--library",
        "rustls",
        "--transport",
        "tls1.2",
    ]);
    assert!(!phases(&found).contains("resolve"));
    assert_eq!(phase(&found, Phase::Tcp).label, "socket");
    let tls = found.facts.tls.unwrap();
    assert_eq!(tls.version, "TLSv1.2");
    assert!(tls.client_library.starts_with("rustls"), "{tls:?}");
    assert_eq!(found.chain[0].key, tls.certificate.key);
}

#[test]
fn the_first_login_to_mysql_takes_the_full_path_and_says_so() {
    if ciphertax_testkit::fetched(&MYSQL).is_none() {
        return;
    }
    let server = OwnServer::start_of(&MYSQL, |builder| builder);
    let logins = |count: &str| {
        server.query("FLUSH PRIVILEGES");
        let found = connect(&[&server.url_with(server.password()), "--count", count]);
        assert_eq!(found.product, "MySQL");
        let paths: Vec<LoginPath> = found.logins.iter().map(|login| login.path).collect();
        let says_so = found.findings.iter().any(|finding| finding.id == "full-logins");
        (paths, says_so)
    };
    assert_eq!(logins("1"), (vec![LoginPath::Full], true));
    // Of several, the first is not counted.
    assert_eq!(logins("2"), (vec![LoginPath::Fast; 2], false));
}

/// The server gets new keys for its tickets before each connection, so that it can read none of those it gave.
#[test]
fn a_session_that_the_server_does_not_take_up_again_is_not_told_as_resumed() {
    let server = OwnServer::start();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!(
        "mysql://{}:{}@{}/",
        server.user(),
        server.password(),
        listener.local_addr().unwrap()
    );
    let running = Sandbox::new().start(&["connect", &url, "--count", "6", "--json"]);
    let finished = thread::spawn(|| running.finish());
    let mut connections = 0;
    while !finished.is_finished() {
        let Ok((near, _)) = listener.accept() else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        near.set_nonblocking(false).unwrap();
        server.query("FLUSH SSL");
        forward(near, TcpStream::connect(("127.0.0.1", server.port())).unwrap());
        connections += 1;
    }
    let found = record(&finished.join().unwrap());
    let tried = found.tried.as_ref().unwrap();
    let why = tried.impossible.as_deref().unwrap();
    assert!(why.contains("did not take it up again"), "{why}");
    assert_eq!((tried.resumed, tried.wall_us, tried.saves_us), (0, None, None));
    // One that is not counted, those asked for, one that gets a session and one that shows it: it is tried no more.
    assert_eq!(connections, 1 + 6 + 2);
    let ids: Vec<&str> = found.findings.iter().map(|finding| finding.id.as_str()).collect();
    let is_told = ids.contains(&"no-session-to-resume") && !ids.contains(&"resumption");
    assert!(is_told, "{ids:?}");
}

/// Copies both ways until both sides have closed.
fn forward(near: TcpStream, far: TcpStream) {
    for stream in [&near, &far] {
        stream.set_nodelay(true).unwrap();
    }
    let ways = [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)];
    for (mut from, mut to) in ways {
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}

#[test]
fn a_connection_to_postgresql_is_taken_apart() {
    let server = OwnPostgreSql::start();
    let found = connect_where_quiet(&[&server.verified_url()]);
    let expected = "resolve tcp preface tls auth setup first_operation close";
    assert_eq!(phases(&found), expected);
    makes_sense(&found);
    assert_eq!(found.product, "PostgreSQL");
    assert_eq!(phase(&found, Phase::Preface).label, "TLS request");
    let why = found.tried.as_ref().unwrap().impossible.clone();
    assert!(why.unwrap().contains("no session ticket was sent"));
    let ids: Vec<&str> = found.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert!(ids.contains(&"no-resumption"), "{ids:?}");
    println!("{}", shown(&[&server.verified_url(), "--count", "5"]));
}

#[test]
fn a_connection_to_mongodb_is_taken_apart_in_the_order_of_its_phases() {
    let server = OwnMongoDb::start();
    let verified = server.verified_url();
    let found = connect_where_quiet(&[&verified]);
    let expected = "resolve tcp tls preface auth first_operation close";
    assert_eq!(phases(&found), expected);
    makes_sense(&found);
    assert_eq!(found.product, "MongoDB");
    let tried = found.tried.unwrap();
    assert_eq!((tried.impossible, tried.resumed), (None, 1));
    println!("{}", shown(&[&verified]));
}

#[test]
fn whoever_is_not_served_is_told_why_and_what_to_do() {
    let server = OwnServer::start();
    let (_elsewhere, other_ca) = another_ca();
    let wrong_ca = format!(
        "{}?ssl-ca={}",
        server.url_with(server.password()),
        other_ca.display()
    );
    let wrong_password = server.url_with("tr0ub4dor");
    for (target, words) in [
        (
            "mysql://root@127.0.0.1:1/",
            "cannot connect … is the server running",
        ),
        (&wrong_password, "Access denied … check user and password"),
        (&wrong_ca, "not trusted … ssl-ca must name"),
        ("nonsense", "mysql:// … mongodb://"),
    ] {
        let finished = Sandbox::new().finish(&["connect", target]);
        finished.refuses(words);
        assert!(!finished.stderr.contains("tr0ub4dor"), "{}", finished.stderr);
    }
    let without = Sandbox::new().finish(&["connect", &server.url()]);
    without.refuses("CIPHERTAX_PASSWORD");
    let plain = OwnServer::start_with(|builder| builder.without_tls());
    let refused = Sandbox::new().finish(&["connect", &plain.url_with(plain.password())]);
    refused.refuses("offers no TLS … --transport plain");
}

/// It has TLS, and none that begins without a question.
#[test]
fn direct_tls_is_not_said_to_be_all_of_tls() {
    let server = OwnPostgreSql::start();
    let url = format!("{}?sslnegotiation=direct", server.url_with(server.password()));
    let refused = Sandbox::new().finish(&["connect", &url]);
    refused.refuses("direct TLS (sslnegotiation=direct) needs PostgreSQL 17 … leave it out");
    assert!(!refused.stderr.contains("no TLS"), "{}", refused.stderr);
}

/// PostgreSQL has no TLS there.
#[test]
fn over_a_unix_socket_of_postgresql_a_connection_is_plaintext_unless_that_is_asked_otherwise() {
    let server = OwnPostgreSql::start();
    let folder = server.file("data_directory");
    let target = |login: &str| {
        let port = server.options().port;
        format!(
            "postgresql://{login}@localhost/postgres?host={}&port={port}",
            folder.display()
        )
    };
    let own = target(&format!("{}:{}", server.user(), server.password()));
    let found = connect(&[&own]);
    assert!(found.facts.tls.is_none() && found.tried.is_none());
    assert_eq!(phase(&found, Phase::Tcp).label, "socket");
    let refused = Sandbox::new().finish(&["connect", &own, "--transport", "tls"]);
    refused.refuses("speaks no TLS over a Unix socket … give host:port, or --transport plain");

    server.query("CREATE ROLE nobody LOGIN PASSWORD 'tr0ub4dor'");
    server.change_hba(|line| (line != "local all all reject").then(|| line.to_owned()));
    let refused = Sandbox::new().finish(&["connect", &target("nobody:tr0ub4dor")]);
    refused.refuses("no line of pg_hba.conf lets this user in over the socket");
    assert!(!refused.stderr.contains("TLS"), "{}", refused.stderr);
}

#[test]
fn a_user_of_whom_tls_is_demanded_is_told_so_and_nobody_else_is() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    let plain = || Sandbox::new().finish(&["connect", &server.app_url(), "--transport", "plain"]);
    let neither = plain();
    neither.refuses("lets this user in without encryption … begins with hostssl may");
    assert!(!neither.stderr.contains("it demands TLS"), "{}", neither.stderr);
    server.let_in("app");
    server.change_hba(|line| match line.starts_with("hostnossl") {
        true => Some(line.replace(" app,", " ")),
        false => Some(line.to_owned()),
    });
    plain().refuses("it demands TLS of this user … leave --transport plain out");

    let server = OwnServer::start();
    server.query("CREATE USER sec IDENTIFIED BY 'tr0ub4dor' REQUIRE SSL");
    let target = format!("mysql://sec:tr0ub4dor@127.0.0.1:{}/", server.port());
    let denied = Sandbox::new().finish(&["connect", &target, "--transport", "plain"]);
    denied.refuses("it demands TLS of this user … leave --transport plain out");
}

#[test]
fn a_schema_in_the_url_is_that_which_the_session_begins_in() {
    let server = OwnServer::start();
    let url = server.url_with(server.password());
    let found = connect(&[&format!("{url}information_schema")]);
    assert!(found.target.ends_with("/information_schema"), "{}", found.target);
    let refused = Sandbox::new().finish(&["connect", &format!("{url}no_such_schema")]);
    refused.refuses("no_such_schema");
}

#[test]
fn the_port_of_something_else_is_called_that() {
    // It takes connections and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let target = format!("postgresql://app:tr0ub4dor@{address}/?connect_timeout=1");
    let finished = Sandbox::new().finish(&["connect", &target]);
    finished.refuses("nothing came that a PostgreSQL server sends … another server's port?");

    let talkative = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = talkative.local_addr().unwrap();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in talkative.incoming().flatten() {
            let _ = io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
            kept.push(stream);
        }
    });
    for [scheme, words] in rows(
        "
        mongodb → what came in answer to the beginning of TLS is not TLS
        mysql → the greeting is not that of a MySQL or MariaDB server
        postgresql → not that of a PostgreSQL server
    ",
    ) {
        let target = format!("{scheme}://app:tr0ub4dor@{address}/");
        let finished = Sandbox::new().finish(&["connect", &target]);
        finished.refuses(&format!("{words} … is it another server's port?"));
    }
}

#[test]
fn on_a_terminal_of_80_columns_a_picture_shows_each_phase_and_no_word_of_the_table_is_broken() {
    let server = OwnServer::start();
    let url = server.url_with(server.password());
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["connect", &url, "--count", "3"]);
    let output = command
        .current_dir(sandbox.work())
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let header = text
        .lines()
        .find(|line| line.trim_start().starts_with("phase"))
        .unwrap();
    for word in ["wall", "client CPU", "crypto", "sent", "received", "flights"] {
        assert!(header.contains(word), "{word} is not in:\n{text}");
    }
    assert!(!text.contains("quartiles"), "{text}");
    for name in ["TLS handshake", "authentication", "first answer"] {
        // In the picture and in the table, but for the last, which is no phase.
        let has_line = text.lines().any(|line| line.trim_start().starts_with(name));
        assert!(has_line, "{name}:\n{text}");
    }
    let is_bar = |line: &&str| line.contains(['█', '▏', '▎', '▍', '▌', '▋', '▊', '▉']);
    assert_eq!(text.lines().filter(is_bar).count(), 6, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// As libpq and drivers do; nobody listens at the first one's address.
#[test]
fn the_first_of_several_hosts_that_takes_connections_is_connected_to() {
    on_each(|server| {
        let dead = format!("127.77.0.1:{}", server.port());
        let target = server
            .url_with(server.password())
            .replace("@", &format!("@{dead},"));
        let found = connect(&[&target]);
        let address = found.target.contains(&dead).then_some(&found.address);
        assert_eq!(
            address,
            Some(&format!("127.0.0.1:{}", server.port())),
            "{found:?}"
        );
    });
}

#[test]
fn ctrl_c_is_heard_while_several_hosts_are_silent() {
    // Whoever comes to a full queue gets no answer.
    let silent = [0; 2].map(|_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(500));
        let waiting: Vec<TcpStream> = std::iter::from_fn(|| connect().ok()).collect();
        (listener, address, waiting)
    });
    let [first, second] = [0, 1].map(|place: usize| silent[place].1);
    let target = format!("mysql://app:tr0ub4dor@{first},{second}/");
    let running = Sandbox::new().start(&["connect", &target, "--transport", "plain"]);
    std::thread::sleep(Duration::from_secs(1));
    running.signal(Signal::INT);
    assert_eq!(running.finish_within(Duration::from_secs(3)).code, Some(130));
}
