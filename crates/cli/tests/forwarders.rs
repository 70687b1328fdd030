//! Servers of the user's own behind a program that listens in their place and passes connections on: whose CPU time that is.

use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use ciphertax_observe::ProcessTree;
use ciphertax_records::ConnectionRecord;

use crate::common::*;

/// A HAProxy that passes connections on to a port.
struct Forwarder {
    process: Child,
    port: u16,
    _folder: Sandbox,
}

impl Forwarder {
    /// `option` is of the server behind it. `None` where there is no HAProxy.
    fn start(to: u16, option: &str) -> Option<Self> {
        Self::start_on("127.0.0.1", to, option)
    }

    fn start_on(host: &str, to: u16, option: &str) -> Option<Self> {
        let unpacked = unpacked_tunnels().filter(|root| root.join("usr/sbin/haproxy").exists());
        let root = unpacked.unwrap_or_else(|| "/".into());
        let program = Some(root.join("usr/sbin/haproxy")).filter(|program| program.exists());
        let Some(program) = program else {
            not_tested("there is no HAProxy; `scripts/setup.sh tunnels` gets one");
            return None;
        };
        let folder = Sandbox::new();
        let settings = folder.work().join("haproxy.cfg");
        let text = format!(
            "defaults\n mode tcp\n timeout connect 10s\n timeout client 60s\n timeout server 60s\n\
             listen forwarder\n bind fd@0\n server database 127.0.0.1:{to} {option}\n"
        );
        fs::write(&settings, text).unwrap();
        let listener = TcpListener::bind((host, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let process = Command::new(program)
            .args(["-db", "-f"])
            .arg(&settings)
            .env("LD_LIBRARY_PATH", root.join("usr/lib/x86_64-linux-gnu"))
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Some(Self {
            process,
            port,
            _folder: folder,
        })
    }

    /// The URL of the server behind it, by which it is reached here.
    fn url(&self, server: &Own) -> String {
        let url = server.url_with(server.password());
        url.replacen(&format!(":{}/", server.port()), &format!(":{}/", self.port), 1)
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// All processes of a server, by who listens.
fn processes_of(server: &Own) -> ProcessTree {
    let listens = || listener(server.nodes()[0]);
    // Processes that were just started have not closed yet what their parent listens on.
    assert!(within(PATIENCE, || matches!(listens(), SocketOwner::One(_))));
    loop {
        if let SocketOwner::One(pid) = listens() {
            return ProcessTree::open(&[pid]).unwrap();
        }
    }
}

#[test]
fn the_cpu_time_behind_a_forwarder_is_that_of_the_database() {
    on_each(|server| {
        let Some(forwarder) = Forwarder::start(server.port(), "") else {
            return;
        };
        let database = processes_of(server);
        let connect = |count: &str| -> (ConnectionRecord, f64) {
            let before = database.read().unwrap();
            let finished = Sandbox::new().finish(&["connect", &forwarder.url(server), count, "--json"]);
            let used = database.read().unwrap().since(&before).cpu.unwrap();
            let found = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished:?}"));
            (found, used.total_ns as f64 / 1e3)
        };
        let (found, used) = loop {
            let (found, used) = connect("--count=20");
            // Else it had other work.
            if let Some(server_cpu) = &found.first_answer.server_cpu_us {
                break (found.clone(), used / (20.0 * server_cpu.median));
            }
        };
        // What it does for the first of them, for those that resume and after each is none of a connection's.
        let holds = (0.9..20.0).contains(&used);
        assert!(holds, "{used} times what its connections take");
        assert_eq!(found.through.as_deref(), Some("haproxy"));
        assert!(found.same_host);
        let (alone, _) = connect("--count=1");
        let unread = alone.first_answer.server_cpu_unread.unwrap();
        let is_said =
            unread.contains("haproxy listens there in the server's place") || unread.contains("other work");
        assert!(is_said, "{unread}");
    });
}

#[test]
fn a_run_through_a_forwarder_bills_the_database_and_it_each_and_says_so_first() {
    let server = OwnServer::start();
    let Some(forwarder) = Forwarder::start(server.port(), "") else {
        return;
    };
    let haproxy = ProcessTree::open(&[forwarder.process.id()]).unwrap();
    let before = haproxy.read().unwrap();
    let sandbox = Sandbox::new();
    let finished = start_study(&sandbox, &forwarder.url(&server), &[]).finish();
    let used = haproxy.read().unwrap().since(&before).cpu.unwrap().total_ns;
    finished.measured();
    // By its own clock, with what does not count and what is done between slices.
    let slices = samples(&sandbox.run());
    let billed = slices
        .iter()
        .map(|sample| sample.server.pooler_cpu.unwrap().total_ns);
    let billed: u64 = billed.sum();
    assert!((1..=used).contains(&billed), "{billed} of {used} ns");
    sandbox.finish(&["report", "run", "--full"]).shows("pooler");
    finished.shows("through haproxy");
    let run = record(&sandbox.run());
    let [own] = &run.head.servers[..] else {
        panic!("{:?}", run.head.servers)
    };
    let found = (own.through.as_deref(), own.same_host, &own.cpu_unread);
    assert_eq!(found, (Some("haproxy"), true, &None));
    let proofs = run.head.arms.iter().flat_map(|arm| &arm.sessions[0].proofs);
    let mut wire = proofs.filter(|proof| proof.witness == Witness::Wire);
    assert!(wire.all(|proof| proof.evidence.ends_with("as far as haproxy, not behind it")));
}

#[test]
fn behind_a_forwarder_that_gives_its_clients_addresses_nobody_is_billed() {
    let server = OwnServer::start();
    let Some(forwarder) = Forwarder::start(server.port(), "send-proxy") else {
        return;
    };
    server.query("SET GLOBAL proxy_protocol_networks = '127.0.0.1'");
    let finished = Sandbox::new().finish(&["connect", &forwarder.url(&server), "--count=2", "--json"]);
    let found: ConnectionRecord = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(found.through.as_deref(), Some("haproxy"));
    let unread = found.first_answer.server_cpu_unread.unwrap();
    says(&unread, "haproxy listens there and passes connections on");
}

/// Providers put many databases behind one address and tell them apart so.
#[test]
fn a_router_by_the_names_of_servers_lets_tls_through() {
    let server = OwnMongoDb::start();
    let by_name = "\n tcp-request inspect-delay 5s\n tcp-request content accept if { req.ssl_sni localhost }\n \
                   tcp-request content reject if { req.ssl_hello_type 1 }";
    let Some(forwarder) = Forwarder::start_on("localhost", server.port(), by_name) else {
        return;
    };
    let url = forwarder.url(&server);
    for url in [url.replacen("127.0.0.1", "localhost", 1), url] {
        let is_named = url.contains("localhost");
        let finished = Sandbox::new().finish(&["connect", &url, "--count=2"]);
        assert_eq!(finished.stdout.contains("TLSv1.3"), is_named, "{finished:?}");
    }
}

mod test_all {
    use ciphertax_lab::catalogue::POSTGRESQL_18;

    use super::*;

    /// Before a server that is reached by TLS at once or not at all.
    #[test]
    fn what_is_not_measured_begins_tls_as_the_url_says() {
        if fetched(&POSTGRESQL_18).is_none() {
            return;
        }
        let server = OwnPostgreSql::start_of(&POSTGRESQL_18);
        let tls_alone = "\n tcp-request inspect-delay 5s\n tcp-request content accept if { req.ssl_hello_type 1 }\n \
                         tcp-request content reject";
        let Some(forwarder) = Forwarder::start(server.port(), tls_alone) else {
            return;
        };
        let url = forwarder.url(&server);
        let direct = format!("{url}?sslmode=require&sslnegotiation=direct");
        let sandbox = Sandbox::new();
        let study = ["run", "postgres-tls-versions", &direct, "--time=3", "--out=run"];
        sandbox.finish(&study).measured();
        sandbox.finish(&["clean", &direct]).shows("Nothing to remove");
        let asked = Sandbox::new().finish(&["clean", &format!("{url}?sslmode=require")]);
        assert_eq!(asked.code, Some(2), "{asked:?}");
    }
}
