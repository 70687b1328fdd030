//! Arms that are not what they say: each is caught as an error before anything is written or measured.

use crate::common::{OwnServer, Sandbox, another_ca};

#[test]
fn a_tls_arm_whose_server_has_a_certificate_of_another_authority() {
    let server = OwnServer::start();
    let (_elsewhere, other_ca) = another_ca();
    let before = server.schemas();
    let options = format!("?ssl-ca={}", other_ca.display());
    caught(&server, &options, &["signed by another CA", "ssl-ca must name"]);
    assert_eq!(server.schemas(), before);
}

#[test]
fn a_tls_arm_on_a_server_without_tls() {
    let server = OwnServer::start_with(|builder| builder.without_tls());
    let before = server.schemas();
    caught(
        &server,
        "",
        &["arm tls1.3", "does not offer TLS", "switch TLS on"],
    );
    assert_eq!(server.schemas(), before);
}

#[test]
fn a_target_that_is_encrypted_when_the_server_can() {
    let sandbox = Sandbox::new();
    for option in ["ssl-mode=PREFERRED", "tls=preferred"] {
        let target = format!("mysql://app:secret@127.0.0.1/?{option}");
        let finished = sandbox.finish(&["quick", &target, "--out", "run"]);
        finished.refuses(&[option, "encrypts silently", "leave it out"]);
        assert!(!sandbox.run().exists());
    }
}

fn caught(server: &OwnServer, options: &str, words: &[&str]) {
    let sandbox = Sandbox::new();
    let target = format!("{}{options}", server.url_with(server.password()));
    let finished = sandbox.finish(&["quick", &target, "--time", "2", "--out", "run"]);
    finished.refuses(words);
    assert!(!finished.stderr.contains(server.password()));
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
}
