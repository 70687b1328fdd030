//! The accounts of private MongoDB servers.

use ciphertax_model::AuthenticationMethod;

use crate::accounts::{Account, USER};
use crate::error::Result;
use crate::server::spec::Spec;

/// The common name of client certificates that MongoDB takes for an account. It takes one for a server of its own
/// deployment if organisation and unit are those of the server's certificate, and these have neither.
pub(super) const X509_COMMON_NAME: &str = "ciphertax_x509";

/// The default account, and those asked for.
pub(super) fn accounts(spec: &Spec) -> Result<Vec<Account>> {
    let default = if spec.access_control {
        Account::default_of(spec.entry)
    } else {
        Ok(Account::without_password("", AuthenticationMethod::NoLogin))
    };
    let others = spec.accounts.iter().copied();
    let others = others.filter(|method| *method != AuthenticationMethod::NoLogin);
    std::iter::once(default).chain(others.map(account_for)).collect()
}

/// One more account, for logins by this method.
fn account_for(method: AuthenticationMethod) -> Result<Account> {
    let name = match method {
        AuthenticationMethod::MongodbX509 => {
            // The subject of its certificate.
            let subject = format!("CN={X509_COMMON_NAME}");
            return Ok(Account::without_password(subject, method));
        }
        AuthenticationMethod::ScramSha1 => "scram_sha_1",
        AuthenticationMethod::ScramSha256 => "scram_sha_256",
        other => other.name(),
    };
    Account::with_password(format!("{USER}_{name}"), method)
}
