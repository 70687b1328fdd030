//! A real private MongoDB whose disk is full, from the start or later: the error names it, nothing hangs, nothing stays.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_lab::catalogue::MONGODB;
use ciphertax_lab::{GuardProgram, PrivateServer};
use ciphertax_model::{AuthenticationMethod, ReplicaSet};
use ciphertax_testkit::{fetched, not_tested, run_within, temporary_folder, within};
use ciphertax_wire::mongodb::bson::rawdoc;
use ciphertax_wire::mongodb::{ConnectOptions, Login, Session};

/// How long a server that finds its disk full may take to notice, and to end: it looks once a minute by itself.
const PATIENCE: Duration = Duration::from_secs(90);

#[test]
#[ignore = "the guard of the servers in these tests"]
fn guard() {
    ciphertax_lab::guard::main();
}

#[test]
fn a_disk_that_is_too_small_is_refused_before_anything_is_started() {
    let Some(said) = on_a_disk("size=100m", "start") else {
        return;
    };
    assert!(said.contains("refused: the disk is full: "), "{said}");
    assert!(
        said.contains("350 MB are needed") && said.contains("TMPDIR"),
        "{said}"
    );
    assert!(said.contains("left: 0"), "{said}");
}

/// Files run out before bytes do, so a server finds no space left although the disk seems to have room: at every point of
/// its start, of which some come after it said that it was ready.
#[test]
fn a_disk_that_fills_up_during_the_start_is_named() {
    let mut named = 0;
    for files in [12, 16, 18, 20, 22, 24, 26, 28] {
        let disk = format!("size=1g,nr_inodes={files}");
        let Some(said) = on_a_disk(&disk, "start") else {
            return;
        };
        assert!(said.contains("left: 0"), "{disk}: {said}");
        if said.contains("refused: ") {
            assert!(said.contains("refused: the disk is full: "), "{disk}: {said}");
            assert!(said.contains("set TMPDIR"), "{disk}: {said}");
            named += 1;
        }
    }
    assert!(named >= 2, "{named}");
}

#[test]
fn a_disk_that_fills_up_while_a_set_is_made_is_named() {
    let Some(said) = on_a_disk("size=2g,nr_inodes=84", "start a set") else {
        return;
    };
    assert!(said.contains("refused: the disk is full: "), "{said}");
    assert!(said.contains("left: 0"), "{said}");
}

#[test]
fn a_disk_that_fills_up_under_a_running_server_ends_it_and_is_named() {
    let Some(said) = on_a_disk("size=450m", "fill") else {
        return;
    };
    assert!(
        said.contains("ended: the disk is full: mongodb found no space left in "),
        "{said}"
    );
    assert!(said.contains("left: 0"), "{said}");
}

/// What comes of a server whose temporary files are on a disk of its own, mounted where only it can see it; `None` where
/// nothing may be mounted.
fn on_a_disk(options: &str, task: &str) -> Option<String> {
    fetched(&MONGODB)?;
    let folder = temporary_folder();
    let can_mount = Command::new("unshare")
        .args(["--mount", "mount", "-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(folder.path())
        .status()
        .is_ok_and(|status| status.success());
    if !can_mount {
        not_tested("no tmpfs may be mounted here, so no disk is full");
        return None;
    }
    let script = r#"mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@""#;
    let program = fs::read_link("/proc/self/exe").unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh", options])
        .arg(folder.path())
        .arg(program)
        .args(["owner", "--exact", "--ignored", "--nocapture"])
        .env("TMPDIR", folder.path())
        .env("TASK", task)
        .process_group(0)
        .output()
        .unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Owns a server on a small disk, and says what came of it.
#[test]
#[ignore = "started by other tests, on a disk of its own"]
fn owner() {
    let task = std::env::var("TASK").unwrap();
    let mut builder = PrivateServer::builder(&MONGODB).guard(GuardProgram::this_test_program("guard"));
    if task == "start a set" {
        builder = builder.replica_set(ReplicaSet {
            members: 3,
            read_only_member: false,
        });
    }
    match builder.start() {
        Err(error) => println!("refused: {error}"),
        Ok(server) if task == "fill" => {
            fill(server.folder());
            write_until_it_fails(&server);
            assert!(within(PATIENCE, || !server.is_alive()), "{}", server.log_tail());
            println!("ended: {}", server.log_tail());
            server.stop().unwrap();
        }
        Ok(server) => {
            println!("started");
            server.stop().unwrap();
        }
    }
    println!("left: {}", fs::read_dir(std::env::temp_dir()).unwrap().count());
}

/// Leaves nothing of the disk.
fn fill(folder: &Path) {
    let path: PathBuf = folder.join("ballast");
    let mut file = File::create(path).unwrap();
    while file.write_all(&[0; 1 << 16]).is_ok() {}
    while file.write_all(&[0]).is_ok() {}
}

fn write_until_it_fails(server: &PrivateServer) {
    let method = AuthenticationMethod::ScramSha256;
    let login = Login::by(method, server.user(), server.password().clone()).unwrap();
    let address = server.address();
    let options = ConnectOptions::new(address.ip().to_string(), address.port(), login);
    let deadline = Instant::now() + PATIENCE;
    let text = "x".repeat(1 << 20);
    run_within(PATIENCE, async |reactor| {
        let Ok((mut session, _)) = Session::connect(reactor, &options).await else {
            return;
        };
        while Instant::now() < deadline {
            let write =
                rawdoc! { "insert": "ballast", "documents": [{ "text": text.as_str() }], "$db": "ciphertax" };
            if session.command(&write).await.is_err() {
                return;
            }
        }
    });
    thread::sleep(Duration::from_millis(100));
}
