//! SQLCipher's `cipher_memory_security`, in a process of its own: once it is on, it is for all of them, and for good.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::fs;
use std::path::Path;

use ciphertax_base::Secret;
use ciphertax_model::SqlCipher;
use ciphertax_wire::sqlite::{Cipher, ConnectOptions, Session};

const ROW_KIB: u64 = 500;

/// This is why arms with it and arms without it are not measured in one run.
#[test]
fn what_one_session_asks_for_all_sessions_of_the_process_have_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, encrypted, secured] = [None, Some(false), Some(true)]
        .map(|security| options(&folder.path().join(format!("{security:?}")), security));
    for options in [&plain, &encrypted] {
        let mut session = Session::create(options).unwrap();
        assert!(!is_on(&mut session));
        session.status().unwrap().check(options).unwrap();
    }
    let (mut before, _) = Session::open(&encrypted).unwrap();
    fill(&mut before);
    // Its keys alone.
    let keys = locked_kib();

    let mut session = Session::create(&secured).unwrap();
    fill(&mut session);
    session.status().unwrap().check(&secured).unwrap();
    assert!(is_on(&mut session));
    assert!(locked_kib() > keys + ROW_KIB, "the pages of its cache too");
    session.close().unwrap();

    // One that was open before, and those that are opened later.
    assert!(is_on(&mut before));
    for options in [&plain, &encrypted] {
        let (mut other, _) = Session::open(options).unwrap();
        other.command("PRAGMA cipher_memory_security = OFF").unwrap();
        assert!(is_on(&mut other));
    }
    let (mut other, _) = Session::open(&encrypted).unwrap();
    let problem = other.status().unwrap().check(&encrypted).unwrap_err();
    assert!(
        problem.contains("cipher_memory_security = \"1\"; expected \"0\""),
        "an arm without it is not proved beside one with it: {problem}"
    );
}

fn options(file: &Path, memory_security: Option<bool>) -> ConnectOptions {
    let cipher = memory_security.map(|memory_security| Cipher {
        passphrase: Secret::new("correct horse battery staple"),
        settings: SqlCipher {
            kdf_iter: 1000,
            memory_security,
            ..SqlCipher::default()
        },
    });
    ConnectOptions::new(file, cipher, 8 * 1024)
}

fn is_on(session: &mut Session) -> bool {
    session.status().unwrap().value("cipher_memory_security") == "1"
}

fn fill(session: &mut Session) {
    session.command("CREATE TABLE t (x BLOB)").unwrap();
    session
        .command(&format!("INSERT INTO t VALUES (randomblob({ROW_KIB} * 1024))"))
        .unwrap();
}

/// Memory of this process that is kept from being swapped, as the system counts it.
fn locked_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    line.unwrap().trim().trim_end_matches(" kB").parse().unwrap()
}
