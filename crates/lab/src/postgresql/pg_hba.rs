//! Who may log in to a private server, and how (`pg_hba.conf`).
//!
//! The first line that fits decides, and one ends with `reject` for all whom none fits. The superuser of the data folder
//! has no password: it may log in by the Unix socket alone, which lies in the data folder, where only those come who may
//! change its files too.

use ciphertax_model::AuthenticationMethod;

use crate::accounts::Account;

use super::cluster::SUPERUSER;

/// The lines for these accounts, on a server with TLS or without.
pub(super) fn lines(accounts: &[Account], tls: bool) -> String {
    let superuser = format!("local all {SUPERUSER} trust\n");
    let others = accounts.iter().flat_map(|account| lines_of(account, tls));
    let rest = ["local all all reject\n", "host all all all reject\n"].map(String::from);
    std::iter::once(superuser).chain(others).chain(rest).collect()
}

fn lines_of(account: &Account, tls: bool) -> Vec<String> {
    let (method, needs_tls) = match account.method {
        AuthenticationMethod::Trust => ("trust", false),
        AuthenticationMethod::Password => ("password", false),
        AuthenticationMethod::Md5 => ("md5", false),
        AuthenticationMethod::Cert => ("cert", true),
        AuthenticationMethod::ScramSha256Plus => ("scram-sha-256", true),
        _ => ("scram-sha-256", false),
    };
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

    #[test]
    fn each_account_has_lines_for_its_method_and_the_rest_is_rejected() {
        let account = |user: &str, method| Account::without_password(user, method);
        let accounts = [
            account("a", AuthenticationMethod::ScramSha256),
            account("b", AuthenticationMethod::Cert),
        ];
        assert_eq!(
            lines(&accounts, true),
            "local all postgres trust\n\
             hostssl all a all scram-sha-256\n\
             hostnossl all a all scram-sha-256\n\
             local all a scram-sha-256\n\
             hostssl all b all cert\n\
             local all all reject\n\
             host all all all reject\n"
        );
        assert!(!lines(&accounts, false).contains("hostssl"));
    }
}
