//! Servers that speak MySQL's protocol.

pub(crate) mod cold;
pub(crate) mod command;
mod control;
mod product;
mod server;

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_model::{Arm, Link, Site, Study, Tunnel};
use ciphertax_observe::Meter;
use ciphertax_records::{LinkRecord, ServerRecord, SessionRecord};
use ciphertax_wire::MySqlTarget;
use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_wire::tls::Verification;
use ciphertax_workload::Driver;
use ciphertax_workload::dataset::{self, Contents};
use ciphertax_workload::mysql::MysqlAccess;

use crate::access::Access;
use crate::error::RunError;
use crate::groups::Group;
use crate::host::{Host, ProvedArm};
use crate::patience::unusable;

use control::{Control, Ways};
pub(crate) use server::Server;
use server::{IDENTITY, SETTINGS};

/// How long a server may take to remove a data set of any size.
const REMOVAL: Duration = Duration::from_secs(600);

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
        Self::open(study, &group.set_up_for, Server::private(study, site, group)?)
    }

    /// Takes the user's own server.
    ///
    /// # Errors
    /// When it cannot be used.
    pub(crate) fn external(study: &Study, target: &MySqlTarget, arms: &[&Arm]) -> Result<Self, RunError> {
        let mut host = Self::open(study, arms, Server::external(study, target)?)?;
        host.control.refuse_what_cannot_be_removed()?;
        Ok(host)
    }

    /// Removes what a run left on the user's own server, and tells whether there was anything.
    ///
    /// # Errors
    /// When the server cannot be used, what is there is not ciphertax's own, or a run is measuring.
    pub(crate) fn clean(target: &MySqlTarget) -> Result<bool, RunError> {
        let mut server = Server::of(target);
        let connect = |server: &Server| {
            let ways = Ways {
                everyday: server.options(),
                encrypted: Vec::new(),
            };
            Control::connect(server.display(), &ways, server.url())
        };
        // By the way that the URL means, then by the other.
        let over_tls = !matches!(target.verification, Verification::None);
        server.use_tls(over_tls)?;
        let mut control = connect(&server).or_else(|refusal| {
            server.use_tls(!over_tls)?;
            connect(&server).map_err(|_| refusal)
        })?;
        control.claim()?;
        control.remove(&server.options(), REMOVAL)
    }

    fn open(study: &Study, arms: &[&Arm], mut server: Server) -> Result<Self, RunError> {
        let ways = Ways {
            everyday: server.options(),
            encrypted: server.encrypted(study),
        };
        let mut control = Control::connect(server.display(), &ways, server.url())?;
        control.claim()?;
        if !server.is_private() {
            control.leave_connections_to_others(study)?;
        }
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
            access: Access::MySql(MysqlAccess {
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
        let contents = Contents::of(study, MysqlAccess::VOCABULARIES);
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

    fn meter(&self) -> &dyn Meter {
        &self.server.processes
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

    fn tunnel_meter(&self, tunnel: Tunnel) -> Option<&dyn Meter> {
        self.server.tunnel_meter(tunnel)
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

    fn close(self: Box<Self>) -> Result<(), RunError> {
        let removed = match (self.server.death(), &self.loaded) {
            // What a private server holds goes with it.
            _ if self.server.is_private() => Ok(()),
            (_, None) => Ok(()),
            (Some(death), _) => Err(unusable(self.server.display(), death)),
            (None, Some(_)) => self.control.remove(&self.server.options(), REMOVAL).map(drop),
        };
        removed.and(self.server.stop())
    }
}
