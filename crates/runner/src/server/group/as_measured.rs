//! The server of a group of arms as a slice and a round see it.

use std::collections::BTreeMap;

use ciphertax_base::CpuTime;
use ciphertax_lab::PrivateServer;
use ciphertax_lab::page_cache::Dropped;
use ciphertax_model::Arm;
use ciphertax_observe::{Device, Meter};
use ciphertax_records::VoidReason;
use ciphertax_records::why::WaitEvents;

use super::GroupServer;
use crate::agent::AgentMeter;
use crate::database::Database;
use crate::error::Result;
use crate::meter::{ServedBy, ServerMeter};
use crate::remote_cpu::RemoteCpu;
use crate::server::measured::{ProxyMeters, Server};
use crate::wait_events::WaitEventAsker;

impl<D: Database> Server for GroupServer<D> {
    fn counters(&mut self) -> Result<BTreeMap<String, i64>> {
        self.database.counters(&mut self.control)
    }

    fn pids(&self) -> Vec<u32> {
        self.processes
            .meters
            .iter()
            .map(|meter| meter.root.pid())
            .collect()
    }

    fn served_by(&self) -> ServedBy {
        let first = self.processes.meters.first();
        first.map_or(ServedBy::Threads, ServerMeter::served_by)
    }

    fn ask_for_wait_events(&mut self) {
        if let (None, Some(open)) = (&self.wait_events, D::WAIT_EVENTS) {
            let options = self.control.ways[0].clone();
            self.wait_events = Some(WaitEventAsker::open(move || open(&options)));
        }
        if let Some(asker) = &mut self.wait_events {
            asker.begin();
        }
    }

    fn wait_events(&mut self) -> Option<WaitEvents> {
        self.wait_events.as_mut()?.stop()
    }

    fn apply_probe(&mut self, arm: &Arm) -> Result<()> {
        arm.probe.as_ref().map_or(Ok(()), |probe| self.change(probe))
    }

    fn undo_probe(&mut self) -> Result<()> {
        self.change_back()
    }

    fn meter(&self) -> &dyn Meter {
        match (&self.processes.remote, &self.processes.unread) {
            (Some(remote), _) => remote.meter(),
            (None, Some(unread)) => unread,
            (None, None) => &self.processes.meters,
        }
    }

    fn file_system_cpu(&self) -> Option<CpuTime> {
        self.private.as_ref()?.file_system.as_ref()?.own().ok()
    }

    fn daemon(&self) -> Option<&dyn Meter> {
        let daemon = self.private.as_ref()?.daemon.as_ref();
        daemon.map(|meter| meter as &dyn Meter)
    }

    fn reads_through_page_cache(&self) -> bool {
        self.private_server()
            .is_some_and(PrivateServer::reads_through_page_cache)
    }

    fn drop_cached(&self) -> Result<Option<Dropped>> {
        let private = self.private_server();
        Ok(private.map(PrivateServer::drop_cached).transpose()?)
    }

    fn death(&self) -> Option<String> {
        let private = self.private_server();
        if let Some(end) = private.and_then(PrivateServer::end_of_file_system) {
            return Some(end);
        }
        let death = self.processes.death()?;
        let log = private.map(PrivateServer::log_tail);
        let log = log.map(|tail| format!("; the last lines of its log: {tail}"));
        Some(format!("{death}{}", log.unwrap_or_default()))
    }

    fn device(&self) -> Option<&Device> {
        self.private.as_ref()?.device.as_ref()
    }

    fn agent(&self) -> Option<&AgentMeter> {
        match self.processes.remote.as_ref()? {
            RemoteCpu::Agent(agent) => Some(agent),
            RemoteCpu::Counter(_) => None,
        }
    }

    fn agent_lost(&self) -> Option<String> {
        self.processes.remote.as_ref()?.lost()
    }

    fn proxies(&self, arm: &Arm) -> ProxyMeters<'_> {
        let between = self.processes.between.as_ref();
        let meters = self.route.proxies.meters(arm);
        ProxyMeters {
            pooler: meters.pooler.or(between.map(|between| between as &dyn Meter)),
            ..meters
        }
    }

    fn proxy_death(&self, arm: &Arm) -> Option<VoidReason> {
        self.route.proxies.death(arm)
    }

    fn column_relay_cells(&self, arm: &Arm) -> Option<u64> {
        let counts = self.route.proxies.column_relay(arm)?.counts().ok()?;
        Some(counts.cells)
    }
}
