//! How many connections a run opens, and whether a server of the user's own has them to spare.

use ciphertax_model::{Cell, Study};

/// The session for what is not measured.
const CONTROL: u64 = 1;
/// Sessions that load the tables of the `oltp` workloads.
const LOADERS: u64 = 4;
/// The share of a limit that is left to other clients, and what is left at least.
const RESERVE: u64 = 10;
const LEAST_RESERVE: u64 = 5;

/// A limit on connections, and how much of it is used.
pub(crate) struct Limit {
    /// What the server calls it.
    pub(crate) name: &'static str,
    /// Connections that there may be.
    pub(crate) most: u64,
    /// Connections that there are, the control session among them.
    pub(crate) open: u64,
}

impl Limit {
    fn reserve(&self) -> u64 {
        (self.most / RESERVE).max(LEAST_RESERVE)
    }

    /// Connections that a run may open besides its control session.
    fn free(&self) -> u64 {
        self.most.saturating_sub(self.open).saturating_sub(self.reserve())
    }
}

/// Connections that a run has open at a time, at most: all arms of all cells keep theirs open from the beginning on.
/// Those of a program of the user's own come on top, since only it knows how many it opens.
fn needed(study: &Study) -> u64 {
    let own = || study.cells.iter().filter(|cell| cell.command.is_none());
    let connections = |cell: &Cell| u64::from(cell.load.connections);
    let held: u64 = own()
        .filter(|cell| !cell.workload.makes_connections())
        .map(|cell| connections(cell) * study.measured_arms_of(cell).len() as u64)
        .sum();
    let passing = own()
        .filter(|cell| cell.workload.makes_connections())
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

/// Why a run would take too many of a server's connections, and what to do; `None` if it leaves enough to others.
pub(crate) fn too_many(study: &Study, limits: &[Limit]) -> Option<String> {
    let needed = needed(study);
    let limit = limits.iter().find(|limit| needed - CONTROL > limit.free())?;
    let fewer = fitting(study, limit).map(|connections| {
        format!(
            "take fewer with ciphertax run {} … --set load.connections={connections}, or ",
            study.name
        )
    });
    Some(format!(
        "the run opens {needed} connections at a time, and of the {} that {} allows {} are open and {} are kept for other \
         clients; {}raise {} or close some",
        limit.most,
        limit.name,
        limit.open - CONTROL.min(limit.open),
        limit.reserve(),
        fewer.unwrap_or_default(),
        limit.name
    ))
}

/// The most connections of a cell with which the run fits; `None` if it never does.
fn fitting(study: &Study, limit: &Limit) -> Option<u32> {
    let cells = study.cells.iter().filter(|cell| cell.command.is_none());
    let (mut least, mut most) = (1, 0);
    for cell in cells {
        least = least.max(cell.load.workers.unwrap_or(1));
        most = most.max(cell.load.connections);
    }
    (least..most).rev().find(|connections| {
        let mut fewer = study.clone();
        for cell in &mut fewer.cells {
            cell.load.connections = *connections;
        }
        needed(&fewer) - CONTROL <= limit.free()
    })
}

#[cfg(test)]
mod tests {
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
    }

    #[test]
    fn no_fewer_connections_are_advised_than_a_cell_has_load_threads() {
        let with_workers = cell("bulk", "bulk_read", 4).replace("= 4 }", "= 4, workers = 2 }");
        let problem = too_many(&study(&with_workers), &[limit(10, 1)]).unwrap();
        assert!(!problem.contains("--set"), "{problem}");
        let problem = too_many(&study(&with_workers), &[limit(15, 1)]).unwrap();
        assert!(problem.contains("load.connections=2"), "{problem}");
    }
}
