//! Owns a link until its standard input ends, and says where it is: the word `owns`, addresses that lead over it, and
//! process numbers. With the argument `server` it has a MariaDB at the far end and a tunnel to it too; with `nodes` the
//! link is one between nodes, its namespace is said in the place of addresses, and every line that it is told is how many milliseconds
//! they are apart from then on, there and back.
//! With the argument `guard` or `link` it is the guard of all that, or the link's own process, as in the `ciphertax` command.

use std::io::{self, Read};
use std::process::ExitCode;

use ciphertax_lab::catalogue::MARIADB;
use ciphertax_lab::tunnel;
use ciphertax_lab::{PrivateServer, Result, RunningLink, link};
use ciphertax_model::{Distances, Link, SshCipher, Tunnel};
use ciphertax_supervise::{GuardProgram, guard};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let owned = match words[..] {
        ["guard"] => return guard::main(),
        ["link"] => return link::main(),
        [] => own(false),
        ["server"] => own(true),
        ["nodes"] => own_nodes(),
        _ => {
            eprintln!("usage: link [server | nodes]");
            return ExitCode::from(2);
        }
    };
    match owned {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn own(with_server: bool) -> Result<()> {
    let program = GuardProgram::this_program();
    let distance = Link {
        rtt_ms: 1.0,
        ..Link::NONE
    };
    let link = RunningLink::start(&distance.into(), &program)?;
    let addresses = [link.delayed_address(), link.direct_address()];
    let mut pids = vec![link.pid()];
    let mut server = None;
    let mut tunnel = None;
    if with_server {
        let started = PrivateServer::builder(&MARIADB).inside(&link).start()?;
        pids.extend(started.pids());
        let ssh = Tunnel::Ssh(SshCipher::Aes256Gcm);
        let leading = tunnel::start(ssh, started.address(), Some(&link), &program)?;
        pids.extend(leading.processes().iter().map(|process| process.pid));
        (server, tunnel) = (Some(started), Some(leading));
    }
    println!("owns {} {}", listed(&addresses), listed(&pids));
    let _ = io::stdin().read_to_end(&mut Vec::new());
    // From the inside out.
    drop((tunnel, server, link));
    Ok(())
}

fn own_nodes() -> Result<()> {
    let apart = |rtt_ms| Distances {
        to_servers: None,
        between_nodes: Some(Link { rtt_ms, ..Link::NONE }),
    };
    let link = RunningLink::start(&apart(0.0), &GuardProgram::this_program())?;
    println!("owns {} {}", link.namespace().display(), link.pid());
    for line in io::stdin().lines().map_while(io::Result::ok) {
        link.set(&apart(line.parse().unwrap_or(f64::NAN)))?;
    }
    link.stop()
}

fn listed(words: &[impl ToString]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    words.join(",")
}
