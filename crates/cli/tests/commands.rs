//! The workload `command`: programs of the user's own as the load, through the whole command on real servers.

use crate::common::*;

const ARMS: &str = r#"
name = "own-tool"
question = "What does TLS cost under a load of my own?"
time_s = 60
precision = { cpu = 0.5, throughput = 0.5 }
dataset = { table_size = 1000 }
arm = [
    { name = "plain", transport = "plain" },
    { name = "tls", transport = "tls1.3", tls = { client_certificate = "ecdsa-p256" } },
]
[[cell]]
name = "mine"
workload = "command"
"#;

/// sysbench as docs/study-files.md shows it.
const SYSBENCH: &str = r#"
[cell.command]
counts = "queries"
run = ["env", "-C", "{folder}", "sysbench", "--config-file=sysbench.cnf", "--threads=2", "--time=0",
    "--events=1000", "--tables=1", "--table-size=1000", "oltp_point_select", "run"]
"#;

/// Runs of `mariadb`, which finds the server in its option file.
fn client(statement: &str) -> String {
    format!(
        "[cell.command]\nrun = [\"mariadb\", \"--defaults-file={{my_cnf}}\", \"--batch\", \"--execute\", \"{statement}\"]\n"
    )
}

/// A line of a shell, which may hold whatever a literal string of TOML may.
fn shell(line: &str) -> String {
    format!("[cell.command]\nrun = [\"sh\", \"-c\", '''{line}''']\n")
}

/// `ciphertax run` with a study of these arms and this command, not yet started.
fn study(sandbox: &Sandbox, arms: &str, command: &str) -> std::process::Command {
    sandbox.study(&format!("{arms}{command}"), &[])
}

fn finish_study(sandbox: &Sandbox, arms: &str, command: &str) -> Finished {
    Running::start(study(sandbox, arms, command)).finish()
}

fn finish(sandbox: &Sandbox, command: &str) -> Finished {
    finish_study(sandbox, ARMS, command)
}

#[test]
fn sysbench_in_plaintext_against_tls() {
    let sandbox = Sandbox::new();
    let finished = finish(&sandbox, SYSBENCH);
    finished.measured();
    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
    let of_tls = run.results.measurements.iter().filter(|row| row.arm == "tls");
    let compared: Vec<Metric> = of_tls.map(|row| row.metric).collect();
    for metric in [Metric::ServerCpuPerOp, Metric::ClientCpuPerOp, Metric::Throughput] {
        assert!(compared.contains(&metric), "{compared:?}");
    }
    for metric in [Metric::LatencyMean, Metric::LatencyP99, Metric::BytesPerOp] {
        assert!(!compared.contains(&metric), "{compared:?}");
    }
    for sample in samples(&sandbox.run()) {
        // 1000 point selects, and what connecting and leaving take.
        let queries = sample.load.operation_count();
        assert!((1000..1030).contains(&queries), "{queries}");
    }
    let report = fs::read_to_string(sandbox.run().join("report.html")).unwrap();
    let words = "env -C {folder} sysbench";
    assert!(report.contains(words), "the report does not name the program");
    assert!(report.contains("an operation is one query counted by the server"));
    sandbox.expect_nothing_left();
}

#[test]
fn a_run_of_a_program_is_an_operation_with_the_cpu_of_all_it_started() {
    let sandbox = Sandbox::new();
    // The part that computes is left behind by the shell that started it.
    let line = "mariadb --defaults-file=\"$CIPHERTAX_MY_CNF\" -e 'SELECT 1' && \
        (timeout 0.3 sh -c 'while :; do :; done' & sleep 0.4)";
    let finished = finish(&sandbox, &shell(line));
    finished.measured();
    let run = record(&sandbox.run());
    let measured = |metric| {
        let mut rows = run
            .results
            .measurements
            .iter()
            .filter(move |row| row.metric == metric);
        rows.next().unwrap().value
    };
    // A busy machine gives the loop less than its 300 ms.
    assert!(measured(Metric::ClientCpuPerOp) > 30_000.0);
    assert!(measured(Metric::LatencyMean) > 400_000.0);
    sandbox.expect_nothing_left();
}

#[test]
fn a_program_that_is_not_what_its_arm_says_or_fails_is_caught() {
    let missing = "[cell.command]\nrun = [\"no-such-program\"]\n".to_owned();
    let (hangs, writes) = ("setsid sleep 4321 & sleep 4321", "setsid yes & yes >&2");
    let within = |line| format!("{}timeout_s = 0.5\n", shell(line));
    let plaintext = "MYSQL_PWD=$CIPHERTAX_PASSWORD mariadb --no-defaults --skip-ssl -h $CIPHERTAX_HOST -P $CIPHERTAX_PORT \
                     -u $CIPHERTAX_USER -e 'SELECT 1'";
    let encrypted =
        "mariadb --defaults-file=\"$CIPHERTAX_MY_CNF\" --ssl --skip-ssl-verify-server-cert -e 'SELECT 1'";
    let other_version = "mariadb --defaults-file=\"$CIPHERTAX_MY_CNF\" --tls-version=TLSv1.2 -e 'SELECT 1'";
    let fails = "echo \"my password is $CIPHERTAX_PASSWORD\" >&2; exit 7";
    let too_long = "sh ran longer than timeout_s, which is 0.5 s, and was killed";
    for (command, words) in [
        (
            shell(plaintext),
            "cell mine, arm tls … of 1 connections of the program 0 were over TLS … CIPHERTAX_SSL_MODE",
        ),
        (
            shell(encrypted),
            "cell mine, arm plain … 1 asked for TLS, in a plaintext arm",
        ),
        (
            shell(other_version),
            "cell mine, arm tls … negotiated TLSv1.2 … the arm is TLSv1.3",
        ),
        (
            shell("true"),
            "cell mine, arm plain … made no connection to the server",
        ),
        (
            client("SELECT * FROM nosuch"),
            "mariadb ended with exit code 1 … ciphertax.nosuch' doesn't exist",
        ),
        (
            shell(fails),
            "sh ended with exit code 7; its last line: my password is (password)",
        ),
        (missing, "no-such-program cannot be started … No such file"),
        (within(hangs), too_long),
        (within(writes), too_long),
    ] {
        caught(&command, words);
    }
}

#[test]
fn a_program_that_negotiates_another_cipher_suite_is_caught() {
    let suite = "ECDHE-ECDSA-AES256-GCM-SHA384";
    let study = pinned("tls1.2", "ECDHE-ECDSA-AES128-GCM-SHA256");
    // An option about cipher suites alone would switch TLS on in the plain arm too.
    let other_suite = format!(
        "test $CIPHERTAX_ARM = plain || option=--ssl-cipher={suite}; \
         mariadb --defaults-file=\"$CIPHERTAX_MY_CNF\" $option -e 'SELECT 1'"
    );
    let sandbox = Sandbox::new();
    let finished = finish_study(&sandbox, &study, &shell(&other_suite));
    finished.refuses("cipher suite 0xC02C; the arm is TLSv1.2 with cipher suite 0xC02B … CIPHERTAX_CIPHER");
}

#[test]
fn the_option_file_pins_version_and_cipher_suite() {
    for (transport, cipher) in [
        ("tls1.2", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("tls1.3", "TLS_AES_128_GCM_SHA256"),
    ] {
        let sandbox = Sandbox::new();
        let finished = finish_study(&sandbox, &pinned(transport, cipher), &client("SELECT 1"));
        finished.measured();
        no_slice_failed(&record(&sandbox.run()));
    }
}

/// The study with this version and cipher suite.
fn pinned(transport: &str, cipher: &str) -> String {
    ARMS.replace("tls1.3", transport).replace(
        "client_certificate = \"ecdsa-p256\"",
        &format!("cipher = {cipher:?}"),
    )
}

#[test]
fn a_slice_in_which_the_program_fails_is_void() {
    let sandbox = Sandbox::new();
    // The first run of each arm is to try it.
    let line = "mariadb --defaults-file=\"$CIPHERTAX_MY_CNF\" -e 'SELECT 1' && \
        { test ! -e tried-$CIPHERTAX_ARM || { echo broken >&2; exit 3; }; touch tried-$CIPHERTAX_ARM; }";
    let finished = finish(&sandbox, &shell(line));
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    let run = record(&sandbox.run());
    assert!(matches!(run.head.status, RunStatus::Partial { .. }));
    assert!(!run.results.void.is_empty());
    for row in &run.results.void {
        let VoidReason::Errors { first, .. } = &row.reason else {
            panic!("{row:?}")
        };
        assert_eq!(first, "sh ended with exit code 3; its last line: broken");
    }
    sandbox.expect_nothing_left();
}

#[test]
fn the_program_ends_with_ciphertax_however_that_ends() {
    stopped(Signal::INT, Some(130));
    stopped(Signal::KILL, None);
}

fn stopped(signal: Signal, code: Option<i32>) {
    let sandbox = Sandbox::new();
    let started = sandbox.work().join("started");
    let line = format!("touch {}; setsid sleep 4322 & sleep 4322", started.display());
    let running = Running::start(study(&sandbox, ARMS, &shell(&line)));
    assert!(within(PATIENCE, || started.exists()));
    running.signal(signal);
    let finished = running.finish();
    assert_eq!(finished.code, code, "{}", finished.stderr);
    sandbox.expect_nothing_left();
}

#[test]
fn the_password_is_in_no_argument_and_in_no_file_that_stays() {
    // Of no other test, whose processes may have theirs in their arguments; and whatever an option file must quote.
    let own = format!("{:016x}", rand::random::<u64>());
    let password = format!(r#"{own}'4d"r#\&;x y"#);
    let server = OwnServer::start();
    let quoted = password.replace('\\', r"\\").replace('\'', r"\'");
    server.session(|query| {
        query(&format!("CREATE USER own@'%' IDENTIFIED BY '{quoted}'"));
        query("GRANT ALL ON *.* TO own@'%'");
    });
    let (_, address) = server
        .url()
        .split_once('@')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let sandbox = Sandbox::new();
    let target = format!("mysql://own@{address}?ssl-ca={}", server.ca_file().display());
    let line = "mariadb --defaults-file=\"$CIPHERTAX_MY_CNF\" -e 'SELECT SLEEP(0.2)'; s=$?; \
        echo \"$CIPHERTAX_PASSWORD $CIPHERTAX_URL\"; exit $s";
    let arms = ARMS.replace(", tls = { client_certificate = \"ecdsa-p256\" }", "");
    let study = format!("{arms}{}", shell(line));
    let mut command = sandbox.study(&study, &[&target, "--time", "3"]);
    command.env("CIPHERTAX_PASSWORD", password);
    let mut running = Running::start(command);
    running.measures();
    assert_eq!(command_lines_with(&own), [""; 0]);
    let finished = running.finish();
    finished.measured();
    no_slice_failed(&record(&sandbox.run()));
    assert!(!finished.stderr.contains(&own) && !finished.stdout.contains(&own));
    assert!(files_with(sandbox.root(), &own).is_empty());
    sandbox.expect_nothing_left();
}

/// The program is refused before anything is measured, and leaves nothing.
fn caught(command: &str, words: &str) {
    let sandbox = Sandbox::new();
    let finished = finish(&sandbox, command);
    finished.refuses(words);
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
}
