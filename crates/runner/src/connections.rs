//! How many connections a run opens and statements it prepares, and whether a server of the user's own has them to spare.

use ciphertax_model::{Arm, Cell, Study, Workload};
use ciphertax_wire::Overridden;
use ciphertax_workload::sql::statements_of_connection;

use crate::groups::{groups, holds, measured_at};

/// The session for what is not measured.
const CONTROL: u64 = 1;
/// Sessions that load the tables of the `oltp` workloads.
const LOADERS: u64 = 4;
/// The share of a limit that is left to other clients, and what is left at least.
const RESERVE: u64 = 10;
const LEAST_RESERVE: u64 = 5;

/// What a limit is on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limited {
    Connections,
    Statements,
}

/// A limit, and how much of it is used.
pub(crate) struct Limit {
    pub(crate) name: &'static str,
    pub(crate) of: Limited,
    /// Connections or statements that there may be.
    pub(crate) most: u64,
    /// Those that there are, the control session among connections.
    pub(crate) open: u64,
}

impl Limit {
    fn reserve(&self) -> u64 {
        (self.most / RESERVE).max(LEAST_RESERVE)
    }

    /// Those that a run may have, besides its control session.
    fn free(&self) -> u64 {
        self.most.saturating_sub(self.open).saturating_sub(self.reserve())
    }
}

/// Beyond so many connections of a cell, what an idle one keeps matters.
const MANY: u32 = 1_000;

/// True if a cell has very many connections.
pub(crate) fn are_many(study: &Study) -> bool {
    let mut own = study.cells.iter().filter(|cell| cell.command.is_none());
    own.any(|cell| cell.load.connections > MANY)
}

/// Connections that a run has open at a time, at most: all arms of all cells keep theirs open from the beginning on.
/// Those of a program of the user's own come on top, since only it knows how many it opens.
pub(crate) fn needed(study: &Study) -> u64 {
    needed_of(study, |_, _| true)
}

/// The same of some of the arms in some of the cells alone.
pub(crate) fn needed_of(study: &Study, is_of_them: impl Fn(&Cell, &Arm) -> bool) -> u64 {
    let own = || study.cells.iter().filter(|cell| cell.command.is_none());
    let connections = |cell: &Cell| u64::from(cell.load.connections);
    let arms = |cell: &Cell| {
        let arms = study.measured_arms_of(cell);
        arms.iter().filter(|arm| is_of_them(cell, arm)).count() as u64
    };
    let held: u64 = own()
        .filter(|cell| !cell.workload.makes_connections())
        .map(|cell| connections(cell) * arms(cell))
        .sum();
    let passing = own()
        .filter(|cell| cell.workload.makes_connections() && arms(cell) > 0)
        .map(connections);
    // One that has ended may be counted until the next has begun. Before every slice a connection is opened to see
    // whether new ones are still what the arm says.
    let passing = (2 * passing.max().unwrap_or(0)).max(1);
    let loading = match own().any(|cell| cell.workload.asks_usertable()) {
        true => LOADERS.max(study.ycsb.load_threads.into()),
        false => LOADERS,
    };
    CONTROL + loading.max(held + passing)
}

/// Connections that one of the private servers has at a time, at most.
pub(crate) fn needed_of_one_server(study: &Study) -> u64 {
    let servers = of_each_server(study, |opened, _| opened);
    servers.max().unwrap_or(0)
}

/// Ports that connections to one server want, at most; `is_target` for the user's own, which all arms ask.
///
/// Linux looks for a port among every other one first. Where these are taken, a connect takes it some 600 µs of CPU time more (18,000
/// of 28,232 taken, Linux 6.18), which would be measured as the client's. So where connections are made anew, half stay free.
pub(crate) fn ports_wanted(study: &Study, is_target: bool) -> u64 {
    let wanted = |opened: u64, makes_new: bool| if makes_new { 2 * opened } else { opened };
    if is_target {
        let makes_new = study.cells.iter().any(|cell| cell.workload.makes_connections());
        return wanted(needed(study), makes_new);
    }
    of_each_server(study, wanted).max().unwrap_or(0)
}

/// What follows for each private server from how many connections it has, and whether some of them are made anew.
fn of_each_server(study: &Study, what: impl Fn(u64, bool) -> u64) -> impl Iterator<Item = u64> {
    let measured = study.measured_arms();
    let mut all = Vec::new();
    for spec in study.server_specs() {
        for group in groups(study, &spec, measured_at(study, &measured, Some(&spec))) {
            let is_its = |cell: &Cell, arm: &Arm| {
                holds(Some(&spec), study, cell) && group.arms.iter().any(|other| other.name == arm.name)
            };
            let makes_new = study.cells.iter().any(|cell| {
                let arms = study.measured_arms_of(cell);
                cell.workload.makes_connections() && arms.iter().any(|arm| is_its(cell, arm))
            });
            all.push(what(needed_of(study, is_its), makes_new));
        }
    }
    all.into_iter()
}

/// Statements that a run has prepared at a time, at most, of which connections keep theirs from the beginning on.
pub(crate) fn prepared(study: &Study) -> u64 {
    let own = study.cells.iter().filter(|cell| cell.command.is_none());
    let of_cell = |cell: &Cell| {
        let connections = u64::from(cell.load.connections) * study.measured_arms_of(cell).len() as u64;
        connections * statements_of_connection(study, cell.workload)
    };
    own.map(of_cell).sum()
}

/// Why a run would take too much of what a server has, and what to do; `None` if it leaves enough to others.
pub(crate) fn too_many(study: &Study, limits: &[Limit]) -> Option<String> {
    let wanted = |study: &Study, limit: &Limit| match limit.of {
        Limited::Connections => needed(study) - CONTROL,
        Limited::Statements => prepared(study),
    };
    let limit = limits.iter().find(|limit| wanted(study, limit) > limit.free())?;
    let ([takes, things, are, end], control) = match limit.of {
        Limited::Connections => (["opens", "connections", "open", "close"], CONTROL),
        Limited::Statements => (["prepares", "statements", "prepared", "have clients close"], 0),
    };
    let fewer = match fitting(study, |study| wanted(study, limit) <= limit.free()) {
        Some(connections) => format!(
            "take fewer connections with ciphertax run {} … --set load.connections={connections}, or ",
            study.name
        ),
        None => format!(
            "it fits with no load.connections: with the fewest it {takes} {}; ",
            wanted(&with_connections(study, fewest(study)), limit) + control
        ),
    };
    Some(format!(
        "the run {takes} {} {things} at a time, and of the {} that {} allows {} are {are} and {} are kept for other clients; \
         {fewer}raise {} or {end} some",
        wanted(study, limit) + control,
        limit.most,
        limit.name,
        limit.open - control.min(limit.open),
        limit.reserve(),
        limit.name
    ))
}

/// Why what a study's new connections insert would be gone with them; `None` if it would not. They are measured while they are opened,
/// so no setting is overridden there.
pub(crate) fn uncommitted(study: &Study, overridden: &[Overridden]) -> Option<String> {
    let is_off = overridden.iter().any(|one| one.name == "autocommit");
    let mut cells = study.cells.iter();
    let cell = cells.find(|cell| is_off && cell.workload == Workload::ConnectInsertCount)?;
    Some(format!(
        "autocommit is off for new sessions of this account, so what {} inserts would never be committed; SET GLOBAL autocommit = 1 \
         there, or leave that cell out with --cell",
        cell.name
    ))
}

/// The most connections of a cell with which the run fits; `None` if it never does. With more it needs more of everything.
pub(crate) fn fitting(study: &Study, fits: impl Fn(&Study) -> bool) -> Option<u32> {
    let cells = study.cells.iter().filter(|cell| cell.command.is_none());
    let most = cells.map(|cell| cell.load.connections).max().unwrap_or(0);
    let with = |connections: u32| fits(&with_connections(study, connections));
    let (mut fit, mut too_many) = (fewest(study), most);
    if fit >= too_many || !with(fit) {
        return None;
    }
    while fit + 1 < too_many {
        let between = fit.midpoint(too_many);
        match with(between) {
            true => fit = between,
            false => too_many = between,
        }
    }
    Some(fit)
}

/// The fewest connections that every cell can have: one for each of its load threads.
fn fewest(study: &Study) -> u32 {
    let cells = study.cells.iter().filter(|cell| cell.command.is_none());
    cells.filter_map(|cell| cell.load.workers).fold(1, u32::max)
}

/// The study as `--set load.connections` makes it.
fn with_connections(study: &Study, connections: u32) -> Study {
    let mut study = study.clone();
    for cell in &mut study.cells {
        cell.load.connections = connections;
    }
    study
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::says;

    use super::*;

    fn study(cells: &str) -> Study {
        let text = format!(
            "name = \"mine\"\nquestion = \"?\"\ntime_s = 1\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n[[arm]]\n\
             name = \"tls\"\ntransport = \"tls1.3\"\n{cells}"
        );
        Study::from_toml(&text).unwrap()
    }

    fn cell(name: &str, workload: &str, connections: u32) -> String {
        format!(
            "[[cell]]\nname = \"{name}\"\nworkload = \"{workload}\"\nload = {{ connections = {connections} }}\n"
        )
    }

    fn limit(most: u64, open: u64) -> Limit {
        Limit {
            name: "max_connections",
            of: Limited::Connections,
            most,
            open,
        }
    }

    #[test]
    fn open_connections_are_counted_by_arm_and_those_that_come_and_go_once() {
        // Three arms: the baseline, the baseline again, and the variant.
        let queries = cell("queries", "oltp_point_select", 8);
        assert_eq!(needed(&study(&queries)), 1 + 8 * 3 + 1);
        let with_connects =
            queries.clone() + &cell("connects", "connect", 6) + &cell("more", "connect_only", 4);
        assert_eq!(needed(&study(&with_connects)), 1 + 8 * 3 + 2 * 6);
        // A little load needs less than loading.
        assert_eq!(needed(&study(&cell("connects", "connect", 1))), 1 + 4);
        assert_eq!(needed(&study(&cell("reads", "ycsb_c", 1))), 1 + 8);
    }

    #[test]
    fn what_other_clients_need_is_left_to_them() {
        // 26 connections, of which one is open already, beside ten that others have.
        let study = study(&cell("queries", "oltp_point_select", 8));
        assert_eq!(too_many(&study, &[limit(41, 11)]), None);
        let problem = too_many(&study, &[limit(1000, 11), limit(40, 11)]).unwrap();
        for words in [
            "opens 26 connections",
            "of the 40 that max_connections allows 10 are open and 5 are kept for other clients",
            "ciphertax run mine … --set load.connections=7",
            "raise max_connections",
        ] {
            assert!(problem.contains(words), "{words}: {problem}");
        }
        // A tenth of a large limit.
        assert_eq!(too_many(&study, &[limit(100, 65)]), None);
        assert!(
            too_many(&study, &[limit(100, 66)])
                .unwrap()
                .contains("10 are kept")
        );
        let never = too_many(&study, &[limit(6, 2)]).unwrap();
        assert!(
            !never.contains("--set") && never.contains("raise max_connections"),
            "{never}"
        );
        // One for each of three arms, or for each that loads, whatever is more, and the control session.
        says(
            &never,
            "it fits with no load.connections: with the fewest it opens 5; ",
        );
    }

    #[test]
    fn no_fewer_connections_are_advised_than_a_cell_has_load_threads() {
        let with_workers = cell("bulk", "bulk_read", 4).replace("= 4 }", "= 4, workers = 2 }");
        let problem = too_many(&study(&with_workers), &[limit(10, 1)]).unwrap();
        assert!(!problem.contains("--set"), "{problem}");
        let problem = too_many(&study(&with_workers), &[limit(15, 1)]).unwrap();
        says(&problem, "load.connections=2");
    }
}
