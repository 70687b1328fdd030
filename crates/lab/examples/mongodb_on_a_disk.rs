//! Starts a private MongoDB where the temporary files are, and says what came of it; for tests, which give it a small
//! disk. `start` does no more, `start-set` makes it a replica set, and `fill` uses up the disk under it and writes.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MONGODB;
use ciphertax_model::{AuthenticationMethod, ReplicaSet};
use ciphertax_reactor::Reactor;
use ciphertax_supervise::guard;
use ciphertax_wire::mongodb::bson::rawdoc;
use ciphertax_wire::mongodb::{ConnectOptions, Login, Session};

/// How long a server that finds its disk full may take to notice, and to end.
const PATIENCE: Duration = Duration::from_secs(90);

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    if task == "guard" {
        return guard::main();
    }
    match run(&task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &str) -> Result<(), Box<dyn Error>> {
    // It looks after its data every second instead of every minute.
    let mut builder = PrivateServer::builder(&MONGODB).option("--syncdelay=1");
    if task == "start-set" {
        builder = builder.replica_set(ReplicaSet {
            members: 3,
            read_only_member: false,
        });
    }
    match builder.start() {
        Err(error) => println!("refused: {error}"),
        Ok(server) => {
            println!("started");
            if task == "fill" {
                fill(server.folder())?;
                write_until_it_fails(&server)?;
                wait_for_its_end(&server);
            }
            server.stop()?;
        }
    }
    println!("left: {}", fs::read_dir(std::env::temp_dir())?.count());
    Ok(())
}

/// Leaves nothing of the disk.
fn fill(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = File::create(folder.join("ballast"))?;
    for chunk in [1 << 16, 1] {
        while file.write_all(&vec![0; chunk]).is_ok() {}
    }
    Ok(())
}

fn write_until_it_fails(server: &PrivateServer) -> Result<(), Box<dyn Error>> {
    let login = Login::by(
        AuthenticationMethod::ScramSha256,
        server.user(),
        server.password().clone(),
    );
    let address = server.address();
    let login = login.ok_or("no such login")?;
    let options = ConnectOptions::new(address.ip().to_string(), address.port(), login);
    let text = "x".repeat(1 << 20);
    let reactor = Reactor::new()?;
    let writes = async {
        let (mut session, _) = Session::connect(&reactor, &options).await?;
        loop {
            let document = rawdoc! { "text": text.as_str() };
            let write = rawdoc! { "insert": "ballast", "documents": [document], "$db": "ciphertax" };
            session.command(&write).await?;
        }
    };
    let outcome: Option<Result<(), ciphertax_wire::WireError>> =
        reactor.run_one(writes, Instant::now() + PATIENCE)?;
    match outcome {
        Some(Err(error)) => println!("a write failed: {error}"),
        _ => println!("writes hung"),
    }
    Ok(())
}

fn wait_for_its_end(server: &PrivateServer) {
    let deadline = Instant::now() + PATIENCE;
    while server.is_alive() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    if server.is_alive() {
        println!("still there");
    } else {
        println!("ended: {}", server.log_tail());
    }
}
