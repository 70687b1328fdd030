//! A server that the user already has, whichever database it is: what ciphertax touches there, and what it keeps to itself.

use ciphertax_model::TlsVersion;

use crate::common::*;

#[test]
fn a_password_in_the_environment_stays_there_and_what_others_have_stays_as_it_is() {
    on_each(|server| {
        server.make_shop();
        let before = (server.all(), server.shop());
        let sandbox = Sandbox::new();
        let target = server.with_ca(&server.url());
        let mut command = sandbox.command(&study(&target, &["--time=60"]));
        command.env("CIPHERTAX_PASSWORD", server.password());
        let mut running = Running::start(command);
        running.measures();
        assert_eq!(command_lines_with(server.password()), Vec::<String>::new());
        assert!(server.has_ours());
        running.signal(Signal::INT);
        let finished = running.finish();
        finished.fails(130, "");
        no_secret_is_left(&sandbox, &finished, server.password(), &server.url());
        assert_eq!((server.all(), server.shop()), before);
        sandbox.expect_nothing_left();
    });
}

#[test]
fn a_password_in_the_url_is_in_nothing_that_is_left() {
    let server = OwnServer::start();
    let sandbox = Sandbox::new();
    let target = format!("{}&ssl-mode=VERIFY_IDENTITY", server.verified_url());
    let finished = start_study(&sandbox, &target, &[]).finish();
    finished.measured();
    no_secret_is_left(&sandbox, &finished, server.password(), &server.url());
    let run = record(&sandbox.run());
    let tls = run.head.arms[2].sessions[0].facts.tls.as_ref().unwrap();
    assert_eq!(tls.verification, Verified::HostName);
    assert!(run.head.command.contains(&server.url()), "{}", run.head.command);
}

#[test]
fn what_ciphertax_did_not_make_is_left_alone_also_where_it_only_looks_like_it() {
    on_each(|server| {
        let target = server.verified_url();
        let is_left_alone = || {
            let before = server.all();
            let named = format!("{} named ciphertax", ours(server));
            refused(&target, &format!("{named} … did not make … rename it"));
            let cleaned = Sandbox::new().finish(&["clean", &target]);
            cleaned.fails(2, "did not make; it is left alone");
            assert_eq!(server.all(), before);
        };
        server.make_precious();
        is_left_alone();
        server.make_mark();
        is_left_alone();
    });
}

#[test]
fn two_runs_do_not_measure_one_server_at_the_same_time() {
    let server = OwnServer::start();
    server.session(|query| {
        assert_eq!(query("SELECT GET_LOCK('ciphertax', 0)"), ["1"]);
        let holder = query("SELECT CONNECTION_ID()").remove(0);
        let words = format!("another ciphertax measures it … connection {holder}; … wait");
        refused(&server.url_with(server.password()), &words);
    });
}

#[test]
fn what_a_killed_run_left_on_the_server_goes_with_the_next_or_by_clean() {
    on_each(|server| {
        server.make_shop();
        let found = || (server.all(), server.shop());
        let before = found();
        let target = match server.url().starts_with("postgresql") {
            true => format!("{}&sslmode=verify-full", server.verified_url()),
            false => server.verified_url(),
        };
        let clean = |words: &str| {
            let cleaned = Sandbox::new().finish(&["clean", &target]);
            assert_eq!(cleaned.code, Some(0), "{}", cleaned.stderr);
            cleaned.shows(words);
            assert_eq!(found(), before);
        };
        clean("Nothing to remove");
        server.leave_behind(&target);
        clean(&format!("Removed the {} ciphertax", ours(server)));

        server.leave_behind(&target);
        let sandbox = Sandbox::new();
        start_study(&sandbox, &target, &[]).finish().measured();
        assert_eq!(found(), before);
        expect_facts(server, &sandbox);
    });
}

/// What ciphertax makes on a server, in that server's words.
fn ours(server: &dyn AnyOwn) -> &'static str {
    match server.url().starts_with("mongodb") {
        true => "database",
        false => "schema",
    }
}

/// What a run knows of a server that it did not start.
fn expect_facts(server: &dyn AnyOwn, sandbox: &Sandbox) {
    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
    let [own] = &run.head.servers[..] else {
        panic!("{:?}", run.head.servers)
    };
    assert_eq!(own.name, server.url());
    // It runs here, and its processes may be looked at.
    assert!(own.same_host && own.cpu_unread.is_none(), "{own:?}");
    let (version, setting, verification) = match own.product.as_str() {
        "PostgreSQL" => ("15.", ("fsync", "on"), Verified::HostName),
        "MongoDB" => ("6", ("storageEngine", "wiredTiger"), Verified::Ca),
        "MariaDB" => return,
        other => panic!("{other}"),
    };
    let is_known = own.version.starts_with(version) && own.tls_library.contains("SSL");
    assert!(is_known, "{own:?}");
    assert_eq!(own.settings[setting.0], setting.1);
    let facts = &arm_of(&run, "tls1.3").sessions[0].facts;
    assert_eq!(facts.tls.as_ref().unwrap().verification, verification);
    if own.product == "MongoDB" {
        assert_eq!(own.address, server.hosts());
        let mut logins = logins(&run, "connect").into_values();
        assert!(logins.all(|login| login == ["SCRAM-SHA-256/cached"]));
    }
}

#[test]
fn a_server_that_demands_tls_is_measured_by_studies_without_a_plain_arm() {
    let mysql = OwnServer::start_with(|builder| builder.option("--require-secure-transport=ON"));
    let postgresql = OwnPostgreSql::start();
    postgresql.change_hba(|line| (!line.starts_with("hostnossl")).then(|| line.to_owned()));
    let mongodb = OwnMongoDb::start();
    mongodb.demand_tls();
    let each: [(&dyn AnyOwn, _, _); 3] = [
        (&mysql, "mysql", "plain arm"),
        (&postgresql, "postgres", "hostssl"),
        (&mongodb, "mongodb", "plain arm"),
    ];
    for (server, study, words) in each {
        let instead = format!("ciphertax run {study}-tls-versions '");
        let said = refused(
            &server.verified_url(),
            &format!("demands TLS … {words} … {instead}"),
        );
        // The URL that it names lacks the password alone.
        let url = said.split(&instead).nth(1).unwrap().split('\'').next().unwrap();
        let sandbox = Sandbox::new();
        let study = format!("{study}-tls-versions");
        let mut arguments = vec!["run", &study, url, "--out=run"];
        if study.starts_with("mongodb") {
            arguments.extend(["--set=ycsb.record_count=500", "--set=slice_s=0.05"]);
        }
        let ((), run) = sandbox.until_measured(1, |time| {
            let time = time.first().unwrap_or(&"--time=4");
            let mut command = sandbox.command(&[&arguments[..], &[time]].concat());
            command.env("CIPHERTAX_PASSWORD", server.password());
            Running::start(command).finish().measured();
        });
        assert_eq!(run.head.status, RunStatus::Complete);
        no_slice_failed(&run);
        assert!(!run.results.measurements.is_empty());
    }
    // A Unix socket counts as secure there.
    let sandbox = Sandbox::new();
    start_study(&sandbox, &mysql.socket_url(), &[])
        .finish()
        .measured();
    assert!(record(&sandbox.run()).head.left_out.is_empty());
}

#[test]
fn an_arm_of_a_tls_version_that_the_server_does_not_have_is_left_out_and_said_to_be() {
    for (has, lacks) in [
        (TlsVersion::V1_2, TlsVersion::V1_3),
        (TlsVersion::V1_3, TlsVersion::V1_2),
    ] {
        let mysql = OwnServer::start_with(|builder| builder.option(format!("--tls-version={has}")));
        let mongodb = OwnMongoDb::start_with(|builder| builder.tls_versions(&[has]).access_control(false));
        let [of_lacks, of_has] = [lacks, has].map(|version| version.name().replace("TLSv", "tls"));
        let reason = format!("the server does not offer {lacks}, it has {has}");
        let failed = || -> u64 {
            let counted = "SELECT variable_value FROM information_schema.global_status WHERE variable_name IN ('Aborted_connects', \
                           'Access_denied_errors') ORDER BY variable_name";
            let counts = mysql.query(counted);
            let [all, denied] = [0, 1].map(|place: usize| counts[place].parse::<u64>().unwrap());
            all - denied
        };
        let before = failed();
        for target in [mysql.verified_url(), mongodb.with_ca(&mongodb.url_of(""))] {
            let sandbox = Sandbox::new();
            let finished = start_study(&sandbox, &target, &[]).finish();
            finished.measured();
            finished.says(&format!("Leaving out {of_lacks}: {reason}"));
            finished.shows(&format!("Left out: {of_lacks}, because {reason}."));
            let run = record(&sandbox.run());
            assert_eq!(run.head.status, RunStatus::Complete);
            let [left_out] = &run.head.left_out[..] else {
                panic!("{:?}", run.head.left_out)
            };
            let found = (&left_out.arm, left_out.reason.to_string());
            assert_eq!(found, (&of_lacks, reason.clone()));
            let arms: Vec<&str> = run.head.arms.iter().map(|arm| arm.name.as_str()).collect();
            assert_eq!(arms, ["plain", "baseline again", &of_has]);
        }
        // Servers shut a host out for handshakes that fail (max_connect_errors).
        assert_eq!(failed() - before, 1, "without {lacks}");

        // Without its baseline, or without any other arm, nothing can be compared.
        let sandbox = Sandbox::new();
        let run = ["run", "mysql-tls-versions", &mysql.verified_url(), "--out", "run"];
        let words = match has {
            TlsVersion::V1_2 => "no arm is left",
            _ => "the baseline tls1.2 cannot be measured",
        };
        sandbox.finish(&run).refuses(&format!("{words} … {reason}"));
        assert!(!sandbox.run().exists());

        // Nor is there a study of versions where the server demands the one that it has.
        mysql.query("SET GLOBAL require_secure_transport = ON");
        let said = refused(&mysql.verified_url(), "demands TLS … without a plain arm");
        assert!(!said.contains("tls-versions"), "{said}");
    }
}

#[test]
fn a_certificate_of_another_authority_is_mended_by_the_options_of_the_database() {
    on_each(|server| {
        let (elsewhere, other_ca) = another_ca();
        let before = server.all();
        let own = server.verified_url();
        let target =
            |ca: &Path| own.replace(&server.ca_file().display().to_string(), &ca.display().to_string());
        let option = own.split(['?', '=']).nth(1).unwrap();
        let must_name = format!("{option} must name");
        let said = refused(&target(&other_ca), &format!("signed by another CA … {must_name}"));
        assert_eq!(said.contains("ssl-ca"), option == "ssl-ca", "{said}");
        assert!(!said.contains(server.password()));
        fs::write(elsewhere.path().join("garbage.pem"), "not a certificate").unwrap();
        for (file, words) in [("none.pem", "No such file"), ("garbage.pem", "CA file")] {
            refused(
                &target(&elsewhere.path().join(file)),
                &format!("{file} … {words}"),
            );
        }
        assert_eq!(server.all(), before);
    });
}

#[test]
fn a_tls_arm_on_a_server_without_tls() {
    let mysql = OwnServer::start_with(|builder| builder.without_tls());
    let mongodb = OwnMongoDb::start_with(|builder| builder.without_tls().access_control(false));
    let unverified = "--set=tls.verification=none";
    let each: [(&dyn AnyOwn, _, &[&str], _); 2] = [
        (&mysql, mysql.url_with(mysql.password()), &[], "arm tls1.3"),
        (&mongodb, mongodb.url_of(""), &[unverified], "arm tls1.2"),
    ];
    for (server, target, options, arm) in each {
        let before = server.all();
        let sandbox = Sandbox::new();
        let finished = start_study(&sandbox, &target, options).finish();
        finished.refuses(&format!("{arm} … does not offer TLS … switch TLS on"));
        // Without access control there is no password.
        let password = server.password();
        assert!(password.is_empty() || !finished.stderr.contains(password));
        assert!(!sandbox.run().exists());
        sandbox.expect_nothing_left();
        assert_eq!(server.all(), before);
    }
}

#[test]
fn statements_that_a_run_prepares_are_left_to_others_too() {
    const WORKLOADS: [&str; 8] = [
        "oltp_point_select",
        "oltp_read_write",
        "oltp_update_index",
        "select_random_points",
        "bulk_read",
        "pgbench_select_only",
        "ycsb_a",
        "connect",
    ];
    let server = OwnServer::start();
    let cells: Vec<String> = WORKLOADS
        .iter()
        .map(|cell| format!("{{ name = \"{cell}\", workload = \"{cell}\", load = {{ connections = 2 }} }}"))
        .collect();
    let study = format!(
        "name = \"statements\"\nquestion = \"What does it cost?\"\ntime_s = 4\nslice_s = 0.05\n\
         dataset = {{ tables = 3, table_size = 1000 }}\nycsb = {{ record_count = 1000 }}\n\
         arm = [{{ name = \"plain\", transport = \"plain\" }}, {{ name = \"tls\", transport = \"tls1.3\" }}]\ncell = [{}]\n",
        cells.join(", ")
    );
    let sandbox = Sandbox::new();
    let start = || {
        let mut command = sandbox.study(&study, &[]);
        command.arg(server.url_with(server.password()));
        Running::start(command)
    };
    // Three arms, the baseline again among them, with two connections each; a tenth stays free.
    let needed = 3 * 2 * (3 + (2 + 3 * 9) + 3 + 1 + 1 + 1 + 13);
    let limit = |most: u64| server.query(&format!("SET GLOBAL max_prepared_stmt_count = {most}"));
    let enough = (needed..).find(|most| most - most / 10 >= needed).unwrap();
    limit(enough - 1);
    let words = format!("the run prepares {needed} statements at a time");
    start()
        .finish()
        .refuses(&format!("{words} … max_prepared_stmt_count … load.connections=1"));
    limit(enough);
    let mut running = start();
    running.measures();
    let there: u64 = server.session(|query| {
        let ask = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Prepared_stmt_count'";
        query(ask)[0].parse().unwrap()
    });
    running.finish().measured();
    assert!((needed * 8 / 10..=needed).contains(&there), "{there} of {needed}");
    no_slice_failed(&record(&sandbox.run()));
}

#[test]
fn an_account_that_a_run_would_lock_out_for_an_hour_is_refused() {
    let server = OwnServer::start();
    server.query("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'tr0ub4dor'");
    server.query("GRANT ALL ON ciphertax.* TO app@'127.0.0.1'");
    for limit in [
        "MAX_CONNECTIONS_PER_HOUR",
        "MAX_UPDATES_PER_HOUR",
        "MAX_QUERIES_PER_HOUR",
    ] {
        server.query(&format!("ALTER USER app@'127.0.0.1' WITH {limit} 200"));
        let remedy = format!("WITH {limit} 0");
        refused(&server.app_url(), &format!("{remedy} … until the hour is over"));
        server.query(&format!("ALTER USER app@'127.0.0.1' {remedy}"));
    }
    assert!(!server.has_ours());
    start_study(&Sandbox::new(), &server.app_url(), &[])
        .finish()
        .measured();
}
