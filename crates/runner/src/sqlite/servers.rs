//! The files that cells are measured on.

use std::sync::Arc;

use ciphertax_lab::catalogue::Entry;
use ciphertax_model::{Arm, Cell, Distances, ServerSpec, Study};
use ciphertax_records::{DataSize, ServerRecord, SessionRecord};
use ciphertax_workload::ycsb::KeySpace;
use ciphertax_workload::{ArmColumns, Job};

use super::file::{ProvedArm, SqliteFile};
use crate::error::Result;
use crate::footprint::Footprint;
use crate::groups::{groups, holds, measured_at, of_own_cells};
use crate::load::{self, Load};
use crate::progress::{Progress, Stage};
use crate::server::Server;
use crate::servers::{Opening, Servers, ServersByArm};

/// Files, one for each group of arms.
pub(crate) struct SqliteServers {
    spec: ServerSpec,
    files: Vec<File>,
    /// The arms that are measured here.
    arms: Vec<OpenArm>,
}

struct File {
    file: SqliteFile,
    /// Which records YCSB's table in it has.
    keys: Arc<KeySpace>,
}

struct OpenArm {
    name: String,
    file: usize,
    proved: ProvedArm,
}

impl SqliteServers {
    /// Makes the files for the cells with this spec and proves the arms.
    pub(crate) fn open(entry: &'static Entry, opening: &mut Opening<'_>, spec: &ServerSpec) -> Result<Self> {
        let arms = measured_at(opening.study, opening.arms, Some(spec));
        opening
            .progress
            .stage(&Stage::StartingServer(spec.server.clone()));
        let mut open = Self {
            spec: spec.clone(),
            files: Vec::new(),
            arms: Vec::new(),
        };
        for group in groups(opening.study, spec, arms) {
            let identity = opening.next_server(Some(spec));
            let file = SqliteFile::make(entry, spec, &group, identity)?;
            let beside = open.files.first().map(|first| first.file.record.clone());
            for arm in &group.arms {
                (opening.go_on)()?;
                opening.progress.stage(&Stage::Proving(arm.name.clone()));
                open.arms.push(OpenArm {
                    name: arm.name.clone(),
                    file: open.files.len(),
                    proved: file.prove(arm, beside.as_ref())?,
                });
            }
            open.files.push(File {
                file,
                keys: Arc::new(KeySpace::new(&opening.study.ycsb)),
            });
        }
        Ok(open)
    }

    fn arm(&self, name: &str) -> Option<&OpenArm> {
        self.arms.iter().find(|arm| arm.name == name)
    }

    /// That of an arm; that of the baseline for one that is measured elsewhere only.
    fn index_of(&self, arm: &str) -> usize {
        self.arm(arm).map_or(0, |arm| arm.file)
    }
}

impl ServersByArm for SqliteServers {
    fn server(&mut self, arm: &str) -> &mut dyn Server {
        let index = self.index_of(arm);
        &mut self.files[index].file
    }
}

impl Servers for SqliteServers {
    fn spec(&self) -> Option<&ServerSpec> {
        Some(&self.spec)
    }

    fn first_records(&self) -> Vec<ServerRecord> {
        self.files.iter().map(|file| file.file.record.clone()).collect()
    }

    fn records(&self) -> Vec<ServerRecord> {
        self.first_records()
    }

    fn session(&self, arm: &str) -> Option<&SessionRecord> {
        self.arm(arm).map(|arm| &arm.proved.session)
    }

    fn work_between_slices(&self) -> bool {
        false
    }

    /// There is none.
    fn set_distances(&mut self, _: Distances) -> Result<()> {
        Ok(())
    }

    fn load(&mut self, study: &Study, progress: &mut dyn Progress) -> Result<()> {
        let study = of_own_cells(Some(&self.spec), study);
        for file in &mut self.files {
            file.file.load(&study, &mut |rows, of| {
                progress.stage(&Stage::Loading { rows, of });
            })?;
        }
        Ok(())
    }

    fn data_sizes(&mut self, study: &Study) -> Result<Vec<DataSize>> {
        let footprints = self.files.iter_mut().map(|file| file.file.footprint());
        let footprints: Vec<Footprint> = footprints.collect::<Result<_, _>>()?;
        let mut sizes = Vec::new();
        for cell in study.cells.iter().filter(|cell| holds(self.spec(), study, cell)) {
            for arm in study.measured_arms_of(cell) {
                sizes.extend(footprints[self.index_of(&arm.name)].of(cell, &arm.name));
            }
        }
        Ok(sizes)
    }

    fn start(
        &mut self,
        study: &Study,
        cell: &Cell,
        arms: &[Arm],
        seed: u64,
        _: &dyn Fn() -> Result<()>,
    ) -> Result<Box<dyn Load>> {
        let keys = arms
            .iter()
            .map(|arm| Arc::clone(&self.files[self.index_of(&arm.name)].keys));
        let job = Job {
            study,
            cell,
            part: ciphertax_engine::Part::WHOLE,
            keys: keys.collect(),
            columns: vec![ArmColumns::default(); arms.len()],
            cpu: None,
            seed,
        };
        let accesses = arms.iter().filter_map(|arm| self.arm(&arm.name));
        let accesses = accesses.map(|arm| arm.proved.access.clone());
        Ok(Box::new(load::start(&job, accesses)?))
    }

    fn remind(&self, _: &str) {}

    fn close(self: Box<Self>) -> Result<()> {
        let closed = self.files.into_iter().map(|file| file.file.close());
        closed.fold(Ok(()), Result::and)
    }
}
