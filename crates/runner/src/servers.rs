//! Where cells are measured: the servers of every group of arms, and how every arm reaches its own.

use std::sync::Arc;

use ciphertax_base::Proof;
use ciphertax_columns::MasterKey;
use ciphertax_engine::Part;
use ciphertax_model::study::BASELINE_AGAIN;
use ciphertax_model::workload::Tables;
use ciphertax_model::{Arm, Cell, Distances, ServerSpec, Study};
use ciphertax_records::{DataSize, ServerId, ServerRecord, SessionRecord, Yield};
use ciphertax_workload::dataset::Contents;
use ciphertax_workload::ycsb::KeySpace;
use ciphertax_workload::{Access, Job};

use crate::columns::{arm_columns, set_of};
use crate::command::{CommandLoad, is_used_by_others, try_out};
use crate::database::Database;
use crate::error::{Result, RunError};
use crate::footprint::Footprint;
use crate::groups::{groups, holds, measured_at, of_own_cells};
use crate::load::{self, Load};
use crate::progress::{Progress, Stage};
use crate::ranks::{ArmReach, Loading, Ranks, SpreadLoad, Start, load_together};
use crate::schedule::PlannedSlice;
use crate::server::{AtRestProofs, GroupServer, Identity, ProvedArm, Server, TargetServers};
use crate::tpcc;

/// Servers that arms have, each the one that it is measured on.
pub(crate) trait ServersByArm {
    /// The server that an arm is measured on; that of the baseline for one that is measured elsewhere only.
    fn server(&mut self, arm: &str) -> &mut dyn Server;
}

/// The servers that cells are measured on, whatever the database: every arm is proved on its own, nothing was written to them.
pub(crate) trait Servers: ServersByArm {
    /// Which cells are measured here; `None` for all, on the user's own servers.
    fn spec(&self) -> Option<&ServerSpec>;

    /// What the report says of the servers before anything is measured.
    fn first_records(&self) -> Vec<ServerRecord>;

    /// What the report says of the servers, with what was seen of their distance.
    fn records(&self) -> Vec<ServerRecord>;

    /// What an arm was proved to be; `None` for an arm that is measured elsewhere only.
    fn session(&self, arm: &str) -> Option<&SessionRecord>;

    /// True if they have processes of their own, which may work between slices; false for a database in the load threads, whose
    /// work ends with the operation that asked for it.
    fn work_between_slices(&self) -> bool {
        true
    }

    /// Puts the servers at the distance of a cell that is measured on them.
    fn set_distances(&mut self, wanted: Distances) -> Result<()>;

    /// Makes the data sets.
    fn load(&mut self, study: &Study, progress: &mut dyn Progress) -> Result<()>;

    /// How large the data are of every arm in every cell that is measured here; nothing of the user's own servers.
    fn data_sizes(&mut self, study: &Study) -> Result<Vec<DataSize>>;

    /// Makes a cell's load ready for its arms: starts the load threads, or writes what a program will read and runs it once
    /// on every arm. That is not measured, and tells a program that does not work, or a lie, before anything is.
    fn start(
        &mut self,
        study: &Study,
        cell: &Cell,
        arms: &[Arm],
        seed: u64,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<Box<dyn Load>>;

    /// Counts the transactions that a slice asked, one that does not count too. `unfinished` are the operations whose end nobody saw,
    /// if that is known.
    fn count_transactions(
        &mut self,
        _study: &Study,
        _slice: &PlannedSlice<'_>,
        _load: &Yield,
        _unfinished: Option<u64>,
    ) {
    }

    /// Has tables that have grown too large as they were, all of them at once; false where none has.
    fn restore_grown(&mut self, _progress: &mut dyn Progress) -> Result<bool> {
        Ok(false)
    }

    /// Makes sure that tables are what they must be after what was asked of them, and tells what held for an arm.
    ///
    /// # Errors
    /// [`RunError::Inconsistent`] when they are not; or when the server refuses.
    fn check(&mut self, _study: &Study, _progress: &mut dyn Progress) -> Result<Vec<ArmProof>> {
        Ok(Vec::new())
    }

    /// Makes sure that an arm's server remembers what a warm login finds there, before a program makes one.
    fn remind(&self, arm: &str);

    /// Removes the data sets, and the servers if they are private; all of them, whatever happens to one.
    fn close(self: Box<Self>) -> Result<()>;
}

/// What was found out of an arm after it was measured.
pub(crate) struct ArmProof {
    pub(crate) arm: String,
    pub(crate) server: ServerId,
    pub(crate) proof: Proof,
}

/// Servers of one database.
pub(crate) struct GroupServers<D: Database> {
    /// Which cells are measured here; `None` for all, on the user's own servers.
    spec: Option<ServerSpec>,
    groups: Vec<OpenGroup<D>>,
    /// The arms that are measured here.
    arms: Vec<OpenArm<D>>,
    /// What their cells are encrypted with; `None` where none are.
    column_key: Option<MasterKey>,
    /// The load generators; `None` for this one alone.
    ranks: Option<Ranks>,
}

/// The server of a group of arms.
struct OpenGroup<D: Database> {
    server: GroupServer<D>,
    /// Which records YCSB's table on it has. All cells share it, since what one inserts another must delete.
    keys: Arc<KeySpace>,
    tables: Option<tpcc::Tables>,
}

struct OpenArm<D: Database> {
    name: String,
    group: usize,
    proved: ProvedArm<D>,
}

/// What opening servers needs besides them.
pub(crate) struct Opening<'a> {
    pub(crate) study: &'a Study,
    pub(crate) arms: &'a [Arm],
    /// How many servers there are already.
    pub(crate) servers: usize,
    /// What the cells of arms are encrypted with; `None` where none are.
    pub(crate) column_key: Option<MasterKey>,
    /// The load generators; `None` for this one alone.
    pub(crate) ranks: Option<Ranks>,
    /// True if no wrong password proves the logins on a server of the user's own.
    pub(crate) no_wrong_logins: bool,
    pub(crate) progress: &'a mut dyn Progress,
    pub(crate) go_on: &'a dyn Fn() -> Result<()>,
}

impl<D: Database> GroupServers<D> {
    pub(crate) fn target(opening: &mut Opening<'_>, target: TargetServers<D>) -> Result<Self> {
        let arms = measured_at(opening.study, opening.arms, None);
        opening.progress.stage(&Stage::Connecting(target.display.clone()));
        let mut open = Self::none(None, opening);
        let identity = opening.next_server(None);
        open.add(
            GroupServer::target(
                opening.study,
                target,
                identity,
                opening.ranks.as_ref(),
                opening.no_wrong_logins,
            )?,
            arms,
            opening,
        )?;
        Ok(open)
    }

    /// Starts private servers for the cells with this spec and proves the arms.
    pub(crate) fn private(opening: &mut Opening<'_>, spec: &ServerSpec) -> Result<Self> {
        let arms = measured_at(opening.study, opening.arms, Some(spec));
        opening.progress.stage(&Stage::StartingServer(spec.to_string()));
        let mut open = Self::none(Some(spec.clone()), opening);
        let mut at_rest = AtRestProofs::of(&arms, spec);
        for group in groups(opening.study, spec, arms) {
            let identity = opening.next_server(Some(spec));
            let key = opening.column_key.as_ref();
            let mut server = GroupServer::private(opening.study, spec, &group, identity, key)?;
            at_rest.prove(&group, &mut server, &mut |arm| {
                opening.progress.stage(&Stage::Proving(arm.name.clone()));
                (opening.go_on)()
            })?;
            open.add(server, group.arms, opening)?;
        }
        Ok(open)
    }

    fn none(spec: Option<ServerSpec>, opening: &Opening<'_>) -> Self {
        Self {
            spec,
            column_key: opening.column_key.clone(),
            ranks: opening.ranks.clone(),
            groups: Vec::new(),
            arms: Vec::new(),
        }
    }

    fn add(&mut self, mut server: GroupServer<D>, arms: Vec<&Arm>, opening: &mut Opening<'_>) -> Result<()> {
        let baselines = self.groups.first().map(|group| group.server.first_record.clone());
        for arm in arms {
            (opening.go_on)()?;
            opening.progress.stage(&Stage::Proving(arm.name.clone()));
            let mut proved = server.prove(arm, opening.column_key.as_ref())?;
            if let Some(baselines) = &baselines {
                proved.session.beside_id = Some(baselines.id.clone());
                proved.session.beside = Some(baselines.name.clone());
            }
            self.arms.push(OpenArm {
                name: arm.name.clone(),
                group: self.groups.len(),
                proved,
            });
        }
        self.groups.push(OpenGroup {
            server,
            keys: Arc::new(KeySpace::new(&opening.study.ycsb)),
            tables: None,
        });
        Ok(())
    }

    /// The group of an arm; that of the baseline for one that is measured elsewhere only.
    fn group(&self, arm: &str) -> &OpenGroup<D> {
        &self.groups[self.index_of_group(arm)]
    }

    fn index_of_group(&self, arm: &str) -> usize {
        self.arm(arm).map_or(0, |arm| arm.group)
    }

    fn arm(&self, name: &str) -> Option<&OpenArm<D>> {
        self.arms.iter().find(|arm| arm.name == name)
    }

    /// How other load generators reach these arms, of which all are measured here.
    fn reach_of(&self, arms: &[Arm]) -> Result<Vec<ArmReach>> {
        let here = arms.iter().filter_map(|arm| Some((arm, self.arm(&arm.name)?)));
        here.map(|(arm, open)| {
            self.groups[open.group]
                .server
                .reach_of(arm, &open.proved.expectation)
        })
        .collect()
    }

    /// One run of a program on an arm that is not measured.
    fn try_out(
        &mut self,
        command: &CommandLoad,
        arm: &Arm,
        cell: &Cell,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let refused = |problem: String| RunError::Command {
            cell: cell.name.clone(),
            arm: arm.name.clone(),
            problem,
        };
        let group = self.index_of_group(&arm.name);
        let own = self.arm(&arm.name).map(|arm| arm.proved.access.clone());
        let server = &mut self.groups[group].server;
        if !server.is_private() && is_used_by_others::<D>(server)? {
            return Err(refused(
                "others use the server too, and its counters do not tell their sessions and queries from the program's; \
                 measure a server that nobody else uses"
                    .into(),
            ));
        }
        let own = own.as_ref().map(Access::options);
        let problem = try_out(command, arm, own, server, go_on)?;
        problem.map_or(Ok(()), |problem| Err(refused(problem)))
    }

    fn cpu(&self) -> Option<usize> {
        self.groups.first().and_then(|group| group.server.cpu())
    }
}

impl<D: Database> ServersByArm for GroupServers<D> {
    fn server(&mut self, arm: &str) -> &mut dyn Server {
        let index = self.index_of_group(arm);
        &mut self.groups[index].server
    }
}

impl<D: Database> Servers for GroupServers<D> {
    fn spec(&self) -> Option<&ServerSpec> {
        self.spec.as_ref()
    }

    fn first_records(&self) -> Vec<ServerRecord> {
        let records = self.groups.iter().map(|group| group.server.first_record.clone());
        records.collect()
    }

    fn records(&self) -> Vec<ServerRecord> {
        self.groups.iter().map(|group| group.server.record()).collect()
    }

    fn session(&self, arm: &str) -> Option<&SessionRecord> {
        self.arm(arm).map(|arm| &arm.proved.session)
    }

    fn set_distances(&mut self, wanted: Distances) -> Result<()> {
        let mut groups = self.groups.iter_mut();
        groups.try_for_each(|group| group.server.route.set_distances(wanted))
    }

    fn load(&mut self, study: &Study, progress: &mut dyn Progress) -> Result<()> {
        let study = of_own_cells(self.spec.as_ref(), study);
        for (index, group) in self.groups.iter_mut().enumerate() {
            let key = self.column_key.as_ref();
            let mut heard = |rows, of| progress.stage(&Stage::Loading { rows, of });
            load_in_parts(self.ranks.as_ref(), group, &self.arms, index, &study, &mut heard)?;
            group.server.load(&study, key, &mut heard)?;
            group.tables = tpcc::Tables::of(&study, D::Access::VOCABULARIES, key);
            if let Some(tables) = &group.tables {
                tables.begin(&mut group.server, &mut heard)?;
            }
        }
        Ok(())
    }

    fn data_sizes(&mut self, study: &Study) -> Result<Vec<DataSize>> {
        let footprints = self.groups.iter_mut().map(|group| group.server.footprint());
        let footprints: Vec<Option<Footprint>> = footprints.collect::<Result<_, _>>()?;
        let mut records = Vec::new();
        for cell in study.cells.iter().filter(|cell| holds(self.spec(), study, cell)) {
            for arm in study.measured_arms_of(cell) {
                let footprint = footprints[self.index_of_group(&arm.name)].as_ref();
                records.extend(footprint.and_then(|footprint| footprint.of(cell, &arm.name)));
            }
        }
        Ok(records)
    }

    fn start(
        &mut self,
        study: &Study,
        cell: &Cell,
        arms: &[Arm],
        seed: u64,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<Box<dyn Load>> {
        if let Some(command) = &cell.command {
            let reached = arms.iter().map(|arm| self.group(&arm.name).server.arm(arm));
            let reached = reached.collect::<Result<Vec<_>, _>>()?;
            let load = CommandLoad::prepare::<D>(command, arms, &reached, self.cpu())?;
            for arm in arms.iter().filter(|arm| arm.name != BASELINE_AGAIN) {
                go_on()?;
                self.try_out(&load, arm, cell, go_on)?;
            }
            return Ok(Box::new(load));
        }
        let job = Job {
            study,
            cell,
            part: self.ranks.as_ref().map_or(Part::WHOLE, Ranks::own_part),
            keys: arms
                .iter()
                .map(|arm| Arc::clone(&self.group(&arm.name).keys))
                .collect(),
            columns: arm_columns(study, arms, self.column_key.as_ref()),
            cpu: self.cpu(),
            seed,
        };
        let accesses = arms.iter().filter_map(|arm| self.arm(&arm.name));
        let accesses = accesses.map(|arm| arm.proved.access.clone());
        let own = load::start(&job, accesses)?;
        let Some(ranks) = &self.ranks else {
            return Ok(Box::new(own));
        };
        let start = Start {
            study: study.clone(),
            cell: cell.name.clone(),
            arms: self.reach_of(arms)?,
            seed,
        };
        Ok(Box::new(SpreadLoad::start(own, ranks, cell.load.pace(), start)?))
    }

    fn count_transactions(
        &mut self,
        study: &Study,
        slice: &PlannedSlice<'_>,
        load: &Yield,
        unfinished: Option<u64>,
    ) {
        let asks = slice.cell.workload.descriptor().tables == Some(Tables::Tpcc);
        let index = self.index_of_group(&slice.arm.name);
        if let Some(tables) = self.groups[index].tables.as_mut().filter(|_| asks) {
            tables.count(set_of(study, &slice.arm.name), load, unfinished);
        }
    }

    fn restore_grown(&mut self, progress: &mut dyn Progress) -> Result<bool> {
        let has_grown = |group: &OpenGroup<D>| group.tables.as_ref().is_some_and(tpcc::Tables::have_grown);
        if !self.groups.iter().any(has_grown) {
            return Ok(false);
        }
        for OpenGroup { server, tables, .. } in &mut self.groups {
            let Some(tables) = tables else { continue };
            progress.stage(&Stage::Restoring { rows: 0, of: 0 });
            tables.restore(server, &mut |rows, of| {
                progress.stage(&Stage::Restoring { rows, of })
            })?;
        }
        Ok(true)
    }

    fn check(&mut self, study: &Study, progress: &mut dyn Progress) -> Result<Vec<ArmProof>> {
        let mut proofs = Vec::new();
        for (index, OpenGroup { server, tables, .. }) in self.groups.iter_mut().enumerate() {
            let Some(tables) = tables else { continue };
            progress.stage(&Stage::Checking);
            tables.check(server)?;
            let arms = self.arms.iter().filter(|arm| arm.group == index);
            proofs.extend(arms.filter_map(|arm| {
                Some(ArmProof {
                    arm: arm.name.clone(),
                    server: server.first_record.id.clone(),
                    proof: tables.proof(set_of(study, &arm.name))?,
                })
            }));
        }
        Ok(proofs)
    }

    fn remind(&self, arm: &str) {
        if let Some(open) = self.arm(arm) {
            self.group(arm).server.remind(&open.proved.access);
        }
    }

    fn close(self: Box<Self>) -> Result<()> {
        let closed = self.groups.into_iter().map(|group| group.server.close());
        closed.fold(Ok(()), Result::and)
    }
}

impl Opening<'_> {
    pub(crate) fn next_server(&mut self, spec: Option<&ServerSpec>) -> Identity {
        self.servers += 1;
        let study = self.study;
        let cells = study.cells.iter().filter(|cell| holds(spec, study, cell));
        Identity {
            id: ServerId::numbered(self.servers),
            cells: cells.map(|cell| cell.name.clone()).collect(),
        }
    }
}

/// Has all load generators write the data set of the group of this number; nothing where there is one alone, or where something is there
/// already. What is missing then is made as always.
fn load_in_parts<D: Database>(
    ranks: Option<&Ranks>,
    group: &mut OpenGroup<D>,
    arms: &[OpenArm<D>],
    index: usize,
    study: &Study,
    heard: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let mut measured = study.cells.iter().flat_map(|cell| study.measured_arms_of(cell));
    let of_group = |arm: &Arm| {
        arms.iter()
            .find(|open| open.name == arm.name && open.group == index)
    };
    let found = measured.find_map(|arm| Some((of_group(&arm)?, arm)));
    let Some((ranks, (open, arm))) = ranks.zip(found) else {
        return Ok(());
    };
    let contents = Contents::of(study, D::Access::VOCABULARIES);
    let of = contents.rows();
    heard(0, of);
    if !group.server.begin_load(&contents)? {
        return Ok(());
    }
    let loading = Loading {
        study: study.clone(),
        reach: group.server.reach_of(&arm, &open.proved.expectation)?,
    };
    load_together::<D>(ranks, &open.proved.access, &contents, loading, &mut |rows| {
        heard(rows.min(of), of)
    })
}
