//! The accounts of a private server, and the statements that make them.
//!
//! The statements hold passwords, or what opens an account as well as one, so they reach the server through a pipe.

use std::ffi::CStr;

use ciphertax_model::{AuthenticationMethod, Secret};
use openssl::error::ErrorStack;
use openssl::sha::sha1;
use rustix::process::geteuid;

use crate::catalogue::{Dialect, Entry};
use crate::error::{Error, Result};

/// The account that every private server has.
pub(crate) const USER: &str = "ciphertax";

/// The common name of client certificates that MongoDB takes for an account. It takes one for a server of its own
/// deployment if organisation and unit are those of the server's certificate, and these have neither.
pub(crate) const X509_COMMON_NAME: &str = "ciphertax_x509";

/// Random bytes in an account's password.
const PASSWORD_BYTES: usize = 16;

/// An account of a private server; it may do everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name; for `MONGODB-X509` the subject of its certificate. Empty for `none`.
    pub user: String,
    /// Its password; it exists in this process alone. Empty for methods that ask for none.
    pub password: Secret,
    /// How it logs in.
    pub method: AuthenticationMethod,
}

impl Account {
    /// The account of everyday use.
    pub(crate) fn of_everyday(entry: &Entry) -> Result<Self> {
        Ok(Self {
            user: USER.into(),
            password: random_password()?,
            method: entry.default_method(),
        })
    }

    /// One more account, for logins by this method.
    pub(crate) fn for_method(method: AuthenticationMethod) -> Result<Self> {
        // MySQL 5.6 knows names of 16 characters at most.
        let user = match method {
            AuthenticationMethod::MysqlNativePassword => format!("{USER}_native"),
            AuthenticationMethod::CachingSha2Password => format!("{USER}_caching"),
            AuthenticationMethod::Sha256Password => format!("{USER}_sha256"),
            AuthenticationMethod::Ed25519 => format!("{USER}_ed25519"),
            AuthenticationMethod::UnixSocket => own_name()?,
            AuthenticationMethod::ScramSha1 => format!("{USER}_scram_sha_1"),
            AuthenticationMethod::ScramSha256 => format!("{USER}_scram_sha_256"),
            AuthenticationMethod::MongodbX509 => format!("CN={X509_COMMON_NAME}"),
            AuthenticationMethod::NoLogin => String::new(),
        };
        let password = match method {
            AuthenticationMethod::UnixSocket
            | AuthenticationMethod::MongodbX509
            | AuthenticationMethod::NoLogin => Secret::default(),
            _ => random_password()?,
        };
        Ok(Self {
            user,
            password,
            method,
        })
    }

    /// The statements that make it, each in one line, as an init file must have them.
    pub(crate) fn statements(&self, dialect: Dialect) -> Vec<String> {
        let name = format!("'{}'@'%'", self.user);
        let password = self.password.expose();
        let create = |how: String| format!("CREATE USER {name} IDENTIFIED {how};");
        let mut statements = match (dialect, self.method) {
            (Dialect::MariaDb, AuthenticationMethod::MysqlNativePassword) => {
                let hash = native_password_hash(&self.password);
                vec![create(format!("VIA mysql_native_password USING '{hash}'"))]
            }
            (Dialect::MariaDb, AuthenticationMethod::UnixSocket) => vec![create("VIA unix_socket".into())],
            (Dialect::MariaDb, method) => {
                vec![create(format!(
                    "VIA {} USING PASSWORD('{password}')",
                    method.name()
                ))]
            }
            (Dialect::MySql, AuthenticationMethod::UnixSocket) => vec![create("WITH auth_socket".into())],
            (Dialect::MySql, method) => vec![create(format!("WITH {} BY '{password}'", method.name()))],
            (Dialect::MySql56, AuthenticationMethod::MysqlNativePassword) => {
                let hash = native_password_hash(&self.password);
                vec![create(format!("BY PASSWORD '{hash}'"))]
            }
            (Dialect::MySql56, method) => vec![
                create(format!("WITH {}", method.name())),
                "SET old_passwords = 2;".into(),
                format!("SET PASSWORD FOR {name} = PASSWORD('{password}');"),
                "SET old_passwords = 0;".into(),
            ],
        };
        statements.push(format!(
            "GRANT ALL PRIVILEGES ON *.* TO {name} WITH GRANT OPTION;"
        ));
        statements
    }
}

/// What the server keeps of a password: `*` and SHA-1(SHA-1(password)) in hexadecimal.
fn native_password_hash(password: &Secret) -> String {
    format!(
        "*{}",
        hexadecimal(&sha1(&sha1(password.expose().as_bytes()))).to_uppercase()
    )
}

fn random_password() -> std::result::Result<Secret, ErrorStack> {
    let mut bytes = [0; PASSWORD_BYTES];
    openssl::rand::rand_bytes(&mut bytes)?;
    Ok(Secret::new(hexadecimal(&bytes)))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of the user that this process runs as, who is its client too.
fn own_name() -> Result<String> {
    let user = geteuid().as_raw();
    name_of(user)
        .filter(|name| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        })
        .ok_or(Error::Nameless { user })
}

fn name_of(user: u32) -> Option<String> {
    let mut text = [0; 4096];
    // SAFETY: an all-zero passwd is valid: null pointers and zero numbers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: every pointer is to a local that outlives the call, and the length is that of `text`.
    let error = unsafe { libc::getpwuid_r(user, &mut entry, text.as_mut_ptr(), text.len(), &mut found) };
    if error != 0 || found.is_null() {
        return None;
    }
    // SAFETY: on success the name is a string in `text`, ended by zero.
    let name = unsafe { CStr::from_ptr(entry.pw_name) };
    name.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::CATALOGUE;

    #[test]
    fn the_hash_is_the_servers_own() {
        // SELECT PASSWORD('123')
        let hash = native_password_hash(&Secret::new("123"));
        assert_eq!(hash, "*23AE809DDACAF96AF0FD78ED04B6A265E05AA257");
    }

    #[test]
    fn passwords_are_random() {
        let (one, other) = (random_password().unwrap(), random_password().unwrap());
        assert_eq!(one.expose().len(), 2 * PASSWORD_BYTES);
        assert_ne!(one, other);
    }

    #[test]
    fn the_user_of_this_process_has_the_name_that_the_system_says() {
        assert_eq!(name_of(0).unwrap(), "root");
        assert_eq!(name_of(4_000_000_000), None);
    }

    #[test]
    fn every_statement_is_one_line_and_every_name_fits_every_server() {
        for entry in CATALOGUE {
            let Some(family) = entry.mysql() else {
                continue;
            };
            for method in entry.capabilities.authentication {
                let account = Account::for_method(*method).unwrap();
                assert!(
                    account.user.len() <= 16
                        || *method == AuthenticationMethod::Ed25519
                        || account.user.len() <= 32
                );
                for statement in account.statements(family.dialect) {
                    assert!(
                        statement.ends_with(';') && !statement.contains('\n'),
                        "{statement}"
                    );
                }
            }
        }
    }
}
