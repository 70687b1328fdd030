//! Arms that differ in what their servers encrypt on the disk, through the whole command: proved before anything is measured,
//! and reported as what stays readable.

use ciphertax_lab::Installation;
use ciphertax_records::{DiskRecord, Readability};

use crate::common::*;

/// Both servers write a binary log, and no arm says that it is to be encrypted.
const STUDY: &str = r#"
name = "parts"
question = "What does encryption at rest cost?"
time_s = 12
slice_s = 0.1
storage = { memory_mb = 64, binary_log = true }
dataset = { tables = 1, table_size = 200 }
arm = [
    { name = "plain", transport = "plain" },
    { name = "logs and tables", transport = "plain", at_rest = { tables = true, redo_log = true } },
]
"#;

const OF_MARIADB: &str = r#"
[[cell]]
name = "mariadb"
workload = "oltp_write_only"
load = { connections = 1 }
"#;

const OF_MYSQL: &str = r#"
[[cell]]
name = "mysql"
server = "mysql"
workload = "oltp_write_only"
load = { connections = 1 }
"#;

const ENCRYPTED: &str = "logs and tables";

/// As whoever has to answer for it reads it.
fn is_reported(sandbox: &Sandbox) {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let full = sandbox.finish(&["report", "run", "--full"]).stdout;
    let table = full.lines().map(words);
    let table: Vec<String> = table
        .skip_while(|line| line != "What stays readable on the disk")
        .take_while(|line| !line.starts_with("Noise"))
        .collect();
    for line in [
        "tables readable encrypted",
        "redo log readable encrypted",
        "binary log readable readable",
    ] {
        // Of MariaDB and of MySQL.
        let count = table.iter().filter(|other| *other == line).count();
        assert_eq!(count, 2, "{line}: {table:#?}");
    }
}

/// Whatever it says of itself.
#[test]
fn a_server_that_leaves_readable_what_its_arm_encrypts_ends_the_arm() {
    let sandbox = Sandbox::new();
    let mut command = in_sandbox(&sandbox, OF_MARIADB);
    command.env("XDG_CACHE_HOME", cache_with_a_leak(&sandbox));
    let finished = Running::start(command).finish_within(2 * PATIENCE);
    finished.refuses(
        "arm logs and tables is not what it says … \
         a canary can be read on the disk, in general tablespaces, which should be encrypted … nothing was measured",
    );
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
}

#[test]
fn keys_are_for_their_owner_alone_and_are_gone_also_after_a_kill() {
    let sandbox = Sandbox::new();
    let running = start(&sandbox, OF_MYSQL);
    let has_keys = within(2 * PATIENCE, || !keys_below(&sandbox.temporary()).is_empty());
    let keys = keys_below(&sandbox.temporary());
    running.signal(Signal::KILL);
    assert!(has_keys);
    drop(running);
    sandbox.expect_nothing_left();
    assert!(keys.iter().all(|keys| !keys.exists()));
    assert!(servers_of(&sandbox.temporary()).is_empty());
}

fn start(sandbox: &Sandbox, cells: &str) -> Running {
    Running::start(in_sandbox(sandbox, cells))
}

fn in_sandbox(sandbox: &Sandbox, cells: &str) -> std::process::Command {
    // Fetched once, not for every sandbox.
    for entry in [&MARIADB, &MYSQL] {
        fetch(entry);
    }
    sandbox.study(&[STUDY, cells].concat(), &[])
}

fn fetch(entry: &'static Entry) -> Installation {
    ciphertax_lab::install(entry, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

/// A cache whose MariaDB encrypts all that it is told to, and writes down every statement in what seems to be a tablespace.
fn cache_with_a_leak(sandbox: &Sandbox) -> PathBuf {
    let honest = fetch(&MARIADB).program.clone();
    let base = honest.ancestors().nth(2).unwrap();
    let cache = sandbox.root().join("cache");
    let leaky = cache.join("ciphertax/servers/mariadb/usr");
    fs::create_dir_all(leaky.join("sbin")).unwrap();
    fs::create_dir(leaky.join("lib")).unwrap();
    symlink(base.join("share"), leaky.join("share")).unwrap();
    symlink(base.join("lib/mysql"), leaky.join("lib/mysql")).unwrap();
    let program = leaky.join("sbin/mariadbd");
    let script = format!(
        "#!/bin/sh\nexec '{}' \"$@\" --general-log=ON --general-log-file=leak.ibd\n",
        honest.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    cache
}

/// The files with keys, each for its owner alone.
fn keys_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let keys = ["encryption-keys", "keyring/keys"].map(|name| entry.path().join(name));
        found.extend(keys.into_iter().filter(|keys| keys.is_file()));
    }
    found
}

/// A key in such a file: its longest run of hexadecimal digits.
fn secret_in(keys: &Path) -> String {
    let mode = fs::metadata(keys).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "{}", keys.display());
    let text = fs::read_to_string(keys).unwrap();
    let runs = text.split(|c: char| !c.is_ascii_hexdigit());
    let secret = runs.max_by_key(|run| run.len()).unwrap();
    assert!(secret.len() >= 64, "{}", keys.display());
    secret.to_owned()
}

/// Of servers whose undo log lies elsewhere, there.
fn expect(disk: &DiskRecord, kind: &str, expected: Readability) {
    let kinds = match kind {
        "undo log or system tablespace" => vec!["undo log", "system tablespace"],
        kind => vec![kind],
    };
    let is_found = kinds.iter().any(|kind| disk.of(kind) == Some(expected));
    assert!(is_found, "{kind}: {disk:#?}");
}

fn disk<'a>(run: &'a Run, arm: &str, server: &str) -> &'a DiskRecord {
    session(run, arm, server).disk.as_ref().unwrap()
}

/// What an arm was on a server of this entry.
fn session<'a>(run: &'a Run, arm: &str, server: &str) -> &'a SessionRecord {
    let arm = arm_of(run, arm);
    let mut sessions = arm.sessions.iter();
    sessions
        .find(|session| session.server.starts_with(&format!("{server},")))
        .unwrap()
}

mod test_all {
    use super::*;

    #[test]
    fn what_stays_readable_is_proved_for_every_arm_and_reported() {
        let sandbox = Sandbox::new();
        let mut running = start(&sandbox, &[OF_MARIADB, OF_MYSQL].concat());
        // Ten servers are started, one after the other.
        running.says_within("Starting a private server: mysql", 2 * PATIENCE);
        running.says_within("Loading the data set", 2 * PATIENCE);
        running.measures();
        let keys = keys_below(&sandbox.temporary());
        // Those of the servers that encrypt, one of either kind; that which was searched is gone.
        assert_eq!(keys.len(), 2, "{keys:?}");
        let secrets: Vec<String> = keys.iter().map(|file| secret_in(file)).collect();
        let finished = running.finish_within(2 * PATIENCE);
        finished.measured();
        sandbox.expect_nothing_left();
        for secret in secrets {
            assert_eq!(files_with(sandbox.root(), &secret), Vec::<PathBuf>::new());
            assert!(!finished.stdout.contains(&secret) && !finished.stderr.contains(&secret));
        }

        let run = record(&sandbox.run());
        no_slice_failed(&run);
        for server in ["mariadb", "mysql"] {
            let of = |arm: &str| disk(&run, arm, server);
            for arm in ["plain", "baseline again"] {
                for kind in [
                    "tables",
                    "redo log",
                    "undo log or system tablespace",
                    "binary log",
                ] {
                    expect(of(arm), kind, Readable);
                }
            }
            expect(of(ENCRYPTED), "tables", Encrypted);
            expect(of(ENCRYPTED), "redo log", Encrypted);
            expect(of(ENCRYPTED), "binary log", Readable);
            for arm in ["plain", "baseline again", ENCRYPTED] {
                let proofs = &session(&run, arm, server).proofs;
                let by = |witness| proofs.iter().filter(|proof| proof.witness == witness).count();
                // Of the server that is measured, and of one like it.
                assert_eq!(by(Witness::Disk), 2, "{proofs:#?}");
                let of_server = proofs.iter().filter(|proof| proof.witness == Witness::Server);
                let said = of_server
                    .filter(|proof| proof.evidence.contains("tables="))
                    .count();
                assert_eq!(said, 2, "{proofs:#?}");
            }
        }
        expect(disk(&run, ENCRYPTED, "mariadb"), "system tablespace", Encrypted);
        expect(disk(&run, ENCRYPTED, "mariadb"), "temporary files", Readable);
        expect(disk(&run, ENCRYPTED, "mysql"), "undo log", Readable);
        is_reported(&sandbox);
    }
}
