//! Owns a file system over the folder `data` of a private folder until its standard input ends, and says where that is.
//! The argument is its name, as in `gocryptfs`; with that of a server behind it, it is under such a private server. With
//! the argument `guard` alone it is the guard of that folder, as in the
//! `ciphertax` command.

use std::fs;
use std::io::{self, Read};
use std::process::ExitCode;

use ciphertax_lab::catalogue::{Entry, find};
use ciphertax_lab::file_system;
use ciphertax_lab::{Error, PrivateServer};
use ciphertax_model::{AtRest, FileSystem};
use ciphertax_supervise::guard::Guard;
use ciphertax_supervise::{GuardProgram, PrivateFolder, guard, sweep_stale};

fn main() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_default();
    if argument == "guard" {
        return guard::main();
    }
    let server = std::env::args().nth(2).and_then(|name| find(&name));
    match argument
        .parse()
        .map(|kind| server.map_or_else(|| own(kind), |server| own_server(kind, server)))
    {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}

fn own_server(kind: FileSystem, entry: &'static Entry) -> Result<(), Error> {
    let at_rest = AtRest {
        file_system: Some(kind),
        ..AtRest::default()
    };
    let server = PrivateServer::builder(entry).at_rest(at_rest).start()?;
    println!("{}", server.folder().display());
    let _ = io::stdin().read_to_end(&mut Vec::new());
    server.stop()
}

fn own(kind: FileSystem) -> Result<(), Error> {
    sweep_stale(&[]);
    let mut guard = Guard::start(&GuardProgram::this_program(), PrivateFolder::create(100)?)?;
    let folder = guard.folder().join("data");
    let write = |cause| Error::Write {
        path: folder.clone(),
        cause,
    };
    fs::create_dir(&folder).map_err(write)?;
    let mounted = file_system::mount(kind, &folder, 64, &mut guard)?;
    fs::write(folder.join("file"), "contents").map_err(write)?;
    mounted.flush()?;
    println!("{}", guard.folder().display());
    let _ = io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}
