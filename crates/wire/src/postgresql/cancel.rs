//! Stopping what a session is doing, over a connection of its own.

use std::fmt;
use std::rc::Rc;

use ciphertax_reactor::Reactor;

use super::opening::open;
use super::options::ConnectOptions;
use crate::error::WireError;
use crate::tls::Offer;
use crate::trace::Tracer;

/// The number that says that a connection is there to cancel (CancelRequest).
const CANCEL: i32 = 80_877_102;

/// What stops the statement that a session is executing. Whoever has it can do so.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CancelKey {
    process: i32,
    secret: Vec<u8>,
}

impl CancelKey {
    pub(super) fn new(process: i32, secret: &[u8]) -> Self {
        Self {
            process,
            secret: secret.to_vec(),
        }
    }

    /// True if the server gave none: then it cancels nothing.
    pub fn is_none(&self) -> bool {
        self.secret.is_empty()
    }

    /// The server's process of the session; 0 if it has not told.
    pub fn process(&self) -> i32 {
        self.process
    }

    /// Asks the server to stop what the session is doing, over a connection as `options` say, encrypted where they are. The
    /// server does not say whether it did: if it did, the statement ends with the error 57014.
    ///
    /// # Errors
    /// Those of connecting; and where the server gave no key.
    pub async fn cancel(&self, reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<(), WireError> {
        if self.is_none() {
            return Err(WireError::Request("the server gave no key to cancel by".into()));
        }
        let mut messages = open(reactor, options, Offer::WhatThereIs, &mut Tracer::start()).await?;
        messages.stream.close(&self.message()).await?;
        Ok(())
    }

    fn message(&self) -> Vec<u8> {
        let length = (12 + self.secret.len()) as u32;
        [
            &length.to_be_bytes(),
            &CANCEL.to_be_bytes(),
            &self.process.to_be_bytes(),
            self.secret.as_slice(),
        ]
        .concat()
    }
}

impl fmt::Debug for CancelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CancelKey({}, ***)", self.process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_any_length_is_sent_back_whole_and_never_shown() {
        let key = CancelKey::new(7, b"abcd");
        assert_eq!(key.message(), b"\0\0\0\x10\x04\xD2\x16\x2E\0\0\0\x07abcd");
        assert_eq!(format!("{key:?}"), "CancelKey(7, ***)");
        assert_eq!(CancelKey::new(7, &[1; 32]).message().len(), 44);
        assert!(CancelKey::default().is_none() && !key.is_none());
    }
}
