//! What arms are measured on: the wall behind which it matters which database it is.

use std::collections::BTreeMap;

use ciphertax_model::{Arm, Link, Study, Tunnel};
use ciphertax_observe::Meter;
use ciphertax_records::{LinkRecord, ServerRecord, SessionRecord};

use crate::access::Access;
use crate::error::RunError;
use crate::mysql::MySqlHost;

/// A server, or several that form one database, with a session for what is not measured.
pub(crate) trait Host {
    /// What the report says of it so far.
    fn record(&self) -> ServerRecord;

    /// Proves an arm, and tells how it is reached.
    ///
    /// # Errors
    /// When the arm cannot be had, or is not what it says.
    fn prove(&mut self, arm: &Arm) -> Result<ProvedArm, RunError>;

    /// Makes the data sets that the study's cells ask. `progress` hears the rows that are there, and of how many.
    ///
    /// # Errors
    /// When they cannot be made, or what is there is not ciphertax's own.
    fn load(&mut self, study: &Study, progress: &mut dyn FnMut(u64, u64)) -> Result<(), RunError>;

    /// Its own counters now, [`UPTIME`] among them.
    ///
    /// # Errors
    /// When it does not answer.
    fn counters(&mut self) -> Result<BTreeMap<String, i64>, RunError>;

    /// Reads what its processes use, where they run on this machine and can be found.
    fn meter(&self) -> &dyn Meter;

    /// Why it is gone; `None` while it lives, or if that cannot be seen from here.
    fn death(&self) -> Option<String>;

    /// The only CPU of a private server, where the load must run too.
    fn cpu(&self) -> Option<usize>;

    /// Makes sure that it remembers what a warm login finds there, before a program makes one.
    fn remind(&self, _access: &Access) {}

    /// Reads what a tunnel uses, on both its sides; `None` where there is no such tunnel.
    fn tunnel_meter(&self, _tunnel: Tunnel) -> Option<&dyn Meter> {
        None
    }

    /// Puts it at the distance of a cell that is measured on it.
    ///
    /// # Errors
    /// When what keeps the distance is gone.
    fn set_distance(&mut self, _wanted: Option<Link>) -> Result<(), RunError> {
        Ok(())
    }

    /// How it was kept at a distance so far; `None` without one.
    fn link_record(&self) -> Option<LinkRecord> {
        None
    }

    /// Itself, if it speaks MySQL's protocol: programs of the user's own are made for those servers alone.
    fn as_mysql(&mut self) -> Option<&mut MySqlHost> {
        None
    }

    /// Removes the data sets, and the servers if they are private.
    ///
    /// # Errors
    /// If something is left behind.
    fn close(self: Box<Self>) -> Result<(), RunError>;
}

/// The counter that falls when a server was restarted.
pub(crate) const UPTIME: &str = "Uptime";

/// An arm that is what it says.
pub(crate) struct ProvedArm {
    pub(crate) access: Access,
    pub(crate) session: SessionRecord,
}
