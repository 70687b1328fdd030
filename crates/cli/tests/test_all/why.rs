//! Why: what a report says of a server in which it is known what takes how long.

use ciphertax_explain::why::categories::Rules;
use ciphertax_records::Samples;
use ciphertax_records::why::{CategoryRow, Looks};
use ciphertax_stats::MeanEstimate;

use crate::common::*;
use crate::slow_write::{SLOW_ARM, SlowWrite};

#[test]
fn a_function_that_is_slower_by_a_known_time_is_found_in_its_category_with_that_time() {
    let mut slowed = Slowed::measure();
    // Others who use the machine may part one run from the truth; what is wrong parts all three.
    for _ in 0..2 {
        if slowed.as_ref().is_ok_and(|slowed| !slowed.holds()) {
            slowed = Slowed::measure();
        }
    }
    let slowed = match slowed {
        Ok(slowed) => slowed,
        Err(reason) => return not_tested(&reason),
    };
    let Slowed {
        found, truth, row, ..
    } = &slowed;
    assert!(slowed.is_true(), "{found:?}, in truth {truth}");
    assert_eq!(row.category, "TLS record: protocol", "{row:?}");
    assert!(row.is_significant && slowed.row_has_it(), "{row:?}");
    every_format_is_written(&slowed.sandbox);
    slowed.sandbox.expect_nothing_left();
}

/// What a run says of a server that is slower by a known time.
struct Slowed {
    sandbox: Sandbox,
    found: MeanEstimate,
    /// Microseconds.
    truth: f64,
    /// The category that takes the server most over TLS.
    row: CategoryRow,
}

impl Slowed {
    /// Or why nothing could be looked into.
    fn measure() -> Result<Self, String> {
        let (slow, sandbox) = (SlowWrite::build(), Sandbox::new());
        let slowed = slow.run(&sandbox, 60_000);
        if let Some(reason) = slowed.run.head.not_explained {
            return Err(reason);
        }
        let truth = slowed.us_where_looked();
        let rows = slowed.run.results.why.categories.into_iter();
        let row = rows
            .filter(|row| row.arm == SLOW_ARM && row.side == ProfiledSide::Server)
            .max_by(|one, other| one.variant_us.total_cmp(&other.variant_us));
        Ok(Self {
            found: spent_slowed(&sandbox.run()),
            truth,
            row: row.unwrap(),
            sandbox,
        })
    }

    fn holds(&self) -> bool {
        self.is_true() && self.row_has_it()
    }

    fn is_true(&self) -> bool {
        let half_width = self.found.high - self.found.mean;
        (self.found.mean - self.truth).abs() < half_width.max(self.truth * 0.1)
    }

    fn row_has_it(&self) -> bool {
        let difference = self.row.difference;
        difference.is_some_and(|difference| difference.value > 0.9 * self.truth)
    }
}

fn every_format_is_written(sandbox: &Sandbox) {
    let why = |arguments: &[&str]| {
        let arguments = [&["why", "run"], arguments].concat();
        Running::start(sandbox.command(&arguments)).finish()
    };
    says(why(&[]).measured(), "tls costs the server");
    let text = why(&["--full"]);
    says(text.measured(), "TLS record: protocol");
    let csv = why(&["--format", "csv", "--arm", "tl?"]);
    let lines: Vec<&str> = csv.measured().lines().collect();
    assert!(lines.len() > 10 && lines[1..].iter().all(|line| line.contains("tls")));
    let collapsed = why(&["--format", "collapsed"]);
    let counts = |line: &str| {
        line.rsplit_once(' ')
            .is_some_and(|(_, count)| count.parse::<u64>().is_ok())
    };
    assert!(collapsed.measured().contains("slowed_by_the_test"));
    assert!(collapsed.stdout.lines().all(counts));
    let json = why(&["--format", "json"]);
    serde_json::from_str::<serde_json::Value>(json.measured()).unwrap();
    let wrong = why(&["--arm", "tsl"]);
    assert_ne!(wrong.code, Some(0));
    says(&wrong.stderr, "tsl … tls");
}

/// Microseconds that an operation over TLS spends in what was made slower, which counts as the record protocol.
pub(crate) fn spent_slowed(run: &Path) -> MeanEstimate {
    spent_in(run, SLOW_ARM, "slowed_by_the_test", "TLS record: protocol")
}

/// Microseconds of the server's CPU time that an operation of an arm spends in a function, block by block, of which all stacks must
/// be of this category.
fn spent_in(run: &Path, arm: &str, function: &str, category: &str) -> MeanEstimate {
    let recorded = Recorded::open(run).unwrap();
    let rules = Rules::of_server("10.11.0-MariaDB");
    let of_block: BTreeMap<u32, [f64; 2]> = (0..recorded.samples.count())
        .map(|index| recorded.samples.get(index).unwrap())
        .filter(|sample| sample.slice.arm == arm && sample.is_valid())
        .map(|sample| {
            let cpu_us = sample.server.server_cpu.unwrap().total_ns as f64 / 1e3;
            (sample.slice.block, [cpu_us, sample.load.operation_count() as f64])
        })
        .collect();
    let looks = recorded.looks().unwrap();
    let profiles = looks.profiles().map(|profile| profile.unwrap().into_owned());
    let spent: Vec<[f64; 2]> = profiles
        .filter(|profile| profile.slice.arm == arm)
        .filter_map(|profile| {
            let [cpu_us, operations] = of_block.get(&profile.slice.block)?;
            let server = &profile.sides[&ProfiledSide::Server];
            let mut seen = 0;
            for (stack, count) in &server.stacks {
                let names: Vec<(&str, &str)> = looks.symbols().names(*stack).collect();
                // Interrupts come on top of it.
                let own = names.iter().find(|(_, module)| *module != "[kernel]");
                if own.is_some_and(|(name, _)| *name == function) {
                    seen += count;
                    if names[0].0 == function {
                        assert_eq!(rules.category(&names), Some(category), "{names:?}");
                    }
                }
            }
            Some([seen as f64 / server.samples as f64 * cpu_us, *operations])
        })
        .collect();
    assert!(spent.len() > 5, "{spent:?}");
    of_all_operations(&spent)
}

/// Microseconds of an operation over all operations of some blocks, of which each has microseconds and operations: what a function
/// takes is counted over all of its calls too.
fn of_all_operations(blocks: &[[f64; 2]]) -> MeanEstimate {
    let sum = |of: usize| blocks.iter().map(|block| block[of]).sum::<f64>();
    let ratio = sum(0) / sum(1);
    let operations = sum(1) / blocks.len() as f64;
    let pull = |[us, of_block]: &[f64; 2]| ratio + (us - ratio * of_block) / operations;
    MeanEstimate::of(&blocks.iter().map(pull).collect::<Vec<f64>>()).unwrap()
}
