//! MongoDB: a server, or the servers of a replica set.

mod control;
mod deployment;

use std::collections::BTreeMap;

use ciphertax_lab::mongodb::{Circumstances, prove};
use ciphertax_model::{Arm, ReadPreference, Site, Study, YcsbTable};
use ciphertax_observe::Meter;
use ciphertax_records::{ServerRecord, SessionRecord};
use ciphertax_wire::MongoDbTarget;
use ciphertax_wire::mongodb::{ConnectOptions, Session};
use ciphertax_wire::tls::Verification;
use ciphertax_workload::Driver;
use ciphertax_workload::dataset::{Contents, DatasetError};
use ciphertax_workload::mongodb::{MongodbAccess, dataset};

use crate::access::Access;
use crate::error::RunError;
use crate::groups::Group;
use crate::host::{Host, ProvedArm};
use crate::patience::unusable;

use control::{Control, PATIENCE, grant};
pub(crate) use deployment::Deployment;

/// A MongoDB, ready for its data set; nothing was written to it.
pub(crate) struct MongoDbHost {
    deployment: Deployment,
    control: Control,
    record: ServerRecord,
    /// What it holds; `None` for nothing yet.
    loaded: Option<YcsbTable>,
}

impl MongoDbHost {
    /// Starts private servers for a group of arms.
    ///
    /// # Errors
    /// When they cannot be had or started.
    pub(crate) fn private(study: &Study, site: &Site, group: &Group<'_>) -> Result<Self, RunError> {
        let deployment = Deployment::private(study, site, group)?;
        let mut control = connect(study, &deployment)?;
        let record = deployment.record(control.identity()?, BTreeMap::new());
        Ok(Self {
            deployment,
            control,
            record,
            loaded: None,
        })
    }

    /// Takes servers of the user's own, which nobody else of ciphertax measures and where nobody else has a database of
    /// its name.
    ///
    /// # Errors
    /// When they cannot be used.
    pub(crate) fn external(study: &Study, target: &MongoDbTarget) -> Result<Self, RunError> {
        let mut deployment = Deployment::external(study, target)?;
        let mut control = connect(study, &deployment)?;
        control.claim()?;
        control.leave_connections_to_others(study)?;
        if target.is_replica_set() {
            let topology = control.topology(target.replica_set.as_deref())?;
            deployment.find_members(&topology);
        }
        control.refuse_what_cannot_be_removed(&deployment.everyday())?;
        let settings = control.settings()?;
        let record = deployment.record(control.identity()?, settings);
        Ok(Self {
            deployment,
            control,
            record,
            loaded: None,
        })
    }

    /// Removes what a run left on servers of the user's own, and tells whether there was anything.
    ///
    /// # Errors
    /// When they cannot be used, what is there is not ciphertax's own, or a run is measuring.
    pub(crate) fn clean(target: &MongoDbTarget) -> Result<bool, RunError> {
        let mut deployment = Deployment::of(target);
        let connect = |deployment: &Deployment| {
            Control::connect(deployment.display(), deployment.ways(), &[], deployment.url())
        };
        // By the way that the URL means, then by the other.
        let over_tls = !matches!(target.verification, Verification::None);
        deployment.use_tls(over_tls)?;
        let mut control = connect(&deployment).or_else(|refusal| {
            deployment.use_tls(!over_tls)?;
            connect(&deployment).map_err(|_| refusal)
        })?;
        control.claim()?;
        if target.is_replica_set() {
            let topology = control.topology(target.replica_set.as_deref())?;
            deployment.find_members(&topology);
        }
        control.remove(&deployment.everyday())
    }
}

fn connect(study: &Study, deployment: &Deployment) -> Result<Control, RunError> {
    let ways = study
        .arms
        .iter()
        .filter_map(|arm| Some(deployment.arm(arm).ok()?.0));
    let encrypted: Vec<_> = ways.filter(|options| options.tls.is_some()).collect();
    Control::connect(
        deployment.display(),
        deployment.ways(),
        &encrypted,
        deployment.url(),
    )
}

impl Host for MongoDbHost {
    fn record(&self) -> ServerRecord {
        self.record.clone()
    }

    fn prove(&mut self, arm: &Arm) -> Result<ProvedArm, RunError> {
        let (options, expectation) = self.deployment.arm(arm)?;
        // A write without a login is tried too, which the primary alone takes.
        let everyday = self.deployment.everyday();
        let look = async {
            let primary = everyday.primary(&self.control.reactor).await;
            primary.map_err(|failure| failure.message().to_owned())
        };
        let primary = self.control.run(PATIENCE, look)?;
        let at_primary = |options: ConnectOptions| ConnectOptions {
            host: primary.host.clone(),
            port: primary.port,
            ..options
        };
        let stranger = self.deployment.stranger(arm)?.map(at_primary);
        let circumstances = Circumstances {
            others: self.deployment.others(),
            stranger: stranger.as_ref(),
        };
        let proved = prove(
            &arm.name,
            &at_primary(options.clone()),
            &expectation,
            circumstances,
        )?;
        Ok(ProvedArm {
            access: Access::MongoDb(MongodbAccess {
                options,
                seeds: self.deployment.seeds(),
                expectation: proved.expectation,
                connections: 1,
                read_preference: ReadPreference::Primary,
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
        let Some(table) = Contents::of(study, MongodbAccess::VOCABULARIES).usertable else {
            return Ok(());
        };
        let of = table.record_count.into();
        self.loaded = Some(table);
        progress(0, of);
        let everyday = self.deployment.everyday();
        let reactor = &self.control.reactor;
        let prepare = async {
            let primary = everyday.primary(reactor).await.map_err(DatasetError::from)?;
            dataset::prepare(reactor, &primary, &table, |records| progress(records, of)).await?;
            let members = everyday.member_count(reactor).await.map_err(DatasetError::from)?;
            let (mut session, _) = Session::connect(reactor, &primary).await?;
            dataset::wait_for_members(&mut session, members).await
        };
        let told = |error| match error {
            DatasetError::Wire(error) if error.is_missing_right() => {
                format!("{error}; {}", grant(&everyday.options.login))
            }
            error => error.to_string(),
        };
        let prepare = async { prepare.await.map_err(told) };
        self.control.run(Contents::from(table).patience(), prepare)
    }

    fn counters(&mut self) -> Result<BTreeMap<String, i64>, RunError> {
        let mut counters = self.control.counters()?;
        if !self.deployment.seeds().is_empty() {
            // Of a set they are those of one member, and after a failover of another.
            counters.clear();
        }
        Ok(counters)
    }

    fn meter(&self) -> &dyn Meter {
        &self.deployment.processes
    }

    fn death(&self) -> Option<String> {
        self.deployment.death()
    }

    fn cpu(&self) -> Option<usize> {
        self.deployment.cpu
    }

    fn close(self: Box<Self>) -> Result<(), RunError> {
        let Self {
            deployment,
            control,
            loaded,
            ..
        } = *self;
        let removed = match loaded {
            // What private servers hold goes with them.
            Some(_) if !deployment.is_private() => match deployment.death() {
                Some(death) => Err(unusable(deployment.display(), death)),
                None => control.remove(&deployment.everyday()).map(drop),
            },
            _ => Ok(()),
        };
        removed.and(deployment.stop())
    }
}
