//! Contestants in turns: the measuring, pairing and tables that all comparisons share.

use std::fmt::Display;
use std::time::{Duration, Instant};

use ciphertax_observe::ThreadUsage;
use ciphertax_stats::BalancedOrder;
use ciphertax_testkit::peers::Run;

use crate::{Repeats, Result, Table};

/// What one contestant measured in one turn.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// CPU time of the client per operation in microseconds; of a peer without its starting.
    pub client_us: f64,
    /// The same with the peer's starting.
    pub with_start_us: f64,
    /// What of `client_us` is the kernel's.
    pub kernel_us: f64,
    /// CPU time of the server per operation in microseconds, where it was read.
    pub server_us: f64,
    /// Operations per second.
    pub throughput: f64,
    /// Statements per operation, where they were counted.
    pub statements: f64,
    /// Mean latency in microseconds, where it was measured.
    pub mean_us: f64,
}

/// What one contestant measured, turn by turn.
#[derive(Debug, Clone, Default)]
pub struct Figures(pub Vec<Measured>);

impl Measured {
    /// A turn of which nothing is known but the client's CPU time per operation.
    pub fn client(client_us: f64) -> Self {
        Self {
            client_us,
            with_start_us: client_us,
            kernel_us: f64::NAN,
            server_us: f64::NAN,
            throughput: f64::NAN,
            statements: f64::NAN,
            mean_us: f64::NAN,
        }
    }

    /// A peer's run, and one of hardly any operations beside it, which is its starting: an operation costs what the
    /// longer took more.
    pub fn of_peer(start: &Run, run: &Run) -> Result<Self> {
        let operations = run.transactions.saturating_sub(start.transactions) as f64;
        if operations == 0.0 {
            return Err("the peer has only started".into());
        }
        let more = run.cpu.since(&start.cpu);
        Ok(Self {
            with_start_us: run.cpu.total_ns as f64 / 1e3 / run.transactions as f64,
            kernel_us: more.system_ns as f64 / 1e3 / operations,
            throughput: run.throughput,
            ..Self::client(more.total_ns as f64 / 1e3 / operations)
        })
    }
}

impl Figures {
    /// One figure of all turns.
    pub fn of(&self, figure: impl Fn(&Measured) -> f64) -> Repeats {
        self.0.iter().map(figure).collect()
    }

    /// CPU time of the client per operation in microseconds.
    pub fn client_us(&self) -> Repeats {
        self.of(|turn| turn.client_us)
    }

    /// CPU time of the server per operation in microseconds.
    pub fn server_us(&self) -> Repeats {
        self.of(|turn| turn.server_us)
    }

    /// Operations per second.
    pub fn throughput(&self) -> Repeats {
        self.of(|turn| turn.throughput)
    }
}

/// Has each of these measured by its index, in as many rounds, each in an order of its own, and says on standard error what
/// their clients took so far.
pub fn in_turns(
    what: impl Display,
    names: &[impl Display],
    repeats: u32,
    mut measure: impl FnMut(usize) -> Result<Measured>,
) -> Result<Vec<Figures>> {
    let mut figures = vec![Figures::default(); names.len()];
    let orders = BalancedOrder::new(names.len(), 1).take(repeats as usize);
    for (repeat, order) in orders.enumerate() {
        for index in order {
            figures[index].0.push(measure(index)?);
        }
        let so_far = names
            .iter()
            .zip(&figures)
            .map(|(name, figures)| format!("{name} {:.1}", figures.client_us().median()));
        eprintln!(
            "{what}: repeat {} of {repeats}: client CPU µs: {}",
            repeat + 1,
            so_far.collect::<Vec<_>>().join(", ")
        );
    }
    Ok(figures)
}

/// CPU time of a call in microseconds: the mean of as many as this thread makes in a time, all of `batch` between two looks
/// at the clock.
pub fn cpu_of_call<T>(time: Duration, batch: &[T], mut call: impl FnMut(&T) -> Result<()>) -> Result<f64> {
    let before = ThreadUsage::now();
    let deadline = Instant::now() + time;
    let mut calls = 0;
    while Instant::now() < deadline {
        batch.iter().try_for_each(&mut call)?;
        calls += batch.len();
    }
    let used = ThreadUsage::now().since(&before).cpu.total_ns;
    Ok(used as f64 / calls as f64 / 1e3)
}

/// A table of ciphertax beside one peer, a row for each thing that both do.
pub struct PeerTable(pub Table);

impl PeerTable {
    /// An empty one; `operation` is what both do, for example `transaction`.
    pub fn new(peer: &str, operation: &str) -> Self {
        Self(Table::new(&format!(
            "what both do | client CPU, ciphertax / {peer} | bar | met | with {peer}'s starting | ciphertax µs/{operation} \
             | of it in the kernel | {peer} µs/{operation} | of it in the kernel | ciphertax {operation}s/s | {peer} {operation}s/s"
        )))
    }

    /// Adds what ciphertax measured in some ways, each beside the peer, whose figures are the last; and the most that
    /// ciphertax may take of the peer's CPU time, if there is such a bar.
    pub fn rows<T: Display>(
        &mut self,
        ways: impl IntoIterator<Item = T>,
        figures: &[Figures],
        bar: Option<f64>,
    ) {
        let theirs = &figures[figures.len() - 1];
        let client = |figures: &Figures| {
            let kernel_us = figures.of(|turn| turn.kernel_us).median();
            format!("{:.1} | {kernel_us:.1}", figures.client_us())
        };
        for (what, ours) in ways.into_iter().zip(figures) {
            let ratio = ours.client_us().over(&theirs.client_us());
            let bar = bar.map_or(NO_BAR.to_owned(), |bar| at_most(&ratio, bar));
            let with_start = ours.client_us().over(&theirs.of(|turn| turn.with_start_us));
            let [ours_us, theirs_us] = [ours, theirs].map(client);
            let [ours_per_s, theirs_per_s] = [ours, theirs].map(Figures::throughput);
            self.0.row(&format!(
                "{what} | {ratio:.2} | {bar} | {with_start:.2} | {ours_us} | {theirs_us} | {ours_per_s:.0} | {theirs_per_s:.0}"
            ));
        }
    }
}

/// How the figures of a [`PeerTable`] come about, as a paragraph.
pub fn billing(peer: &str, operation: &str) -> String {
    format!(
        "{peer}'s CPU is that of its whole process (user and system, from `wait4`) without that of a run of hardly any {operation}s, \
         measured beside each run, which is its starting, connecting and preparing; the ratio with it is given too. ciphertax's is that of \
         its load threads in the slice. Both are divided by their {operation}s. Ratios are taken within a repeat. *In the kernel* is \
         what no client can do much about: most of it is the send, which over loopback hands the bytes to the server's process and \
         wakes that."
    )
}

/// The cells of a figure that should be no larger than this: the bar, and whether the median meets it.
pub fn at_most(figure: &Repeats, bar: f64) -> String {
    format!("≤ {bar} | {}", met(figure.median() <= bar))
}

/// The cells of a figure that should be no smaller than this.
pub fn at_least(figure: &Repeats, bar: f64) -> String {
    format!("≥ {bar} | {}", met(figure.median() >= bar))
}

/// The cells where there is no bar.
pub const NO_BAR: &str = "– | –";

/// The cell that says whether a bar is met.
pub fn met(yes: bool) -> &'static str {
    if yes { "yes" } else { "**no**" }
}

#[cfg(test)]
mod tests {
    use ciphertax_base::CpuTime;

    use super::*;

    #[test]
    fn a_peer_is_billed_for_what_it_took_more_than_for_its_starting() {
        let run = |transactions, milliseconds: u64| Run {
            transactions,
            throughput: 5.0,
            statements: None,
            cpu: CpuTime {
                total_ns: milliseconds * 1_000_000,
                system_ns: milliseconds * 500_000,
            },
        };
        let measured = Measured::of_peer(&run(100, 100), &run(1100, 1200)).unwrap();
        assert_eq!(measured.client_us, 1100.0);
        assert_eq!(measured.kernel_us, 550.0);
        assert!((measured.with_start_us - 1_200_000.0 / 1100.0).abs() < 1e-9);
        assert!(Measured::of_peer(&run(100, 100), &run(100, 120)).is_err());
    }

    #[test]
    fn everybody_has_as_many_turns_and_ratios_are_of_the_same_round() {
        let mut turns = [0.0; 2];
        let figures = in_turns("test", &["ours", "theirs"], 3, |index| {
            turns[index] += 1.0;
            Ok(Measured::client(turns[index] * [1.0, 2.0][index]))
        })
        .unwrap();
        assert_eq!(turns, [3.0; 2]);
        let ratio = figures[0].client_us().over(&figures[1].client_us());
        assert_eq!(ratio.0, [0.5; 3]);
        assert_eq!(at_most(&ratio, 0.5), "≤ 0.5 | yes");
        assert_eq!(at_least(&ratio, 0.7), "≥ 0.7 | **no**");
    }
}
