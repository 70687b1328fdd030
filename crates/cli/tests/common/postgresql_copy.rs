//! A copy of a PostgreSQL that runs beside it as a server of its own: its standby, or one with a small disk.

use std::sync::atomic::AtomicU16;

use ciphertax_wire::postgresql::ConnectOptions;

use super::own_postgresql::session;
use crate::common::*;

/// The size of its small disk.
const SMALL_DISK: &str = "size=6m";

pub(crate) struct PostgreSqlCopy {
    server: Child,
    port: u16,
    options: ConnectOptions,
    ca: PathBuf,
    // Goes after the server.
    folder: tempfile::TempDir,
}

impl PostgreSqlCopy {
    /// A standby that follows the server and answers queries; `None` where PostgreSQL's programs are not there, which is
    /// said.
    pub(crate) fn standby(of: &OwnPostgreSql) -> Option<Self> {
        Self::start(of, &["--write-recovery-conf"])
    }

    /// A server of the same contents, which sees a small disk at [`PostgreSqlCopy::disk`] if root starts it.
    pub(crate) fn with_a_small_disk(of: &OwnPostgreSql) -> Option<Self> {
        Self::start(of, &[])
    }

    fn start(of: &OwnPostgreSql, arguments: &[&str]) -> Option<Self> {
        let programs = postgresql_programs()?;
        let folder = tempfile::Builder::new()
            .prefix("ciphertax-test-")
            .tempdir()
            .unwrap();
        let (data, disk) = (folder.path().join("data"), folder.path().join("disk"));
        fs::create_dir(&disk).unwrap();
        copy(of, &programs, &data, arguments);
        // Whoever the other runs as, to whom the key of its certificate belongs.
        let user = fs::metadata(of.file("data_directory")).unwrap().uid();
        let log = folder.path().join("log");
        let port = free_port();
        let mut command = match is_root() {
            true => as_user(user, &disk),
            false => Command::new("env"),
        };
        command
            .arg(programs.join("postgres"))
            .arg("-D")
            .arg(&data)
            .args(["-p", &port.to_string()])
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap());
        if is_root() {
            let given = Command::new("chown")
                .args(["-R", &format!("{user}:{user}")])
                .arg(folder.path())
                .status();
            assert!(given.unwrap().success());
        }
        let copy = Self {
            server: command.spawn().unwrap(),
            port,
            options: ConnectOptions { port, ..of.options() },
            ca: of.ca_file().to_owned(),
            folder,
        };
        let said = || fs::read_to_string(&log).unwrap();
        let in_time = within(PATIENCE, || said().contains("database system is ready to accept"));
        assert!(in_time, "{}", said());
        Some(copy)
    }

    /// Where it sees its small disk, which nobody else does.
    pub(crate) fn disk(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", self.options.host, self.port)
    }

    /// Its URL for the default account, with password and authority.
    pub(crate) fn url(&self) -> String {
        format!(
            "postgresql://{}:{}@{}:{}/{DATABASE}?sslrootcert={}",
            self.options.user,
            self.options.password.expose(),
            self.options.host,
            self.port,
            self.ca.display()
        )
    }

    /// The first column of a statement's rows.
    pub(crate) fn query(&self, statement: &str) -> Vec<String> {
        session(&self.options, |query| query(statement))
    }
}

impl Drop for PostgreSqlCopy {
    fn drop(&mut self) {
        // Its processes end with it.
        let _ = kill_process(Pid::from_child(&self.server), Signal::QUIT);
        let _ = self.server.wait();
    }
}

/// Copies the data of a server that runs.
fn copy(of: &OwnPostgreSql, programs: &Path, data: &Path, arguments: &[&str]) {
    of.change_hba(|line| {
        let all = "local all postgres trust";
        Some(line.replace(all, &format!("{all}\nlocal replication postgres trust")))
    });
    let copied = Command::new(programs.join("pg_basebackup"))
        .arg("-D")
        .arg(data)
        .arg("-h")
        .arg(of.file("data_directory"))
        .args(["-p", &of.options().port.to_string(), "-U", "postgres"])
        .args(["--checkpoint=fast", "--no-sync", "--wal-method=stream"])
        .args(arguments)
        .output()
        .unwrap();
    let holds = copied.status.success();
    assert!(holds, "{}", String::from_utf8_lossy(&copied.stderr));
}

/// What comes before a command of root so that it runs as this user, who may read whatever root may, and sees a small disk
/// in this folder.
fn as_user(user: u32, disk: &Path) -> Command {
    let mounted = format!("mount -t tmpfs -o {SMALL_DISK},mode=700,uid={user},gid={user} none \"$0\"");
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", &format!("{mounted}; exec \"$@\"")])
        .arg(disk)
        .args(["setpriv", "--clear-groups", "--pdeathsig=QUIT"])
        .args([&format!("--reuid={user}"), &format!("--regid={user}")])
        // Otherwise access(2) denies what the right allows.
        .arg("--securebits=+no_setuid_fixup")
        .args(["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]);
    command
}

/// One below the ephemeral range, so that no client is given it, and each once.
fn free_port() -> u16 {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = 21_000 + (std::process::id() % 10_000) as u16;
    let mut ports = std::iter::repeat_with(|| first + TRIED.fetch_add(1, Ordering::Relaxed));
    ports
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .unwrap()
}
