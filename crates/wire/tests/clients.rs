//! What every client has in common, by one function for all of them and on real servers.

use ciphertax_base::Witness;
use ciphertax_lab::catalogue::MONGODB;
use ciphertax_wire::{Expectation, Word, mongodb, mysql};

use crate::common::*;

#[test]
fn mysqls_client_does_what_all_do() {
    let server = crate::common::server();
    let options = crate::common::encrypted(server, TlsVersion::V1_3);
    assert_eq!(what_all_do::<mysql::Session>(&options), Protocol::MySql);
    let by_socket = mysql::ConnectOptions {
        socket: server.socket().map(Path::to_owned),
        ..crate::common::plain(server)
    };
    let endpoint = mysql::Session::endpoint(&by_socket);
    assert_eq!(endpoint, Endpoint::Unix(server.socket().unwrap()));
    let over_tcp = mysql::Session::through(&by_socket, server.address());
    assert_eq!(crate::common::ask(&over_tcp).unwrap(), ["1"]);
}

#[test]
fn mongodbs_client_does_what_all_do() {
    let Some(_) = fetched(&MONGODB) else { return };
    let method = AuthenticationMethod::ScramSha256;
    let server = PrivateServer::builder(&MONGODB)
        .access_control(true)
        .account(method)
        .start()
        .unwrap();
    let account = server.account(method).unwrap();
    let login = Login::by(method, &account.user, account.password.clone()).unwrap();
    let host = server.address().ip().to_string();
    let verification = Verification::HostName(server.ca_file().unwrap().to_owned(), host.clone());
    let policy = TlsPolicy::new(TlsVersion::V1_3, verification);
    let options = mongodb::ConnectOptions {
        tls: Some(Arc::new(TlsConnector::new(&policy).unwrap())),
        ..mongodb::ConnectOptions::new(host, server.address().port(), login)
    };
    assert_eq!(what_all_do::<mongodb::Session>(&options), Protocol::MongoDb);
    let nobody = mongodb::ConnectOptions {
        login: Login::None,
        ..options
    };
    assert!(mongodb::Session::with_wrong_secret(&nobody).is_none());
}

/// A session over TLS 1.3 is opened, checked by both sides, measured, and closed; a wrong secret is refused; and so is
/// a place where nobody listens.
fn what_all_do<C: Client>(options: &C::Options) -> Protocol {
    let expectation = Expectation::new(Transport::Tls13);
    let plain = Expectation::new(Transport::Plain);
    run(async |reactor| {
        C::warm_up(reactor, options, 1).await.unwrap();
        let (session, trace) = C::connect(reactor, options).await.unwrap();
        assert!(trace.phases().count() > 0);
        let opened = session.traffic();
        assert!(opened.sent > 0 && opened.received > 0);
        session.close().await.unwrap();

        let mut session = C::connect_as(reactor, options, &expectation).await.unwrap();
        expectation.check(&session).unwrap();
        plain.check(&session).unwrap_err();
        let word = session.check_by_server(options, &expectation).await.unwrap();
        let Word::Agrees(proof) = word else {
            panic!("{word:?}")
        };
        // MongoDB says nothing of the TLS of a single session.
        let witness = match C::PROTOCOL {
            Protocol::MongoDb => Witness::Authentication,
            _ => Witness::Server,
        };
        assert_eq!(proof.witness, witness);
        let facts = session.facts().await.unwrap();
        assert_eq!(facts.tls.unwrap().version, "TLSv1.3");
        assert!(!facts.server_version.is_empty());
        session.close().await.unwrap();

        let (what, wrong) = C::with_wrong_secret(options).unwrap();
        assert_eq!(what, "a wrong password");
        let refusal = C::connect(reactor, &wrong).await.err().unwrap();
        assert!(refusal.is_access_denied(), "{refusal}");

        let elsewhere = C::through(options, SocketAddr::from((Ipv4Addr::LOCALHOST, 1)));
        let refusal = C::connect(reactor, &elsewhere).await.err().unwrap();
        assert!(refusal.is_disconnect(), "{refusal}");
    });
    C::PROTOCOL
}
