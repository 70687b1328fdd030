//! Servers that were made to have one bound: is it the one that is named?

use std::env;

use ciphertax_records::why::BoundRow;

use crate::common::*;
use crate::preloaded::Preloaded;
use crate::slow_write::SlowWrite;

/// Runs of each, where the environment does not say.
const RUNS: &str = "100";
/// Of these runs so many must be right.
const MOST_RIGHT: f64 = 0.95;
/// How long the second client keeps the row each time.
const HELD: Duration = Duration::from_millis(4);

/// One way to give a server a bound.
struct Made {
    name: &'static str,
    /// Of the study file, beside what all of these studies have.
    study: &'static str,
    how: How,
    /// The arms that have the bound.
    arms: &'static [&'static str],
    bound: Bound,
    /// How the name of what bounds it begins, where it has one.
    of: &'static str,
}

enum How {
    /// By the study alone.
    Study,
    /// By a library in the server, with the nanoseconds in a variable of the environment.
    Preloaded {
        source: &'static str,
        variable: &'static str,
        ns: u32,
    },
    SlowWrite {
        ns: u32,
    },
    /// By another client of a server of the user's own, which keeps its one row most of the time.
    HeldRow,
}

/// Of those studies that do not say.
const ARMS: &str =
    r#"arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]"#;
const BOTH: &[&str] = &["plain", "tls"];
const OVER_TLS: &[&str] = &["tls"];

const MADE: [Made; 6] = [
    Made {
        name: "every flush takes 4 ms more",
        study: r#"
            storage = { flush_log_at_trx_commit = 1, binary_log = true, sync_binlog = 1 }
            cell = [{ name = "c", workload = "oltp_update_non_index", load = { connections = 4 } }]"#,
        how: How::Preloaded {
            source: "slow_flush.c",
            variable: "SLOW_FLUSH_NS",
            ns: 4_000_000,
        },
        arms: BOTH,
        bound: Bound::LogFlush,
        of: "",
    },
    Made {
        name: "buffer pool of a fifth of the data, every page read takes 4 ms more",
        study: r#"
            storage = { memory_mb = 8, flush = "direct" }
            dataset = { table_size = 200_000 }
            cell = [{ name = "c", workload = "oltp_point_select", load = { connections = 4 } }]"#,
        how: How::Preloaded {
            source: "slow_read.c",
            variable: "SLOW_READ_NS",
            ns: 4_000_000,
        },
        arms: BOTH,
        bound: Bound::DeviceReads,
        of: "",
    },
    Made {
        name: "one row, held by a second client for 4 ms at a time",
        study: r#"
            dataset = { table_size = 1 }
            cell = [{ name = "c", workload = "oltp_update_non_index", load = { connections = 4 } }]"#,
        how: How::HeldRow,
        arms: BOTH,
        bound: Bound::Lock,
        of: "row lock",
    },
    Made {
        name: "a client that signs with RSA-4096 in every handshake",
        study: r#"
            certificate = "ecdsa-p256"
            arm = [
                { name = "plain", transport = "plain" },
                { name = "tls", transport = "tls1.3", tls = { client_certificate = "rsa-4096" } },
            ]
            cell = [{ name = "c", workload = "connect", load = { connections = 16, workers = 1 } }]"#,
        how: How::Study,
        arms: OVER_TLS,
        bound: Bound::ClientCpu,
        of: "",
    },
    Made {
        name: "20 ms away",
        study: r#"
            link = { rtt_ms = 20 }
            cell = [{ name = "c", workload = "oltp_point_select", load = { connections = 4 } }]"#,
        how: How::Study,
        arms: BOTH,
        bound: Bound::RoundTrips,
        of: "",
    },
    Made {
        name: "every SSL_write computes 300 µs more",
        study: r#"
            cell = [{ name = "c", workload = "oltp_point_select", load = { connections = 8 } }]"#,
        how: How::SlowWrite { ns: 300_000 },
        arms: OVER_TLS,
        bound: Bound::ServerCpu,
        of: "TLS record: protocol",
    },
];

#[test]
#[ignore = "takes three hours"]
fn the_bound_that_a_server_was_made_to_have_is_named() {
    let runs: usize = env::var("BOUND_RUNS").unwrap_or(RUNS.into()).parse().unwrap();
    println!("# Bounds that servers were made to have\n");
    println!(
        "{runs} short runs of each, of as few blocks as may say a bound: six that are looked into. Right is a run in which every arm \
         that was made so is said to be bound by that, and by the lock or the category of code that was meant.\n"
    );
    println!("| made | bound | right | otherwise said |");
    println!("|---|---|--:|---|");
    let mut wrong = Vec::new();
    for made in &MADE {
        let mut said = BTreeMap::<String, usize>::new();
        let right = (0..runs).filter(|_| {
            let rows = made.run();
            let others = rows.iter().filter(|row| !made.is(row));
            let others: Vec<String> = others.map(in_short).collect();
            for other in &others {
                *said.entry(other.clone()).or_default() += 1;
            }
            rows.len() == made.arms.len() && others.is_empty()
        });
        let right = right.count();
        let said: Vec<String> = said
            .iter()
            .map(|(other, count)| format!("{other}: {count}"))
            .collect();
        println!(
            "| {} | {:?} | {right} of {runs} | {} |",
            made.name,
            made.bound,
            said.join("; ")
        );
        if (right as f64) < MOST_RIGHT * runs as f64 {
            wrong.push(made.name);
        }
    }
    println!();
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn in_short(row: &BoundRow) -> String {
    format!("{}: {:?} {}", row.arm, row.bound, row.of.as_deref().unwrap_or(""))
}

impl Made {
    fn is(&self, row: &BoundRow) -> bool {
        row.bound == self.bound && row.of.as_deref().unwrap_or("").starts_with(self.of)
    }

    /// The bounds that a run says of the arms that have this one.
    fn run(&self) -> Vec<BoundRow> {
        let sandbox = Sandbox::new();
        let arms = match self.study.contains("arm = [") {
            true => "",
            false => ARMS,
        };
        // A run ends as soon as it may say what bounds it.
        let study = format!(
            r#"
            name = "bound"
            question = "What bounds it?"
            time_s = 60
            slice_s = 0.1
            precision = {{ cpu = 0.5, throughput = 0.5 }}
            {}
            {arms}"#,
            self.study
        );
        fs::write(sandbox.work().join("study.toml"), study).unwrap();
        match &self.how {
            How::Study => finish(&sandbox, &[], vec![]),
            How::Preloaded { source, variable, ns } => {
                let preloaded = Preloaded::build(source);
                let environment = vec![
                    ("LD_PRELOAD", preloaded.library().into()),
                    (*variable, ns.to_string().into()),
                ];
                finish(&sandbox, &[], environment);
            }
            How::SlowWrite { ns } => {
                let slow = SlowWrite::build();
                finish(&sandbox, &[], slow.environment(*ns));
            }
            How::HeldRow => {
                let server = OwnServer::start();
                let is_over = AtomicBool::new(false);
                thread::scope(|scope| {
                    scope.spawn(|| hold(&server, &is_over));
                    let _over = SetAtTheEnd(&is_over);
                    finish(&sandbox, &[&server.url_with(server.password())], vec![]);
                });
            }
        }
        let run = record(&sandbox.run());
        assert_eq!(run.head.not_explained, None, "{}", self.name);
        sandbox.expect_nothing_left();
        let rows = run.results.why.bounds.into_iter();
        rows.filter(|row| self.arms.contains(&row.arm.as_str())).collect()
    }
}

fn finish(sandbox: &Sandbox, target: &[&str], environment: Vec<(&str, OsString)>) {
    let arguments = [&["run", "study.toml"], target, &["--out", "run"]].concat();
    let mut command = sandbox.command(&arguments);
    command.envs(environment);
    Running::start(command).finish_within(3 * PATIENCE).measured();
}

/// Keeps the row for most of the time, from when there is one until the run is over.
fn hold(server: &OwnServer, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        // Fails where the table is not there yet or no longer.
        let _: Result<(), _> = server.try_session(|query| {
            loop {
                query("BEGIN")?;
                query("SELECT id FROM ciphertax.sbtest1 FOR UPDATE")?;
                thread::sleep(HELD);
                query("COMMIT")?;
            }
        });
        thread::sleep(HELD);
    }
}
