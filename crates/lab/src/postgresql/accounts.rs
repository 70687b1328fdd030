//! The accounts of private PostgreSQL servers, and the statements that make them.

use ciphertax_model::{AuthenticationMethod, Secret};

use crate::accounts::{Account, USER};
use crate::error::Result;
use crate::server::spec::Spec;

use super::verifier::{SCRAM_ITERATIONS, md5, scram};

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

/// One more account, for logins by this method.
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
}
