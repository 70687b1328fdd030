//! `ciphertax studies` and `ciphertax run`.

use crate::common::*;

#[test]
fn the_list_says_what_each_study_asks_and_needs() {
    let finished = Sandbox::new().finish(&["studies"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    finished.shows(
        "quick\n  What does TLS cost … mysql-tls-library\n … mariadb, mariadb-11.4-wolfssl, mysql-5.6 … \
         mysql-tls-tunnel-wan\n … ssh; root or own namespaces, for network devices … \
         postgresql; ext4, fscrypt, gocryptfs; root, for file systems … scales     published … ciphertax run NAME",
    );
    assert!(finished.stdout.lines().all(|line| line.chars().count() <= 110));
}

#[test]
fn the_list_as_json_says_the_same() {
    let finished = Sandbox::new().finish(&["studies", "--json"]);
    let studies: Vec<Value> = serde_json::from_str(&finished.stdout).unwrap();
    let names: Vec<&str> = studies
        .iter()
        .filter_map(|study| study["name"].as_str())
        .collect();
    let are_different = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    assert!(are_different, "{names:?}");
    assert_eq!(names[..3], ["quick", "mysql-tls-library", "mysql-tls-tunnel-wan"]);
    let wan = &studies[2];
    assert_eq!(wan["needs_rights"], "root or own namespaces, for network devices");
    assert_eq!(wan["tunnels"], serde_json::json!(["ssh"]));
    assert_eq!(wan["scales"], serde_json::json!(["published"]));
}

#[test]
fn a_study_is_printed_changed_and_run() {
    let sandbox = Sandbox::new();
    let printed = sandbox.finish(&["studies", "quick"]);
    assert_eq!(printed.code, Some(0));
    Study::from_toml(&printed.stdout).unwrap();
    let mine = printed.stdout.replace("name = \"quick\"", "name = \"mine\"");
    fs::write(sandbox.work().join("my study.toml"), mine).unwrap();
    let settings = [
        "--set",
        "load.workers=1",
        "--set",
        "cell.connect.load.connections=1",
    ];
    let arguments = [
        "run",
        "my study.toml",
        "--time",
        "15",
        "--precision",
        "0.5",
        "--seed",
        "7",
        "--out",
        "run",
    ];
    let finished = sandbox.finish(&[&arguments[..], &settings].concat());
    finished.measured();
    let run = record(&sandbox.run());
    assert_eq!(
        (
            run.head.study.name.as_str(),
            run.head.study.time_s,
            run.head.study.precision.cpu
        ),
        ("mine", 15.0, 0.5)
    );
    let loads: Vec<(u32, Option<u32>)> = run
        .head
        .study
        .cells
        .iter()
        .map(|cell| (cell.load.connections, cell.load.workers))
        .collect();
    assert_eq!(loads, [(8, Some(1)), (1, Some(1)), (2, Some(1))]);
    assert_eq!(
        run.head.command,
        "ciphertax run 'my study.toml' --time 15 --precision 0.5 --set load.workers=1 \
         --set cell.connect.load.connections=1 --seed 7"
    );
    assert!(
        run.results
            .measurements
            .iter()
            .any(|row| row.metric == Metric::Throughput && row.value > 0.0)
    );
    sandbox.expect_nothing_left();
}

#[test]
fn an_unknown_study_names_the_nearest_and_the_known() {
    let sandbox = Sandbox::new();
    for command in ["run", "studies"] {
        let finished = sandbox.finish(&[command, "mysql-tls-libary"]);
        finished.refuses("\"mysql-tls-libary\" … did you mean mysql-tls-library? … quick, mysql-tls-library");
    }
    sandbox
        .finish(&["run", "nosuch"])
        .refuses("unknown study \"nosuch\" … Known are quick … path");
    sandbox
        .finish(&["run", "nosuch.toml"])
        .refuses("nosuch.toml cannot be read … No such file");
    sandbox
        .finish(&["run", "."])
        .refuses(". cannot be read … directory");
}

#[test]
fn a_bad_study_file_is_told_all_at_once() {
    let sandbox = Sandbox::new();
    let text = "name = \"mine\"\nquestion = \"?\"\ntiem_s = 10\n\n[[arm]]\nname = \"plain\"\ntransport = \"plian\"\n";
    fs::write(sandbox.work().join("mine.toml"), text).unwrap();
    let finished = sandbox.finish(&["run", "mine.toml", "--set", "certificate=dsa"]);
    expect_lines(
        &finished,
        &[
            "ciphertax: 4 problems in mine.toml",
            "mine.toml: key \"cell\" is missing",
            "mine.toml:3:1: unknown key \"tiem_s\"; did you mean \"time_s\"?",
            "mine.toml:7:13: \"transport\" cannot be \"plian\"; did you mean \"plain\"?",
            "--set certificate=dsa: \"certificate\" cannot be \"dsa\"; known are \"ecdsa-p256\", \"ecdsa-p384\", \
             \"ed25519\", \"rsa-1024\", \"rsa-2048\", \"rsa-3072\", \"rsa-4096\"",
        ],
    );
    sandbox.expect_nothing_left();
}

/// What each rule refuses is in the rules' own tests.
#[test]
fn what_a_server_cannot_do_is_refused_before_anything_is_started() {
    for [server, arm, words] in rows(
        r#"
        mysql-5.6 → at_rest = { tables = true } → arm "variant": mysql-5.6 cannot do tables at rest
        mariadb → tls = { group = "X25519MLKEM768" } → mariadb cannot do the group X25519MLKEM768; it can do X25519
        postgresql → tls = { negotiation = "direct" } → postgresql cannot do TLS without a request
        mongodb → authentication = { method = "ed25519" } → mongodb cannot do authentication by ed25519
        sqlite → tunnel = { ssh = "aes256-ctr" } → so a tunnel has nothing to stand between
        oracle → tunnel = "stunnel" → no server "oracle" … mariadb-11.8
    "#,
    ) {
        let transport = if arm.starts_with("tls") { "tls1.3" } else { "plain" };
        let study = format!(
            r#"name = "s"
            question = "?"
            server = "{server}"
            time_s = 2
            arm = [{{ name = "plain", transport = "plain" }}, {{ name = "variant", transport = "{transport}", {arm} }}]
            cell = [{{ name = "c", workload = "connect", load = {{ connections = 1 }} }}]"#
        );
        study_refused(&study).fails(2, words);
    }
}

#[test]
fn a_setting_that_makes_no_sense_is_named() {
    let sandbox = Sandbox::new();
    let refuses = |setting: &str, words: &str| {
        let finished = sandbox.finish(&["run", "quick", "--set", setting, "--out", "run"]);
        finished.refuses(words);
        assert!(!sandbox.run().exists());
    };
    refuses(
        "tls.grup=P-256",
        "--set tls.grup=P-256: … \"grup\"; did you mean \"group\"?",
    );
    refuses("time_s=0", "--set time_s=0: … between 1 and 86400");
    refuses("arm.tls.transport=tls1.2", "unknown arm \"tls\"");
    refuses("time_s", "--set time_s: … key=value");
    refuses("link.rtt_ms=45", "quick.toml: … placement = \"together\" … link");
    let finished = sandbox.finish(&["run", "quick", "--scale", "published"]);
    finished.refuses("no scale \"published\" … it has none");
    let finished = sandbox.finish(&["run", "quick", "--precision", "1"]);
    finished.fails(2, "0.01 is one percent");
}

fn expect_lines(finished: &Finished, expected: &[&str]) {
    let printed = (finished.code, finished.stdout.as_str());
    assert_eq!(printed, (Some(2), ""), "{finished:?}");
    assert_eq!(finished.stderr.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn sizes_may_be_given_by_sysbenchs_names() {
    let sandbox = Sandbox::new();
    let sizes = ["--tables", "2", "--table-size", "1000", "--threads", "3"];
    let mut arguments = vec!["run", "quick", "--time", "2", "--out", "run"];
    arguments.extend(sizes);
    let finished = sandbox.finish(&arguments);
    finished.measured();
    let run = record(&sandbox.run());
    let size = (run.head.study.dataset.tables, run.head.study.dataset.table_size);
    assert_eq!(size, (2, 1000));
    assert!(run.cells().all(|cell| cell.asked.load.connections == 3));
    says(&run.head.command, "--set dataset.tables=2");
}
