//! Owns a private MariaDB and a relay that encrypts cells before it until its standard input ends, and says where the relay is. With
//! the argument `guard` or `column-relay` it is the guard of both, or the relay's own process, as in the `ciphertax` command.

use std::io::{self, Read};
use std::process::ExitCode;

use ciphertax_lab::catalogue::MARIADB;
use ciphertax_lab::column_relay::{self, ColumnRelayPlan};
use ciphertax_lab::{PrivateServer, Result};
use ciphertax_supervise::{GuardProgram, guard};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("guard") => return guard::main(),
        Some("column-relay") => return column_relay::main(),
        _ => {}
    }
    match own() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn own() -> Result<()> {
    let server = PrivateServer::builder(&MARIADB).start()?;
    let plan = ColumnRelayPlan {
        cells: None,
        link: None,
    };
    let relay = column_relay::start(&plan, &server, &GuardProgram::this_program())?;
    println!("{} {} {}", relay.pid(), relay.address(), relay.folder().display());
    let _ = io::stdin().read_to_end(&mut Vec::new());
    relay.stop()
}
