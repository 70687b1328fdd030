//! Servers that speak MySQL's protocol.

pub(crate) mod cold;
pub(crate) mod command;
mod control;
mod product;
mod server;

use std::collections::BTreeMap;

use ciphertax_model::record::{CpuTime, LinkRecord, ServerRecord, SessionRecord};
use ciphertax_model::{Arm, Link, Site, Study, Tunnel, Workload};
use ciphertax_observe::ProcessCpu;
use ciphertax_wire::MySqlTarget;
use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_workload::Access as MySqlAccess;
use ciphertax_workload::dataset::{self, Contents};

use crate::access::Access;
use crate::error::RunError;
use crate::groups::Group;
use crate::host::{Host, ProvedArm};

use control::Control;
use server::{IDENTITY, SETTINGS, Server};

/// A server that speaks MySQL's protocol, ready for its data set; nothing was written to it.
pub(crate) struct MySqlHost {
    pub(crate) server: Server,
    pub(crate) control: Control,
    record: ServerRecord,
    /// What it holds; `None` for nothing yet.
    loaded: Option<Contents>,
}

impl MySqlHost {
    /// Starts a private server for a group of arms.
    ///
    /// # Errors
    /// When it cannot be had or started.
    pub(crate) fn private(study: &Study, site: &Site, group: &Group<'_>) -> Result<Self, RunError> {
        Self::open(study, &group.arms, Server::private(study, site, group)?)
    }

    /// Takes the user's own server.
    ///
    /// # Errors
    /// When it cannot be used.
    pub(crate) fn external(study: &Study, target: &MySqlTarget, arms: &[&Arm]) -> Result<Self, RunError> {
        Self::open(study, arms, Server::external(target))
    }

    fn open(study: &Study, arms: &[&Arm], mut server: Server) -> Result<Self, RunError> {
        let mut control = Control::connect(server.display(), &server.options(), &server.encrypted(study))?;
        control.claim()?;
        if arms.iter().copied().any(cold::is_cold) {
            server.make_cold_accounts(&mut control)?;
        }
        let names: Vec<&str> = IDENTITY.into_iter().chain(SETTINGS).collect();
        let record = server.record(&control.variables(&names)?);
        Ok(Self {
            server,
            control,
            record,
            loaded: None,
        })
    }
}

impl Host for MySqlHost {
    fn record(&self) -> ServerRecord {
        self.record.clone()
    }

    fn prove(&mut self, arm: &Arm) -> Result<ProvedArm, RunError> {
        let (options, expectation) = self.server.arm(arm)?;
        let proved = self.server.prove(arm, &options, &expectation)?;
        Ok(ProvedArm {
            access: Access::MySql(MySqlAccess {
                forget_passwords: self.server.forgets_passwords_for(arm),
                options: ConnectOptions {
                    database: Some(dataset::SCHEMA.to_owned()),
                    ..options
                },
                expectation: proved.expectation,
                connections: 1,
            }),
            session: SessionRecord {
                server: self.record.name.clone(),
                beside: None,
                proofs: proved.proofs,
                facts: proved.facts,
            },
        })
    }

    fn load(&mut self, study: &Study, progress: &mut dyn FnMut(u64, u64)) -> Result<(), RunError> {
        let asks = |is_meant: fn(Workload) -> bool| study.cells.iter().any(|cell| is_meant(cell.workload));
        let contents = Contents {
            sbtest: asks(|workload| !workload.is_ycsb()).then_some(study.dataset),
            usertable: asks(Workload::is_ycsb).then_some(study.ycsb),
        };
        self.loaded = Some(contents);
        let options = self.server.options();
        let of = contents.rows();
        progress(0, of);
        self.control
            .prepare(&options, &contents, |rows| progress(rows, of))
    }

    fn counters(&mut self) -> Result<BTreeMap<String, i64>, RunError> {
        self.control.counters()
    }

    fn processes(&self) -> &[ProcessCpu] {
        self.server.process.as_slice()
    }

    fn death(&self) -> Option<String> {
        self.server.death()
    }

    fn cpu(&self) -> Option<usize> {
        self.server.cpu
    }

    /// Cold arms may have made it forget passwords: a program cannot tell it twice.
    fn remind(&self, access: &Access) {
        if let (true, Access::MySql(access)) = (self.server.forgets_passwords(), access) {
            // A server that is gone is noticed by the next who asks it something.
            let _ = self.control.visit(&access.options);
        }
    }

    fn tunnel_cpu(&self, tunnel: Tunnel) -> BTreeMap<u32, CpuTime> {
        self.server.tunnel_cpu(tunnel)
    }

    fn set_distance(&mut self, wanted: Option<Link>) -> Result<(), RunError> {
        self.server.set_distance(wanted)
    }

    fn link_record(&self) -> Option<LinkRecord> {
        self.server.link_record()
    }

    fn as_mysql(&mut self) -> Option<&mut MySqlHost> {
        Some(self)
    }

    fn close(mut self: Box<Self>) -> Result<(), RunError> {
        let removed = match (self.server.death(), &self.loaded) {
            (None, Some(contents)) => self.control.remove(contents),
            _ => Ok(()),
        };
        removed.and(self.server.stop())
    }
}
