//! What a poll delay does to the recorded latency, to the client's cost, and to the measured cost of TLS.

use std::time::Duration;

use ciphertax_bench::{Document, Figures, MariadbGround, Repeats, Result, Slice, Table};
use ciphertax_engine::Engine;
use ciphertax_model::{Load, Transport};
use ciphertax_stats::histogram;
use ciphertax_stats::{BalancedOrder, Estimate};
use hdrhistogram::Histogram;

use crate::point_selects;

const SLICE: Duration = Duration::from_millis(250);
const POLL_DELAYS_US: [u32; 5] = [0, 20, 50, 100, 200];
const ARMS: [Transport; 2] = [Transport::Plain, Transport::Tls13];

pub(crate) fn measure(document: &mut Document, blocks: u32) -> Result<()> {
    let ground = MariadbGround::prepare()?;
    document.fact("server", &ground.identity);
    let asked = format!(
        "prepared point select, {blocks} blocks of a plain and a TLSv1.3 slice of {SLICE:?} for each poll delay, all in turns"
    );
    document.fact("asked", asked);
    document.paragraph(
        "The poll delay is how long a load thread sleeps before it asks which sockets are ready; the same for both arms of a \
         comparison. Latency, client CPU and throughput are those of the plain arm, over all its slices. The cost of TLS is \
         the paired change of the blocks ± its standard error.",
    );
    for connections in [64, 8] {
        let table = cell(&ground, connections, blocks)?;
        document.table(&format!("{connections} connections"), &table);
    }
    Ok(())
}

/// One poll delay: its engine, and what it measured by arm.
struct Setting {
    poll_delay_us: u32,
    engine: Engine,
    order: BalancedOrder,
    arms: [Figures; 2],
    /// Of the plain arm, in nanoseconds.
    latency: Histogram<u64>,
}

fn cell(ground: &MariadbGround, connections: u32, blocks: u32) -> Result<Table> {
    let mut settings = POLL_DELAYS_US
        .iter()
        .map(|poll_delay_us| Setting::start(ground, connections, *poll_delay_us))
        .collect::<Result<Vec<_>>>()?;
    let orders = BalancedOrder::new(settings.len(), 1).take(blocks as usize);
    for (block, order) in orders.enumerate() {
        for index in order {
            settings[index].measure_block(ground)?;
        }
        if (block + 1) % 10 == 0 || block + 1 == blocks as usize {
            eprintln!("{connections} connections: block {} of {blocks}", block + 1);
        }
    }
    let mut table = Table::new(
        "poll delay µs | mean µs | p50 µs | p99 µs | op/s | client CPU µs/op | TLS: client CPU | TLS: server CPU | TLS: throughput",
    );
    for setting in &settings {
        table.row(&setting.row()?);
    }
    Ok(table)
}

impl Setting {
    fn start(ground: &MariadbGround, connections: u32, poll_delay_us: u32) -> Result<Self> {
        let load = Load {
            poll_delay_us,
            ..Load::closed(connections)
        };
        Ok(Self {
            poll_delay_us,
            engine: Engine::start(point_selects(ground, &ARMS)?, &load, 1)?,
            order: BalancedOrder::new(ARMS.len(), u64::from(poll_delay_us) + 1),
            arms: Default::default(),
            latency: histogram::empty(),
        })
    }

    fn measure_block(&mut self, ground: &MariadbGround) -> Result<()> {
        for arm in self.order.next().unwrap_or_default() {
            let slice = Slice::measure(&ground.cpu, &mut self.engine, arm, SLICE)?;
            self.arms[arm].0.push(slice.turn);
            if ARMS[arm] == Transport::Plain {
                self.latency.add(&slice.latency)?;
            }
        }
        Ok(())
    }

    fn row(&self) -> Result<String> {
        let [plain, tls] = &self.arms;
        let [p50, p99] = [0.5, 0.99].map(|q| self.latency.value_at_quantile(q) as f64 / 1e3);
        let change = |of: fn(&Figures) -> Repeats| -> Result<String> {
            let estimate = Estimate::of_pairs(&of(plain).0, &of(tls).0)?;
            let error = estimate.standard_error * (1.0 + estimate.change);
            Ok(format!(
                "{:+.1} % ± {:.1}",
                estimate.change * 100.0,
                error * 100.0
            ))
        };
        let latency_us = self.latency.mean() / 1e3;
        let [throughput, client_us] = [plain.throughput(), plain.client_us()].map(|figure| figure.mean());
        let client = change(Figures::client_us)?;
        let server = change(Figures::server_us)?;
        let rate = change(Figures::throughput)?;
        Ok(format!(
            "{} | {latency_us:.0} | {p50:.0} | {p99:.0} | {throughput:.0} | {client_us:.2} | {client} | {server} | {rate}",
            self.poll_delay_us
        ))
    }
}
