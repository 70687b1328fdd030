//! Owns a private PostgreSQL, or the one that its first argument names, until its standard input ends, and says where it
//! is. With the argument `guard` it is the guard of that server, as in the `ciphertax` command. Further arguments are
//! options of the server.

use std::io::{self, Read};
use std::process::ExitCode;

use ciphertax_lab::{PrivateServer, catalogue};
use ciphertax_supervise::guard;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or("postgresql".into());
    if name == "guard" {
        return guard::main();
    }
    let Some(entry) = catalogue::find(&name) else {
        eprintln!("there is no server {name}");
        return ExitCode::from(2);
    };
    let server = arguments.fold(PrivateServer::builder(entry), |builder, option| {
        builder.option(option)
    });
    match server.start() {
        Ok(server) => {
            println!(
                "{} {} {}",
                server.pids()[0],
                server.address(),
                server.folder().display()
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
