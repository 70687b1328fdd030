//! The key of a client's certificate that is encrypted: where its password comes from, and who does not learn it.

use std::cell::RefCell;

use openssl::pkey::PKey;
use openssl::symm::Cipher;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::common::*;

const PASSWORD: &str = "correct-horse-battery-staple";

/// Encrypts a client's key, and returns both its files.
fn encrypted(server: &Own) -> [PathBuf; 2] {
    let client = server.client_files();
    let key = PKey::private_key_from_pem(&fs::read(&client.key).unwrap()).unwrap();
    let encrypted = key.private_key_to_pem_pkcs8_passphrase(Cipher::aes_256_cbc(), PASSWORD.as_bytes());
    fs::write(&client.key, encrypted.unwrap()).unwrap();
    [client.certificate, client.key]
}

/// The URL of a server with such a certificate.
fn url(server: &OwnPostgreSql) -> String {
    let [certificate, key] = encrypted(server).map(|file| file.display().to_string());
    format!("{}&sslcert={certificate}&sslkey={key}", server.verified_url())
}

#[test]
fn the_password_of_a_key_is_in_the_environment_or_the_url_and_else_named_as_missing() {
    let (server, sandbox) = (OwnPostgreSql::start(), Sandbox::new());
    let target = url(&server);
    for (url, variable, words) in [
        (
            "",
            None,
            Some(
                "client-key.pem cannot be used: it is encrypted; give its password in the environment variable CIPHERTAX_KEY_PASSWORD",
            ),
        ),
        (
            "",
            Some("another"),
            Some("it cannot be decrypted by the password that is given"),
        ),
        ("", Some(PASSWORD), None),
        (
            "another",
            Some(PASSWORD),
            Some("it cannot be decrypted by the password that is given"),
        ),
        (PASSWORD, None, None),
    ] {
        let target = match url {
            "" => target.clone(),
            password => format!("{target}&sslpassword={password}"),
        };
        for library in ["openssl", "rustls"] {
            let mut command = sandbox.command(&["connect", &target, "--library", library]);
            command.envs(variable.map(|password| ("CIPHERTAX_KEY_PASSWORD", password)));
            let finished = Running::start(command).finish();
            match words {
                Some(words) => finished.refuses(words),
                None => assert_eq!(finished.code, Some(0), "{finished:?}"),
            }
            assert!(!format!("{finished:?}").contains(PASSWORD));
        }
    }
    let target = format!("{target}&sslpassword={PASSWORD}");
    let finished = sandbox.finish(&["quick", &target, "--time=2", "--out=run"]);
    finished.measured();
    no_secret_is_left(&sandbox, &finished, PASSWORD, &server.url());
}

const OF_PSQL: &str = r#"
name = "psql"
question = "What does TLS cost psql?"
server = "postgresql"
time_s = 2
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [{ name = "mine", workload = "command", command = { run = ["psql", "--no-psqlrc", "--command=SELECT 1"] } }]
"#;

#[test]
fn a_program_is_not_given_an_encrypted_key() {
    let (server, sandbox) = (OwnPostgreSql::start(), Sandbox::new());
    let mut command = sandbox.study(OF_PSQL, &[]);
    command.arg(url(&server)).env("CIPHERTAX_KEY_PASSWORD", PASSWORD);
    Running::start(command).finish().refuses(
        "a program is not told the password of the target's encrypted key … name a key that is not encrypted",
    );
}

#[test]
fn the_password_of_mongodbs_one_file_is_an_option_too() {
    let server = OwnMongoDb::start_with(|builder| builder.account(AuthenticationMethod::MongodbX509));
    let file = server.folder().join("encrypted.pem");
    let both = encrypted(&server).map(|file| fs::read(file).unwrap());
    fs::write(&file, both.concat()).unwrap();
    let target = format!(
        "{}&authMechanism=MONGODB-X509&tlsCertificateKeyFile={}",
        server.with_ca(&server.url_of("")),
        file.display()
    );
    let sandbox = Sandbox::new();
    sandbox
        .finish(&["connect", &target])
        .refuses("encrypted.pem … CIPHERTAX_KEY_PASSWORD");
    let finished = sandbox.finish(&[
        "connect",
        &format!("{target}&tlsCertificateKeyFilePassword={PASSWORD}"),
    ]);
    finished.fails(0, "");
    finished.shows("MONGODB-X509");
}

/// A command at a terminal of its own.
struct AtTerminal {
    running: RefCell<Child>,
    terminal: File,
    shown: Arc<Mutex<String>>,
}

impl AtTerminal {
    /// It asks for the password of the key.
    fn asks(sandbox: &Sandbox, target: &str) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let theirs = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        let arguments = ["--ctty", env!("CARGO_BIN_EXE_ciphertax"), "connect", target];
        let mut command = sandbox.command_of(Path::new("setsid"), &arguments);
        command
            .stdin(theirs.try_clone().unwrap())
            .stdout(theirs.try_clone().unwrap())
            .stderr(theirs);
        let running = RefCell::new(command.spawn().unwrap());
        drop(command);
        let terminal = File::from(terminal);
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut reads, all) = (terminal.try_clone().unwrap(), Arc::clone(&shown));
        // Until nobody has the other end any more.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reads.read(&mut bytes) {
                all.lock()
                    .unwrap()
                    .push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        let asking = Self {
            running,
            terminal,
            shown,
        };
        let asked = within(PATIENCE, || asking.shown().contains("Password of the key "));
        assert!(asked && !asking.echoes(), "{}", asking.shown());
        asking
    }

    fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.terminal)
            .unwrap()
            .local_modes
            .contains(LocalModes::ECHO)
    }

    /// How it ends.
    fn ends(&self) -> Option<i32> {
        let has_ended = || self.running.borrow_mut().try_wait().unwrap().is_some();
        assert!(within(PATIENCE, has_ended) && self.echoes(), "{}", self.shown());
        self.running.borrow_mut().wait().unwrap().code()
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.running.get_mut().kill();
        let _ = self.running.get_mut().wait();
    }
}

#[test]
fn the_password_of_a_key_is_asked_for_once_and_not_shown_and_signals_are_heard_meanwhile() {
    let (server, sandbox) = (OwnPostgreSql::start(), Sandbox::new());
    let target = url(&server);
    for (typed, words) in [
        (PASSWORD, "verified"),
        ("another", "cannot be decrypted"),
        ("", "CIPHERTAX_KEY_PASSWORD"),
    ] {
        let mut asking = AtTerminal::asks(&sandbox, &target);
        writeln!(asking.terminal, "{typed}").unwrap();
        let code = if typed == PASSWORD { 0 } else { 2 };
        assert_eq!(asking.ends(), Some(code), "{}", asking.shown());
        let in_time = within(PATIENCE, || asking.shown().contains(words));
        assert!(in_time, "{}", asking.shown());
        assert!(!asking.shown().contains(PASSWORD));
        assert_eq!(asking.shown().matches("Password").count(), 1);
    }
    let mut asking = AtTerminal::asks(&sandbox, &target);
    // Ctrl-C.
    asking.terminal.write_all(b"\x03").unwrap();
    assert_eq!(asking.ends(), Some(130), "{}", asking.shown());
    let asking = AtTerminal::asks(&sandbox, &target);
    kill_process(Pid::from_child(&asking.running.borrow()), Signal::TERM).unwrap();
    assert_eq!(asking.ends(), Some(143), "{}", asking.shown());
}
