//! The accounts of a private server, and the statements that make them.
//!
//! The statements hold passwords, or what opens an account as well as one, so they reach the server through a pipe.

use std::ffi::CStr;

use ciphertax_model::{AuthenticationMethod, Secret};
use openssl::sha::sha1;
use rustix::process::geteuid;

use crate::accounts::{Account, USER};
use crate::catalogue::Dialect;
use crate::error::{Error, Result};
use crate::files::hexadecimal;

/// One more account, for logins by this method.
pub(super) fn account_for(method: AuthenticationMethod) -> Result<Account> {
    // MySQL 5.6 knows names of 16 characters at most.
    let name = match method {
        AuthenticationMethod::UnixSocket => return Ok(Account::without_password(own_name()?, method)),
        AuthenticationMethod::MysqlNativePassword => "native",
        AuthenticationMethod::CachingSha2Password => "caching",
        AuthenticationMethod::Sha256Password => "sha256",
        other => other.name(),
    };
    Account::with_password(format!("{USER}_{name}"), method)
}

/// The statements that make an account, each in one line, as an init file must have them.
pub(super) fn statements(account: &Account, dialect: Dialect) -> Vec<String> {
    let name = format!("'{}'@'%'", account.user);
    let password = account.password.expose();
    let create = |how: String| format!("CREATE USER {name} IDENTIFIED {how};");
    let mut statements = match (dialect, account.method) {
        (Dialect::MariaDb, AuthenticationMethod::MysqlNativePassword) => {
            let hash = native_password_hash(&account.password);
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
            let hash = native_password_hash(&account.password);
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

/// What the server keeps of a password: `*` and SHA-1(SHA-1(password)) in hexadecimal.
fn native_password_hash(password: &Secret) -> String {
    format!(
        "*{}",
        hexadecimal(&sha1(&sha1(password.expose().as_bytes()))).to_uppercase()
    )
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
    use crate::mysql::testing::variants;

    #[test]
    fn the_hash_is_the_servers_own() {
        // SELECT PASSWORD('123')
        let hash = native_password_hash(&Secret::new("123"));
        assert_eq!(hash, "*23AE809DDACAF96AF0FD78ED04B6A265E05AA257");
    }

    #[test]
    fn the_user_of_this_process_has_the_name_that_the_system_says() {
        assert_eq!(name_of(0).unwrap(), "root");
        assert_eq!(name_of(4_000_000_000), None);
    }

    #[test]
    fn every_statement_is_one_line_and_every_name_fits_every_server() {
        for (entry, variant) in variants() {
            for method in entry.capabilities.authentication {
                let account = account_for(*method).unwrap();
                // MySQL 5.6 knows names of 16 characters at most, the others of 32.
                let longest = if variant.dialect == Dialect::MySql56 {
                    16
                } else {
                    32
                };
                assert!(account.user.len() <= longest, "{}", account.user);
                for statement in statements(&account, variant.dialect) {
                    assert!(
                        statement.ends_with(';') && !statement.contains('\n'),
                        "{statement}"
                    );
                }
            }
        }
    }
}
