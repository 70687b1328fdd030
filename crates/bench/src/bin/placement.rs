//! What it does to the figures, and to their noise, where the threads of server and load run.

use std::process::ExitCode;
use std::time::Duration;

use ciphertax_bench::{Document, Ground, Repeats, Result, Slice, TABLES, Table};
use ciphertax_engine::Engine;
use ciphertax_model::{CertificateKind, Load, Transport};
use ciphertax_observe::placement::{confine_process, last_allowed_cpu};
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::sql::PointSelect;
use clap::Parser;

const LOAD: Load = Load::closed(8);
const SLICE: Duration = Duration::from_millis(500);

/// Placement of server and load: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each placement is measured
    #[arg(long, default_value_t = 15)]
    repeats: u32,
}

/// A placement under test, with a server of its own.
struct Placed {
    name: &'static str,
    ground: Ground,
    engine: Engine,
    plain: Sides,
    tls: Sides,
}

/// What one arm measured, repeat by repeat.
#[derive(Default)]
struct Sides {
    client_us: Repeats,
    server_us: Repeats,
    throughput: Repeats,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| measure(Arguments::parse().repeats))
}

fn measure(repeats: u32) -> Result<()> {
    let last = last_allowed_cpu()?;
    let first = 0;
    let mut placed = vec![
        Placed::new("free: where the kernel puts them", None, None)?,
        Placed::new("apart: each side on a CPU of its own", Some(last), Some(first))?,
        Placed::new("together: both sides on one CPU", Some(last), Some(last))?,
    ];
    for repeat in 1..=repeats {
        for placed in &mut placed {
            placed.measure()?;
        }
        eprintln!("repeat {repeat} of {repeats}");
    }
    let mut document = Document::new("Where the threads run", "placement");
    document.fact("server", placed[0].ground.identity()?);
    document.fact(
        "asked",
        format!(
            "{repeats} repeats of slices of {} s, 8 connections",
            SLICE.as_secs_f64()
        ),
    );
    for (side, pick) in SIDES {
        let mut table = Table::new(&[
            "placement",
            "plain, µs/op",
            "TLS 1.3, µs/op",
            "TLS / plain",
            "extra, µs/op",
        ]);
        for placed in &placed {
            let (plain, tls) = (pick(&placed.plain), pick(&placed.tls));
            let extra: Repeats = tls
                .values()
                .iter()
                .zip(plain.values())
                .map(|(tls, plain)| tls - plain)
                .collect();
            table.row([
                placed.name.to_owned(),
                format!("{plain:.1}"),
                format!("{tls:.1}"),
                format!("{:.2}", tls.over(plain)),
                format!("{extra:.1}"),
            ]);
        }
        document.table(side, &table);
    }
    let mut table = Table::new(&["placement", "plain, op/s", "TLS 1.3, op/s", "TLS / plain"]);
    for placed in &placed {
        let (plain, tls) = (&placed.plain.throughput, &placed.tls.throughput);
        table.row([
            placed.name.to_owned(),
            format!("{plain:.0}"),
            format!("{tls:.0}"),
            format!("{:.2}", tls.over(plain)),
        ]);
    }
    document.table("Throughput", &table);
    print!("{document}");
    Ok(())
}

type Pick = fn(&Sides) -> &Repeats;
const SIDES: [(&str, Pick); 2] = [
    ("Client CPU per operation", |sides| &sides.client_us),
    ("Server CPU per operation", |sides| &sides.server_us),
];

impl Placed {
    fn new(name: &'static str, server: Option<usize>, load: Option<usize>) -> Result<Self> {
        let ground = Ground::prepare(CertificateKind::EcdsaP256)?;
        if let Some(cpu) = server {
            confine_process(ground.server().pids()[0], cpu)?;
        }
        let arm = |transport| -> Result<PointSelect<MysqlAccess>> {
            Ok(PointSelect {
                access: ground.access(transport)?,
                tables: TABLES,
            })
        };
        let arms = vec![arm(Transport::Plain)?, arm(Transport::Tls13)?];
        let engine = Engine::start_on(load, arms, &LOAD, 1)?;
        Ok(Self {
            name,
            ground,
            engine,
            plain: Sides::default(),
            tls: Sides::default(),
        })
    }

    fn measure(&mut self) -> Result<()> {
        for (arm, sides) in [&mut self.plain, &mut self.tls].into_iter().enumerate() {
            let slice = Slice::measure(self.ground.cpu(), &mut self.engine, arm, SLICE)?;
            sides.client_us.push(slice.client_us);
            sides.server_us.push(slice.server_us);
            sides.throughput.push(slice.throughput);
        }
        Ok(())
    }
}
