//! What it does to the figures, and to their noise, where the threads of server and load run.

use std::time::Duration;

use ciphertax_bench::{Document, Figures, MariadbGround, Repeats, Result, Slice, Table, in_turns};
use ciphertax_engine::{Engine, Part};
use ciphertax_model::{Load, Transport};
use ciphertax_observe::placement::{confine_process, last_allowed_cpu};

use crate::point_selects;

const LOAD: Load = Load::closed(8);
const SLICE: Duration = Duration::from_millis(500);
const ARMS: [Transport; 2] = [Transport::Plain, Transport::Tls13];
/// A heading, and the figure below it.
type Side = (&'static str, fn(&Figures) -> Repeats);
const SIDES: [Side; 2] = [
    ("Client CPU per operation", Figures::client_us),
    ("Server CPU per operation", Figures::server_us),
];

/// A placement under test, with a server of its own.
struct Placed {
    name: &'static str,
    ground: MariadbGround,
    engine: Engine,
}

pub(crate) fn measure(document: &mut Document, repeats: u32) -> Result<()> {
    let last = last_allowed_cpu()?;
    let first = 0;
    let mut placed = [
        Placed::new("free: where the kernel puts them", None, None)?,
        Placed::new("apart: each side on a CPU of its own", Some(last), Some(first))?,
        Placed::new("together: both sides on one CPU", Some(last), Some(last))?,
    ];
    document.fact("server", &placed[0].ground.identity);
    let asked = format!(
        "prepared point select, {} connections, {repeats} slices of {SLICE:?} of each, in turns",
        LOAD.connections
    );
    document.fact("asked", asked);
    let arms_of = |placed: &Placed| ARMS.map(|transport| format!("{}, {transport}", placed.name));
    let names: Vec<String> = placed.iter().flat_map(arms_of).collect();
    let figures = in_turns("placement", &names, repeats, |index| {
        let (placed, arm) = (&mut placed[index / ARMS.len()], index % ARMS.len());
        Ok(Slice::measure(&placed.ground.cpu, &mut placed.engine, arm, SLICE)?.turn)
    })?;
    let by_placement = || placed.iter().zip(figures.chunks(ARMS.len()));
    for (side, of) in SIDES {
        let mut table = Table::new("placement | plain, µs/op | TLS 1.3, µs/op | TLS / plain | extra, µs/op");
        for (placed, arms) in by_placement() {
            let (plain, tls) = (of(&arms[0]), of(&arms[1]));
            let (ratio, extra) = (tls.over(&plain), tls.minus(&plain));
            table.row(&format!(
                "{} | {plain:.1} | {tls:.1} | {ratio:.2} | {extra:.1}",
                placed.name
            ));
        }
        document.table(side, &table);
    }
    let mut table = Table::new("placement | plain, op/s | TLS 1.3, op/s | TLS / plain");
    for (placed, arms) in by_placement() {
        let (plain, tls) = (arms[0].throughput(), arms[1].throughput());
        let ratio = tls.over(&plain);
        table.row(&format!("{} | {plain:.0} | {tls:.0} | {ratio:.2}", placed.name));
    }
    document.table("Throughput", &table);
    Ok(())
}

impl Placed {
    /// On these CPUs; `None` leaves a side to the kernel.
    fn new(name: &'static str, server: Option<usize>, load: Option<usize>) -> Result<Self> {
        let ground = MariadbGround::prepare()?;
        if let Some(cpu) = server {
            confine_process(ground.server.pids()[0], cpu)?;
        }
        let engine = Engine::start_part(Part::WHOLE, load, point_selects(&ground, &ARMS)?, &LOAD, 1)?;
        Ok(Self { name, ground, engine })
    }
}
