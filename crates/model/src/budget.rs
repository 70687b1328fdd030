//! What costs are held to: budgets, and figures that others published.

use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::problem::{hint, nearest};
use crate::study::Study;
use ciphertax_base::Direction;

/// What an arm may cost against the baseline; `ciphertax gate` holds a run to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The arm, by its name; `None` for all that are compared with the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The cell, by its name; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// What is limited.
    pub metric: Metric,
    /// The largest cost, as a fraction of the baseline: 0.35 is 35 % more CPU time, or 35 % less throughput.
    pub at_most: f64,
}

impl Budget {
    /// Reads a budget as it is written on the command line: `tls1.3: server_cpu_per_op <= 35%`, `connect/tls1.3: …` for one cell,
    /// `*: …` for all arms, and `tls1.3: throughput >= -10%` of what falls where a feature costs. Cells and arms are those of the
    /// study.
    ///
    /// # Errors
    /// Says what is wrong, and how it is written.
    pub fn parse(text: &str, study: &Study) -> Result<Self, String> {
        let (place, limit) = text.rsplit_once(':').ok_or_else(|| {
            format!("the budget {text:?} names no arm; write it like 'tls1.3: server_cpu_per_op <= 35%'")
        })?;
        let (arm, cell) = place_of(place.trim(), study)?;
        let (metric, at_most) = limit_of(limit.trim())?;
        let budget = Self {
            arm,
            cell,
            metric,
            at_most,
        };
        if Metric::MEASURED_ALONE.contains(&metric) {
            return Err(format!("the budget {text:?}: {}", Self::not_compared(metric)));
        }
        match budget.problem() {
            None => Ok(budget),
            Some(problem) => Err(format!("the budget {text:?}: {problem}")),
        }
    }

    /// Why there is no budget of a metric that arms are not compared by.
    pub(crate) fn not_compared(metric: Metric) -> String {
        format!(
            "the {metric} is not compared with the baseline's, which may have none; take a metric that is compared"
        )
    }

    /// What is wrong with the number, if anything is.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let is_possible = match self.metric.direction() {
            Direction::HigherCosts => self.at_most > -1.0,
            Direction::LowerCosts => self.at_most < 1.0,
        };
        match self.at_most.is_finite() && is_possible {
            true => None,
            false => {
                Some("the largest cost must be a fraction above -1, of throughput below 1; 0.35 is 35 %")
            }
        }
    }

    /// The largest cost as the logarithm of a ratio, on the side of cost.
    pub fn log_at_most(&self) -> f64 {
        match self.metric.direction() {
            Direction::HigherCosts => self.at_most.ln_1p(),
            Direction::LowerCosts => -(-self.at_most).ln_1p(),
        }
    }
}

/// Arm and cell of `arm`, `cell/arm` or `*`.
fn place_of(place: &str, study: &Study) -> Result<(Option<String>, Option<String>), String> {
    let variants: Vec<&str> = study.variants().map(|arm| arm.name.as_str()).collect();
    let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    let known = |name: &str, names: &[&str]| match name {
        "*" => Some(None),
        name => names.contains(&name).then(|| Some(name.to_owned())),
    };
    // Names may hold slashes themselves.
    let splits = place
        .match_indices('/')
        .map(|(at, _)| (&place[..at], &place[at + 1..]));
    let of_cells =
        splits.filter_map(|(cell, arm)| Some((known(arm.trim(), &variants)?, known(cell.trim(), &cells)?)));
    let of_all = known(place, &variants).map(|arm| (arm, None));
    of_all.into_iter().chain(of_cells).next().ok_or_else(|| {
        let names = || variants.iter().chain(&cells).copied();
        let wrong = |name: &&str| *name != "*" && !names().any(|known| known == *name);
        let name = place.split('/').map(str::trim).find(wrong).unwrap_or(place);
        match study.arms.first() {
            Some(baseline) if baseline.name == name => format!(
                "{name:?} is the baseline, which all others are compared with; a budget is of {}",
                variants.join(" or ")
            ),
            _ => format!(
                "the run compares no arm and has no cell {name:?}{}; it has the arms {} in {}",
                nearest(name, names())
                    .map(|near| format!(" (did you mean {near:?}?)"))
                    .unwrap_or_default(),
                variants.join(", "),
                cells.join(", ")
            ),
        }
    })
}

/// Metric and largest cost of `server_cpu_per_op <= 35%`.
fn limit_of(limit: &str) -> Result<(Metric, f64), String> {
    let how = "write it like 'server_cpu_per_op <= 35%'";
    let (name, sign, bound) = ["<=", ">="]
        .into_iter()
        .find_map(|sign| {
            limit
                .split_once(sign)
                .map(|(name, bound)| (name.trim(), sign, bound.trim()))
        })
        .ok_or_else(|| format!("{limit:?} is no limit; {how}"))?;
    let metric = metric(name)?;
    let percent = bound
        .strip_suffix('%')
        .and_then(|percent| percent.trim().replace('−', "-").parse::<f64>().ok())
        .ok_or_else(|| format!("{bound:?} is no percentage; {how}"))?;
    match (metric.direction(), sign) {
        (Direction::HigherCosts, "<=") => Ok((metric, percent / 100.0)),
        (Direction::LowerCosts, ">=") => Ok((metric, -percent / 100.0)),
        (Direction::HigherCosts, _) => Err(format!(
            "{name} rises where a feature costs: its limit is written '{name} <= {bound}'"
        )),
        (Direction::LowerCosts, _) => Err(format!(
            "{name} falls where a feature costs: its limit is written '{name} >= -10%', a tenth less than the baseline's"
        )),
    }
}

fn metric(name: &str) -> Result<Metric, String> {
    let deserializer: StrDeserializer<'_, Error> = name.into_deserializer();
    Metric::deserialize(deserializer).map_err(|_| {
        let known = [
            "server_cpu_round_per_op",
            "server_cpu_per_op",
            "client_cpu_per_op",
            "throughput",
            "latency_mean",
            "latency_p50",
            "latency_p95",
            "latency_p99",
            "response_mean",
            "bytes_per_op",
            "connect_mean",
            "time_to_first_query_mean",
        ];
        format!(
            "unknown metric {name:?}{}; docs/study-files.md has all",
            hint(name, &known)
        )
    })
}

/// A figure published elsewhere for a comparison that this study makes too. It says either `change`, or `baseline` and
/// `variant`, or `within`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// On what it was measured: server, library, machine.
    pub source: String,
    /// The cell that measures the same, by its name.
    pub cell: String,
    /// The variant, by its arm's name; it is compared with the study's baseline.
    pub arm: String,
    /// What was compared.
    pub metric: Metric,
    /// The kind of operation it is of, such as `read`; `None` for all kinds together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// variant/baseline − 1, as a fraction: -0.25 is a quarter less than the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// The published value of the baseline, in whatever unit; only the ratio counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<f64>,
    /// The published value of the variant, in the unit of `baseline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<f64>,
    /// A bound instead of a figure, as a fraction: 0.05 is "no more than five percent, either way".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// What a reader should know who compares it with the measured figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What was published.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PublishedFigure {
    /// variant/baseline − 1, as a fraction.
    Change(f64),
    /// The change was no larger than this, either way, as a fraction.
    Within(f64),
}

impl Published {
    /// What was published; `None` only where a row says nothing or too much, which no validated study does.
    pub fn figure(&self) -> Option<PublishedFigure> {
        match (self.change, self.baseline, self.variant, self.within) {
            (Some(change), None, None, None) => Some(PublishedFigure::Change(change)),
            (None, Some(baseline), Some(variant), None) => {
                Some(PublishedFigure::Change(variant / baseline - 1.0))
            }
            (None, None, None, Some(bound)) => Some(PublishedFigure::Within(bound)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study() -> Study {
        Study::from_toml(
            r#"
        name = "s"
        question = "?"
        time_s = 9
        arm = [
            { name = "plain", transport = "plain" },
            { name = "tls1.3", transport = "tls1.3" },
            { name = "a/b: c", transport = "tls1.2" },
        ]
        cell = [
            { name = "connect", workload = "connect", load = { connections = 1 } },
            { name = "point/select", workload = "oltp_point_select", load = { connections = 1 } },
        ]
        "#,
        )
        .unwrap()
    }

    fn parsed(text: &str) -> Result<(Option<String>, Option<String>, Metric, f64), String> {
        let budget = Budget::parse(text, &study())?;
        Ok((budget.arm, budget.cell, budget.metric, budget.at_most))
    }

    #[test]
    fn a_budget_is_read_as_people_write_it() {
        let name = |name: &str| Some(name.to_owned());
        let server = Metric::ServerCpuPerOp;
        for (text, expected) in [
            (
                "tls1.3: server_cpu_per_op <= 35%",
                (name("tls1.3"), None, server, 0.35),
            ),
            (
                "tls1.3:server_cpu_per_op<=35 %",
                (name("tls1.3"), None, server, 0.35),
            ),
            ("*: server_cpu_per_op <= 35%", (None, None, server, 0.35)),
            (
                "connect/*: server_cpu_per_op <= 1200%",
                (None, name("connect"), server, 12.0),
            ),
            (
                "point/select/a/b: c: throughput >= -10%",
                (name("a/b: c"), name("point/select"), Metric::Throughput, 0.1),
            ),
            (
                "*/tls1.3: latency_p95 <= 2.5%",
                (name("tls1.3"), None, Metric::LatencyP95, 0.025),
            ),
        ] {
            assert_eq!(parsed(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_was_meant() {
        for (text, words) in [
            ("server_cpu_per_op <= 35%", "names no arm"),
            ("tls1.4: server_cpu_per_op <= 35%", "did you mean \"tls1.3\""),
            ("plain: server_cpu_per_op <= 35%", "is the baseline"),
            (
                "conect/tls1.3: server_cpu_per_op <= 35%",
                "did you mean \"connect\"",
            ),
            ("tls1.3: server_cpu <= 35%", "did you mean \"server_cpu_per_op\""),
            ("tls1.3: server_cpu_per_op = 35%", "is no limit"),
            ("tls1.3: server_cpu_per_op <= 0.35", "is no percentage"),
            ("tls1.3: server_cpu_per_op <= many%", "is no percentage"),
            ("tls1.3: server_cpu_per_op >= 35%", "<= 35%"),
            ("tls1.3: throughput <= 10%", "throughput >= -10%"),
            ("tls1.3: server_cpu_per_op <= inf%", "must be a fraction"),
            ("tls1.3: throughput >= -100%", "must be a fraction"),
        ] {
            let problem = parsed(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }

    #[test]
    fn a_limit_is_as_far_from_no_cost_whichever_way_a_metric_goes() {
        let log = |text: &str| Budget::parse(text, &study()).unwrap().log_at_most();
        let halved = log("*: throughput >= -50%");
        assert!((halved - log("*: latency_mean <= 100%")).abs() < 1e-12 && halved > 0.0);
    }

    fn row() -> Published {
        Published {
            source: "elsewhere".into(),
            cell: "connect".into(),
            arm: "tls".into(),
            metric: Metric::Throughput,
            kind: None,
            change: None,
            baseline: None,
            variant: None,
            within: None,
            note: None,
        }
    }

    #[test]
    fn a_pair_of_values_is_a_change() {
        let published = Published {
            baseline: Some(200.0),
            variant: Some(150.0),
            ..row()
        };
        assert_eq!(published.figure(), Some(PublishedFigure::Change(-0.25)));
    }

    #[test]
    fn a_row_that_says_nothing_or_too_much_has_no_figure() {
        assert_eq!(row().figure(), None);
        let published = Published {
            change: Some(-0.1),
            within: Some(0.1),
            ..row()
        };
        assert_eq!(published.figure(), None);
    }
}
