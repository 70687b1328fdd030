//! What a feature may cost.

use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Serialize};

use crate::metric::{Direction, Metric};
use crate::nearest::{hint, nearest};
use crate::study::Study;

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
            "the {metric} is not compared with the baseline's, which may have none; a budget is of what is compared"
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
                Some("the largest cost must be a fraction above -1, of throughput below 1: 0.35 is 35 %")
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
}
