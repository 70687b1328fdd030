//! Servers that encrypt.

use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;

use crate::prelude::*;

pub(crate) fn plain(entry: &'static Entry) -> PrivateServerBuilder {
    PrivateServer::builder(entry).without_tls()
}

pub(crate) fn to_be_searched(entry: &'static Entry, at_rest: AtRest) -> PrivateServerBuilder {
    let storage = Storage {
        binary_log: true,
        ..Storage::default()
    };
    disk_proof::to_be_searched(plain(entry).storage(storage).at_rest(at_rest))
}

/// The distribution's plugins are those of upstream's builds too.
pub(crate) fn is_fetched(entry: &'static Entry) -> bool {
    fetched(&MARIADB).is_some() && fetched(entry).is_some()
}

/// The first value that a server of MySQL's family answers.
pub(crate) fn ask(server: &PrivateServer, question: &str) -> String {
    let options = ConnectOptions {
        socket: server.socket().map(Into::into),
        ..ciphertax_testkit::plain(server)
    };
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
        session.query(question).await.unwrap()[0].text(0)
    })
}
