//! The wrong passwords by which logins are proved on a server of the user's own: how many, and what they do to an account.

use crate::common::*;

/// An account that may be locked, unlike one with all rights, and its URL.
fn account(server: &OwnServer) -> String {
    server.query("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'tr0ub4dor'");
    server.query("GRANT ALL ON ciphertax.* TO app@'127.0.0.1'");
    server.app_url()
}

/// What an arm was proved by.
fn claims(sandbox: &Sandbox) -> String {
    let run = record(&sandbox.run());
    let proofs = run.head.arms.iter().flat_map(|arm| &arm.sessions[0].proofs);
    proofs
        .map(|proof| proof.claim.clone())
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn one_wrong_password_proves_the_logins_of_all_arms() {
    let server = OwnServer::start();
    let target = account(&server);
    let denied = || -> u64 {
        let counted = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Access_denied_errors'";
        server.query(counted)[0].parse().unwrap()
    };
    for (more, tried) in [(&[][..], 1), (&["--no-wrong-logins"], 0)] {
        let before = denied();
        let sandbox = Sandbox::new();
        start_study(&sandbox, &target, more).finish().measured();
        assert_eq!(denied() - before, tried);
        let claims = claims(&sandbox);
        let found = claims.matches("a wrong password is refused").count();
        assert_eq!(found, 4 * tried as usize, "{claims}");
    }
}

#[test]
fn an_account_that_one_wrong_password_locks_is_not_locked() {
    let server = OwnServer::start();
    let target = account(&server);
    server.query("SET GLOBAL max_password_errors = 1");
    let says = refused(
        &target,
        "max_password_errors = 1 … --no-wrong-logins goes without it",
    );
    assert!(!says.contains("tr0ub4dor"), "{says}");
    let sandbox = Sandbox::new();
    start_study(&sandbox, &target, &["--no-wrong-logins"])
        .finish()
        .measured();
}

mod test_all {
    use ciphertax_lab::catalogue::MARIADB_11_8;

    use super::*;

    #[test]
    fn an_account_with_two_plugins_is_measured_by_whichever_lets_it_in() {
        if fetched(&MARIADB_11_8).is_none() {
            return;
        }
        let methods = [AuthenticationMethod::Ed25519, AuthenticationMethod::Parsec];
        let server = OwnServer::start_of(&MARIADB_11_8, |server| {
            methods
                .into_iter()
                .fold(server, |server, method| server.account(method))
        });
        for (passwords, method) in [
            (["tr0ub4dor", "another"], "ed25519"),
            (["another", "tr0ub4dor"], "parsec"),
        ] {
            let [first, second] = passwords.map(|password| format!("USING PASSWORD('{password}')"));
            server.session(|query| {
                query(&format!(
                    "CREATE OR REPLACE USER app@'%' IDENTIFIED VIA ed25519 {first} OR parsec {second}"
                ));
                query("GRANT ALL ON ciphertax.* TO app@'%'");
            });
            let sandbox = Sandbox::new();
            start_study(&sandbox, &server.app_url(), &[]).finish().measured();
            let claims = claims(&sandbox);
            let found = claims.matches("a wrong password is refused").count();
            assert_eq!(found, 4, "{claims}");
            let run = record(&sandbox.run());
            let session = &run.head.arms[0].sessions[0];
            assert_eq!(session.facts.authentication.method, method);
        }
    }
}
