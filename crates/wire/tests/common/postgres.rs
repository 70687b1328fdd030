//! A private PostgreSQL with an account for every way to log in.

use ciphertax_wire::Session as _;
use ciphertax_wire::sql::SqlSession as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use ciphertax_lab::certificates::ClientCertificateFiles;
use ciphertax_testkit::{OrdinaryUser, is_root, not_tested, postgresql_programs};
use ciphertax_wire::postgresql::{ConnectOptions, Session};

use crate::common::*;

/// The password of every account that has one.
pub(crate) const SECRET: &str = "correct horse, battery=staple";
/// The account that may do everything, over the Unix socket alone.
pub(crate) const OWNER: &str = "owner";
/// Iterations of SCRAM for accounts that are named after them, besides the server's default.
pub(crate) const ITERATIONS: [usize; 2] = [2_048, 20_000];

/// Who may come how: lines of `pg_hba.conf`, the last of which turns everybody else away.
const ACCESS: &str = "\
local all all trust
host all trusted 127.0.0.1/32 trust
host all plain 127.0.0.1/32 password
host all hashed 127.0.0.1/32 md5
hostssl all certified 127.0.0.1/32 cert
hostssl all encrypted 127.0.0.1/32 scram-sha-256
hostnossl all unencrypted 127.0.0.1/32 scram-sha-256
host all scram,scram2048,scram20000 127.0.0.1/32 scram-sha-256
host all all all reject
";

/// A server that runs as long as this program.
pub(crate) struct Postgres {
    folder: PathBuf,
    pub(crate) port: u16,
    pub(crate) files: CertificateFiles,
    pub(crate) client: ClientCertificateFiles,
    /// Its standard input is open as long as we live: when it ends, the server does, and its folder goes.
    _shell: Child,
}

/// The one that all tests of a program share; `None` if no PostgreSQL can be fetched, which is said.
pub(crate) fn postgres() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    let server = SERVER.get_or_init(|| Some(Postgres::start(&postgresql_programs()?)));
    if server.is_none() {
        not_tested("there is no PostgreSQL");
    }
    server.as_ref()
}

impl Postgres {
    fn start(programs: &Path) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("ciphertax-pg")
            .tempdir()
            .unwrap()
            .keep();
        let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
        let files = authority.issue_for_localhost(&folder).unwrap();
        let client = authority
            .issue_client(&folder, "certified", CertificateKind::EcdsaP256)
            .unwrap();
        if is_root() {
            OrdinaryUser::find().give(&folder);
        }
        let data = folder.join("data");
        let initialised = owned(&programs.join("initdb"))
            .arg("-D")
            .arg(&data)
            .args([
                "-A",
                "trust",
                "-U",
                OWNER,
                "--no-sync",
                "--locale=C",
                "-E",
                "UTF8",
            ])
            .output()
            .unwrap();
        assert!(initialised.status.success(), "{initialised:?}");
        fs::write(data.join("pg_hba.conf"), ACCESS).unwrap();
        let port = free_port();
        let mut shell = owned(Path::new("/bin/sh"));
        shell
            .arg("-c")
            .arg("\"$@\" & server=$!; cat; kill -QUIT $server; wait $server; rm -rf \"$0\"")
            .arg(&folder)
            .arg(programs.join("postgres"))
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(&folder)
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"])
            .args(["-c", "fsync=off", "-c", "ssl=on", "-c", "max_connections=100"])
            .arg("-c")
            .arg(format!("ssl_cert_file={}", files.certificate.display()))
            .arg("-c")
            .arg(format!("ssl_key_file={}", files.key.display()))
            .arg("-c")
            .arg(format!("ssl_ca_file={}", files.ca.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("log")).unwrap());
        let server = Self {
            port,
            _shell: shell.spawn().unwrap(),
            files,
            client,
            folder,
        };
        assert!(within(PATIENCE, || UnixStream::connect(server.socket()).is_ok()));
        server.make_accounts();
        server
    }

    fn make_accounts(&self) {
        let quoted = format!("'{SECRET}'");
        let mut statements = vec![
            "CREATE ROLE trusted LOGIN SUPERUSER".to_owned(),
            "CREATE ROLE certified LOGIN".to_owned(),
        ];
        for user in ["plain", "scram", "encrypted", "unencrypted"] {
            statements.push(format!("CREATE ROLE {user} LOGIN PASSWORD {quoted}"));
        }
        statements.push("SET password_encryption = md5".into());
        statements.push(format!("CREATE ROLE hashed LOGIN PASSWORD {quoted}"));
        for iterations in ITERATIONS {
            let verifier = verifier(iterations);
            statements.push(format!(
                "CREATE ROLE scram{iterations} LOGIN PASSWORD '{verifier}'"
            ));
        }
        run(async |reactor| {
            // It takes connections of the socket before it is ready.
            let mut session = loop {
                match Session::connect(reactor, &self.owner()).await {
                    Ok((session, _)) => break session,
                    Err(error) if error.to_string().contains("57P03") => {}
                    Err(error) => panic!("{error}"),
                }
            };
            for statement in statements {
                session.query(&statement).await.unwrap();
            }
        });
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port))
    }

    /// The account that may do everything.
    pub(crate) fn owner(&self) -> ConnectOptions {
        ConnectOptions {
            socket: Some(self.socket()),
            ..self.plain(OWNER)
        }
    }

    /// A plaintext connection of this account over TCP.
    pub(crate) fn plain(&self, user: &str) -> ConnectOptions {
        ConnectOptions {
            database: Some("postgres".into()),
            ..ConnectOptions::new("127.0.0.1", self.port, user, Secret::new(SECRET))
        }
    }

    /// The same over TLS of this version.
    pub(crate) fn encrypted(&self, user: &str, library: TlsLibrary, version: TlsVersion) -> ConnectOptions {
        self.with_policy(
            user,
            &TlsPolicy {
                library,
                ..self.policy(version)
            },
        )
    }

    pub(crate) fn with_policy(&self, user: &str, policy: &TlsPolicy) -> ConnectOptions {
        ConnectOptions {
            tls: Some(Arc::new(TlsConnector::new(policy).unwrap())),
            ..self.plain(user)
        }
    }

    pub(crate) fn policy(&self, version: TlsVersion) -> TlsPolicy {
        let ca = self.files.ca.clone();
        TlsPolicy::new(version, Verification::HostName(ca, "127.0.0.1".into()))
    }

    pub(crate) fn client_certificate(&self) -> ClientCertificate {
        ClientCertificate {
            certificate: self.client.certificate.clone(),
            key: self.client.key.clone(),
            password: None,
        }
    }
}

/// What the server keeps of a password (RFC 5803), made by hand.
fn verifier(iterations: usize) -> String {
    let (salt, digest) = (b"sixteen letters!", MessageDigest::sha256());
    let mut salted = [0; 32];
    pbkdf2_hmac(SECRET.as_bytes(), salt, iterations, digest, &mut salted).unwrap();
    let hmac = |message: &[u8]| {
        let key = PKey::hmac(&salted).unwrap();
        let mut signer = Signer::new(digest, &key).unwrap();
        signer.sign_oneshot_to_vec(message).unwrap()
    };
    let stored = hash(digest, &hmac(b"Client Key")).unwrap();
    let encode = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
    format!(
        "SCRAM-SHA-256${iterations}:{}${}:{}",
        encode(salt),
        encode(&stored),
        encode(&hmac(b"Server Key"))
    )
}

/// It refuses to be root's.
fn owned(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").stdin(Stdio::null());
    if is_root() {
        OrdinaryUser::find().run_as_reader(&mut command);
    }
    command
}

/// One below the ephemeral range, so that no client is given it.
fn free_port() -> u16 {
    let mut ports = 21_000 + (std::process::id() % 10_000) as u16..32_000;
    ports
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .unwrap()
}
