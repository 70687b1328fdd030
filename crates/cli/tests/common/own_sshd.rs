//! An sshd of the test's own, by which an agent is reached as it would be on another machine.

use crate::common::*;

/// Neither root's number nor one that tests could do harm with.
const NOBODY: &str = "65534";

/// A private sshd on a loopback port, a client's settings for it, and a copy of `ciphertax` that whoever logs in may execute.
///
/// It runs as whoever runs the tests; for root as `nobody`, who cannot log in anywhere else and therefore gets a shell in a
/// namespace of mounts that nobody else sees.
pub(crate) struct OwnSshd {
    folder: tempfile::TempDir,
    listens: SocketAddr,
    daemon: Child,
}

impl OwnSshd {
    /// `None` where there is no sshd.
    pub(crate) fn start() -> Option<Self> {
        let folder = tempfile::Builder::new()
            .prefix("ciphertax-sshd-")
            .tempdir()
            .unwrap();
        let (program, libraries) = sshd(folder.path())?;
        let file = |name: &str| folder.path().join(name);
        for key in ["host-key", "user-key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
                .arg(file(key))
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(file("user-key.pub"), file("authorized-keys")).unwrap();
        copy_program(Path::new(env!("CARGO_BIN_EXE_ciphertax")), &file("ciphertax"));
        if is_root() {
            // The servers of root's tests are root's: the right that ciphertax itself advises to give.
            let given = Command::new("setcap")
                .arg("cap_sys_ptrace,cap_dac_read_search+ep")
                .arg(file("ciphertax"))
                .status();
            assert!(given.unwrap().success());
        }
        let listens = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap();
        let shown = folder.path().display();
        let settings = format!(
            "ListenAddress {listens}\nHostKey {shown}/host-key\nAuthorizedKeysFile {shown}/authorized-keys\n\
             AuthenticationMethods publickey\nPermitTTY no\nPidFile none\nStrictModes no\nUseDNS no\nUsePAM no\n"
        );
        fs::write(file("sshd.conf"), settings).unwrap();
        let mut command = match is_root() {
            true => as_nobody(folder.path(), &libraries),
            false => {
                let mut command = Command::new("env");
                command.arg(libraries);
                command
            }
        };
        let log = fs::File::create(file("log")).unwrap();
        command
            .arg(program)
            .args(["-D", "-e", "-f"])
            .arg(file("sshd.conf"))
            .stdin(Stdio::null())
            .stderr(log);
        let daemon = command.spawn().unwrap();
        let own = Self {
            folder,
            listens,
            daemon,
        };
        let in_time = within(PATIENCE, || TcpStream::connect(listens).is_ok());
        assert!(in_time, "{}", own.log());
        own.write_client(listens);
        Some(own)
    }

    /// Where it listens.
    pub(crate) fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// The address of an agent, reached at this address.
    pub(crate) fn agent_at(&self, address: SocketAddr) -> String {
        let user = Command::new("id")
            .args(["-un", &login()])
            .output()
            .unwrap()
            .stdout;
        let user = String::from_utf8(user).unwrap();
        format!(
            "ssh://{}@{address}{}/ciphertax",
            user.trim(),
            self.folder.path().display()
        )
    }

    /// The address of an agent.
    pub(crate) fn agent(&self) -> String {
        self.agent_at(self.listens)
    }

    /// A folder with an `ssh` that knows keys and hosts of the test alone.
    pub(crate) fn client(&self) -> PathBuf {
        self.folder.path().join("client")
    }

    /// Has the client know this address too, as of the same host.
    pub(crate) fn write_client(&self, address: SocketAddr) {
        let (folder, client) = (self.folder.path(), self.client());
        fs::create_dir_all(&client).unwrap();
        let key = fs::read_to_string(folder.join("host-key.pub")).unwrap();
        fs::write(
            client.join("known-hosts"),
            format!("[{}]:{} {key}", address.ip(), address.port()),
        )
        .unwrap();
        let shown = client.display();
        fs::write(
            client.join("settings"),
            format!(
                "UserKnownHostsFile {shown}/known-hosts\nGlobalKnownHostsFile none\nIdentitiesOnly yes\nIdentityAgent none\n\
                 IdentityFile {}/user-key\n",
                folder.display()
            ),
        )
        .unwrap();
        let ssh = which_ssh();
        install(
            &client,
            "ssh",
            &format!("exec {} -F {shown}/settings \"$@\"", ssh.display()),
        );
    }

    /// `PATH` with its client before all others.
    pub(crate) fn path(&self) -> OsString {
        let mut path = self.client().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }

    /// The agents that run.
    pub(crate) fn agents(&self) -> Vec<u32> {
        let words = format!("{}/ciphertax agent", self.folder.path().display());
        let agents = processes().filter(|process| process.command_line().trim() == words);
        agents.map(|process| process.pid).collect()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for OwnSshd {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.daemon), Signal::TERM);
        let _ = self.daemon.wait();
    }
}

/// Writes a program of the shell.
pub(crate) fn install(folder: &Path, name: &str, script: &str) {
    let text = folder.join(format!("{name}.text"));
    fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
    // By another process: one that this one has open for writing cannot be executed.
    let installed = Command::new("install")
        .args(["-m", "755"])
        .arg(&text)
        .arg(folder.join(name))
        .status();
    assert!(installed.unwrap().success());
}

/// Whom the client logs in as.
fn login() -> String {
    match is_root() {
        true => NOBODY.to_owned(),
        false => rustix::process::geteuid().as_raw().to_string(),
    }
}

/// The program, and the variable by which it finds its libraries. One that was unpacked is copied into the folder: it lies where
/// nobody but its owner may look.
fn sshd(folder: &Path) -> Option<(PathBuf, OsString)> {
    let system = PathBuf::from("/usr/sbin/sshd");
    if system.exists() {
        return Some((system, "LD_LIBRARY_PATH=".into()));
    }
    let unpacked = unpacked_tunnels().filter(|root| root.join("usr/sbin/sshd").exists())?;
    let root = folder.join("openssh");
    copy_program(&unpacked, &root);
    let program = root.join("usr/sbin/sshd");
    let mut folders = OsString::from("LD_LIBRARY_PATH=");
    for parent in ["usr/lib", "lib"] {
        for folder in fs::read_dir(root.join(parent)).into_iter().flatten().flatten() {
            folders.push(folder.path());
            folders.push(":");
        }
    }
    Some((program, folders))
}

fn which_ssh() -> PathBuf {
    let found = Command::new("sh")
        .args(["-c", "command -v ssh"])
        .output()
        .unwrap()
        .stdout;
    PathBuf::from(String::from_utf8(found).unwrap().trim())
}

/// What runs the words that follow as `nobody`, with a shell and an account that is not locked.
fn as_nobody(folder: &Path, libraries: &OsString) -> Command {
    let accounts = fs::read_to_string("/etc/passwd").unwrap();
    let accounts: Vec<String> = accounts
        .lines()
        .map(|line| {
            let mut fields: Vec<&str> = line.split(':').collect();
            if fields.get(2) == Some(&NOBODY) {
                fields[6] = "/bin/sh";
            }
            fields.join(":")
        })
        .collect();
    let name = accounts
        .iter()
        .find(|line| line.split(':').nth(2) == Some(NOBODY))
        .and_then(|line| line.split(':').next())
        .unwrap();
    fs::write(folder.join("passwd"), accounts.join("\n") + "\n").unwrap();
    fs::write(folder.join("shadow"), format!("{name}:p:1::::::\n")).unwrap();
    for file in ["passwd", "shadow"] {
        fs::set_permissions(folder.join(file), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let owned = Command::new("chown")
        .args([NOBODY, "host-key"])
        .current_dir(folder)
        .status();
    assert!(owned.unwrap().success());
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let script = "mount --bind \"$0/passwd\" /etc/passwd && mount --bind \"$0/shadow\" /etc/shadow && exec setpriv \
                  --reuid 65534 --regid 65534 --clear-groups env \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private", "sh", "-c", script])
        .arg(folder)
        .arg(libraries);
    command
}
