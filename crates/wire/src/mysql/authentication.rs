//! Logins: the plugin's steps come from `mysql_common`; which steps are safe, and what they cost, is decided here.

use ciphertax_base::{AuthenticationFacts, LoginPath, Secret};
use ciphertax_model::AuthenticationMethod;
use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context, Response};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket};
use mysql_common::proto::MyDeserialize;
use openssl::pkey::Public;
use openssl::rsa::{Padding, Rsa};

use super::framing::{Framed, HEADER};
use super::handshake::ConnectOptions;
use super::parsec;
use super::result::server_error;
use crate::error::{Result, WireError};
use crate::trace::thread_cpu_ns;

/// Packets that a login may take at most; a server that asks for more is broken or hostile.
const MOST_STEPS: u32 = 8;

/// `ER_ACCESS_DENIED_ERROR`, which a server says once for all plugins of an account.
const ACCESS_DENIED: u16 = 1045;

/// Bytes of the longest proof that either SHA-256 login sends.
const SCRAMBLE: usize = 32;

/// A login in progress.
pub(super) struct Login<'a> {
    options: &'a ConnectOptions,
    plugin: AuthPlugin<'static>,
    procedure: AuthProc,
    nonce: Vec<u8>,
    is_local: bool,
    /// The kernel tells the server who connects: nothing is answered, whatever is asked.
    by_kernel: bool,
    path: LoginPath,
    /// The server has asked for this plugin: it goes on to another one of the account only after a refusal.
    is_of_account: bool,
    awaits_key: bool,
    /// The password was sent, encrypted with that key: there is nothing more to say.
    is_said: bool,
    cpu_ns: u64,
}

impl<'a> Login<'a> {
    pub(super) fn new(
        greeting: &HandshakePacket<'_>,
        options: &'a ConnectOptions,
        is_local: bool,
    ) -> Result<Self> {
        let offered = greeting.auth_plugin().map(AuthPlugin::into_owned);
        // A plugin we cannot start with is no reason to give up: the server switches to that of the account.
        let plugin = match offered {
            Some(plugin) if check(&plugin, options, is_local).is_ok() => plugin,
            _ => AuthPlugin::MysqlNativePassword,
        };
        let procedure = start(&plugin)?;
        Ok(Self {
            options,
            plugin,
            procedure,
            nonce: greeting.nonce(),
            is_local,
            by_kernel: options.authentication == Some(AuthenticationMethod::UnixSocket),
            path: LoginPath::Single,
            is_of_account: false,
            awaits_key: false,
            is_said: false,
            cpu_ns: 0,
        })
    }

    pub(super) fn plugin(&self) -> AuthPlugin<'static> {
        self.plugin.clone()
    }

    pub(super) fn first_response(&mut self) -> Result<Vec<u8>> {
        // PARSEC answers nothing before it has the salt.
        if self.by_kernel || matches!(self.plugin, AuthPlugin::Parsec) {
            return Ok(Vec::new());
        }
        let nonce = self.nonce.clone();
        Ok(self.step(&nonce)?.unwrap_or_default())
    }

    /// CPU time of the plugin's steps in nanoseconds.
    pub(super) fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }

    pub(super) fn facts(&self) -> AuthenticationFacts {
        let method = if self.by_kernel {
            AuthenticationMethod::UnixSocket.name().to_owned()
        } else {
            servers_name(&self.plugin)
        };
        AuthenticationFacts {
            method,
            path: self.path,
        }
    }

    fn switch(&mut self, request: &AuthSwitchRequest<'_>) -> Result<Vec<u8>> {
        let plugin = request.auth_plugin().into_owned();
        if self.by_kernel {
            return Err(WireError::Authentication(format!(
                "the account uses {}, not {}",
                servers_name(&plugin),
                AuthenticationMethod::UnixSocket
            )));
        }
        check(&plugin, self.options, self.is_local).map_err(|unspoken| match unspoken {
            WireError::Authentication(why) if self.is_of_account => WireError::Server {
                code: ACCESS_DENIED,
                sql_state: "28000".into(),
                message: format!(
                    "{} does not let the user in, and then {why}",
                    servers_name(&self.plugin)
                ),
            },
            unspoken => unspoken,
        })?;
        self.is_of_account = true;
        self.nonce = request.plugin_data().to_vec();
        self.procedure = start(&plugin)?;
        self.plugin = plugin;
        self.path = LoginPath::Single;
        self.first_response()
    }

    /// The plugin's answer to what its other half says.
    fn step(&mut self, challenge: &[u8]) -> Result<Option<Vec<u8>>> {
        let before = thread_cpu_ns();
        let answer = self.run_plugin(challenge);
        self.cpu_ns += thread_cpu_ns() - before;
        answer
    }

    /// What a refusal means here: in answer to the question for its key, that there is none.
    fn refused(&self, error: WireError) -> WireError {
        match self.awaits_key && error.is_access_denied() && !self.options.password.expose().is_empty() {
            true => WireError::PasswordWithheld(format!(
                "the server has no RSA key to encrypt it with (its variable {}_private_key_path); log in over TLS, or make one \
                 there",
                servers_name(&self.plugin)
            )),
            false => error,
        }
    }

    /// The password for the owner of the key that was sent alone, if that is trusted.
    fn answer_key(&mut self, sent: &[u8]) -> Result<Vec<u8>> {
        self.is_said = true;
        let before = thread_cpu_ns();
        let trusted = &self.options.trusted_keys;
        let key = trusted.trusted(self.options, &self.plugin, sent, self.is_local)?;
        let encrypted = encrypt(&self.options.password, &self.nonce, &key);
        self.cpu_ns += thread_cpu_ns() - before;
        encrypted
    }

    fn run_plugin(&mut self, challenge: &[u8]) -> Result<Option<Vec<u8>>> {
        if matches!(self.plugin, AuthPlugin::Parsec) {
            return parsec::sign(&self.options.password, &self.nonce, challenge).map(Some);
        }
        let context = LoginContext {
            password: &self.options.password,
            encrypted: self.options.tls.is_some(),
            local: self.options.socket.is_some(),
            nonce: &self.nonce,
        };
        let response = self
            .procedure
            .run(&context, challenge)
            .map_err(|error| WireError::Authentication(error.to_string()))?;
        let (Response::Next { packet } | Response::Last { packet }) = response;
        let is_sha2 = matches!(
            self.plugin,
            AuthPlugin::CachingSha2Password | AuthPlugin::Sha256Password
        );
        let is_plaintext = is_sha2 && self.options.tls.is_none();
        // As plaintext, their only answer of one byte asks for the server's public key.
        self.awaits_key = is_plaintext && matches!(packet.as_deref(), Some([_]));
        match &packet {
            // The plugin encrypts nothing then: with whose key is decided where that comes.
            Some(packet) if is_plaintext && packet.len() > SCRAMBLE && self.options.socket.is_none() => {
                Err(WireError::protocol("a step of a login out of turn"))
            }
            _ => Ok(packet),
        }
    }
}

pub(super) async fn complete(
    framed: &mut Framed,
    login: &mut Login<'_>,
    capabilities: CapabilityFlags,
) -> Result<()> {
    for _ in 0..MOST_STEPS {
        let payload = framed.read().await?;
        let answer = match payload {
            [0x00, ..] => return Ok(()),
            [0xFF, ..] => return Err(login.refused(server_error(payload, capabilities))),
            // A second key would be a second chance to learn it.
            _ if login.is_said => {
                return Err(WireError::protocol("a login that goes on after its last step"));
            }
            [0xFE] => {
                return Err(WireError::Authentication(
                    "the server asks for passwords of before 4.1".into(),
                ));
            }
            [0xFE, ..] => {
                let request =
                    AuthSwitchRequest::deserialize((), &mut ParseBuf(payload)).map_err(|error| {
                        WireError::protocol(format!("the request to switch plugins: {error}"))
                    })?;
                Some(login.switch(&request.into_owned())?)
            }
            [0x01, ..] if login.by_kernel => {
                return Err(WireError::Authentication(
                    "the account does not log in by unix_socket: the server asks for more".into(),
                ));
            }
            [0x01, key @ ..] if std::mem::take(&mut login.awaits_key) => Some(login.answer_key(key)?),
            [b'P', ..] if matches!(login.plugin, AuthPlugin::Parsec) => login.step(payload)?,
            [0x01, challenge @ ..] => {
                note_path(login, challenge);
                login.step(challenge)?
            }
            _ => return Err(WireError::protocol("an unknown packet during the login")),
        };
        if let Some(answer) = answer {
            let mut packet = vec![0; HEADER];
            packet.extend_from_slice(&answer);
            framed.reply(&mut packet).await?;
        }
    }
    Err(WireError::protocol("a login without end"))
}

/// `caching_sha2_password` says in one byte whether it knew the password (MySQL internals: `fast_auth_success` and
/// `perform_full_authentication`).
fn note_path(login: &mut Login<'_>, challenge: &[u8]) {
    if matches!(login.plugin, AuthPlugin::CachingSha2Password) {
        match challenge {
            [3] => login.path = LoginPath::Fast,
            [4] => login.path = LoginPath::Full,
            _ => {}
        }
    }
}

/// The password for the owner of a key alone, as both SHA-256 plugins send it without TLS: ended by zero, mixed with the
/// nonce, by RSA with OAEP.
fn encrypt(password: &Secret, nonce: &[u8], key: &Rsa<Public>) -> Result<Vec<u8>> {
    let mut message = password.expose().as_bytes().to_vec();
    message.push(0);
    for (byte, mask) in message.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
    let mut encrypted = vec![0; key.size() as usize];
    key.public_encrypt(&message, &mut encrypted, Padding::PKCS1_OAEP)
        .map_err(|error| WireError::Authentication(format!("the password cannot be encrypted: {error}")))?;
    Ok(encrypted)
}

/// The server's name for a plugin, which for ed25519 is not that of its client's half.
fn servers_name(plugin: &AuthPlugin<'_>) -> String {
    match plugin {
        AuthPlugin::Ed25519 => AuthenticationMethod::Ed25519.name().to_owned(),
        plugin => String::from_utf8_lossy(plugin.as_bytes()).into_owned(),
    }
}

fn start(plugin: &AuthPlugin<'_>) -> Result<AuthProc> {
    plugin
        .init()
        .map_err(|error| WireError::Authentication(error.to_string()))
}

/// Refuses plugins that are not spoken, as that of before 4.1; and the password as it is (`mysql_clear_password`) where nobody
/// knows who gets it. MySQL's own clients send that only with `enable-cleartext-plugin`, to whomever they are connected.
fn check(plugin: &AuthPlugin<'_>, options: &ConnectOptions, is_local: bool) -> Result<()> {
    match plugin {
        AuthPlugin::MysqlNativePassword
        | AuthPlugin::CachingSha2Password
        | AuthPlugin::Sha256Password
        | AuthPlugin::Ed25519
        | AuthPlugin::Parsec => Ok(()),
        AuthPlugin::MysqlClearPassword => match &options.tls {
            Some(tls) if tls.is_verified() => Ok(()),
            Some(_) if is_local && options.trusted_keys.are_anybodys_here() => Ok(()),
            Some(_) | None => Err(WireError::PasswordWithheld(
                "the server wants it as it is (mysql_clear_password), and nobody verified who gets it; log in over TLS, and \
                 name the server's CA in the URL (ssl-ca=FILE)"
                    .into(),
            )),
        },
        _ => Err(WireError::Authentication(format!(
            "the account uses {}, which ciphertax does not speak; where it has another plugin besides, that has refused the password",
            servers_name(plugin)
        ))),
    }
}

struct LoginContext<'a> {
    password: &'a Secret,
    encrypted: bool,
    local: bool,
    nonce: &'a [u8],
}

impl Context for &LoginContext<'_> {
    fn pass(&self) -> &[u8] {
        self.password.expose().as_bytes()
    }

    fn is_ipc_transport(&self) -> bool {
        self.local
    }

    fn is_tls_transport(&self) -> bool {
        self.encrypted
    }

    fn scramble(&self) -> &[u8] {
        self.nonce
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}
