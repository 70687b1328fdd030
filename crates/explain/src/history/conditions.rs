//! What may make the figures of a run others than those of another, by name.

use std::collections::BTreeMap;

use ciphertax_records::{Differs, MeasuredCell, Run};

use crate::facts::{self, Fact};

/// Conditions by name.
pub(super) type Conditions = BTreeMap<String, String>;

/// Those of a whole run.
pub(super) fn of_run(run: &Run) -> Conditions {
    let mut conditions = of_load(run);
    let several = run.head.servers.len() > 1;
    for server in &run.head.servers {
        let prefix = match several {
            true => format!("{}: ", server.name),
            false => String::new(),
        };
        let of_server = facts::of_server(server).into_iter();
        conditions.extend(of_server.map(|fact| (format!("{prefix}{}", fact.what), fact.value)));
    }
    conditions
}

/// Those of an arm in a cell.
pub(super) fn of_arm(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Conditions {
    let mut conditions = of_load(run);
    if let Some(server) = run.server_of(cell.found) {
        conditions.extend(named(facts::of_server(server)));
    }
    conditions.extend(named(facts::of_storage(&run.head.study, cell.asked)));
    let arms = run.head.arms.iter().filter(|other| other.name == arm);
    for session in arms.filter_map(|arm| arm.sessions_in(cell.found)) {
        conditions.extend(named(facts::of_session(&session.facts)));
    }
    conditions
}

fn of_load(run: &Run) -> Conditions {
    let facts = [facts::of_machine(&run.head), facts::of_method(&run.head.study)];
    named(facts.concat()).collect()
}

fn named(facts: Vec<Fact>) -> impl Iterator<Item = (String, String)> {
    facts.into_iter().map(|fact| (fact.what, fact.value))
}

/// What differs from one run to another, the most telling first.
pub(super) fn differences(before: &Conditions, after: &Conditions) -> Vec<Differs> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    let place = |name: &String| TELLING.iter().position(|telling| telling == name);
    names.sort_by_key(|name| (place(name).unwrap_or(TELLING.len()), *name));
    names.dedup();
    let is_other = |name: &&String| before.get(*name) != after.get(*name);
    let differs = |name: &String| Differs {
        what: name.clone(),
        before: before.get(name).cloned(),
        after: after.get(name).cloned(),
    };
    names.into_iter().filter(is_other).map(differs).collect()
}

/// Conditions in the order in which a reader would suspect them; all others follow by name.
const TELLING: [&str; 20] = [
    "server",
    "server's TLS library",
    "client's TLS library",
    "TLS version",
    "cipher",
    "group",
    "certificate",
    "session",
    "login",
    "server's CPU is that of",
    "server's CPU read by",
    "ciphertax",
    "target",
    "whose server",
    "server's processor",
    "processor",
    "CPUs",
    "hypervisor",
    "kernel",
    "operating system",
];
