//! A MongoDB that ciphertax is given by URL: the "user's own".

use std::fmt::Display;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ciphertax_lab::catalogue::MONGODB;
use ciphertax_lab::{PrivateServer, PrivateServerBuilder};
use ciphertax_model::{AuthenticationMethod, CertificateKind};
use ciphertax_reactor::Reactor;
use ciphertax_supervise::GuardProgram;
use ciphertax_wire::mongodb::bson::{RawArrayBuf, RawDocument, RawDocumentBuf, rawdoc};
use ciphertax_wire::mongodb::{ConnectOptions, Login, Session};

use super::PATIENCE;

pub(crate) struct OwnMongoDb {
    server: PrivateServer,
}

impl OwnMongoDb {
    /// A server with TLS and access control.
    pub(crate) fn start() -> Self {
        Self::start_with(|builder| builder)
    }

    pub(crate) fn start_with(set_up: impl FnOnce(PrivateServerBuilder) -> PrivateServerBuilder) -> Self {
        ciphertax_lab::install(&MONGODB, &AtomicBool::new(false), &mut |_| {}).unwrap();
        let guard = GuardProgram::new(env!("CARGO_BIN_EXE_ciphertax"));
        let builder = set_up(PrivateServer::builder(&MONGODB).guard(guard));
        Self {
            server: builder.start().unwrap(),
        }
    }

    pub(crate) fn user(&self) -> &str {
        self.server.user()
    }

    /// Where a member of its replica set is reached that is not the primary.
    pub(crate) fn secondary(&self) -> SocketAddr {
        let primary = self.server.primary().unwrap();
        let mut members = self.server.addresses().into_iter();
        members.find(|member| *member != primary).unwrap()
    }

    pub(crate) fn password(&self) -> &str {
        self.server.password().expose()
    }

    /// Its URL without the password and options.
    pub(crate) fn url(&self) -> String {
        format!("mongodb://{}@{}/", self.server.user(), self.hosts())
    }

    /// Its URL with a password.
    pub(crate) fn url_with(&self, password: impl Display) -> String {
        format!("mongodb://{}:{password}@{}/", self.server.user(), self.hosts())
    }

    /// Where it is reached, as in a URL.
    pub(crate) fn hosts(&self) -> String {
        let members: Vec<String> = self.server.addresses().iter().map(ToString::to_string).collect();
        members.join(",")
    }

    pub(crate) fn ca_file(&self) -> &Path {
        self.server.ca_file().unwrap()
    }

    /// Certificate and key of a client in one file, for the account of `MONGODB-X509`.
    pub(crate) fn client_file(&self) -> PathBuf {
        let files = self.server.client_certificate(CertificateKind::EcdsaP256);
        let files = files.unwrap().unwrap();
        let both = [fs::read(files.certificate).unwrap(), fs::read(files.key).unwrap()].concat();
        let path = self.server.folder().join("client-both.pem");
        fs::write(&path, both).unwrap();
        path
    }

    /// Keeps a session with the primary as long as `use_it` lasts, which asks it something.
    pub(crate) fn session<T>(
        &self,
        use_it: impl FnOnce(&mut dyn FnMut(&RawDocument) -> RawDocumentBuf) -> T,
    ) -> T {
        let reactor: Rc<Reactor> = Reactor::new().unwrap();
        let address = match self.server.replica_set() {
            Some(_) => self.server.primary().unwrap(),
            None => self.server.address(),
        };
        let method = AuthenticationMethod::ScramSha256;
        let account = self.server.account(method);
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

    /// True if it has a database of this name.
    pub(crate) fn has(&self, database: &str) -> bool {
        self.contents().iter().any(|(name, _)| name == database)
    }
}
