//! A MongoDB that ciphertax is given by URL.

use ciphertax_wire::Session as _;
use std::rc::Rc;

use ciphertax_wire::mongodb::bson::{RawDocument, RawDocumentBuf};
use ciphertax_wire::mongodb::{ConnectOptions, Session};

use super::own::Own;
use crate::common::*;

pub(crate) struct OwnMongoDb(Own);

impl Deref for OwnMongoDb {
    type Target = Own;

    fn deref(&self) -> &Own {
        &self.0
    }
}

impl OwnMongoDb {
    /// A server with TLS and access control.
    pub(crate) fn start() -> Self {
        Self::start_with(|builder| builder)
    }

    pub(crate) fn start_with(set_up: impl FnOnce(PrivateServerBuilder) -> PrivateServerBuilder) -> Self {
        Self(Own::start(&MONGODB, set_up))
    }

    /// Where a member of its replica set is reached that is not the primary.
    pub(crate) fn secondary(&self) -> SocketAddr {
        let primary = self.0.server.primary().unwrap();
        let mut members = self.0.server.addresses().into_iter();
        members.find(|member| *member != primary).unwrap()
    }

    /// Certificate and key of a client in one file, for the account of `MONGODB-X509`.
    pub(crate) fn client_file(&self) -> PathBuf {
        let files = self.client_files();
        let both = [fs::read(files.certificate).unwrap(), fs::read(files.key).unwrap()].concat();
        let path = self.0.server.folder().join("client-both.pem");
        fs::write(&path, both).unwrap();
        path
    }

    /// Keeps a session with the primary as long as `use_it` lasts, which asks it something.
    pub(crate) fn session<T>(
        &self,
        use_it: impl FnOnce(&mut dyn FnMut(&RawDocument) -> RawDocumentBuf) -> T,
    ) -> T {
        let address = match self.0.server.replica_set {
            Some(_) => self.0.server.primary().unwrap(),
            None => self.0.server.address(),
        };
        self.session_at(address, use_it)
    }

    /// The same with one of its members.
    fn session_at<T>(
        &self,
        address: SocketAddr,
        use_it: impl FnOnce(&mut dyn FnMut(&RawDocument) -> RawDocumentBuf) -> T,
    ) -> T {
        let reactor: Rc<Reactor> = Reactor::new().unwrap();
        let method = AuthenticationMethod::ScramSha256;
        let account = self.0.server.account(method);
        let login = account.and_then(|account| Login::by(method, &account.user, account.password.clone()));
        let options = ConnectOptions::new(
            address.ip().to_string(),
            address.port(),
            login.unwrap_or(Login::None),
        );
        let connected = reactor.run_one(Session::connect(&reactor, &options), Instant::now() + PATIENCE);
        let (mut session, _) = connected.unwrap().unwrap().unwrap();
        let result = use_it(&mut |command| {
            let answer = reactor.run_one(session.command(command), Instant::now() + PATIENCE);
            answer.unwrap().unwrap().unwrap()
        });
        let closed = reactor.run_one(session.close(), Instant::now() + PATIENCE);
        closed.unwrap().unwrap().unwrap();
        result
    }

    /// The answer to a command.
    pub(crate) fn ask(&self, command: &RawDocument) -> RawDocumentBuf {
        self.session(|ask| ask(command))
    }

    /// Has the secondaries write nothing while they go on to vote, or write again.
    pub(crate) fn hold_secondaries(&self, is_held: bool) {
        let primary = self.0.server.primary().unwrap();
        for member in self.nodes().into_iter().filter(|member| *member != primary) {
            let command = match is_held {
                true => rawdoc! { "fsync": 1_i32, "lock": true, "$db": "admin" },
                false => rawdoc! { "fsyncUnlock": 1_i32, "$db": "admin" },
            };
            self.session_at(member, |ask| ask(&command));
        }
    }

    /// Writes documents.
    pub(crate) fn insert(
        &self,
        database: &str,
        collection: &str,
        documents: impl IntoIterator<Item = RawDocumentBuf>,
    ) {
        let documents: RawArrayBuf = documents.into_iter().collect();
        self.ask(&rawdoc! { "insert": collection, "documents": documents, "$db": database });
    }

    /// Has it refuse sessions without TLS.
    pub(crate) fn demand_tls(&self) {
        self.session(|ask| {
            for mode in ["preferTLS", "requireTLS"] {
                ask(&rawdoc! { "setParameter": 1_i32, "tlsMode": mode, "$db": "admin" });
            }
        });
    }

    /// All its databases with the hash of what each of them holds; none for those of its own.
    pub(crate) fn contents(&self) -> Vec<(String, String)> {
        let list = self.ask(&rawdoc! { "listDatabases": 1_i32, "nameOnly": true, "$db": "admin" });
        let names = list.get_array("databases").unwrap().into_iter();
        let names = names.map(|database| database.unwrap().as_document().unwrap().get_str("name").unwrap());
        let mut contents: Vec<(String, String)> = names
            .map(|name| {
                let is_its_own = ["admin", "config", "local"].contains(&name);
                let hash = || self.ask(&rawdoc! { "dbHash": 1_i32, "$db": name });
                let hash = (!is_its_own).then(|| hash().get_str("md5").unwrap().to_owned());
                (name.to_owned(), hash.unwrap_or_default())
            })
            .filter(|(name, _)| name != "config")
            .collect();
        contents.sort();
        contents
    }
}
