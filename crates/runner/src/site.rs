//! A place where cells are measured: one server, its data set, and how every arm reaches it.

use ciphertax_model::record::{ServerRecord, SessionRecord};
use ciphertax_model::{Arm, Cell, Dataset, Site, Study};
use ciphertax_wire::Target;
use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_workload::Access;
use ciphertax_workload::dataset;

use crate::cold::is_cold;
use crate::control::Control;
use crate::error::RunError;
use crate::progress::{Progress, Stage};
use crate::server::{IDENTITY, SETTINGS, Server};

/// A server that cells are measured on.
pub(crate) enum Place<'a> {
    /// The user's own, which is all there is.
    Target(&'a Target),
    /// A private one, for the cells of its site.
    Private(Site),
}

/// A server that is ready for its data set: every arm is proved on it, nothing was written to it.
pub(crate) struct OpenSite {
    /// Which cells are measured here; `None` for all, on the user's own server.
    site: Option<Site>,
    pub(crate) server: Server,
    pub(crate) control: Control,
    /// What the report says of the server.
    record: ServerRecord,
    /// The arms that are measured here.
    arms: Vec<OpenArm>,
    /// True while the server holds the data set.
    is_loaded: bool,
}

struct OpenArm {
    name: String,
    access: Access,
    session: SessionRecord,
}

impl OpenSite {
    /// Starts or finds the server, and proves those of the `arms` that any of its cells measures.
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
        let (site, mut server, measured) = match place {
            Place::Target(target) => {
                progress.stage(&Stage::Connecting(target.to_string()));
                (None, Server::external(target), measured_at(study, None, arms))
            }
            Place::Private(site) => {
                progress.stage(&Stage::StartingServer(site.to_string()));
                let measured = measured_at(study, Some(&site), arms);
                let server = Server::private(study, &site, &measured)?;
                (Some(site), server, measured)
            }
        };
        go_on()?;
        let mut control = Control::connect(server.display(), &server.options(), &server.encrypted(study))?;
        control.claim()?;
        if measured.iter().copied().any(is_cold) {
            server.make_cold_accounts(&mut control)?;
        }
        let names: Vec<&str> = IDENTITY.into_iter().chain(SETTINGS).collect();
        let record = server.record(&control.variables(&names)?);
        let mut open = Self {
            site,
            server,
            control,
            record,
            arms: Vec::with_capacity(measured.len()),
            is_loaded: false,
        };
        for arm in measured {
            go_on()?;
            progress.stage(&Stage::Proving(arm.name.clone()));
            let proved = open.prove(arm)?;
            open.arms.push(proved);
        }
        Ok(open)
    }

    fn prove(&mut self, arm: &Arm) -> Result<OpenArm, RunError> {
        let (options, expectation) = self.server.arm(arm)?;
        let proved = self.server.prove(arm, &options, &expectation)?;
        Ok(OpenArm {
            name: arm.name.clone(),
            access: Access {
                forget_passwords: self.server.forgets_passwords_for(arm),
                options: ConnectOptions {
                    database: Some(dataset::SCHEMA.to_owned()),
                    ..options
                },
                expectation: proved.expectation,
                connections: 1,
            },
            session: SessionRecord {
                server: self.record.name.clone(),
                proofs: proved.proofs,
                facts: proved.facts,
            },
        })
    }

    /// True if a cell is measured here.
    pub(crate) fn holds(&self, study: &Study, cell: &Cell) -> bool {
        holds(self.site.as_ref(), study, cell)
    }

    /// What the report says of the server before anything is measured.
    pub(crate) fn first_record(&self) -> ServerRecord {
        self.record.clone()
    }

    /// What the report says of the server, with what was seen of its distance.
    pub(crate) fn record(&self) -> ServerRecord {
        ServerRecord {
            link: self.server.link_record(),
            ..self.record.clone()
        }
    }

    /// How an arm reaches the server; `None` for an arm that is measured elsewhere only.
    pub(crate) fn access(&self, arm: &str) -> Option<&Access> {
        self.arm(arm).map(|arm| &arm.access)
    }

    /// What an arm was proved to be; `None` for an arm that is measured elsewhere only.
    pub(crate) fn session(&self, arm: &str) -> Option<&SessionRecord> {
        self.arm(arm).map(|arm| &arm.session)
    }

    fn arm(&self, name: &str) -> Option<&OpenArm> {
        self.arms.iter().find(|arm| arm.name == name)
    }

    /// Makes the data set.
    pub(crate) fn load(&mut self, dataset: &Dataset, progress: &mut dyn Progress) -> Result<(), RunError> {
        let of = dataset.rows();
        progress.stage(&Stage::Loading { rows: 0, of });
        self.is_loaded = true;
        let options = self.server.options();
        self.control.prepare(&options, dataset, |rows| {
            progress.stage(&Stage::Loading { rows, of })
        })
    }

    /// Removes the data set, and the server if it is private.
    ///
    /// # Errors
    /// If something is left behind.
    pub(crate) fn close(mut self, dataset: &Dataset) -> Result<(), RunError> {
        let removed = match self.server.death() {
            None if self.is_loaded => self.control.remove(dataset),
            _ => Ok(()),
        };
        removed.and(self.server.stop())
    }
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
