//! CPU time in metrics as exporters write them for Prometheus.
//!
//! The format is that of <https://prometheus.io/docs/instrumenting/exposition_formats/>: a line is a name, labels in braces, and
//! a number. Only lines of the two counters below are looked at.

use std::collections::BTreeMap;

/// The process exporter's: groups of processes, by the mode `user` and `system`.
const OF_GROUPS: &str = "namedprocess_namegroup_cpu_seconds_total";
/// The node exporter's: all CPUs of the machine, by mode.
const OF_MACHINE: &str = "node_cpu_seconds_total";
/// In these modes nobody works; time of a guest is in `user` too.
const IDLE: [&str; 5] = ["idle", "iowait", "steal", "guest", "guest_nice"];

/// What a counter counts, and how far it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Counted {
    pub(super) what: String,
    pub(super) seconds: f64,
}

/// The CPU time in these metrics: that of a group of processes, of the only one where `group` names none; where there are no
/// groups, that of the whole machine.
pub(super) fn cpu_seconds(metrics: &str, group: Option<&str>) -> Result<Counted, String> {
    let mut groups: BTreeMap<String, f64> = BTreeMap::new();
    let mut machine: Option<f64> = None;
    for line in metrics.lines() {
        let Some((labels, seconds)) = counter(line, OF_GROUPS) else {
            if let Some((labels, seconds)) = counter(line, OF_MACHINE)
                && labels
                    .get("mode")
                    .is_some_and(|mode| !IDLE.contains(&mode.as_str()))
            {
                *machine.get_or_insert_default() += seconds;
            }
            continue;
        };
        if let Some(name) = labels.get("groupname") {
            *groups.entry(name.clone()).or_default() += seconds;
        }
    }
    let names = || groups.keys().take(20).cloned().collect::<Vec<_>>().join(", ");
    let of_group = |name: &str, seconds: f64| Counted {
        what: format!("the processes of the group {name}"),
        seconds,
    };
    match (group, groups.len(), machine) {
        (Some(name), 1.., _) => groups
            .get(name)
            .map(|seconds| of_group(name, *seconds))
            .ok_or_else(|| format!("it has no group {name:?}; it has {}", names())),
        (None, 2.., _) => Err(format!(
            "it has several groups of processes; name one after a #, of {}",
            names()
        )),
        (None, 1, _) => groups
            .iter()
            .next()
            .map(|(name, seconds)| of_group(name, *seconds))
            .ok_or_else(String::new),
        (Some(_), 0, Some(_)) => Err(format!(
            "it has no groups of processes ({OF_GROUPS}); leave the name after # out to take all CPU time of the machine"
        )),
        (None, 0, Some(seconds)) => Ok(Counted {
            what: "all that ran on its machine".to_owned(),
            seconds,
        }),
        (_, 0, None) => Err(format!("it has neither {OF_GROUPS} nor {OF_MACHINE}")),
    }
}

/// Labels and number of a line, if it is of this name.
fn counter(line: &str, name: &str) -> Option<(BTreeMap<String, String>, f64)> {
    let rest = line.trim().strip_prefix(name)?.trim_start().strip_prefix('{')?;
    let (labels, rest) = labels(rest)?;
    let seconds: f64 = rest.split_whitespace().next()?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some((labels, seconds))
}

/// Labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, value) = rest.split_once("=\"")?;
        let mut text = String::new();
        let mut chars = value.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    other => text.push(other),
                },
                (_, other) => text.push(other),
            }
        };
        labels.insert(name.trim().to_owned(), text);
        rest = value.get(end + 1..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.\n\
        # TYPE node_cpu_seconds_total counter\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1000\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"iowait\"} 30\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"system\"} 2.5\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 4.25e+01\n\
        node_cpu_seconds_total{cpu=\"1\",mode=\"user\"} 5 1700000000000\n\
        process_cpu_seconds_total 7777\n";

    const GROUPS: &str = "namedprocess_namegroup_cpu_seconds_total{groupname=\"mysqld\",mode=\"system\"} 1.5\n\
        namedprocess_namegroup_cpu_seconds_total{groupname=\"mysqld\",mode=\"user\"} 3\n\
        namedprocess_namegroup_cpu_seconds_total{groupname=\"a \\\"b\\\"} c\", mode=\"user\"} 8\n";

    #[test]
    fn a_machine_counts_all_that_is_not_idle() {
        let counted = cpu_seconds(NODE, None).unwrap();
        assert_eq!(counted.seconds, 50.0);
        assert_eq!(counted.what, "all that ran on its machine");
        // The exporter's own CPU time is nobody's here.
        assert!(
            cpu_seconds("process_cpu_seconds_total 5\n", None)
                .unwrap_err()
                .contains("neither")
        );
    }

    #[test]
    fn a_group_of_processes_is_taken_by_its_name_and_the_machine_never_in_its_place() {
        let both = format!("{NODE}{GROUPS}");
        assert_eq!(cpu_seconds(&both, Some("mysqld")).unwrap().seconds, 4.5);
        assert_eq!(cpu_seconds(&both, Some("a \"b\"} c")).unwrap().seconds, 8.0);
        for (metrics, group, words) in [
            (&*both, None, "several groups"),
            (&*both, Some("postgres"), "no group"),
            (NODE, Some("mysqld"), "leave the name"),
        ] {
            let refused = cpu_seconds(metrics, group).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn a_broken_line_is_passed_over() {
        for line in [
            "node_cpu_seconds_total{mode=\"user\" 5",
            "node_cpu_seconds_total{mode=\"user",
            "node_cpu_seconds_total{mode=\"user\\",
            "node_cpu_seconds_total{mode=\"user\"} NaN",
            "node_cpu_seconds_total{mode=\"user\"} -5",
            "node_cpu_seconds_total{mode=\"user\"}",
            "node_cpu_seconds_total{",
            "node_cpu_seconds_total",
        ] {
            assert!(cpu_seconds(line, None).is_err(), "{line}");
        }
    }
}
