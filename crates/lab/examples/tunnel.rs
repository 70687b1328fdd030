//! Owns a tunnel until its standard input ends, and says where it is: address, folder and process numbers. The
//! arguments are the tunnel, as a study names it (`ssh:aes256-ctr`, `stunnel` or `haproxy`), and the
//! address it leads to. With the argument `guard` it is the guard of that tunnel, as in the `ciphertax` command.

use std::io::{self, Read};
use std::process::ExitCode;

use ciphertax_lab::tunnel;
use ciphertax_model::Tunnel;
use ciphertax_supervise::{GuardProgram, guard};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["guard"] => guard::main(),
        [kind, target] => match (kind_named(kind), target.parse()) {
            (Some(kind), Ok(target)) => own(kind, target),
            _ => usage(),
        },
        _ => usage(),
    }
}

fn own(kind: Tunnel, target: std::net::SocketAddr) -> ExitCode {
    match tunnel::start(kind, target, None, &GuardProgram::this_program()) {
        Ok(tunnel) => {
            let pids: Vec<String> = tunnel
                .processes()
                .iter()
                .map(|process| process.pid.to_string())
                .collect();
            println!(
                "{} {} {}",
                tunnel.address(),
                tunnel.folder().display(),
                pids.join(",")
            );
            let _ = io::stdin().read_to_end(&mut Vec::new());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn kind_named(name: &str) -> Option<Tunnel> {
    match name.split_once(':') {
        Some(("ssh", cipher)) => cipher.parse().ok().map(Tunnel::Ssh),
        None if name == "stunnel" => Some(Tunnel::Stunnel),
        None if name == "haproxy" => Some(Tunnel::Haproxy),
        _ => None,
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: tunnel ssh:CIPHER|stunnel|haproxy ADDRESS:PORT");
    ExitCode::from(2)
}
