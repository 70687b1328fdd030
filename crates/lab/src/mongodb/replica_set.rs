//! What can be done with a private replica set once it runs.

use std::net::SocketAddr;

use crate::error::Result;
use crate::server::PrivateServer;

use super::set_up::{self, SET_NAME};

/// Of replica sets alone.
impl PrivateServer {
    /// The replica set's name; `None` for a server that is none.
    pub fn set_name(&self) -> Option<&'static str> {
        self.replica_set().map(|_| SET_NAME)
    }

    /// The primary of the replica set.
    ///
    /// # Errors
    /// If there is none, and none is elected in time.
    pub fn primary(&self) -> Result<SocketAddr> {
        set_up::primary(self.entry(), &self.addresses())
    }

    /// Makes the primary of the replica set step down, waits until there is another, and returns where that is reached.
    ///
    /// # Errors
    /// If there is no primary, it does not step down, or no other is elected in time.
    pub fn step_down(&self) -> Result<SocketAddr> {
        set_up::step_down(self.entry(), &self.addresses(), self.default_account())
    }
}
