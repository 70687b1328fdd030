//! Why the code and the waits of a server are not seen.

use ciphertax_model::Profiling;
use ciphertax_records::{CpuSource, Head, ServerRecord};

/// What sees them.
const REMEDY: &str =
    "for what its code does and waits for, run ciphertax on its machine, as the server's user or as root";

/// That a server of a run cannot be looked into, and why, in a sentence; `None` if all can, and where nobody is to look.
pub(crate) fn not_looked_into(head: &Head) -> Option<String> {
    if head.study.profile == Profiling::Off {
        return None;
    }
    let mut servers = head.servers.iter();
    servers.find_map(|server| Some(format!("{} was not looked into: {}.", server.name, why(server)?)))
}

fn why(server: &ServerRecord) -> Option<String> {
    Some(match (&server.cpu_from, &server.cpu_unread) {
        (Some(CpuSource::Agent(agent)), _) => {
            let refused = agent.not_looked_into.as_ref()?;
            format!("the agent on its machine says: {}", refused.trim_end_matches('.'))
        }
        (Some(CpuSource::Counter(_)), _) => format!("a counter tells CPU time alone; {REMEDY}"),
        (None, Some(_)) if !server.same_host => format!("it runs on another machine; {REMEDY}"),
        (None, Some(unread)) => unread.clone(),
        (None, None) => return None,
    })
}

#[cfg(test)]
mod tests {
    use ciphertax_records::{CounterRecord, ServerId};

    use super::*;

    #[test]
    fn a_server_elsewhere_or_out_of_sight_is_said_not_to_be_looked_into() {
        let seen = ServerRecord::unseen(ServerId::numbered(1), "db", Vec::new());
        assert_eq!(why(&seen), None);
        let unread = |same_host| {
            let unread = ServerRecord {
                cpu_unread: Some("who knows".into()),
                same_host,
                ..seen.clone()
            };
            why(&unread).unwrap()
        };
        assert_eq!(unread(true), "who knows");
        assert!(unread(false).contains("on another machine") && unread(false).contains(REMEDY));
        let told = ServerRecord {
            cpu_from: Some(CpuSource::Counter(CounterRecord {
                source: "the command sh".into(),
                counts: "what it counts".into(),
                resolution_s: 1.0,
            })),
            ..seen
        };
        assert!(why(&told).unwrap().contains("CPU time alone"));
    }
}
