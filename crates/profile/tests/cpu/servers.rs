//! Real servers under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::{MARIADB, POSTGRESQL};
use ciphertax_model::TlsVersion;
use ciphertax_profile::Watched;
use ciphertax_records::why::{ProfiledSide, SideProfile};
use ciphertax_testkit::{fetched, plain, plain_postgresql, run};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};
use ciphertax_wire::{Session as _, mysql, postgresql};

use crate::common::{Bed, cpu_time, share, side, this_thread};

const SLICE: Duration = Duration::from_millis(500);

/// Load threads that go on until this is dropped.
struct Load {
    is_over: Arc<AtomicBool>,
    threads: Vec<(u32, thread::JoinHandle<()>)>,
}

impl Load {
    /// So many threads, each of which does this again and again.
    fn start(threads: usize, load: impl Fn(&AtomicBool) + Send + Sync + 'static) -> Self {
        let (is_over, load) = (Arc::new(AtomicBool::new(false)), Arc::new(load));
        let spawn = |_| {
            let (is_over, load) = (Arc::clone(&is_over), Arc::clone(&load));
            let (say, hear) = std::sync::mpsc::channel();
            let thread = thread::spawn(move || {
                say.send(this_thread()).unwrap();
                load(&is_over);
            });
            (hear.recv().unwrap(), thread)
        };
        Self {
            threads: (0..threads).map(spawn).collect(),
            is_over,
        }
    }

    fn threads(&self) -> Vec<u32> {
        self.threads.iter().map(|(number, _)| *number).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for (_, thread) in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking());
        }
    }
}

#[test]
fn stacks_of_a_mariadb_over_tls_are_complete_and_cross_into_the_kernel() {
    let Some(mut bed) = Bed::new() else { return };
    let server = PrivateServer::builder(&MARIADB).start().unwrap();
    let policy = TlsPolicy::new(
        TlsVersion::V1_3,
        Verification::Ca(server.ca_file().unwrap().to_owned()),
    );
    let options = mysql::ConnectOptions {
        tls: Some(Arc::new(TlsConnector::new(&policy).unwrap())),
        ..plain(&server)
    };
    let load = Load::start(2, move |is_over| {
        run(async |reactor| {
            let (mut session, _) = mysql::Session::connect(reactor, &options).await.unwrap();
            while !is_over.load(Ordering::Relaxed) {
                session
                    .query("SELECT REPEAT('x', 20000), SHA2('y', 256)")
                    .await
                    .unwrap();
            }
        });
    });
    thread::sleep(Duration::from_millis(200));
    let watched = Watched {
        server: server.pids(),
        with_children: false,
        client: load.threads(),
    };
    let mut has_all = false;
    for _ in 0..3 {
        let before = cpu_time();
        bed.profiler.begin(&watched, &mut bed.stacks).unwrap();
        thread::sleep(SLICE);
        bed.profiler.stop();
        let began = cpu_time() - before;
        let profile = bed.end();
        let cost = cpu_time() - before;
        let of_server = side(&profile, ProfiledSide::Server);
        let of_client = side(&profile, ProfiledSide::Client);
        let samples = of_server.samples + of_client.samples;
        let sampled = Duration::from_secs(1) / of_server.hz * samples as u32;
        println!(
            "{} + {} samples, {} + {} complete, {} lost; profiling took {:.2} % of the CPU time that it is of, {:.2} % of it before",
            of_server.samples,
            of_client.samples,
            of_server.complete,
            of_client.complete,
            of_server.lost,
            100.0 * cost.as_secs_f64() / sampled.as_secs_f64(),
            100.0 * began.as_secs_f64() / sampled.as_secs_f64(),
        );
        // A machine that is busy may have samples lost.
        has_all |= of_server.lost == 0;
        assert!(of_server.samples > 20 && of_client.samples > 10, "{samples}");
        let is_complete = share(of_server.complete, of_server.samples) >= 0.99;
        assert!(is_complete, "{of_server:?}");
        let is_complete = share(of_client.complete, of_client.samples) >= 0.97;
        assert!(is_complete, "{of_client:?}");
        let functions = bed.functions(of_server);
        let modules: std::collections::BTreeSet<&str> =
            functions.keys().map(|(_, module)| module.as_str()).collect();
        assert!(modules.contains("mariadbd"), "{modules:?}");
        let has_it = modules.iter().any(|module| module.starts_with("libssl"));
        assert!(has_it, "{modules:?}");
        let is_whole = bed.profiler.comprises() == ciphertax_records::why::Complete::Whole;
        if is_whole {
            assert!(bed.samples_in(of_server, "do_syscall_64") > 0, "{functions:?}");
        }
        for function in ["dispatch_command", "SSL_write"] {
            let is_seen = bed.samples_in(of_server, function) > 0;
            assert!(is_seen, "{function}: {functions:?}");
        }
    }
    assert!(has_all);
}

#[test]
fn postgresqls_backends_are_the_servers_whether_they_stay_or_live_shortly() {
    let Some(_) = fetched(&POSTGRESQL) else { return };
    let Some(mut bed) = Bed::new() else { return };
    let server = PrivateServer::builder(&POSTGRESQL).start().unwrap();
    let options = plain_postgresql(&server);
    let ask = async |session: &mut postgresql::Session| {
        session
            .query("SELECT sum(i) FROM generate_series(1, 2000) i")
            .await
            .unwrap();
    };
    for stays in [true, false] {
        let options = options.clone();
        let load = Load::start(2, move |is_over| {
            run(async |reactor| {
                while !is_over.load(Ordering::Relaxed) {
                    let (mut session, _) = postgresql::Session::connect(reactor, &options).await.unwrap();
                    ask(&mut session).await;
                    while stays && !is_over.load(Ordering::Relaxed) {
                        ask(&mut session).await;
                    }
                    session.close().await.unwrap();
                }
            });
        });
        thread::sleep(Duration::from_millis(200));
        let profile = |bed: &mut Bed, with_children| {
            let watched = Watched {
                server: server.pids(),
                with_children,
                client: load.threads(),
            };
            bed.profile(&watched, || thread::sleep(SLICE)).0
        };
        // A busy machine may give a slice to the postmaster and the next to nobody.
        let is_more = (0..5).any(|_| {
            let (alone, all) = (profile(&mut bed, false), profile(&mut bed, true));
            let alone = side(&alone, ProfiledSide::Server).samples;
            let all = side(&all, ProfiledSide::Server);
            println!(
                "{alone} samples of the postmaster, {} of all; {} complete",
                all.samples, all.complete
            );
            if all.samples <= 50 {
                return false;
            }
            assert_backends_are_known(&bed, all);
            alone < all.samples / 2
        });
        assert!(is_more, "they stay: {stays}");
    }
}

fn assert_backends_are_known(bed: &Bed, all: &SideProfile) {
    assert!(share(all.complete, all.samples) >= 0.95, "{all:?}");
    let holds = bed.samples_in(all, "PostgresMain") > all.samples / 4;
    assert!(holds, "{:?}", bed.functions(all));
}
