//! The accounts of private PostgreSQL servers, the statements that make them, what a server keeps of their passwords, and who may
//! log in how (`pg_hba.conf`).

use ciphertax_base::Secret;
use ciphertax_model::AuthenticationMethod;
use openssl::base64::encode_block;
use openssl::error::ErrorStack;
use openssl::hash::{MessageDigest, hash};
use openssl::pkcs5::pbkdf2_hmac;
use openssl::pkey::PKey;
use openssl::sha::sha256;
use openssl::sign::Signer;

use super::cluster::SUPERUSER;
use crate::accounts::{Account, USER};
use crate::error::Result;
use crate::files::hexadecimal;
use crate::server::spec::Spec;

/// The database that clients of private servers are in.
pub const DATABASE: &str = "postgres";

/// The common name of client certificates: the user that logs in by one has the same name.
pub(super) const CERTIFICATE_USER: &str = "ciphertax_cert";

/// The default account, and those asked for.
pub(super) fn accounts(spec: &Spec) -> Result<Vec<Account>> {
    let further = spec.accounts.iter().map(|method| account_for(*method));
    let scram = spec.scram_accounts.iter();
    let scram = scram.map(|(method, iterations)| scram_account(*method, *iterations));
    std::iter::once(Account::default_of(spec.entry))
        .chain(further)
        .chain(scram)
        .map(|account| with_verifier(account?))
        .collect()
}

/// The statements that make an account. None holds a password: the server is told what it keeps of it.
pub(super) fn statements(account: &Account) -> Vec<String> {
    let user = &account.user;
    let verifier = account.verifier.as_ref();
    let password = verifier.map_or("NULL".into(), |verifier| format!("'{}'", verifier.expose()));
    let mut statements = if account.method == AuthenticationMethod::Trust {
        // Everybody on this machine can be this one, so it may do nothing but with data: a superuser can run programs.
        vec![
            format!("CREATE ROLE {user} LOGIN PASSWORD {password}"),
            format!("GRANT pg_read_all_data, pg_write_all_data, pg_monitor TO {user}"),
            format!("GRANT CREATE ON DATABASE {DATABASE} TO {user}"),
        ]
    } else {
        vec![format!("CREATE ROLE {user} LOGIN SUPERUSER PASSWORD {password}")]
    };
    // Behind a pooler a session is not asked for it when it begins.
    statements.push(format!("ALTER ROLE {user} SET search_path = {USER}, public"));
    statements
}

/// With what the server keeps of its password.
fn with_verifier(account: Account) -> Result<Account> {
    let verifier = match account.method {
        AuthenticationMethod::Trust | AuthenticationMethod::Cert => None,
        AuthenticationMethod::Md5 => Some(md5(&account.user, &account.password)?),
        _ => {
            let iterations = account.scram_iterations.unwrap_or(SCRAM_ITERATIONS);
            Some(scram(&account.password, iterations)?)
        }
    };
    Ok(Account {
        verifier: verifier.map(Secret::new),
        ..account
    })
}

fn account_for(method: AuthenticationMethod) -> Result<Account> {
    match method {
        AuthenticationMethod::Cert => Ok(Account::without_password(CERTIFICATE_USER, method)),
        AuthenticationMethod::Trust => Ok(Account::without_password(name_for(method), method)),
        _ => Account::with_password(name_for(method), method),
    }
}

/// One more account, for logins by this method of SCRAM with keys of so many iterations.
fn scram_account(method: AuthenticationMethod, iterations: u32) -> Result<Account> {
    let account = Account::with_password(format!("{}_{iterations}", name_for(method)), method)?;
    Ok(Account {
        scram_iterations: Some(iterations),
        ..account
    })
}

/// In lower case and without dashes: it needs no quotes then.
fn name_for(method: AuthenticationMethod) -> String {
    let method = method.name().to_lowercase().replace('-', "_");
    format!("{USER}_{method}")
}

/// Iterations of SCRAM unless an account asks for others: PostgreSQL's own.
pub(crate) const SCRAM_ITERATIONS: u32 = 4096;

/// Random bytes in the salt of SCRAM, as many as PostgreSQL takes.
const SALT_BYTES: usize = 16;

/// Bytes of a key of SCRAM-SHA-256.
const KEY_BYTES: usize = 32;

/// `SCRAM-SHA-256$ITERATIONS:SALT$STORED KEY:SERVER KEY` (RFC 5803's contents in PostgreSQL's form), with a random salt.
///
/// The client makes it: so the password itself never reaches the server's statements and logs, and the keys have as many iterations as
/// an account is to have, whatever the server's setting.
pub(crate) fn scram(password: &Secret, iterations: u32) -> Result<String, ErrorStack> {
    let mut salt = [0; SALT_BYTES];
    openssl::rand::rand_bytes(&mut salt)?;
    scram_with_salt(password, iterations, &salt)
}

/// RFC 5802, section 3. Passwords of ciphertax are of ASCII, which SASLprep leaves as it is.
fn scram_with_salt(password: &Secret, iterations: u32, salt: &[u8]) -> Result<String, ErrorStack> {
    let mut salted = [0; KEY_BYTES];
    let sha256_digest = MessageDigest::sha256();
    // Far below what either takes.
    let rounds = iterations as usize;
    pbkdf2_hmac(
        password.expose().as_bytes(),
        salt,
        rounds,
        sha256_digest,
        &mut salted,
    )?;
    let stored_key = sha256(&hmac(&salted, b"Client Key")?);
    let server_key = hmac(&salted, b"Server Key")?;
    Ok(format!(
        "SCRAM-SHA-256${iterations}:{}${}:{}",
        encode_block(salt),
        encode_block(&stored_key),
        encode_block(&server_key)
    ))
}

/// `md5` and MD5(password and user) in hexadecimal.
pub(super) fn md5(user: &str, password: &Secret) -> Result<String, ErrorStack> {
    let salted = format!("{}{user}", password.expose());
    let digest = hash(MessageDigest::md5(), salted.as_bytes())?;
    Ok(format!("md5{}", hexadecimal(&digest)))
}

fn hmac(key: &[u8], text: &[u8]) -> Result<Vec<u8>, ErrorStack> {
    let key = PKey::hmac(key)?;
    let mut signer = Signer::new(MessageDigest::sha256(), &key)?;
    signer.update(text)?;
    signer.sign_to_vec()
}

/// The lines for these accounts, on a server with TLS or without.
///
/// The first line that fits decides, and one ends with `reject` for all whom none fits. The superuser of the data folder has no
/// password: it may log in by the Unix socket alone, which lies in the data folder, where only those come who may change its files too.
pub(super) fn hba_lines(accounts: &[Account], tls: bool) -> String {
    let superuser = format!("local all {SUPERUSER} trust\n");
    let others = accounts.iter().flat_map(|account| lines_of(account, tls));
    let rest = ["local all all reject\n", "host all all all reject\n"].map(String::from);
    std::iter::once(superuser).chain(others).chain(rest).collect()
}

/// What `pg_hba.conf`, and its like of poolers, call a method.
pub(crate) fn hba_method(method: AuthenticationMethod) -> &'static str {
    match method {
        AuthenticationMethod::Trust => "trust",
        AuthenticationMethod::Password => "password",
        AuthenticationMethod::Md5 => "md5",
        AuthenticationMethod::Cert => "cert",
        _ => "scram-sha-256",
    }
}

fn lines_of(account: &Account, tls: bool) -> Vec<String> {
    let method = hba_method(account.method);
    let needs_tls = matches!(
        account.method,
        AuthenticationMethod::Cert | AuthenticationMethod::ScramSha256Plus
    );
    let user = &account.user;
    let with_tls = tls.then(|| format!("hostssl all {user} all {method}\n"));
    let without = (!needs_tls).then(|| {
        [
            format!("hostnossl all {user} all {method}\n"),
            format!("local all {user} {method}\n"),
        ]
    });
    with_tls
        .into_iter()
        .chain(without.into_iter().flatten())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::POSTGRESQL;

    #[test]
    fn every_account_has_a_name_of_its_own_that_needs_no_quotes() {
        let mut spec = Spec::new(&POSTGRESQL);
        spec.accounts = POSTGRESQL.capabilities.authentication.to_vec();
        for iterations in [1, 1_000_000] {
            spec.scram_accounts
                .push((AuthenticationMethod::ScramSha256Plus, iterations));
        }
        let accounts = accounts(&spec).unwrap();
        let names: std::collections::BTreeSet<&str> =
            accounts.iter().map(|account| account.user.as_str()).collect();
        assert_eq!(names.len(), 9);
        // The server cuts off what is longer.
        let fits = |name: &&str| {
            name.len() < 64
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        assert!(names.iter().all(fits), "{names:?}");
    }

    #[test]
    fn no_statement_holds_a_password_and_whom_everybody_can_be_is_no_superuser() {
        for method in POSTGRESQL.capabilities.authentication {
            let account = with_verifier(account_for(*method).unwrap()).unwrap();
            let statements = statements(&account).join(";");
            let password = account.password.expose();
            assert!(password.is_empty() || !statements.contains(password));
            let is_superuser = statements.contains("SUPERUSER");
            assert_eq!(
                is_superuser,
                *method != AuthenticationMethod::Trust,
                "{statements}"
            );
        }
    }

    /// The example of RFC 7677: its server signature and client proof follow from these keys.
    #[test]
    fn the_keys_of_scram_are_those_of_the_standard() {
        let salt = openssl::base64::decode_block("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        assert_eq!(
            scram_with_salt(&Secret::new("pencil"), 4096, &salt).unwrap(),
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
             WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
    }

    #[test]
    fn every_verifier_has_a_salt_of_its_own() {
        let password = Secret::new("123");
        assert_ne!(scram(&password, 1).unwrap(), scram(&password, 1).unwrap());
    }

    /// `md5sum` of `123alice`.
    #[test]
    fn the_hash_of_md5_is_the_servers_own() {
        let hash = md5("alice", &Secret::new("123")).unwrap();
        assert_eq!(hash, "md50b858e6d2f822778434e63f0c8ee6c89");
    }

    #[test]
    fn each_account_has_lines_for_its_method_and_the_rest_is_rejected() {
        let account = |user: &str, method| Account::without_password(user, method);
        let accounts = [
            account("a", AuthenticationMethod::ScramSha256),
            account("b", AuthenticationMethod::Cert),
        ];
        assert_eq!(
            hba_lines(&accounts, true),
            "local all postgres trust\n\
             hostssl all a all scram-sha-256\n\
             hostnossl all a all scram-sha-256\n\
             local all a scram-sha-256\n\
             hostssl all b all cert\n\
             local all all reject\n\
             host all all all reject\n"
        );
        assert!(!hba_lines(&accounts, false).contains("hostssl"));
    }
}
