//! A session: commands, goodbye.

use std::rc::Rc;

use bson::raw::{RawDocument, RawDocumentBuf};
use bson::rawdoc;
use ciphertax_base::{AuthenticationFacts, ConnectTrace};
use ciphertax_reactor::Reactor;

use super::connect::{ConnectOptions, connect_offering};
use super::identity::Identity;
use super::message::{Messages, Request};
use super::reply::Reply;
use crate::client;
use crate::error::{Result, WireError};
use crate::stream::Stream;
use crate::tls::Offer;

/// Bytes of documents that [`Session::find_all`] keeps at most.
const MOST_COLLECTED: usize = 16 << 20;

/// A connection that is logged in, or needs not be.
pub struct Session {
    pub(super) messages: Messages,
    pub(super) authentication: AuthenticationFacts,
    /// What the server said of itself before the login.
    pub(super) identity: Identity,
}

impl Session {
    pub(super) fn new(messages: Messages, authentication: AuthenticationFacts, identity: Identity) -> Self {
        Self {
            messages,
            authentication,
            identity,
        }
    }

    /// Runs a command kept in a buffer. The answer stays where it was received.
    ///
    /// # Errors
    /// The server's own, also where it carried out the command but did not write every document, and those of the
    /// connection.
    pub async fn run(&mut self, request: &mut Request) -> Result<Reply<'_>> {
        Reply::parse(self.messages.exchange(request.message()).await?)
    }

    /// Runs a command that names its database as `$db`, and keeps the answer.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub async fn command(&mut self, command: &RawDocument) -> Result<RawDocumentBuf> {
        Ok(self.messages.command(command).await?.document().to_owned())
    }

    /// All documents of a collection that match `filter`.
    ///
    /// # Errors
    /// As [`Session::run`]; and when the documents do not end in time to be kept (16 MiB).
    pub async fn find_all(
        &mut self,
        database: &str,
        collection: &str,
        filter: &RawDocument,
    ) -> Result<Vec<RawDocumentBuf>> {
        let mut ask = rawdoc! { "find": collection, "filter": filter.to_owned(), "$db": database };
        let mut found = Vec::new();
        let mut bytes = 0;
        loop {
            let reply = self.messages.command(&ask).await?;
            for document in reply.batch()? {
                let document = document?;
                bytes += document.as_bytes().len();
                if bytes > MOST_COLLECTED {
                    return Err(WireError::protocol(
                        "more documents than any question of ciphertax has",
                    ));
                }
                found.push(document.to_owned());
            }
            match reply.cursor_id()? {
                0 => return Ok(found),
                id => ask = rawdoc! { "getMore": id, "collection": collection, "$db": database },
            }
        }
    }
}

impl client::Session for Session {
    type Options = ConnectOptions;

    /// The phase `preface` is the greeting (`hello`), which here comes after TLS; without a login there is no phase `auth`.
    async fn connect(reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<(Self, ConnectTrace)> {
        connect_offering(reactor, options, Offer::WhatThereIs).await
    }

    fn authentication(&self) -> &AuthenticationFacts {
        &self.authentication
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.messages.stream)
    }

    fn stream_mut(&mut self) -> Option<&mut Stream> {
        Some(&mut self.messages.stream)
    }
}
