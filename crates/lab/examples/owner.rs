//! Owns what its arguments name until its standard input ends, and says where that is; for tests, which kill it. It is
//! also the guard of its things, their link and their relay, as the `ciphertax` command is.

use std::env;
use std::error::Error;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ciphertax_lab::catalogue::{Entry, MARIADB, MONGODB, find};
use ciphertax_lab::{PrivateServer, RunningLink, column_relay, file_system, install, tunnel};
use ciphertax_model::{
    AtRest, AuthenticationMethod, Distances, FileSystem, Link, ReplicaSet, SshCipher, Tunnel,
};
use ciphertax_supervise::guard::Guard;
use ciphertax_supervise::{GuardProgram, PrivateFolder, sweep_stale};
use ciphertax_testkit::{run_within, within};
use ciphertax_wire::mongodb::bson::rawdoc;
use ciphertax_wire::mongodb::{ConnectOptions, Login, Session};
use ciphertax_wire::{Session as _, WireError};

ciphertax_testkit::plays_roles!();

/// How long a server that finds its disk full may take to notice, and to end.
const PATIENCE: Duration = Duration::from_secs(90);

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let owned = match words[..] {
        ["server", name] => own_server(name, None),
        ["column-relay"] => own_column_relay(),
        ["tunnel", kind, target] => own_tunnel(kind, target),
        ["file-system", kind] => own_file_system(kind),
        ["file-system", kind, name] => own_server(name, Some(kind)),
        ["link"] => own_link(false),
        ["link", "server"] => own_link(true),
        ["link", "nodes"] => own_link_of_nodes(),
        ["install", name] => install_server(name),
        ["small-disk", task] => on_a_small_disk(task),
        _ => Err(format!("nothing is called {words:?}").into()),
    };
    match owned {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Says where it is, and waits for the end of standard input.
fn own(place: impl Display) {
    println!("{place}");
    let _ = io::stdin().read_to_end(&mut Vec::new());
}

fn listed(words: impl IntoIterator<Item = impl ToString>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| word.to_string()).collect();
    words.join(",")
}

fn entry(name: &str) -> Result<&'static Entry, String> {
    find(name).ok_or_else(|| format!("there is no server {name}"))
}

fn own_server(name: &str, file_system: Option<&str>) -> Outcome {
    let at_rest = AtRest {
        file_system: file_system.map(str::parse).transpose()?,
        ..AtRest::default()
    };
    let server = PrivateServer::builder(entry(name)?).at_rest(at_rest).start()?;
    let (pid, address) = (server.pids()[0], server.address());
    own(format!("{pid} {address} {}", server.folder().display()));
    Ok(())
}

/// A private MariaDB, and a relay before it that could encrypt cells.
fn own_column_relay() -> Outcome {
    let server = PrivateServer::builder(&MARIADB).start()?;
    let relay = column_relay::start(None, &server, None, &GuardProgram::this_program())?;
    let (pid, address) = (relay.process.pid, relay.address);
    own(format!("{pid} {address} {}", relay.process.folder().display()));
    Ok(relay.process.stop()?)
}

/// `kind` is the tunnel as JSON.
fn own_tunnel(kind: &str, target: &str) -> Outcome {
    let kind: Tunnel = serde_json::from_str(kind)?;
    let tunnel = tunnel::start(kind, target.parse()?, None, &GuardProgram::this_program())?;
    let pids = listed(tunnel.processes().iter().map(|process| process.pid));
    own(format!(
        "{} {} {pids}",
        tunnel.address(),
        tunnel.folder().display()
    ));
    Ok(())
}

/// A file system over the folder `data` of a private folder.
fn own_file_system(kind: &str) -> Outcome {
    sweep_stale(&[]);
    let mut guard = Guard::start(&GuardProgram::this_program(), PrivateFolder::create(100)?)?;
    let folder = guard.folder().join("data");
    fs::create_dir(&folder)?;
    let mounted = file_system::mount(kind.parse::<FileSystem>()?, &folder, 64, &mut guard)?;
    fs::write(folder.join("file"), "contents")?;
    mounted.flush()?;
    own(guard.folder().display());
    Ok(())
}

/// Addresses that lead over a link, and process numbers; with a MariaDB at its far end, and a tunnel to it, if asked.
fn own_link(with_server: bool) -> Outcome {
    let program = GuardProgram::this_program();
    let distance = Link {
        rtt_ms: 1.0,
        ..Link::NONE
    };
    let link = RunningLink::start(&distance.into(), &program)?;
    let addresses = listed([link.endpoints.delayed, link.endpoints.direct]);
    let mut pids = vec![link.process.pid];
    let mut far_end = None;
    if with_server {
        let server = PrivateServer::builder(&MARIADB).inside(&link).start()?;
        pids.extend(server.pids());
        let ssh = Tunnel::Ssh(SshCipher::Aes256Gcm);
        let tunnel = tunnel::start(ssh, server.address(), Some(&link), &program)?;
        pids.extend(tunnel.processes().iter().map(|process| process.pid));
        far_end = Some((tunnel, server));
    }
    own(format!("owns {addresses} {}", listed(pids)));
    // From the inside out.
    drop((far_end, link));
    Ok(())
}

/// The namespace of a link between nodes: every line of standard input is how many milliseconds they are apart from then
/// on, there and back.
fn own_link_of_nodes() -> Outcome {
    let apart = |rtt_ms| Distances {
        to_servers: None,
        between_nodes: Some(Link { rtt_ms, ..Link::NONE }),
    };
    let link = RunningLink::start(&apart(0.0), &GuardProgram::this_program())?;
    println!("owns {} {}", link.endpoints.namespace.display(), link.process.pid);
    for line in io::stdin().lines().map_while(io::Result::ok) {
        link.set(&apart(line.parse().unwrap_or(f64::NAN)))?;
    }
    Ok(link.process.stop()?)
}

fn install_server(name: &str) -> Outcome {
    let installation = install(entry(name)?, &AtomicBool::new(false), &mut |step| {
        println!("{name}: {step}");
    })?;
    println!("{name}: {}", installation.program.display());
    Ok(())
}

/// Starts a MongoDB where the temporary files are, and says what came of it: `start` does no more, `start-set` makes it a
/// replica set, and `fill` uses up the disk under it and writes.
fn on_a_small_disk(task: &str) -> Outcome {
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
    println!("left: {}", fs::read_dir(env::temp_dir())?.count());
    Ok(())
}

/// Leaves nothing of the disk.
fn fill(folder: &Path) -> Outcome {
    let mut file = File::create(folder.join("ballast"))?;
    for chunk in [1 << 16, 1] {
        while file.write_all(&vec![0; chunk]).is_ok() {}
    }
    Ok(())
}

fn write_until_it_fails(server: &PrivateServer) -> Outcome {
    let (user, password) = (server.user(), server.password().clone());
    let login = Login::by(AuthenticationMethod::ScramSha256, user, password).ok_or("no such login")?;
    let address = server.address();
    let options = ConnectOptions::new(address.ip().to_string(), address.port(), login);
    let text = "x".repeat(1 << 20);
    let outcome: Option<Result<(), WireError>> = run_within(PATIENCE, async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await?;
        loop {
            let document = rawdoc! { "text": text.as_str() };
            let write = rawdoc! { "insert": "ballast", "documents": [document], "$db": "ciphertax" };
            session.command(&write).await?;
        }
    });
    match outcome {
        Some(Err(error)) => println!("a write failed: {error}"),
        _ => println!("writes hung"),
    }
    Ok(())
}

fn wait_for_its_end(server: &PrivateServer) {
    if within(PATIENCE, || !server.is_alive()) {
        println!("ended: {}", server.log_tail());
    } else {
        println!("still there");
    }
}
