//! A forwarded port of OpenSSH.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use ciphertax_model::SshCipher;
use ciphertax_supervise::guard::{Ending, Helper, User};
use ciphertax_supervise::privilege::NOBODY;
use rustix::process::geteuid;

use crate::error::{Error, Result};

use super::pair::{About, Pair, Route, Word, half};
use super::program::{Program, run_to_success};
use crate::files::write_private;

const HOST_KEY: &str = "ssh-host-key";
const USER_KEY: &str = "ssh-user-key";
const KNOWN_HOSTS: &str = "ssh-known-hosts";
const AUTHORIZED_KEYS: &str = "ssh-authorized-keys";

/// The name of the host in [`KNOWN_HOSTS`], whatever address it is reached at.
const HOST: &str = "ciphertax";

/// The subsystem whose session does nothing: it waits for requests on a standard input on which none come.
const IDLE: &str = "idle";

/// `ssh -L` and a private sshd.
///
/// An sshd that root starts wants a user `sshd`, a folder below /run and an account that is not locked, all of which
/// come with an installation that also starts a service. Root's is therefore run as `nobody`, and the client logs in as
/// that. As with any sshd, each login has two processes: one that watches and one that does the work.
///
/// Besides forwarding, the client opens a session, an idle one. Without it (`ssh -N`) sshd never sets `TCP_NODELAY` and
/// holds back what a server says first until the client's kernel has confirmed the packet before: every connection then
/// takes 40 ms more, whatever the cipher.
#[derive(Debug)]
pub(super) struct Ssh {
    ssh: Program,
    sshd: Program,
    keygen: Program,
    /// Whom the client logs in as, and thereby whom sshd runs as.
    login: String,
    user: User,
    about: About,
}

impl Ssh {
    pub(super) fn find(cipher: SshCipher) -> Result<Self> {
        let ssh = Program::find(&["ssh"], "openssh-client")?;
        let (user, uid) = match geteuid() {
            root if root.is_root() => (User::Nobody, NOBODY),
            other => (User::Owner, other.as_raw()),
        };
        let login = run_to_success(&["id".into(), "-un".into(), uid.to_string().into()])?;
        let says = ssh.says("-V", "OpenSSH_")?;
        let (version, library) = says.split_once(", ").unwrap_or((&says, "unknown"));
        let facts = [
            ("program", &*format!("OpenSSH {version}")),
            ("library", library),
            ("cipher", cipher.name()),
            (
                "topology",
                "ssh -L, one SSH connection for all, with an idle session so that sshd sets TCP_NODELAY",
            ),
        ];
        Ok(Self {
            sshd: Program::find(&["sshd"], "openssh-server")?,
            keygen: Program::find(&["ssh-keygen"], "openssh-client")?,
            login: login.trim().into(),
            user,
            about: About::new(["ssh", "sshd"], cipher.name(), facts),
            ssh,
        })
    }

    fn new_key(&self, folder: &Path, name: &str) -> Result<String> {
        let path = folder.join(name);
        let mut words = self
            .keygen
            .command_line(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]);
        words.push(path.clone().into());
        run_to_success(&words)?;
        let public = path.with_extension("pub");
        let key = fs::read_to_string(&public).map_err(Error::read(&public))?;
        Ok(key.trim().to_owned())
    }
}

impl Pair for Ssh {
    fn about(&self) -> &About {
        &self.about
    }

    fn prepare(&self, folder: &Path) -> Result<()> {
        let host_key = self.new_key(folder, HOST_KEY)?;
        let user_key = self.new_key(folder, USER_KEY)?;
        write_private(&folder.join(KNOWN_HOSTS), format!("{HOST} {host_key}\n"))?;
        write_private(
            &folder.join(AUTHORIZED_KEYS),
            format!("restrict,port-forwarding {user_key}\n"),
        )
    }

    fn server_half(&self, folder: &Path, listen: SocketAddr, target: SocketAddr) -> Result<Helper> {
        let quoted = |file| quoted(&folder.join(file));
        let settings = format!(
            "ListenAddress {listen}\n\
             HostKey {host_key}\n\
             AuthorizedKeysFile {authorized_keys}\n\
             AuthenticationMethods publickey\n\
             AllowUsers {login}\n\
             AllowTcpForwarding local\n\
             PermitOpen {target}\n\
             Ciphers {cipher}\n\
             Compression no\n\
             PermitTTY no\n\
             PidFile none\n\
             Subsystem {IDLE} internal-sftp\n\
             StrictModes no\n\
             UseDNS no\n\
             UsePAM no\n",
            host_key = quoted(HOST_KEY),
            authorized_keys = quoted(AUTHORIZED_KEYS),
            login = self.login,
            cipher = self.about.cipher,
        );
        let file = folder.join(format!("sshd-{}.conf", listen.port()));
        Ok(Helper {
            user: self.user,
            ..half(&self.sshd, &["-D", "-e", "-f"], &settings, file)?
        })
    }

    fn client_half(&self, _folder: &Path, listen: SocketAddr, route: &Route) -> Result<Helper> {
        let Route {
            peer,
            target,
            talkative,
        } = route;
        // The working folder is the tunnel's.
        let options = [
            "BatchMode=yes".into(),
            "Compression=no".into(),
            "ConnectTimeout=10".into(),
            "ControlPath=none".into(),
            "ExitOnForwardFailure=yes".into(),
            "GlobalKnownHostsFile=none".into(),
            format!("HostKeyAlias={HOST}"),
            "IdentitiesOnly=yes".into(),
            "IdentityAgent=none".into(),
            format!("LogLevel={}", if *talkative { "DEBUG1" } else { "INFO" }),
            "ProxyCommand=none".into(),
            "StrictHostKeyChecking=yes".into(),
            "UpdateHostKeys=no".into(),
            format!("UserKnownHostsFile={KNOWN_HOSTS}"),
        ];
        let mut arguments: Vec<OsString> = ["-F", "none", "-T", "-s", "-c", &self.about.cipher]
            .map(OsString::from)
            .into();
        arguments.extend(
            options
                .into_iter()
                .flat_map(|option| ["-o".into(), option.into()]),
        );
        arguments.extend(["-i".into(), USER_KEY.into()]);
        arguments.extend(["-L".into(), format!("{listen}:{target}").into()]);
        arguments.extend(["-l".into(), OsString::from(&self.login)]);
        arguments.extend(["-p".into(), peer.port().to_string().into()]);
        arguments.extend([peer.ip().to_string().into(), IDLE.into()]);
        Ok(Helper {
            command_line: self.ssh.command_line(arguments),
            log: format!("ssh-{}.log", listen.port()),
            user: User::Owner,
            namespace: None,
            ending: Ending::Terminate,
        })
    }

    /// `debug1: kex: server->client cipher: aes256-ctr MAC: umac-64-etm@openssh.com compression: none`, and the same
    /// for the other direction.
    fn word(&self, log: &str) -> Option<Word> {
        let lines: Vec<&str> = log
            .lines()
            .filter_map(|line| line.trim().strip_prefix("debug1: kex: "))
            .filter(|line| line.contains("->"))
            .collect();
        let ciphers: Vec<String> = lines
            .iter()
            .filter_map(|line| line.split_once("cipher: ")?.1.split_whitespace().next())
            .map(str::to_owned)
            .collect();
        const DIRECTIONS: usize = 2;
        (ciphers.len() >= DIRECTIONS).then(|| Word {
            ciphers,
            text: lines.join("; "),
        })
    }
}

/// A path as a value in sshd's settings, where `%` begins a token.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
}

#[cfg(test)]
mod real_servers {
    use super::*;
    use crate::tunnel::testing::refusal;

    #[test]
    fn the_ciphers_of_both_directions_are_read() {
        let log = "debug1: kex: algorithm: sntrup761x25519-sha512@openssh.com\n\
                   debug1: kex: host key algorithm: ssh-ed25519\n\
                   debug1: kex: server->client cipher: aes256-ctr MAC: umac-64-etm@openssh.com compression: none\r\n\
                   debug1: kex: client->server cipher: aes256-gcm@openssh.com MAC: <implicit> compression: none\r\n";
        let ssh = Ssh::find(SshCipher::Aes256Ctr).unwrap();
        let word = ssh.word(log).unwrap();
        assert_eq!(word.ciphers, ["aes256-ctr", "aes256-gcm@openssh.com"]);
        let first_direction_only = log.lines().take(3).collect::<Vec<_>>().join("\n");
        assert_eq!(ssh.word(&first_direction_only), None);
    }

    #[test]
    fn a_cipher_that_the_server_half_refuses_is_an_error_in_its_words() {
        let [server, client] =
            [SshCipher::Aes256Ctr, SshCipher::Aes256Cbc].map(|cipher| Ssh::find(cipher).unwrap());
        let error = refusal(server, client);
        assert!(
            error.contains("ssh ended") && error.contains("no matching cipher found"),
            "{error}"
        );
        assert!(error.contains("sshd says: "), "{error}");
    }
}
