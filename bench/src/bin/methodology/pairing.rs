//! What pairing buys: the error of "one, then the other" and of paired slices, at the same cost in time.

use std::path::Path;
use std::time::Duration;

use ciphertax_base::Direction;
use ciphertax_bench::{Document, MariadbGround, Repeats, Result, Slice, Table};
use ciphertax_engine::{Engine, Part};
use ciphertax_model::{Load, Transport};
use ciphertax_observe::placement::{confine_process, last_allowed_cpu};
use ciphertax_stats::{BalancedOrder, Estimate, both_baselines};

use crate::figure::{self, Panel};
use crate::point_selects;

/// Measured time of one estimate, whatever the method.
const SECONDS: f64 = 8.0;
const LOAD: Load = Load::closed(8);
const PLAIN: usize = 0;
/// Plain once more, by connections of its own.
const PLAIN_AGAIN: usize = 1;
const TLS: usize = 2;
const METHODS: [Method; 5] = [
    Method::OneThenTheOther,
    Method::Mean { slice_s: 0.25 },
    Method::Mean { slice_s: 0.05 },
    Method::LikeARun { slice_s: 0.1 },
    Method::LikeARun { slice_s: 0.05 },
];
const FIGURE: &str = "docs/pairing.svg";

/// A way to compare two arms.
#[derive(Clone, Copy)]
enum Method {
    /// All the time of one arm, then all of the other.
    OneThenTheOther,
    /// Blocks of a slice of each, in random, balanced order; the mean of the blocks' log-ratios.
    Mean { slice_s: f64 },
    /// Blocks of three slices, one of the baseline again; the robust location of the variant against both.
    LikeARun { slice_s: f64 },
}

/// In which direction a figure costs, and what it is of a slice.
type Figure = (Direction, fn(&Slice) -> f64);
/// The figures, in the order of [`Estimates`].
const FIGURES: [Figure; 3] = [
    (Direction::LowerCosts, |slice| slice.turn.throughput),
    (Direction::HigherCosts, |slice| slice.turn.client_us),
    (Direction::HigherCosts, |slice| slice.turn.server_us),
];
/// Those that are drawn.
const DRAWN: [&str; 2] = ["Throughput", "Client CPU per query"];

/// The estimates of one method: TLS/plain of each figure, one a repeat.
type Estimates = [Repeats; FIGURES.len()];

/// A server and its load in one placement, and what every method estimated there.
struct Bed {
    placement: &'static str,
    ground: MariadbGround,
    engine: Engine,
    estimates: Vec<Estimates>,
}

pub(crate) fn measure(document: &mut Document, repeats: u32) -> Result<()> {
    let mut beds = [
        Bed::make("threads where the kernel puts them", None)?,
        Bed::make("all threads on one CPU", Some(last_allowed_cpu()?))?,
    ];
    document.fact("server", &beds[0].ground.identity);
    let asked = format!(
        "prepared point select, {} connections, TLSv1.3 / plain; every estimate measures {SECONDS} s of all arms together; \
         {repeats} estimates by each method, the methods in turns",
        LOAD.connections
    );
    document.fact("asked", asked);
    for (repeat, order) in BalancedOrder::new(METHODS.len(), 1)
        .take(repeats as usize)
        .enumerate()
    {
        for method in order {
            for bed in &mut beds {
                bed.estimate(method, METHODS[method], repeat as u64)?;
            }
        }
        eprintln!("repeat {} of {repeats}", repeat + 1);
    }
    document.paragraph(
        "*Mean* is that of the log-ratios of blocks of a slice of each arm. *Like a run* has a second slice of the baseline in \
         every block, and the robust location of the blocks, of the variant against both; in the same seconds. \
         Nothing but noise differs between the estimates of a row, so their standard deviation is the error of the method. \
         *Error* is in percentage points, *times smaller* against the first row; a standard deviation of ten values is \
         itself uncertain by a quarter.",
    );
    for bed in &beds {
        document.table(&format!("Error of the methods, {}", bed.placement), &bed.table());
    }
    document.paragraph(&format!("![Every estimate by every method](../{FIGURE})"));
    draw(&beds)
}

impl Bed {
    /// `cpu` is where server and load must run; `None` leaves them to the kernel.
    fn make(placement: &'static str, cpu: Option<usize>) -> Result<Self> {
        let ground = MariadbGround::prepare()?;
        if let Some(cpu) = cpu {
            confine_process(ground.server.pids()[0], cpu)?;
        }
        let arms = point_selects(&ground, &[Transport::Plain, Transport::Plain, Transport::Tls13])?;
        let engine = Engine::start_part(Part::WHOLE, cpu, arms, &LOAD, 1)?;
        Ok(Self {
            placement,
            ground,
            engine,
            estimates: METHODS.iter().map(|_| Estimates::default()).collect(),
        })
    }

    /// Makes one estimate by the method of this index.
    fn estimate(&mut self, index: usize, method: Method, seed: u64) -> Result<()> {
        let (slice_s, blocks) = method.blocks(seed);
        let mut slices = [Vec::new(), Vec::new(), Vec::new()];
        for arm in blocks.into_iter().flatten() {
            let duration = Duration::from_secs_f64(slice_s);
            slices[arm].push(Slice::measure(&self.ground.cpu, &mut self.engine, arm, duration)?);
        }
        for (into, (direction, of)) in self.estimates[index].iter_mut().zip(FIGURES) {
            into.0.push(method.ratio(&slices, direction, of)?);
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(
            "method | throughput | error | times smaller | client CPU | error | times smaller | server CPU | error | times smaller",
        );
        for (method, this) in METHODS.iter().zip(&self.estimates) {
            let mut row = method.label();
            for (ratio, of_first) in this.iter().zip(&self.estimates[0]) {
                let error = ratio.standard_deviation();
                let smaller = of_first.standard_deviation() / error;
                row += &format!(" | {ratio:.3} | {:.2} | {smaller:.1}", 100.0 * error);
            }
            table.row(&row);
        }
        table
    }
}

impl Method {
    fn label(self) -> String {
        match self {
            Self::OneThenTheOther => "one, then the other".to_owned(),
            Self::Mean { slice_s } => format!("mean, {slice_s} s"),
            Self::LikeARun { slice_s } => format!("like a run, {slice_s} s"),
        }
    }

    /// Length of the slices, and the arms of every block.
    fn blocks(self, seed: u64) -> (f64, Vec<Vec<usize>>) {
        let (slice_s, arms) = match self {
            Self::OneThenTheOther => return (SECONDS / 2.0, vec![vec![PLAIN, TLS]]),
            Self::Mean { slice_s } => (slice_s, vec![PLAIN, TLS]),
            Self::LikeARun { slice_s } => (slice_s, vec![PLAIN, PLAIN_AGAIN, TLS]),
        };
        let blocks = (SECONDS / slice_s / arms.len() as f64).round() as usize;
        let orders = BalancedOrder::new(arms.len(), seed).take(blocks);
        let of_places = |order: Vec<usize>| order.into_iter().map(|place| arms[place]).collect();
        (slice_s, orders.map(of_places).collect())
    }

    /// TLS / plain, of the slices of every arm.
    fn ratio(self, slices: &[Vec<Slice>; 3], direction: Direction, of: fn(&Slice) -> f64) -> Result<f64> {
        let [plain, again, tls] = slices
            .each_ref()
            .map(|arm| arm.iter().map(of).collect::<Vec<f64>>());
        let change = match self {
            Self::OneThenTheOther => tls[0] / plain[0] - 1.0,
            Self::Mean { .. } => Estimate::of_pairs(&plain, &tls)?.change,
            Self::LikeARun { .. } => {
                let blocks: Vec<[f64; 3]> = (0..tls.len())
                    .map(|block| [plain[block], again[block], tls[block]].map(f64::ln))
                    .collect();
                both_baselines::compare(&blocks, direction)?.estimate.change
            }
        };
        Ok(1.0 + change)
    }
}

fn draw(beds: &[Bed]) -> Result<()> {
    let labels: Vec<String> = METHODS.iter().map(|method| method.label()).collect();
    let row = |figure: usize| -> Vec<Panel> {
        let panel = |bed: &Bed| Panel {
            title: format!("{}, TLS 1.3 / plain: {}", DRAWN[figure], bed.placement),
            series: bed.estimates.iter().map(|of| of[figure].0.clone()).collect(),
        };
        beds.iter().map(panel).collect()
    };
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    figure::draw(&workspace.join(FIGURE), &labels, &[0, 1].map(row))
}
