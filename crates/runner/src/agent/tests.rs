//! An agent that is asked in this process, and programs that are none.

use ciphertax_testkit::says;
use std::cell::RefCell;
use std::fs;
use std::io::{BufReader, Cursor};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ciphertax_base::SeenByServer;
use ciphertax_model::{Profiling, SshAddress};
use ciphertax_observe::{Meter, ThreadUsage};
use ciphertax_testkit::{PATIENCE, within};

use super::link::{Reach, words};
use super::meter::{AGAIN_AFTER, AgentMeter, AgentOptions};
use super::protocol::{Answer, Hello, PROTOCOL, Request, Server, VERSION};
use super::serve::serve;
use crate::meter::ServedBy;

fn hello(version: &str) -> String {
    let hello = Hello {
        ciphertax_agent: PROTOCOL,
        version: version.to_owned(),
    };
    serde_json::to_string(&hello).unwrap()
}

/// What an agent says to these lines, line by line, and how it ends.
fn answers(lines: &str) -> (Vec<String>, Result<(), String>) {
    let mut output = Vec::new();
    let mut input = BufReader::new(Cursor::new(lines.to_owned().into_bytes()));
    let end = serve(&mut input, &mut output).map_err(|error| error.to_string());
    let lines = String::from_utf8(output).unwrap();
    (lines.lines().map(str::to_owned).collect(), end)
}

fn request(request: &Request) -> String {
    serde_json::to_string(request).unwrap() + "\n"
}

fn find(port: u16) -> String {
    find_by(port, SeenByServer::default())
}

fn find_by(port: u16, seen: SeenByServer) -> String {
    request(&Request::Find(Server {
        // One kept for examples, as that of a machine behind a router is.
        host: "192.0.2.1".into(),
        port,
        served_by: ServedBy::Threads,
        seen,
    }))
}

const READ: Request = Request::Read {
    quiet_ns: 0,
    at_most_ns: 0,
};

/// What an agent says that finds this process, whose sockets others that it starts have too, until they become other programs.
fn answers_of_one_that_finds(lines: &str) -> Vec<String> {
    let said = RefCell::new(Vec::new());
    let is_found = || {
        said.replace(answers(lines).0);
        said.borrow()[1].contains("\"found\"")
    };
    assert!(within(PATIENCE, is_found), "{said:?}");
    said.into_inner()
}

#[test]
fn the_server_is_who_has_the_session_whoever_listens() {
    let own = TcpListener::bind("127.0.0.1:0").unwrap();
    let session = TcpStream::connect(own.local_addr().unwrap()).unwrap();
    let _its_end = own.accept().unwrap();
    let seen = SeenByServer::from_peer(&session.local_addr().unwrap().to_string());
    let said = answers_of_one_that_finds(&find_by(1, seen));
    let is_told = said[1].contains(&format!("\"pid\":{}", std::process::id()));
    assert!(is_told, "{said:?}");
    let port = own.local_addr().unwrap().port();
    let of_nobody = SeenByServer::from_peer("192.0.2.1:1");
    let (said, _) = answers(&find_by(port, of_nobody));
    assert!(said[1].contains("refused"), "{said:?}");
}

#[test]
fn it_finds_a_server_by_its_port_and_reads_its_clock() {
    let own = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = own.local_addr().unwrap().port();
    let said = answers_of_one_that_finds(&[find(port), request(&READ)].concat());
    let [greeting, found, read] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!(*greeting, hello(VERSION));
    let Answer::Found(found) = serde_json::from_str(found).unwrap() else {
        panic!("{found}")
    };
    let it = (found.pid, found.boot);
    assert_eq!(it, (std::process::id(), super::protocol::boot()));
    assert_eq!(found.program, crate::server_process::program(std::process::id()));
    assert!(!found.program.is_empty());
    let Answer::Read(before) = serde_json::from_str(read).unwrap() else {
        panic!("{read}")
    };
    let busy = ThreadUsage::now();
    while ThreadUsage::now().since(&busy).cpu.total_ns < 50_000_000 {}
    let said = answers_of_one_that_finds(&[find(port), request(&READ)].concat());
    let Answer::Read(after) = serde_json::from_str(&said[2]).unwrap() else {
        panic!("{said:?}")
    };
    let used = after.usage.since(&before.usage);
    assert!(used.cpu.unwrap().total_ns >= 20_000_000, "{used:?}");
    assert!(used.peak_memory_bytes.unwrap() > 1 << 20, "{used:?}");
}

#[test]
fn it_says_why_it_cannot_and_ends_at_what_is_no_request() {
    let (said, end) = answers(&[request(&READ), find(1)].concat());
    assert_eq!(end, Ok(()));
    assert!(said[1].contains("no server was looked for"), "{said:?}");
    let is_told = said[2].contains("refused") && said[2].contains("listens there");
    assert!(is_told, "{said:?}");
    for broken in ["x\n", "{\"find\":1}\n", "{\"shell\":\"id\"}\n", "\n", "[]"] {
        assert!(answers(broken).1.unwrap_err().contains("no request"), "{broken}");
    }
    let endless = " ".repeat(3 << 20);
    assert!(answers(&endless).1.unwrap_err().contains("no request"));
}

#[test]
fn ssh_gets_words_none_of_which_is_an_option_but_its_own() {
    let address: SshAddress = "ssh://me@db.example:2222/opt/ciphertax".parse().unwrap();
    let words = words(&address);
    let behind: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .skip_while(|word| *word != "-p")
        .collect();
    assert_eq!(
        behind,
        [
            "-p",
            "2222",
            "-l",
            "me",
            "--",
            "db.example",
            "/opt/ciphertax agent"
        ]
    );
    assert!(words.iter().any(|word| word == "BatchMode=yes"));
}

fn reach(program: PathBuf) -> Reach {
    Reach::Ssh {
        program: program.into(),
        address: "ssh://me@db".parse().unwrap(),
    }
}

/// A program in the place of `ssh`.
fn fake(folder: &Path, script: &str) -> AgentOptions {
    let text = folder.join("text");
    fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
    let program = folder.join("ssh");
    // By another process: one that this one has open for writing cannot be executed.
    let installed = Command::new("install")
        .args(["-m", "755"])
        .arg(&text)
        .arg(&program)
        .status();
    assert!(installed.unwrap().success());
    AgentOptions {
        reach: reach(program),
        host: "db".into(),
        port: 3306,
        served_by: ServedBy::Threads,
        seen: SeenByServer::default(),
        profile: Profiling::Off,
        slice: Duration::from_millis(100),
    }
}

#[test]
fn who_is_no_agent_of_this_release_is_refused_with_a_remedy() {
    let greeting = format!("echo '{}'", hello("0.0.7"));
    let [this, other] = [PROTOCOL, PROTOCOL + 1].map(|protocol| format!(":{protocol}"));
    let other_protocol = format!("echo '{}'", hello(VERSION).replacen(&this, &other, 1));
    for (script, words) in [
        (
            greeting.as_str(),
            ["is ciphertax 0.0.7, and this is", "install the same"],
        ),
        (&other_protocol, ["another build", "install the same"]),
        (
            "echo Welcome to db; sleep 1",
            ["prints something first", "ssh me@db ciphertax --version"],
        ),
        (
            "echo 'me@db: Permission denied (publickey).' >&2; exit 255",
            ["Permission denied", "without a password"],
        ),
        (
            "echo 'Host key verification failed.' >&2; exit 255",
            ["verification failed", "log in once by hand"],
        ),
        (
            "echo 'sh: 1: ciphertax: not found' >&2; exit 127",
            ["ciphertax: not found", "install ciphertax there"],
        ),
        ("exit 0", ["the connection has ended", "--version"]),
        (
            "head -c 3000000 /dev/zero | tr '\\0' x",
            ["no agent", "--version"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let refused = AgentMeter::open(fake(folder.path(), script)).unwrap_err();
        let is_told = words.iter().all(|word| refused.contains(word));
        assert!(is_told, "{script}: {refused}");
        assert!(!refused.contains('\n'), "{refused}");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut nowhere = fake(folder.path(), "exit 0");
    nowhere.reach = reach(folder.path().join("none"));
    assert!(AgentMeter::open(nowhere).unwrap_err().contains("openssh-client"));
}

/// An agent that reads ever the same, after what `before` does.
fn made_up(before: &str) -> String {
    let found = "{\"found\":{\"pid\":1,\"program\":\"mysqld\",\"boot\":\"b\",\"host\":{\"os\":\"o\",\"kernel\":\"k\",\"cpu\":\"c\",\
                 \"cpus\":1,\"memory_bytes\":1,\"virtualization\":\"none\"}}}";
    let usage = "{\"parts\":[{\"cpu\":{\"total_ns\":5,\"system_ns\":1},\"context_switches\":null,\"faults\":null,\
                 \"peak_memory_bytes\":null,\"waits\":null,\"ended_ns\":0,\"io\":null}]}";
    let read = format!(
        "{{\"read\":{{\"usage\":{usage},\"is_quiet\":true,\"read_after_ns\":0,\"answered_after_ns\":0}}}}"
    );
    let greeting = hello(VERSION);
    format!(
        "echo '{greeting}'\nread find; echo '{found}'\nread look; echo '{{\"looks\":{{\"refused\":null}}}}'\n\
         while read line; do\n{before}\nsleep 0.01; echo '{read}'\ndone"
    )
}

#[test]
fn one_that_is_lost_is_missed_once_and_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("go");
    let script = made_up(&format!("test ! -e {0} || {{ rm {0}; exit; }}", mark.display()));
    let meter = AgentMeter::open(fake(folder.path(), &script)).unwrap();
    assert!(meter.read().is_ok() && meter.lost().is_none());
    fs::write(&mark, "").unwrap();
    let error = meter.read().unwrap_err().to_string();
    says(&error, "the agent ssh://me@db is gone");
    assert_eq!(meter.lost(), Some(error));
    assert!(meter.read().is_ok() && meter.lost().is_none());

    let record = meter.record();
    assert_eq!((record.readings, record.quiet_cpu_share), (4, 0.0));
    assert!(record.round_trip_us > 10_000.0, "{record:?}");
    assert!(!meter.is_here() && meter.ended().is_none());
}

/// Has an agent of another script answer when this one is gone, and gives what it says then.
fn replaced(answer: &str, script: &str) -> (AgentMeter, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("go");
    let before = format!("test ! -e {0} || {{ rm {0}; {answer} }}", mark.display());
    let meter = AgentMeter::open(fake(folder.path(), &made_up(&before))).unwrap();
    fs::write(&mark, "").unwrap();
    let error = meter.read().unwrap_err().to_string();
    assert_eq!(meter.lost(), Some(error));
    fake(folder.path(), script);
    (meter, folder)
}

#[test]
fn after_a_gap_nobody_else_is_read_without_a_word() {
    let same = made_up("");
    for (there, words) in [
        (
            same.replace("\"boot\":\"b\"", "\"boot\":\"c\""),
            "another machine now",
        ),
        (
            same.replace("mysqld", "redis"),
            "redis listens there now, and mysqld did before",
        ),
    ] {
        let (meter, _folder) = replaced("exit;", &there);
        let error = meter.read().unwrap_err().to_string();
        let is_told = error.contains("reads another server") && error.contains(words);
        assert!(is_told, "{error}");
        assert_eq!(meter.lost(), Some(error));
    }
    // The same server, which began anew.
    let (meter, _folder) = replaced("exit;", &same.replace("\"pid\":1", "\"pid\":7"));
    assert!(meter.read().is_ok() && meter.lost().is_none());
    assert_eq!(meter.record().program, "mysqld");
}

#[test]
fn a_process_that_ended_or_cannot_be_read_is_missed_until_one_is_found() {
    for (answer, has_ended) in [("ended", true), ("refused", false)] {
        let says = format!("echo '{{\"{answer}\":\"its process 1 is gone\"}}'; continue;");
        let (meter, _folder) = replaced(&says, &made_up(""));
        assert_eq!(meter.ended().is_some(), has_ended);
        assert!(meter.read().is_ok(), "{answer}");
        assert_eq!((meter.lost(), meter.ended()), (None, None));
    }
}

#[test]
fn one_that_cannot_come_back_is_not_waited_for_at_every_reading() {
    let folder = tempfile::tempdir().unwrap();
    let meter = AgentMeter::open(fake(folder.path(), &made_up("test ! -e $0.gone || exit"))).unwrap();
    fs::write(folder.path().join("ssh.gone"), "").unwrap();
    assert!(meter.read().is_err());
    fake(
        folder.path(),
        "echo >>$0.tried; echo 'ssh: connect to host db port 22: No route to host' >&2; exit 255",
    );
    let began = Instant::now();
    says(meter.read().unwrap_err(), "No route to host");
    assert!(meter.read().is_err());
    let tries = fs::read(folder.path().join("ssh.tried")).unwrap().len();
    assert!(tries == 1 || began.elapsed() >= AGAIN_AFTER, "{tries}");
}

#[test]
fn an_answer_that_no_agent_gives_is_an_error_and_takes_no_memory() {
    for answer in [
        "echo '{\"read\":{\"usage\":{\"parts\":7}}}'",
        "echo '{\"found\":1}'",
        "yes '   ' | head -c 3000000 | tr -d '\\n'",
        "echo '{\"read\":{\"usage\":{\"parts\":[]},\"is_quiet\":true,\"read_after_ns\":-1,\"answered_after_ns\":0}}'",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let error = AgentMeter::open(fake(folder.path(), &made_up(answer))).unwrap_err();
        assert!(error.contains("is gone"), "{answer}: {error}");
    }
    // Times that cannot be: they place nothing in the future.
    let folder = tempfile::tempdir().unwrap();
    let script = made_up("").replace("\"read_after_ns\":0", "\"read_after_ns\":18446744073709551615");
    let meter = AgentMeter::open(fake(folder.path(), &script)).unwrap();
    assert!(meter.read().is_ok());
    assert_eq!(meter.record().round_trip_us, 0.0);
}
