//! Keys of servers that encrypt: whose they are, and what becomes of data without them.

use std::cell::RefCell;
use std::os::unix::ffi::OsStringExt;

use ciphertax_lab::mysql::at_rest::names_a_missing_key;

use super::common::{is_fetched, plain};
use crate::prelude::*;

#[test]
fn keys_are_for_nobody_else_and_go_with_the_server() {
    for entry in [&MARIADB, &MYSQL] {
        if !is_fetched(entry) {
            continue;
        }
        let server = plain(entry)
            .at_rest(AtRest::from_iter([Tables, RedoLog]))
            .start()
            .unwrap();
        let keys = keys_of(&server);
        let mode = fs::metadata(&keys).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", keys.display());
        let folder = server.folder().to_owned();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        if let Some((_, key)) = fs::read_to_string(&keys).unwrap().trim().split_once(';') {
            assert_eq!(files_with(&folder, key), [keys.as_path()]);
            let line = fs::read(format!("/proc/{}/cmdline", server.pids()[0])).unwrap();
            assert!(!contains(&line, key));
        }
        server.stop().unwrap();
        assert!(!keys.exists() && !folder.exists());
    }
}

#[test]
fn without_its_key_a_server_opens_nothing_and_says_why() {
    opens_nothing_without_its_key(&MARIADB, RedoLog);
    opens_nothing_without_its_key(&MYSQL, SystemTables);
}

fn opens_nothing_without_its_key(entry: &'static Entry, part: AtRestPart) {
    if !is_fetched(entry) {
        return;
    }
    let server = plain(entry)
        .at_rest(AtRest::from_iter([Tables, part]))
        .start()
        .unwrap();
    let again = Again::of(&server);
    server.kill_member(server.address()).unwrap();
    assert!(!server.is_alive());
    let keys = keys_of(&server);
    let right = fs::read(&keys).unwrap();
    // Another key, of the same form.
    fs::write(&keys, other_key(&right)).unwrap();
    // Old releases may crash on what they take for their log.
    again.refuses_to_open(&server, "with another key", entry != &MARIADB_10_2);
    fs::remove_file(&keys).unwrap();
    again.refuses_to_open(&server, "without a key", true);
    fs::write(&keys, right).unwrap();
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).unwrap();
    again.opens(&server);
}

#[test]
fn a_start_with_a_wrong_or_a_lost_key_is_called_that() {
    if !is_fetched(&MARIADB) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("keys");
    fs::write(&other, format!("1;{}\n", "5a".repeat(32))).unwrap();
    for keys in [other, folder.path().join("lost")] {
        let error = plain(&MARIADB)
            .at_rest(AtRest::from_iter([Tables, RedoLog]))
            .option(format!("--file-key-management-filename={}", keys.display()))
            .start()
            .unwrap_err();
        assert!(
            matches!(
                error,
                Error::NoKey {
                    server: "mariadb",
                    ..
                }
            ),
            "{error}"
        );
    }
}

/// Where MySQL has nothing to write by them yet it would start without its keys, and fail at the first table.
#[test]
fn a_start_of_mysql_without_its_keyring_is_called_that_whatever_it_is_to_encrypt() {
    let Some(installation) = fetched(&MYSQL) else {
        return;
    };
    let installed = installation.program.ancestors().nth(2).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(installed.join("lib/mysql/plugin")).unwrap() {
        let plugin = entry.unwrap();
        symlink(plugin.path(), folder.path().join(plugin.file_name())).unwrap();
    }
    let lost = folder.path().join("lost/keys");
    let settings = format!("{{ \"path\": {lost:?}, \"read_only\": true }}");
    fs::write(folder.path().join("component_keyring_file.cnf"), settings).unwrap();
    for parts in [[Tables].as_slice(), &[SystemTables], &[Tables, RedoLog]] {
        let error = plain(&MYSQL)
            .at_rest(AtRest::from_iter(parts.iter().copied()))
            .option(format!("--plugin-dir={}", folder.path().display()))
            .start()
            .unwrap_err();
        let is_one = matches!(error, Error::NoKey { server: "mysql", .. });
        assert!(is_one, "{parts:?}: {error}");
        let said = error.to_string();
        for words in [
            "its key is lost, or it is another",
            "start the run anew, which makes new keys",
        ] {
            assert!(said.contains(words), "{parts:?}: {said}");
        }
    }
}

/// A server that can be started once more with what it left.
struct Again {
    words: Vec<std::ffi::OsString>,
    environment: Vec<(String, String)>,
    /// Where MySQL says who has its socket.
    lock: PathBuf,
}

impl Again {
    fn of(server: &PrivateServer) -> Self {
        let read = |file| fs::read(format!("/proc/{}/{file}", server.pids()[0])).unwrap();
        let split = |bytes: Vec<u8>| {
            let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
            words.map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let variables = split(read("environ")).into_iter().filter_map(|variable| {
            let variable = String::from_utf8(variable).ok()?;
            let (name, value) = variable.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        // What it ran first, it ran.
        fs::write(server.folder().join("statements"), "").unwrap();
        Self {
            words: split(read("cmdline"))
                .into_iter()
                .map(OsStringExt::from_vec)
                .collect(),
            environment: variables.collect(),
            lock: server.folder().join("server.sock.lock"),
        }
    }

    fn start(&self) -> Child {
        // Of the one that was killed, which has not been reaped yet.
        let _ = fs::remove_file(&self.lock);
        Command::new(&self.words[0])
            .args(&self.words[1..])
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    fn refuses_to_open(&self, server: &PrivateServer, how: &str, says_why: bool) {
        let name = server.entry().name;
        let before = fs::metadata(log(server)).unwrap().len();
        let process = RefCell::new(self.start());
        let ended = within(Duration::from_secs(60), || {
            process.borrow_mut().try_wait().unwrap().is_some()
        });
        let said = said_since(server, before);
        let mut process = process.into_inner();
        if !ended {
            process.kill().unwrap();
        }
        let status = process.wait().unwrap();
        assert!(ended && !status.success(), "{name} {how}: {said}");
        // As a start would be told of it.
        assert!(!says_why || names_a_missing_key(&said), "{name} {how}: {said}");
        assert!(!said.contains("ready for connections"), "{name} {how}: {said}");
    }

    fn opens(&self, server: &PrivateServer) {
        let before = fs::metadata(log(server)).unwrap().len();
        let mut process = self.start();
        let is_ready = within(Duration::from_secs(60), || {
            said_since(server, before).contains("ready for connections")
        });
        process.kill().unwrap();
        process.wait().unwrap();
        let holds = is_ready;
        assert!(holds, "{}: {}", server.entry().name, said_since(server, before));
    }
}

/// The same with another digit in the key itself.
fn other_key(keys: &[u8]) -> Vec<u8> {
    const MARK: &str = r#""data":""#;
    let text = String::from_utf8(keys.to_vec()).unwrap();
    let start = match text.find(MARK) {
        Some(mark) => mark + MARK.len(),
        None => text.find(';').unwrap() + 1,
    };
    let mut other = text.into_bytes();
    other[start] = if other[start] == b'7' { b'3' } else { b'7' };
    other
}

fn log(server: &PrivateServer) -> PathBuf {
    server.folder().join("server.log")
}

fn said_since(server: &PrivateServer, start: u64) -> String {
    let text = fs::read(log(server)).unwrap();
    String::from_utf8_lossy(&text[usize::try_from(start).unwrap()..]).into_owned()
}

fn keys_of(server: &PrivateServer) -> PathBuf {
    let file = |name: &str| server.folder().join(name);
    [file("encryption-keys"), file("keyring/keys")]
        .into_iter()
        .find(|keys| Path::new(keys).exists())
        .unwrap()
}

mod test_all {
    use super::*;

    #[test]
    fn mariadb_10_2_opens_nothing_without_its_key() {
        opens_nothing_without_its_key(&MARIADB_10_2, RedoLog);
    }
}
