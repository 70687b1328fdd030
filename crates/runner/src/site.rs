//! A place where cells are measured: one server, its data set, and how every arm reaches it.

use ciphertax_model::record::{ServerRecord, SessionRecord};
use ciphertax_model::{Arm, Cell, Dataset, Site, Study};
use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_workload::Access;
use ciphertax_workload::dataset;

use crate::control::Control;
use crate::error::RunError;
use crate::play::Plan;
use crate::progress::{Progress, Stage};
use crate::server::{IDENTITY, SETTINGS, Server};

/// A server that is ready for its data set: every arm is proved on it, nothing was written to it.
pub(crate) struct OpenSite {
    /// Which cells are measured here; `None` for all, on the user's own server.
    site: Option<Site>,
    pub(crate) server: Server,
    pub(crate) control: Control,
    /// What the report says of the server.
    pub(crate) record: ServerRecord,
    /// By arm; `None` for an arm that is measured elsewhere only.
    arms: Vec<Option<OpenArm>>,
    /// True while the server holds the data set.
    is_loaded: bool,
}

struct OpenArm {
    access: Access,
    session: SessionRecord,
}

impl OpenSite {
    /// Starts or finds the server, and proves the `arms` that any of its cells measures.
    ///
    /// # Errors
    /// Names the server or the arm that cannot be used, and the remedy.
    pub(crate) fn open(
        plan: &Plan,
        site: Option<Site>,
        arms: &[Arm],
        progress: &mut dyn Progress,
        go_on: &dyn Fn() -> Result<(), RunError>,
    ) -> Result<Self, RunError> {
        let measured = measured_at(&plan.study, site.as_ref(), arms);
        let server = match (&site, &plan.target) {
            (Some(site), _) => {
                progress.stage(&Stage::StartingServer(site.to_string()));
                let arms: Vec<&Arm> = arms
                    .iter()
                    .zip(&measured)
                    .filter(|(_, is)| **is)
                    .map(|(arm, _)| arm)
                    .collect();
                Server::private(&plan.study, site, &arms)?
            }
            (None, Some(target)) => {
                progress.stage(&Stage::Connecting(target.to_string()));
                Server::external(target)
            }
            (None, None) => unreachable!("a site without settings is the target's"),
        };
        go_on()?;
        let mut control = Control::connect(
            server.display(),
            &server.options(),
            &server.encrypted(&plan.study),
        )?;
        control.claim()?;
        let names: Vec<&str> = IDENTITY.into_iter().chain(SETTINGS).collect();
        let record = server.record(&control.variables(&names)?);
        let mut open = Self {
            site,
            server,
            control,
            record,
            arms: Vec::with_capacity(arms.len()),
            is_loaded: false,
        };
        for (arm, is_measured_here) in arms.iter().zip(measured) {
            go_on()?;
            let proved = if is_measured_here {
                progress.stage(&Stage::Proving(arm.name.clone()));
                Some(open.prove(arm)?)
            } else {
                None
            };
            open.arms.push(proved);
        }
        Ok(open)
    }

    fn prove(&mut self, arm: &Arm) -> Result<OpenArm, RunError> {
        let (options, expectation) = self.server.arm(arm)?;
        let proved = self.server.prove(arm, &options, &expectation)?;
        Ok(OpenArm {
            access: Access {
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

    /// How an arm, known by its index in the study, reaches the server.
    pub(crate) fn access(&self, arm: usize) -> Option<&Access> {
        self.arms[arm].as_ref().map(|arm| &arm.access)
    }

    /// What an arm, known by its index in the study, was proved to be.
    pub(crate) fn session(&self, arm: usize) -> Option<&SessionRecord> {
        self.arms[arm].as_ref().map(|arm| &arm.session)
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

/// For every arm, whether any cell of the site measures it.
fn measured_at(study: &Study, site: Option<&Site>, arms: &[Arm]) -> Vec<bool> {
    let cells: Vec<&Cell> = study
        .cells
        .iter()
        .filter(|cell| holds(site, study, cell))
        .collect();
    arms.iter()
        .map(|arm| {
            cells
                .iter()
                .any(|cell| study.measured_arms_of(cell).contains(arm))
        })
        .collect()
}
