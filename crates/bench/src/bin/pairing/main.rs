//! What pairing buys: the error of "one, then the other" and of paired slices, at the same cost in time.

mod figure;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ciphertax_bench::{Document, Ground, ROWS, Repeats, Result, Slice, Table};
use ciphertax_engine::Engine;
use ciphertax_model::{CertificateKind, Load, Transport};
use ciphertax_stats::{BalancedOrder, Estimate};
use ciphertax_workload::PointSelect;
use clap::Parser;
use figure::Panel;

/// Time that one arm gets in one estimate, whatever the method.
const SECONDS_OF_AN_ARM: f64 = 6.0;
const SLICES_S: [f64; 4] = [0.1, 0.25, 0.5, 1.0];
const CONNECTIONS: u32 = 8;
const PLAIN: usize = 0;
const TLS: usize = 1;
const FIGURE: &str = "docs/pairing.svg";

/// The error of two ways to compare: one Markdown document on standard output, and a figure in docs/pairing.svg.
#[derive(Parser)]
struct Arguments {
    /// Estimates by each method
    #[arg(default_value_t = 10)]
    repeats: u32,
}

/// A way to compare two arms.
#[derive(Clone, Copy)]
enum Method {
    /// All the time of one arm, then all of the other.
    OneThenTheOther,
    /// Blocks of a slice of each, in random, balanced order.
    Paired { slice_s: f64 },
}

/// The estimates of one method: TLS/plain, one a repeat.
#[derive(Default)]
struct Estimates {
    throughput: Repeats,
    client_cpu: Repeats,
    server_cpu: Repeats,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        let mut ground = Ground::prepare(CertificateKind::EcdsaP256)?;
        let mut document = Document::new("What pairing buys", "pairing");
        document.fact("server", ground.identity()?);
        let asked = format!(
            "prepared point select, {CONNECTIONS} connections, TLSv1.3 / plain; every estimate takes {SECONDS_OF_AN_ARM} s of \
             each arm; {} estimates by each method, the methods in turns",
            arguments.repeats
        );
        document.fact("asked", asked);
        let methods: Vec<Method> = std::iter::once(Method::OneThenTheOther)
            .chain(SLICES_S.map(|slice_s| Method::Paired { slice_s }))
            .collect();
        let estimates = measure(&ground, &methods, arguments.repeats)?;
        document.paragraph(
            "Nothing but noise differs between the estimates of a row, so their standard deviation is the error of the method. \
             *Error* is in percentage points, *times smaller* against the first row; a standard deviation of ten values is \
             itself uncertain by a quarter.",
        );
        document.table("Error of the methods", &table(&methods, &estimates));
        document.paragraph(&format!("![Every estimate by every method](../{FIGURE})"));
        draw(&methods, &estimates)?;
        print!("{document}");
        Ok(())
    })
}

fn measure(ground: &Ground, methods: &[Method], repeats: u32) -> Result<Vec<Estimates>> {
    let arm = |transport| -> Result<PointSelect> {
        Ok(PointSelect {
            access: ground.access(transport)?,
            rows: ROWS,
        })
    };
    let load = Load {
        connections: CONNECTIONS,
        workers: None,
        gather_us: 0,
    };
    let arms = vec![arm(Transport::Plain)?, arm(Transport::Tls13)?];
    let mut engine = Engine::start(arms, &load, 1)?;
    let mut estimates: Vec<Estimates> = methods.iter().map(|_| Estimates::default()).collect();
    let orders = BalancedOrder::new(methods.len(), 1).take(repeats as usize);
    for (repeat, order) in orders.enumerate() {
        for index in order {
            let seed = repeat as u64;
            methods[index].estimate(ground, &mut engine, seed, &mut estimates[index])?;
        }
        eprintln!("repeat {} of {repeats}", repeat + 1);
    }
    Ok(estimates)
}

impl Method {
    fn label(self) -> String {
        match self {
            Self::OneThenTheOther => "one, then the other".to_owned(),
            Self::Paired { slice_s } => format!("paired, {slice_s} s"),
        }
    }

    /// Makes one estimate by this method.
    fn estimate(self, ground: &Ground, engine: &mut Engine, seed: u64, into: &mut Estimates) -> Result<()> {
        let (slice_s, orders) = match self {
            Self::OneThenTheOther => (SECONDS_OF_AN_ARM, vec![vec![PLAIN, TLS]]),
            Self::Paired { slice_s } => {
                let blocks = (SECONDS_OF_AN_ARM / slice_s).round() as usize;
                (slice_s, BalancedOrder::new(2, seed).take(blocks).collect())
            }
        };
        let mut slices = [Vec::new(), Vec::new()];
        for arm in orders.into_iter().flatten() {
            let duration = Duration::from_secs_f64(slice_s);
            slices[arm].push(Slice::measure(ground, engine, arm, duration)?);
        }
        let ratio = |of: fn(&Slice) -> f64| ratio(&slices, of);
        into.throughput.push(ratio(|slice| slice.throughput)?);
        into.client_cpu.push(ratio(|slice| slice.client_us)?);
        into.server_cpu.push(ratio(|slice| slice.server_us)?);
        Ok(())
    }
}

/// The geometric mean of the blocks' ratios.
fn ratio(slices: &[Vec<Slice>; 2], of: fn(&Slice) -> f64) -> Result<f64> {
    let [plain, tls] = slices.each_ref().map(|arm| arm.iter().map(of).collect::<Vec<f64>>());
    match (plain.as_slice(), tls.as_slice()) {
        ([plain], [tls]) => Ok(tls / plain),
        _ => Ok(1.0 + Estimate::of_pairs(&plain, &tls)?.change),
    }
}

fn table(methods: &[Method], estimates: &[Estimates]) -> Table {
    let mut table = Table::new(&[
        "method",
        "throughput",
        "error",
        "times smaller",
        "client CPU",
        "error",
        "times smaller",
        "server CPU",
        "error",
        "times smaller",
    ]);
    for (method, this) in methods.iter().zip(estimates) {
        let mut row = vec![method.label()];
        for of in [Estimates::throughput, Estimates::client_cpu, Estimates::server_cpu] {
            let error = of(this).standard_deviation();
            row.extend([
                format!("{:.3}", of(this)),
                format!("{:.2}", 100.0 * error),
                format!("{:.1}", of(&estimates[0]).standard_deviation() / error),
            ]);
        }
        table.row(row);
    }
    table
}

impl Estimates {
    fn throughput(&self) -> &Repeats {
        &self.throughput
    }

    fn client_cpu(&self) -> &Repeats {
        &self.client_cpu
    }

    fn server_cpu(&self) -> &Repeats {
        &self.server_cpu
    }
}

fn draw(methods: &[Method], estimates: &[Estimates]) -> Result<()> {
    let labels: Vec<String> = methods.iter().map(|method| method.label()).collect();
    let panel = |title, of: fn(&Estimates) -> &Repeats| Panel {
        title,
        series: estimates
            .iter()
            .map(|estimates| of(estimates).values().to_vec())
            .collect(),
    };
    let panels = [
        panel("Throughput, TLS 1.3 / plain", Estimates::throughput),
        panel("Client CPU per query, TLS 1.3 / plain", Estimates::client_cpu),
    ];
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    figure::draw(&workspace.join(FIGURE), &labels, &panels)
}
