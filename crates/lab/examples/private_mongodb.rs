//! Owns a private MongoDB until its standard input ends, and says where it is. With the argument `guard` it is the
//! guard of that server, as in the `ciphertax` command.

use std::io::{self, Read};
use std::process::ExitCode;

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MONGODB;
use ciphertax_supervise::guard;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("guard") {
        return guard::main();
    }
    match PrivateServer::builder(&MONGODB).start() {
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
