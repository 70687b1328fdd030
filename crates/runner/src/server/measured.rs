//! A server as a slice sees it, and as the report does.

use std::collections::BTreeMap;

use ciphertax_base::CpuTime;
use ciphertax_lab::page_cache::Dropped;
use ciphertax_model::Arm;
use ciphertax_observe::{Device, Meter};
use ciphertax_records::why::WaitEvents;
use ciphertax_records::{ServerId, VoidReason};

use crate::agent::AgentMeter;
use crate::error::Result;
use crate::meter::ServedBy;

/// What a slice needs of a server, whatever the database.
pub(crate) trait Server {
    /// Its own counters now, [`UPTIME`](crate::counters::UPTIME) among them where it is known.
    fn counters(&mut self) -> Result<BTreeMap<String, i64>>;

    /// The first process of each of its servers, as far as they can be seen from here; none for a database in the load threads.
    fn pids(&self) -> Vec<u32> {
        Vec::new()
    }

    fn served_by(&self) -> ServedBy {
        ServedBy::Threads
    }

    /// Begins to ask it what its sessions wait for, until [`Server::wait_events`]; nothing for one that does not say.
    fn ask_for_wait_events(&mut self) {}

    /// Ends that, and gives what it said.
    fn wait_events(&mut self) -> Option<WaitEvents> {
        None
    }

    /// Changes it as the probe of an arm says, until [`Server::undo_probe`]; nothing for an arm without one.
    ///
    /// # Errors
    /// When it refuses or does not answer; some of it may be changed then.
    fn apply_probe(&mut self, _arm: &Arm) -> Result<()> {
        Ok(())
    }

    /// Changes back what [`Server::apply_probe`] has changed.
    fn undo_probe(&mut self) -> Result<()> {
        Ok(())
    }

    /// Reads what its processes use, where they run on this machine and can be found.
    fn meter(&self) -> &dyn Meter;

    /// What the daemon of a file system in user space uses, which reads and writes the disk in the server's place; `None`
    /// where there is none.
    fn daemon(&self) -> Option<&dyn Meter> {
        None
    }

    /// True if what it reads comes from the kernel's memory where that has it; false where that cannot be told.
    fn reads_through_page_cache(&self) -> bool {
        false
    }

    /// Has the kernel forget what it keeps of its files; `None` for a server of the user's own.
    fn drop_cached(&self) -> Result<Option<Dropped>> {
        Ok(None)
    }

    /// The block device under its folder; `None` for a server of the user's own, and where there is none.
    fn device(&self) -> Option<&Device> {
        None
    }

    /// CPU time so far of what works for the file system under its folder and for nobody else, outside of its processes: a daemon,
    /// the thread of a journal. `None` where nothing does, and if one of them has ended.
    fn file_system_cpu(&self) -> Option<CpuTime> {
        None
    }

    /// True for a database in the load threads. Nobody else could be the bottleneck, so that they are bound by themselves says nothing.
    fn is_embedded(&self) -> bool {
        false
    }

    /// Why it is gone; `None` while it lives, or if that cannot be seen from here.
    fn death(&self) -> Option<String>;

    /// What reads its processes on another machine and looks into them there; `None` where nothing does.
    fn agent(&self) -> Option<&AgentMeter> {
        None
    }

    /// Why nobody can read its processes now, who run on another machine; `None` if somebody can, and where nobody has to.
    fn agent_lost(&self) -> Option<String> {
        None
    }

    /// The meters of what an arm's connections go through; none for an arm that goes to the server straight.
    fn proxies(&self, _arm: &Arm) -> ProxyMeters<'_> {
        ProxyMeters::default()
    }

    /// That an arm's pooler or relay is gone, with its last words; `None` while they live, and where there are none.
    fn proxy_death(&self, _arm: &Arm) -> Option<VoidReason> {
        None
    }

    /// Cells that the relay of an arm has encrypted so far; `None` where there is none, or it does not answer.
    fn column_relay_cells(&self, _arm: &Arm) -> Option<u64> {
        None
    }
}

/// The meters of what stands between an arm's clients and its server, each where there is one.
#[derive(Default)]
pub(crate) struct ProxyMeters<'a> {
    /// That of the tunnel, on both its sides.
    pub(crate) tunnel: Option<&'a dyn Meter>,
    pub(crate) pooler: Option<&'a dyn Meter>,
    /// That of the relay which encrypts the arm's cells, or passes everything on.
    pub(crate) column_relay: Option<&'a dyn Meter>,
}

/// Which server of a run, and what is measured on it.
pub(crate) struct Identity {
    pub(crate) id: ServerId,
    pub(crate) cells: Vec<String>,
}
