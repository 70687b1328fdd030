//! A place where cells are measured: the hosts of a site, and how every arm reaches its own.

use std::sync::Arc;

use ciphertax_lab::catalogue::Protocol;
use ciphertax_model::{Arm, Cell, Link, Site, Study};
use ciphertax_records::{ServerRecord, SessionRecord};
use ciphertax_wire::Target;
use ciphertax_workload::ycsb::KeySpace;

use crate::access::Access;
use crate::entry::entry;
use crate::error::RunError;
use crate::groups::groups;
use crate::host::{Host, ProvedArm};
use crate::mongodb::MongoDbHost;
use crate::mysql::MySqlHost;
use crate::progress::{Progress, Stage};

/// A server that cells are measured on.
pub(crate) enum Place<'a> {
    /// The user's own, which is all there is.
    Target(&'a Target),
    /// A private one, for the cells of its site.
    Private(Site),
}

/// Hosts that are ready for their data sets: every arm is proved on its own, nothing was written to them.
pub(crate) struct OpenSite {
    /// Which cells are measured here; `None` for all, on the user's own server.
    site: Option<Site>,
    hosts: Vec<Box<dyn Host>>,
    /// Which records YCSB's table on each of them has. All cells share it, since what one inserts another must delete.
    keys: Vec<Arc<KeySpace>>,
    /// The arms that are measured here.
    arms: Vec<OpenArm>,
}

struct OpenArm {
    name: String,
    /// Index of its host.
    host: usize,
    proved: ProvedArm,
}

impl OpenSite {
    /// Starts or finds the servers, and proves those of the `arms` that any of the site's cells measures.
    ///
    /// # Errors
    /// Names the server or the arm that cannot be used, and the remedy.
    pub(crate) fn open(
        study: &Study,
        place: Place<'_>,
        arms: &[Arm],
        progress: &mut dyn Progress,
        go_on: &dyn Fn() -> Result<(), RunError>,
    ) -> Result<Self, RunError> {
        let site = match &place {
            Place::Target(_) => None,
            Place::Private(site) => Some(site.clone()),
        };
        let measured = measured_at(study, site.as_ref(), arms);
        let mut open = Self {
            site,
            hosts: Vec::new(),
            keys: Vec::new(),
            arms: Vec::with_capacity(measured.len()),
        };
        progress.stage(&match &place {
            Place::Target(target) => Stage::Connecting(target.to_string()),
            Place::Private(site) => Stage::StartingServer(site.to_string()),
        });
        open_hosts(study, &place, measured, |host, arms| {
            open.keys.push(Arc::new(KeySpace::new(&study.ycsb)));
            open.add_host(host, arms, progress, go_on)
        })?;
        Ok(open)
    }

    fn add_host(
        &mut self,
        mut host: Box<dyn Host>,
        arms: Vec<&Arm>,
        progress: &mut dyn Progress,
        go_on: &dyn Fn() -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let baselines = self.hosts.first().map(|host| host.record().name);
        for arm in arms {
            go_on()?;
            progress.stage(&Stage::Proving(arm.name.clone()));
            let mut proved = host.prove(arm)?;
            proved.session.beside = baselines.clone();
            self.arms.push(OpenArm {
                name: arm.name.clone(),
                host: self.hosts.len(),
                proved,
            });
        }
        self.hosts.push(host);
        Ok(())
    }

    /// True if a cell is measured here.
    pub(crate) fn holds(&self, study: &Study, cell: &Cell) -> bool {
        holds(self.site.as_ref(), study, cell)
    }

    /// What the report says of the servers before anything is measured.
    pub(crate) fn first_records(&self) -> Vec<ServerRecord> {
        self.hosts.iter().map(|host| host.record()).collect()
    }

    /// What the report says of the servers, with what was seen of their distance.
    pub(crate) fn records(&self) -> Vec<ServerRecord> {
        let hosts = self.hosts.iter();
        let records = hosts.map(|host| ServerRecord {
            link: host.link_record(),
            ..host.record()
        });
        records.collect()
    }

    /// How an arm reaches its host; `None` for an arm that is measured elsewhere only.
    pub(crate) fn access(&self, arm: &str) -> Option<&Access> {
        self.arm(arm).map(|arm| &arm.proved.access)
    }

    /// What an arm was proved to be; `None` for an arm that is measured elsewhere only.
    pub(crate) fn session(&self, arm: &str) -> Option<&SessionRecord> {
        self.arm(arm).map(|arm| &arm.proved.session)
    }

    /// The host that an arm is measured on; that of the baseline for one that is measured elsewhere only.
    pub(crate) fn host(&self, arm: &str) -> &dyn Host {
        self.hosts[self.index_of_host(arm)].as_ref()
    }

    /// The same, to be asked something.
    pub(crate) fn host_mut(&mut self, arm: &str) -> &mut dyn Host {
        let index = self.index_of_host(arm);
        self.hosts[index].as_mut()
    }

    /// The only CPU of the private servers, where the load must run too.
    pub(crate) fn cpu(&self) -> Option<usize> {
        self.hosts.first().and_then(|host| host.cpu())
    }

    /// Puts the hosts at the distance of a cell that is measured on them.
    pub(crate) fn set_distance(&mut self, wanted: Option<Link>) -> Result<(), RunError> {
        self.hosts
            .iter_mut()
            .try_for_each(|host| host.set_distance(wanted))
    }

    /// Makes the data sets.
    pub(crate) fn load(&mut self, study: &Study, progress: &mut dyn Progress) -> Result<(), RunError> {
        for host in &mut self.hosts {
            host.load(study, &mut |rows, of| {
                progress.stage(&Stage::Loading { rows, of })
            })?;
        }
        Ok(())
    }

    /// Removes the data sets, and the servers if they are private; all of them, whatever happens to one.
    ///
    /// # Errors
    /// If something is left behind.
    pub(crate) fn close(self) -> Result<(), RunError> {
        self.hosts.into_iter().map(Host::close).fold(Ok(()), Result::and)
    }

    /// Which records YCSB's table has where an arm is measured.
    pub(crate) fn keys(&self, arm: &str) -> Arc<KeySpace> {
        Arc::clone(&self.keys[self.index_of_host(arm)])
    }

    fn index_of_host(&self, arm: &str) -> usize {
        self.arm(arm).map_or(0, |arm| arm.host)
    }

    fn arm(&self, name: &str) -> Option<&OpenArm> {
        self.arms.iter().find(|arm| arm.name == name)
    }
}

/// The hosts of a place with the arms that share each.
fn open_hosts<'a>(
    study: &Study,
    place: &Place<'_>,
    arms: Vec<&'a Arm>,
    mut ready: impl FnMut(Box<dyn Host>, Vec<&'a Arm>) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let site = match place {
        Place::Target(Target::MySql(target)) => {
            return ready(Box::new(MySqlHost::external(study, target, &arms)?), arms);
        }
        Place::Target(Target::MongoDb(target)) => {
            return ready(Box::new(MongoDbHost::external(study, target)?), arms);
        }
        Place::Private(site) => site,
    };
    for group in groups(study, site, arms) {
        let host: Box<dyn Host> = match entry(&site.server)?.protocol() {
            Protocol::MySql => Box::new(MySqlHost::private(study, site, &group)?),
            Protocol::MongoDb => Box::new(MongoDbHost::private(study, site, &group)?),
        };
        ready(host, group.arms)?;
    }
    Ok(())
}

fn holds(site: Option<&Site>, study: &Study, cell: &Cell) -> bool {
    site.is_none_or(|site| study.site(cell) == *site)
}

/// The arms that any cell of the site measures.
fn measured_at<'a>(study: &Study, site: Option<&Site>, arms: &'a [Arm]) -> Vec<&'a Arm> {
    let cells = study.cells.iter().filter(|cell| holds(site, study, cell));
    let here: Vec<Arm> = cells.flat_map(|cell| study.measured_arms_of(cell)).collect();
    arms.iter().filter(|arm| here.contains(arm)).collect()
}
