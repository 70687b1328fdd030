//! Owns a private MariaDB until its standard input ends, and says where it is. With the argument `guard` it is the
//! guard of that server, as in the `ciphertax` command. Further arguments are options of the server.

use std::io::{self, Read};
use std::process::ExitCode;

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_supervise::guard;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["guard"] {
        return guard::main();
    }
    let builder = arguments
        .into_iter()
        .fold(PrivateServer::builder(&MARIADB), |builder, option| {
            builder.option(option)
        });
    match builder.start() {
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
