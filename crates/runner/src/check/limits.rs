//! How many connections this machine lets a run open.

use std::{fs, io};

use ciphertax_lab::catalogue;
use ciphertax_model::{ServerSpec, Study, refuse_if};
use ciphertax_observe::{HardwareCounters, has_hardware_counters};
use ciphertax_supervise::child::{limit_of_files, raise_limit_of_files};
use ciphertax_wire::Target;
use rustix::process::{Resource, getrlimit};

use super::{Asked, Rule, of_plan};
use crate::connections::{fitting, needed, ports_wanted};
use crate::servers_to_play::Entry;

/// Open files of a run besides those of its connections.
pub(crate) const OWN_FILES: u64 = 100;

/// What the system allows this process.
#[derive(Clone, Copy)]
pub(crate) struct OwnLimits {
    /// Files that it may have open, once its limit is raised; `None` for as many as wanted.
    pub(crate) files: Option<u64>,
    /// Ports for connections to one address; `None` where nobody knows.
    pub(crate) ports: Option<u64>,
}

impl OwnLimits {
    pub(crate) const NONE: Self = Self {
        files: None,
        ports: None,
    };

    pub(crate) fn found() -> Self {
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok();
        Self {
            files: limit_of_files(),
            ports: range
                .and_then(|range| ports(&range))
                .map(|(first, last)| u64::from(last - first) + 1),
        }
    }
}

/// Servers for whose hardware counters there is room: where a run starts more of them, they do not have as many threads.
const COUNTED_SERVERS: u64 = 3;

/// Raises the limit of open files where a run needs more than it has; others leave it as it is for the programs that they start.
pub(crate) fn make_room(study: &Study) -> io::Result<()> {
    let counters = match has_hardware_counters() {
        Ok(true) => COUNTED_SERVERS * HardwareCounters::MOST_FILES,
        Ok(false) | Err(_) => 0,
    };
    let current = getrlimit(Resource::Nofile).current;
    match current.is_some_and(|current| current < needed(study) + OWN_FILES + counters) {
        true => raise_limit_of_files(),
        false => Ok(()),
    }
}

/// The first and the last of the ports that connections are given, of how the kernel writes them down.
pub(crate) fn ports(range: &str) -> Option<(u32, u32)> {
    let mut ends = range.split_whitespace().map_while(|end| end.parse().ok());
    let (first, last) = (ends.next()?, ends.next()?);
    (first <= last).then_some((first, last))
}

pub(super) const RULES: &[Rule] = &[
    of_plan("files", |asked| {
        let (study, wanted, allowed) = (asked.study, files(asked.study), asked.limits.files?);
        let why = format!(
            "the run opens {} connections at a time, and this process may have {allowed} files open; raise that with ulimit -n \
             {}, for which a limit that is set for the user may have to be raised first{}",
            needed(study),
            wanted.next_power_of_two(),
            or_fewer(asked)
        );
        refuse_if(connects(asked) && allowed < wanted, why)
    }),
    of_plan("ports", |asked| {
        let (wanted, found) = (ports_to(asked.target, asked.study), asked.limits.ports?);
        let why = format!(
            "the run wants {wanted} ports for its connections to one server, of which half are to stay free where some are made \
             anew, and there are {found}; allow more with sysctl net.ipv4.ip_local_port_range=\"10000 65535\"{}",
            or_fewer(asked)
        );
        refuse_if(connects(asked) && found < wanted, why)
    }),
];

/// False for databases that all run in the load threads, and for several load generators, each of which needs room for its share alone.
fn connects(asked: &Asked<'_>) -> bool {
    let specs = asked.study.server_specs();
    let is_embedded = |spec: &ServerSpec| catalogue::find(&spec.server).is_some_and(Entry::is_built_in);
    asked.ranks.is_none() && (asked.target.is_some() || !specs.iter().all(is_embedded))
}

/// Files that a run has open.
fn files(study: &Study) -> u64 {
    needed(study) + OWN_FILES
}

/// Ports that a run has in use towards one server.
fn ports_to(target: Option<&Target>, study: &Study) -> u64 {
    match target {
        Some(target) if target.is_over_unix_socket() => 0,
        target => ports_wanted(study, target.is_some()),
    }
}

/// The advice to open so many connections as this machine lets a run open.
fn or_fewer(asked: &Asked<'_>) -> String {
    let (allowed, ports) = (asked.limits.files, asked.limits.ports);
    let fits = |study: &Study| {
        allowed.is_none_or(|allowed| files(study) <= allowed)
            && ports.is_none_or(|found| ports_to(asked.target, study) <= found)
    };
    let fewer = |connections: u32| format!(", or take fewer with --set load.connections={connections}");
    fitting(asked.study, fits).map_or(String::new(), fewer)
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::says;

    use super::*;

    fn refused(study: &Study, target: Option<&Target>, limits: &OwnLimits) -> Vec<String> {
        let asked = Asked {
            target,
            limits: *limits,
            ..Asked::of_study(study)
        };
        let refusals = RULES.iter().flat_map(|rule| rule.refusals(&asked));
        refusals.map(|refusal| refusal.to_string()).collect()
    }

    fn study(connections: u32) -> Study {
        study_with(connections, "")
    }

    fn study_with(connections: u32, cell: &str) -> Study {
        Study::from_toml(&format!(
            "name = \"mine\"\nquestion = \"?\"\ntime_s = 1\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n[[arm]]\n\
             name = \"tls\"\ntransport = \"tls1.3\"\n[[cell]]\nname = \"point\"\nworkload = \"oltp_point_select\"\n\
             load = {{ connections = {connections} }}\n{cell}"
        ))
        .unwrap()
    }

    #[test]
    fn too_few_files_and_ports_are_told_with_what_raises_them() {
        let limits = OwnLimits {
            files: Some(4_096),
            ports: Some(28_232),
        };
        assert_eq!(refused(&study(1_000), None, &limits), [""; 0]);
        let refusals = refused(&study(10_000), None, &limits);
        let [files, ports] = &refusals[..] else {
            panic!("{refusals:?}")
        };
        // Three arms with the baseline again.
        says(files, "opens 30002 connections … ulimit -n 32768");
        says(files, "--set load.connections=1331");
        says(ports, "wants 30002 ports … there are 28232");
        says(ports, "--set load.connections=1331");
        assert_eq!(refused(&study(10_000), None, &OwnLimits::NONE), [""; 0]);
    }

    #[test]
    fn new_connections_need_half_of_the_ports() {
        let limits = OwnLimits {
            ports: Some(28_232),
            ..OwnLimits::NONE
        };
        assert_eq!(refused(&study(5_000), None, &limits), [""; 0]);
        let connect = "[[cell]]\nname = \"new\"\nworkload = \"connect\"\nload = { connections = 8 }\n";
        let refusals = refused(&study_with(5_000, connect), None, &limits);
        assert!(refusals[0].contains("wants 30034 ports"), "{refusals:?}");
        let advised = study_with(4_699, connect);
        assert!(refusals[0].contains("load.connections=2823"), "{refusals:?}");
        assert_eq!(refused(&advised, None, &limits), [""; 0]);
    }

    #[test]
    fn connections_over_a_unix_socket_need_no_ports() {
        let limits = OwnLimits {
            ports: Some(100),
            ..OwnLimits::NONE
        };
        let target = |url: &str| Target::parse(url, None).unwrap();
        let over_tcp = target("postgresql://u:p@db/d");
        let study = study(1_000);
        assert_eq!(refused(&study, Some(&over_tcp), &limits).len(), 1);
        for socket in [
            "postgresql://u:p@/d?host=/run/postgresql",
            "mysql://u:p@localhost/?socket=/run/mysqld/mysqld.sock",
        ] {
            let over_socket = target(socket);
            assert_eq!(refused(&study, Some(&over_socket), &limits), [""; 0], "{socket}");
        }
    }

    #[test]
    fn a_range_of_ports_is_read() {
        assert_eq!(ports("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(ports("nothing"), None);
        assert_eq!(ports("9 1"), None);
        assert_eq!(ports("9"), None);
    }
}
