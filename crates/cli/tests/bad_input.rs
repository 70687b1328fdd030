//! What the user can mend: one clear sentence that names the thing and the remedy, exit code 2, and nothing left.

use crate::common::*;
use crate::ordinary_user::finish_as_ordinary_user_in;

#[test]
fn a_target_that_is_encrypted_when_the_server_can() {
    let sandbox = Sandbox::new();
    for option in ["ssl-mode=PREFERRED", "tls=preferred"] {
        let target = format!("mysql://app:secret@127.0.0.1/?{option}");
        let finished = sandbox.finish(&["quick", &target, "--out", "run"]);
        finished.refuses(&format!("{option} … encrypts silently … leave it out"));
        assert!(!sandbox.run().exists());
    }
}

#[test]
fn a_wrong_password() {
    let server = OwnServer::start();
    let target = server.url_with("tr0ub4dor");
    let finished = quick_refuses(&[&target], "Access denied … check user and password");
    assert!(!finished.contains("tr0ub4dor"), "{finished}");
    quick_refuses(&[&server.url()], "Access denied … CIPHERTAX_PASSWORD");
}

#[test]
fn a_port_where_nobody_listens() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = format!("mysql://app:secret@{free}/");
    quick_refuses(&[&target], &format!("{free} … refused … is the server running"));
}

#[test]
fn a_host_that_does_not_exist() {
    quick_refuses(
        &["mysql://app:secret@no-such-host.invalid/"],
        "no-such-host.invalid … cannot be resolved",
    );
}

#[test]
fn something_that_is_no_database_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = std::io::Write::write_all(&mut stream, b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
        }
    });
    let target = format!("mysql://app:secret@{address}/");
    quick_refuses(&[&target], &address.to_string());
}

#[test]
fn an_option_or_a_part_of_the_url_that_is_not_known() {
    for [target, words] in rows(
        r#"
        mysql://app@h/?sslca=/ca.pem → sslca: write ssl-ca … write 'mysql://app@h:3306/?ssl-ca=%2Fca.pem'
        mysql://app@h/?fancy=3 → fancy: unknown … known are
        jdbc:mysql://h/?user=app&useSSL=true&loc=UTC → as for JDBC … useSSL: leave it out: … loc: leave … write 'mysql://app@h:3306/'
        host=h user=app dbname=shop → as keywords of libpq's … write 'postgresql://app@h:5432/shop'
        mysql://app@h/shop → names a schema … leave it out
        oracle://app@h/ → oracle:// … expected mysql://
        postgres://app@h/?sslmode=prefer → sslmode=prefer … no baseline can rest on that
        mysql://h/ → no user … mysql://user:password@host:port/
        db.example:3306 → target … expected mysql://
        "#,
    ) {
        quick_refuses(&[target], words);
    }
}

#[test]
fn a_command_and_a_value_that_were_removed() {
    let finished = Sandbox::new().finish(&["history", "nightly/"]);
    finished.refuses("history was removed: … ciphertax compare … --export run.csv");
    let finished = Sandbox::new().finish(&["why", "run", "--format", "speedscope"]);
    finished.refuses("speedscope was removed: … --format collapsed");
    let finished = Sandbox::new().finish(&["run", "quick", "--verify"]);
    finished.refuses("--verify was removed: give --set ycsb.verify=true");
}

#[test]
fn a_password_with_reserved_characters_is_said_by_nobody() {
    let sandbox = Sandbox::new();
    for url in [
        "mysql://app:p@ss/w#tr0ub4dor@h/",
        "mongodb://app:p@ss/w#tr0ub4dor@h/",
    ] {
        let run = ["run", "mongodb-tls-connection", url, "--out", "run"];
        for arguments in [&["quick", url, "--out", "run"][..], &run] {
            let finished = sandbox.finish(arguments);
            finished.refuses("%40 for @ … CIPHERTAX_PASSWORD");
            assert!(!finished.stderr.contains("tr0ub4dor") && !finished.stderr.contains("ss/w"));
        }
        // In the place of something else.
        for arguments in [
            &["run", url][..],
            &[url],
            &["quick", "mysql://h/", url],
            &["report", url],
        ] {
            let finished = sandbox.finish(arguments);
            assert_eq!(finished.code, Some(2), "{arguments:?}");
            assert!(!finished.stderr.contains("tr0ub4dor"), "{}", finished.stderr);
        }
    }
}

#[test]
fn a_folder_that_exists_or_cannot_be_made() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.run()).unwrap();
    let exists = sandbox.finish(&["quick", "--out", "run"]);
    exists.refuses("run exists already … --out");
    assert!(sandbox.run().exists());
    let missing = sandbox.finish(&["quick", "--out", "no/parent"]);
    missing.refuses("no/parent … choose a folder whose parent exists");
    sandbox.expect_nothing_left();
}

#[test]
fn no_room_for_a_private_server() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["quick", "--out", "run"]);
    command.env("TMPDIR", "/nowhere/at/all");
    let finished = crate::common::Running::start(command).finish();
    finished.refuses("/nowhere/at/all … set TMPDIR");
    assert!(!sandbox.run().exists());
}

#[test]
fn a_report_on_what_is_no_run() {
    let sandbox = Sandbox::new();
    let refuses = |words: &str| sandbox.finish(&["report", "run"]).refuses(words);
    let remedy = "give the folder that a run has printed";
    refuses(&format!("run is not a run folder … {remedy}"));
    fs::create_dir(sandbox.run()).unwrap();
    refuses(&format!("run.json … {remedy}"));
    let record = sandbox.run().join("run.json");
    fs::write(&record, "{\"schema\": \"ciphertax.run/9\"}").unwrap();
    refuses(
        "run: run.json: it has the format \"ciphertax.run/9\", and this release reads \"ciphertax.run/3\" … \
         use the release of ciphertax that wrote it",
    );
    fs::write(&record, "{\"schema\": \"ciphertax.run/3\"}").unwrap();
    refuses("run.json … missing field");
    fs::write(&record, "not JSON").unwrap();
    refuses("run.json");
    let files: Vec<_> = fs::read_dir(sandbox.run()).unwrap().collect();
    assert_eq!(files.len(), 1, "a report was made of nothing");
}

#[test]
fn a_file_that_is_neither_study_nor_run_is_said_to_be_what_it_is() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.work().join("x.json"), "{\n}").unwrap();
    sandbox
        .finish(&["run", "x.json"])
        .refuses("x.json is JSON, and a study is TOML");
    sandbox
        .finish(&["report", "x.json"])
        .refuses("x.json is a file, as an export is; give the folder of the run");
}

#[test]
fn arguments_that_are_not_known_or_make_no_sense() {
    for [arguments, words] in rows(
        "
        quack → 'quack' … 'quick'
        quick --colour → '--colour'
        quick --time 0 → '0' … --time … between 1 second and 24 hours
        quick --time -3 → '-3' … --time … between 1 second and 24 hours
        quick --time inf → 'inf' … --time … between 1 second and 24 hours
        quick --time soon → 'soon' … --time … between 1 second and 24 hours
        quick --certificate dsa → 'dsa' … ecdsa-p256 … rsa-2048
        quick --seed x → 'x' … --seed
        quick mysql://a@h/ --certificate rsa-2048 → --certificate … cannot be used with
        report → <RUN>
        ",
    ) {
        let sandbox = Sandbox::new();
        let finished = sandbox.finish(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(finished.code, Some(2), "{arguments:?}: {finished:?}");
        assert_eq!(finished.stdout, "");
        assert!(finished.stderr.starts_with("error: "), "{}", finished.stderr);
        says(&finished.stderr, words);
        assert!(fs::read_dir(sandbox.work()).unwrap().next().is_none());
    }
}

#[test]
fn a_run_folder_that_may_not_be_written_is_named() {
    let sandbox = Sandbox::new();
    let arguments = ["quick", "--out", "run"];
    // Root may write everywhere.
    let finished = match is_root() {
        true => finish_as_ordinary_user_in(&sandbox, 0o500, &arguments),
        false => {
            fs::set_permissions(sandbox.work(), fs::Permissions::from_mode(0o500)).unwrap();
            sandbox.finish(&arguments)
        }
    };
    finished.refuses("run cannot be written … choose a folder you may write to");
}

/// Returns what it said.
fn quick_refuses(arguments: &[&str], words: &str) -> String {
    let sandbox = Sandbox::new();
    let finished = sandbox.finish(&[&["quick", "--out", "run"], arguments].concat());
    finished.refuses(words);
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
    finished.stderr
}
