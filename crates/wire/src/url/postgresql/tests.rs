//! Targets as PostgreSQL's own clients read them.

use ciphertax_testkit::rows;

use super::*;

fn parse(text: &str) -> Result<PostgreSqlTarget, TargetError> {
    PostgreSqlTarget::parse_in(text, None, &Environment::default())
}

fn message(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn a_plain_url_gives_host_port_user_password_and_database() {
    for scheme in ["postgres", "postgresql", "PostgreSQL"] {
        let target = parse(&format!("{scheme}://app:p%40ss%2F@db.example:5433/my%20shop")).unwrap();
        let found = (target.host.as_str(), target.port, target.user.as_str());
        assert_eq!(found, ("db.example", 5433, "app"));
        assert_eq!(target.password.expose(), "p@ss/");
        assert_eq!(target.database.as_deref(), Some("my shop"));
        assert_eq!(target.verification, Verification::None);
    }
    let short = parse("postgres://app@h").unwrap();
    assert_eq!((short.port, short.database), (5432, None));
    let address = parse("postgres://app@[::1]:5433/").unwrap();
    let found = (address.host.as_str(), address.address());
    assert_eq!(found, ("::1", "[::1]:5433".to_owned()));
    assert_eq!(parse("postgres://app@[::1]").unwrap().port, 5432);
    let by_options = parse("postgresql:///?host=h&port=7&user=u&dbname=d&password=p").unwrap();
    assert_eq!(by_options.to_string(), "postgresql://u@h:7/d");
    assert_eq!(by_options.password.expose(), "p");
}

#[test]
fn a_host_that_is_a_path_is_the_folder_of_a_unix_socket() {
    for text in [
        "postgresql://app@/shop?host=/run/my%20pg&port=5433",
        "postgresql://app@%2Frun%2Fmy%20pg:5433/shop",
        "postgresql://app@localhost:5433/shop?host=/run/my%20pg",
    ] {
        let target = parse(text).unwrap();
        let socket = target.socket();
        assert_eq!(socket, Some(PathBuf::from("/run/my pg/.s.PGSQL.5433")), "{text}");
        assert_eq!(target.address(), "/run/my pg/.s.PGSQL.5433");
    }
    assert_eq!(parse("postgres://app@h/").unwrap().socket(), None);
    let target = parse("postgres://app@localhost:5433/shop?host=%40/pg").unwrap();
    assert_eq!(target.socket(), Some(PathBuf::from("@/pg/.s.PGSQL.5433")));
    assert_eq!(parse(&target.url()).unwrap().socket(), target.socket());
}

#[test]
fn what_is_verified_is_what_its_own_clients_verify() {
    let ca = PathBuf::from("/etc/ca.pem");
    let with = |options: &str| {
        parse(&format!("postgres://a:b@h/?{options}"))
            .unwrap()
            .verification
    };
    assert_eq!(with("sslmode=require"), Verification::None);
    for options in [
        "sslrootcert=/etc/ca.pem",
        "sslmode=require&sslrootcert=/etc/ca.pem",
        "sslmode=verify-ca&sslrootcert=/etc/ca.pem",
    ] {
        assert_eq!(with(options), Verification::Ca(ca.clone()), "{options}");
    }
    let found = with("sslmode=verify-full&sslrootcert=/etc/ca.pem");
    assert_eq!(found, Verification::HostName(ca, "h".into()));
    for mode in ["verify-ca", "verify-full"] {
        assert!(message(&format!("postgres://a@h/?sslmode={mode}")).contains("sslrootcert="));
    }
}

#[test]
fn a_target_that_may_or_may_not_be_encrypted_is_no_baseline() {
    for mode in ["prefer", "allow"] {
        let error = parse(&format!("postgres://a:b@h/?sslmode={mode}")).unwrap_err();
        assert!(matches!(error, TargetError::Preferred(_)), "{error}");
        let words = "no baseline can rest on that";
        assert!(error.to_string().contains(words), "{error}");
    }
    let error = parse("postgres://a:b@h/?sslmode=disable").unwrap_err();
    assert!(matches!(error, TargetError::Disabled(_)), "{error}");
}

#[test]
fn what_is_not_understood_is_named_with_what_would_be() {
    for [text, words] in rows(
        r#"
        postgres://a:b@h/?sslrootcrt=x → did you mean "sslrootcert"
        postgres://a:b@h/?sslmode=maybe → verify-full
        postgres://a:b@h/?sslnegotiation=quick → postgres or direct
        postgres://a:b@h/?channel_binding=maybe → require, prefer or disable
        postgres://a:b@h/?connect_timeout=soon → a number of seconds
        postgres://a:b@h/?connect_timeout=99999999999 → a number of seconds
        postgres://a:b@h/?target_session_attrs=standby → primary, read-write or any
        postgres://a:b@h/?gssencmode=prefer → disable
        postgres://a:b@h/?hostaddr=10.0.0.1 → address in the host's place
        postgres://a:b@h/?require_auth=md5 → the arms say (authentication
        postgres://a:b@h/?sslcrl=/x → sslcrl: leave it out: no list of revoked
        postgres://a:b@h/?service=x → name host, user and database
        postgres://a:b@h/?passfile= → the path of a file
        postgres://a:b@h/?sslcert=/c.pem → sslkey=
        postgres://a:b@h/?host=other → no second host
        postgres://a@/?host=h1,h2 → name them where hosts stand
        postgres://a@h1,/ → hosts are not understood
        postgres://a@%2Frun,h2/ → hosts are not understood
        postgres://a@h1,h2/?sslmode=verify-full&sslrootcert=/ca.pem → held to the name of one; say sslmode=verify-ca
        postgres://h/ → no user
        postgres://a@/ → no host
        postgres://a@h:99999/ → hosts are not understood
        postgres://a@::1/ → brackets around an IPv6 address
        mongo://a@h/ → mongo://
    "#,
    ) {
        assert!(message(text).contains(words), "{text}: {}", message(text));
    }
}

#[test]
fn several_hosts_are_one_target() {
    let target = parse("postgres://a:b@h1:1,[::1]:2,h3/d").unwrap();
    let others: Vec<String> = target.others.iter().map(ToString::to_string).collect();
    assert_eq!(target.address(), "h1:1");
    assert_eq!(others, ["[::1]:2", "h3:5432"]);
    assert_eq!(target.to_string(), "postgresql://a@h1:1,[::1]:2,h3:5432/d");
}

#[test]
fn the_url_without_password_is_the_same_target() {
    for options in [
        "",
        "?sslrootcert=/etc/my%20ca.pem",
        "?sslmode=verify-full&sslrootcert=/etc/ca.pem&sslcert=/c.pem&sslkey=/k.pem",
        "?sslnegotiation=direct&channel_binding=require&connect_timeout=5",
        "?passfile=%2Fnone%2Fof%20them&target_session_attrs=primary&gssencmode=disable",
        "?channel_binding=disable&application_name=my%20app&options=-c%20work_mem%3D1MB",
    ] {
        for place in ["[::1]:5433/shop", "db.example/", "%2Frun%2Fpg/shop"] {
            let target = parse(&format!("postgres://app:secret@{place}{options}")).unwrap();
            let password = Some(Secret::new("secret"));
            let again = PostgreSqlTarget::parse_in(&target.url(), password, &Environment::default()).unwrap();
            assert_eq!(again, target);
        }
    }
}

#[test]
fn no_text_of_a_target_holds_its_password() {
    let target = parse("postgres://app:tr0ub4dor@h/").unwrap();
    let of_key = parse("postgres://app@h/?sslcert=c&sslkey=k&sslpassword=tr0ub4dor").unwrap();
    let password = of_key.client_certificate.clone().unwrap().password;
    assert_eq!(password, Some(Secret::new("tr0ub4dor")));
    for target in [target, of_key] {
        assert!(!format!("{target} {target:?} {}", target.url()).contains("tr0ub4dor"));
    }
    for wrong in [
        "app:tr0ub4dor@h/?y=1",
        "app:tr0ub4dor@h:99999/",
        "app:tr0ub4dor@/",
        "app:12/tr0ub4dor@h/",
        "app:12?tr0ub4dor@h/",
        "app:12#tr0ub4dor@h/",
        "app:tr0ub4dor",
        ":tr0ub4dor@h/",
        "app:p@tr0ub4dor/w#rd@h/",
        "app:12%tr0ub4dor@h/",
        "app@h/?password=tr0ub4dor&sslmode=prefer",
    ] {
        let error = parse(&format!("postgres://{wrong}")).unwrap_err();
        let is_hidden = !format!("{error} {error:?}").contains("tr0ub4dor");
        assert!(is_hidden, "{wrong}: {error}");
    }
}

#[test]
fn passwords_come_from_the_url_then_from_ciphertax_then_from_the_environment() {
    let environment = Environment {
        password: Some(Secret::new("environment")),
        file: None,
    };
    let password = |text: &str, given: Option<&str>| {
        let given = given.map(Secret::new);
        let target = PostgreSqlTarget::parse_in(text, given, &environment).unwrap();
        target.password.expose().to_owned()
    };
    assert_eq!(password("postgres://a:own@h/", Some("given")), "own");
    assert_eq!(password("postgres://a@h/", Some("given")), "given");
    assert_eq!(password("postgres://a@h/", None), "environment");
    assert_eq!(parse("postgres://a@h/").unwrap().password.expose(), "");
}

#[test]
fn the_password_file_knows_databases_by_their_names_and_sockets_as_localhost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pgpass");
    std::fs::write(
        &file,
        "h:5432:app:app:of the user's\nlocalhost:*:shop:*:of the socket\n/run/pg:*:*:*:of the folder\n",
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, mode).unwrap();
    let environment = Environment {
        password: None,
        file: Some(file),
    };
    for (text, password) in [
        ("postgres://app@h/", "of the user's"),
        ("postgres://app@h/other", ""),
        ("postgres://app@/shop?host=/var/run/postgresql", "of the socket"),
        ("postgres://app@/shop?host=/run/pg", "of the folder"),
    ] {
        let target = PostgreSqlTarget::parse_in(text, None, &environment).unwrap();
        assert_eq!(target.password.expose(), password, "{text}");
    }
}

#[test]
fn a_password_file_that_the_url_names_goes_before_that_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, format!("*:*:*:*:{name}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, mode).unwrap();
        file
    };
    let environment = Environment {
        password: None,
        file: Some(write("of the environment")),
    };
    let named = format!(
        "postgres://app@h/?passfile={}",
        encoded(&write("named").to_string_lossy())
    );
    let target = PostgreSqlTarget::parse_in(&named, None, &environment).unwrap();
    assert_eq!(target.password.expose(), "named");
    assert!(target.url().contains("passfile="), "{}", target.url());
}

/// What `psql` of PostgreSQL 15 to 18 takes, as their manuals list it.
#[test]
fn every_parameter_of_libpq_is_read_or_refused_with_the_reason() {
    let all = "
        application_name channel_binding client_encoding connect_timeout dbname fallback_application_name
        gssdelegation gssencmode gsslib host hostaddr keepalives keepalives_count keepalives_idle
        keepalives_interval krbsrvname load_balance_hosts max_protocol_version min_protocol_version options
        passfile password port replication require_auth requirepeer requiressl scram_client_key
        scram_server_key service servicefile ssl_max_protocol_version ssl_min_protocol_version sslcert
        sslcertmode sslcompression sslcrl sslcrldir sslkey sslkeylogfile sslmode sslnegotiation sslpassword
        sslrootcert sslsni target_session_attrs tcp_user_timeout user
    ";
    for name in all.split_whitespace() {
        let outcome = parse(&format!("postgres://a:b@h/d?{name}=no-such-value"));
        let is_known = !outcome.is_err_and(|error| error.to_string().contains("unknown"));
        assert!(is_known, "{name}");
    }
}
