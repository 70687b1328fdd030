//! CPU time that the engine itself takes for an operation, by one load thread and by two.

use std::rc::Rc;
use std::time::Duration;

use ciphertax_bench::{Document, MariadbGround, Result, Slice, TABLES, Table, at_most, in_turns};
use ciphertax_engine::{Context, Engine, Failure, Operation, Slot, Workload};
use ciphertax_model::{Load, Transport};
use ciphertax_reactor::Reactor;
use ciphertax_workload::sql::PointSelect;

/// Length of one measurement.
const TURN: Duration = Duration::from_secs(1);
const CONNECTIONS: [u32; 2] = [8, 64];
/// The most for an operation, in microseconds.
const BAR_US: f64 = 0.2;
const THREADED_CONNECTIONS: u32 = 64;
/// The most for an operation by two load threads, over that by one.
const BAR_OF_TWO: f64 = 1.1;

pub(super) fn measure(document: &mut Document, ground: &MariadbGround, repeats: u32) -> Result<()> {
    document.paragraph(
        "Per operation: a workload that answers at once, without any socket, so that what is left is the loop of a connection, \
         one look at the clock and the recording.",
    );
    document.table("CPU per operation", &cost_per_operation(repeats)?);
    document.paragraph(&format!(
        "Load threads share nothing that an operation touches: {THREADED_CONNECTIONS} connections by one thread and by two, in turns.",
    ));
    document.table("One load thread and two", &cost_of_threads(ground, repeats)?);
    Ok(())
}

/// Answers at once.
struct Nothing;

impl Workload for Nothing {
    type Connection = ();

    const KINDS: &'static [&'static str] = &["nothing"];

    async fn open(&self, _reactor: &Rc<Reactor>, _seat: Slot) -> std::result::Result<(), Failure> {
        Ok(())
    }

    async fn operate(&self, _connection: &mut (), _: &Context) -> std::result::Result<Operation, Failure> {
        Ok(Operation::default())
    }
}

fn cost_per_operation(repeats: u32) -> Result<Table> {
    let mut engines = Vec::new();
    for connections in CONNECTIONS {
        engines.push(Engine::start(vec![Nothing], &Load::closed(connections), 1)?);
    }
    let what = "connections that answer at once";
    let figures = in_turns(what, &CONNECTIONS, repeats, |index| {
        Ok(Slice::without_server(&mut engines[index], 0, TURN)?.turn)
    })?;
    let mut table = Table::new("connections | µs/op | bar | met | million op/s");
    for (connections, figures) in CONNECTIONS.iter().zip(&figures) {
        let (client_us, millions) = (figures.client_us(), figures.of(|turn| turn.throughput / 1e6));
        let bar = at_most(&client_us, BAR_US);
        table.row(&format!("{connections} | {client_us:.3} | {bar} | {millions:.1}"));
    }
    Ok(table)
}

fn cost_of_threads(ground: &MariadbGround, repeats: u32) -> Result<Table> {
    let mut table = Table::new("operation | one, µs/op | two, µs/op | two / one | bar | met");
    let threads = |workers| Load {
        workers: Some(workers),
        ..Load::closed(THREADED_CONNECTIONS)
    };
    let mut at_once = [
        Engine::start(vec![Nothing], &threads(1), 1)?,
        Engine::start(vec![Nothing], &threads(2), 1)?,
    ];
    table.row(&one_and_two("nothing", &mut at_once, repeats)?);
    for transport in [Transport::Plain, Transport::Tls13] {
        let select = |workers| -> Result<Engine> {
            let (access, tables) = (ground.access(transport)?, TABLES);
            let arms = vec![PointSelect { access, tables }];
            Ok(Engine::start(arms, &threads(workers), 1)?)
        };
        let mut engines = [select(1)?, select(2)?];
        let what = format!("point select, {transport}");
        table.row(&one_and_two(&what, &mut engines, repeats)?);
    }
    Ok(table)
}

fn one_and_two(operation: &str, engines: &mut [Engine; 2], repeats: u32) -> Result<String> {
    let figures = in_turns(operation, &["one load thread", "two"], repeats, |index| {
        Ok(Slice::without_server(&mut engines[index], 0, TURN)?.turn)
    })?;
    let [one, two] = [0, 1].map(|index: usize| figures[index].client_us());
    let ratio = two.over(&one);
    let bar = at_most(&ratio, BAR_OF_TWO);
    Ok(format!("{operation} | {one:.3} | {two:.3} | {ratio:.2} | {bar}"))
}
