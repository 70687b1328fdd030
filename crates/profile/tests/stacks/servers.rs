//! Threads of real servers.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::{MARIADB, MARIADB_10_2, MONGODB, MYSQL, MYSQL_5_6, POSTGRESQL};
use ciphertax_profile::Stacks;
use ciphertax_testkit::fetched;

use crate::look::{look, names, threads};

const CONNECTIONS: usize = 8;

#[test]
fn idle_connections_of_mariadb_are_unwound_to_the_begin_of_their_threads() {
    let server = PrivateServer::builder(&MARIADB).start().unwrap();
    // They wait for the client's part of the handshake.
    let connections: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let mut connection = TcpStream::connect(server.address()).unwrap();
            connection.read_exact(&mut [0; 20]).unwrap();
            connection
        })
        .collect();
    let mut seen = Seen::default();
    seen.look(&mut Stacks::default(), &server.pids());
    let complete = seen
        .complete
        .iter()
        .flat_map(|(names, times)| vec![names; *times]);
    let serving = complete.filter(|names| names.contains("handle_one_connection "));
    assert_eq!(serving.count(), CONNECTIONS, "{seen:#?}");
    assert!(seen.incomplete.is_empty(), "{seen:#?}");
    drop(connections);
}

/// How often which stacks were seen, as the names of their functions.
#[derive(Debug, Default)]
struct Seen {
    complete: BTreeMap<String, usize>,
    incomplete: BTreeMap<String, usize>,
    stacks: usize,
}

impl Seen {
    fn look(&mut self, stacks: &mut Stacks, pids: &[u32]) {
        for pid in pids {
            // A child may end meanwhile.
            if stacks.refresh(*pid).is_err() {
                continue;
            }
            for thread in threads(*pid) {
                // The kernel's own threads for files have no stack.
                let Some((registers, copy)) = look(*pid, thread).filter(|seen| seen.0.values[7] != 0) else {
                    continue;
                };
                let stack = stacks.unwind(*pid, &registers, &copy);
                let names = names(stacks, *pid, &stack).join(" < ");
                let which = match stack.is_complete {
                    true => &mut self.complete,
                    false => &mut self.incomplete,
                };
                *which.entry(names).or_default() += 1;
                self.stacks += 1;
            }
        }
    }
}

fn children(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children
        .split_ascii_whitespace()
        .filter_map(|child| child.parse().ok())
        .collect()
}

mod test_all {
    use super::*;

    #[test]
    fn all_threads_of_every_server_are_unwound_to_their_begin() {
        let mut stacks = Stacks::default();
        for entry in [&MARIADB_10_2, &MYSQL, &MYSQL_5_6, &POSTGRESQL, &MONGODB] {
            let Some(_) = fetched(entry) else { continue };
            let server = PrivateServer::builder(entry).start().unwrap();
            let connections: Vec<TcpStream> = (0..CONNECTIONS)
                .map(|_| TcpStream::connect(server.address()).unwrap())
                .collect();
            let mut seen = Seen::default();
            for _ in 0..20 {
                std::thread::sleep(Duration::from_millis(10));
                let mut pids = server.pids();
                pids.extend(server.pids().into_iter().flat_map(children));
                seen.look(&mut stacks, &pids);
            }
            let incomplete: usize = seen.incomplete.values().sum();
            println!("{entry}: {incomplete} of {} stacks are not complete", seen.stacks);
            assert!(seen.stacks >= 20, "{entry}: {seen:#?}");
            assert!(incomplete * 100 <= seen.stacks, "{entry}: {:#?}", seen.incomplete);
            drop(connections);
        }
    }
}
