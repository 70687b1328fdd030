//! A run held to budgets, in words that the outputs share, and as JUnit's XML.

use std::io::{self, Write};

use ciphertax_base::Direction;
use ciphertax_base::format;
use ciphertax_model::Metric;
use ciphertax_records::{Gate, GateRow, HeldTo};
use ciphertax_stats::{BoundVerdict, Rule};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::words;

/// The gate as JUnit's XML: a case for every cost, which fails if it is over; what cannot be told is an error.
///
/// # Errors
/// None that memory does not run into.
pub fn junit(gate: &Gate) -> io::Result<String> {
    let mut cases: Vec<Case> = gate.rows.iter().map(case).collect();
    cases.extend(gate.not_comparable.iter().map(|refused| Case {
        class: "not compared".into(),
        name: refused.what.clone(),
        outcome: Outcome::Undecided(refused.why.clone()),
        output: String::new(),
    }));
    cases.extend(gate.not_held.iter().map(|cost| Case {
        class: cost.cell.clone(),
        name: format!("{}: {}, against the earlier run", cost.arm, cost.metric),
        outcome: Outcome::Skipped(cost.why.clone()),
        output: String::new(),
    }));
    let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut properties = vec![named("run", &gate.run)];
    properties.extend(gate.cut_off.iter().map(|why| named("run cut off", why)));
    properties.extend(gate.baselines.iter().map(|earlier| named("earlier run", earlier)));
    properties.extend(
        gate.baseline_cut_off
            .iter()
            .map(|why| named("earlier run cut off", why)),
    );
    let suite = Suite {
        name: "ciphertax gate".into(),
        timestamp: gate.started.clone(),
        properties,
        cases,
    };
    render_junit("ciphertax", &suite)
}

fn case(row: &GateRow) -> Case {
    let why = || format!("{}: {}", in_words(row), reason(row));
    Case {
        class: row.cell.clone(),
        name: name(row),
        outcome: match row.verdict {
            BoundVerdict::Within => Outcome::Passed,
            BoundVerdict::Over => Outcome::Failed(why()),
            BoundVerdict::CannotTell => Outcome::Undecided(why()),
        },
        output: in_words(row),
    }
}

/// The answer in a sentence.
pub(crate) fn answer(gate: &Gate) -> String {
    let count = |verdict| gate.rows.iter().filter(|row| row.verdict == verdict).count();
    let all = gate.rows.len();
    let of_all = |count: usize| match (count, all) {
        (_, 1) => "the cost".to_owned(),
        (count, all) if count == all => format!("all {all} costs"),
        (count, all) => format!("{count} of {all} costs"),
    };
    let not_held = match gate.not_held.len() {
        0 => String::new(),
        1 => " 1 more was not compared: the load generator was its bottleneck.".into(),
        more => {
            format!(" {more} more were not compared: the load generator was their bottleneck.")
        }
    };
    let answer = match gate.verdict {
        BoundVerdict::Within if all == 1 => "Within: the cost stayed within its limit.".into(),
        BoundVerdict::Within => format!("Within: {} stayed within their limits.", of_all(all)),
        BoundVerdict::Over => format!("Over: {} exceeded the limit.", of_all(count(BoundVerdict::Over))),
        BoundVerdict::CannotTell if count(BoundVerdict::CannotTell) == 0 => {
            let open = gate.not_comparable.len();
            format!("Cannot tell: {open} of the earlier run's arms or cells are not in this one.")
        }
        BoundVerdict::CannotTell => format!(
            "Cannot tell whether {} kept the limit.",
            of_all(count(BoundVerdict::CannotTell))
        ),
    };
    format!("{answer}{not_held}")
}

/// Which runs were cut off, and why, in a sentence each.
pub(crate) fn cut_off(gate: &Gate) -> impl Iterator<Item = String> {
    let run = gate
        .cut_off
        .iter()
        .map(|why| format!("The run was cut off: {why}."));
    let earlier = gate.baseline_cut_off.iter();
    run.chain(earlier.map(|why| format!("The earlier run was cut off: {why}.")))
}

/// `tls1.3: server CPU per operation <= +35.0 %`
fn name(row: &GateRow) -> String {
    let sign = match row.metric.direction() {
        Direction::HigherCosts => "<=",
        Direction::LowerCosts => ">=",
    };
    let than = match row.held_to {
        HeldTo::Budget => "",
        HeldTo::EarlierRun => ", against the earlier run",
    };
    format!("{}: {} {sign} {}{than}", row.arm, row.metric, limit(row))
}

/// `+35.0 %`
pub(crate) fn limit(row: &GateRow) -> String {
    format::change(row.limit)
}

/// `+41.2 % [40.1, 42.3]`
pub(crate) fn measured(row: &GateRow) -> String {
    row.measured
        .map_or(format::ABSENT.into(), format::change_with_interval)
}

fn in_words(row: &GateRow) -> String {
    format!(
        "{}, limit {}, measured {}",
        row.verdict,
        limit(row),
        measured(row)
    )
}

/// Why rows are not within, each reason once with the rows that have it.
pub(crate) fn reasons<'a>(rows: impl Iterator<Item = &'a GateRow>) -> Vec<(String, Vec<&'a GateRow>)> {
    let mut found: Vec<(String, Vec<&GateRow>)> = Vec::new();
    for row in rows.filter(|row| row.verdict != BoundVerdict::Within) {
        let why = format!("{}, because {}", row.verdict, reason(row).trim_end_matches('.'));
        match found.iter_mut().find(|(known, _)| *known == why) {
            Some((_, rows)) => rows.push(row),
            None => found.push((why, vec![row])),
        }
    }
    found
}

/// Why a limit of speed is not the margin itself, where there is one.
pub(crate) fn limit_of_speed<'a>(mut rows: impl Iterator<Item = &'a GateRow>) -> Option<String> {
    let is_of_speed =
        |row: &&GateRow| row.held_to == HeldTo::EarlierRun && row.metric.direction() == Direction::LowerCosts;
    let row = rows.find(is_of_speed)?;
    let margin = format::share_of(1.0 / (1.0 + row.limit) - 1.0);
    Some(format!(
        "A limit of {} of {} is a margin of {margin}: operations may take {margin} longer.",
        limit(row),
        row.metric
    ))
}

/// Why the verdict is what it is, and what would decide it.
fn reason(row: &GateRow) -> String {
    let Some(rule) = row.rule else {
        return row.unmeasured.clone().unwrap_or_default();
    };
    let floor = row.floor.map_or(format::ABSENT.into(), |floor| {
        format!("±{}", format::share_of(floor))
    });
    let why = match rule {
        Rule::WithinMargin => format!(
            "the whole interval is within the limit, and its middle is further from it than the noise floor of {floor}"
        ),
        Rule::BeyondFloor => format!(
            "the whole interval is beyond the limit, its middle is further from it than the noise floor of {floor}, and it is significant \
             after correcting for all limits (Holm, {})",
            words::p_value(row.adjusted_p_value)
        ),
        Rule::IntervalTooWide => "the interval includes the limit".into(),
        Rule::WithinFloor | Rule::FloorTooWide => {
            format!("the middle of the interval is nearer to the limit than the noise floor of {floor}")
        }
        Rule::ManyComparisons => format!(
            "not significant after correcting for all limits (Holm, {})",
            words::p_value(row.adjusted_p_value)
        ),
        Rule::NoFloor => words::NO_FLOOR.into(),
        Rule::OnlyInPercent => words::ONLY_IN_PERCENT.into(),
        Rule::ClientBound => words::CLIENT_BOUND.into(),
    };
    let remedy = match (row.precision_needed, row.verdict, row.held_to, rule) {
        (_, _, _, Rule::NoFloor | Rule::ClientBound) => String::new(),
        (Some(precision), BoundVerdict::CannotTell, ..) => format!(
            "; measure again with intervals of ±{} ({}) and enough time",
            format::share_of(precision),
            how(row.metric, precision)
        ),
        (None, BoundVerdict::CannotTell, HeldTo::Budget, _) => {
            "; it is too near the limit to be decided by measuring: change the limit, or the cost"
                .into()
        }
        (_, _, _, Rule::OnlyInPercent) => String::new(),
        (None, BoundVerdict::CannotTell, HeldTo::EarlierRun, _) => match row.time_needed_s {
            Some(seconds) => format!(
                "; measure for {} in each run, or allow more with --margin",
                format::span(seconds)
            ),
            None if rule == Rule::IntervalTooWide => {
                "; repeated runs differ by more, however long they are: give several earlier ones with --baseline, or allow more with \
                 --margin"
                    .into()
            }
            None => "; measure both longer, or allow more with --margin".into(),
        },
        _ => String::new(),
    };
    format!("{why}{remedy}")
}

/// The option that asks for a precision; of what no precision can be asked for, more time.
fn how(metric: Metric, precision: f64) -> String {
    match metric {
        metric if metric.is_cpu() => format!("--precision {}", rounded_down(precision)),
        Metric::Throughput | Metric::ResponseMean => {
            format!("--set precision.throughput={}", rounded_down(precision))
        }
        _ => "--time".to_owned(),
    }
}

/// One significant digit, rounded down so that it suffices, within what a study may ask for.
fn rounded_down(precision: f64) -> f64 {
    let digit = 10_f64.powf(precision.log10().floor());
    // Beside 10⁻³ the quotient may be a hair below a whole number.
    let rounded = (precision / digit + 1e-9).floor() * digit;
    let text = format!("{:.4}", rounded.clamp(0.0005, 0.5));
    text.parse().unwrap_or(precision)
}

/// Cases that belong together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Suite {
    /// Its name.
    pub(crate) name: String,
    /// When it began, as RFC 3339 has it.
    pub(crate) timestamp: String,
    /// Names and values that a reader may want, such as versions.
    pub(crate) properties: Vec<(String, String)>,
    /// The cases.
    pub(crate) cases: Vec<Case>,
}

/// One case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    /// What groups it in a list, such as a cell.
    pub(crate) class: String,
    /// Its name.
    pub(crate) name: String,
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// What was measured, in a line.
    pub(crate) output: String,
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As it should.
    Passed,
    /// Not as it should: why.
    Failed(String),
    /// It cannot be told: why. CI systems count it as a failure that is no fault of what is tested.
    Undecided(String),
    /// It was left out: why.
    Skipped(String),
}

/// The file, ending with a newline. What XML cannot hold is replaced.
///
/// # Errors
/// None that memory does not run into.
///
/// JUnit's XML is what every CI system shows: suites of cases that passed, failed, could not be decided or were left out. The format has
/// no standard; this is what Jenkins, GitLab and GitHub's actions read (<https://github.com/testmoapp/junitxml>).
pub(crate) fn render_junit(name: &str, suite: &Suite) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut attributes = vec![("name", legal(name))];
    attributes.extend(counts(&suite.cases));
    writer
        .create_element("testsuites")
        .with_attributes(borrowed(&attributes))
        .write_inner_content(|writer| write_suite(writer, suite))?;
    let mut text = writer.into_inner();
    text.push(b'\n');
    String::from_utf8(text).map_err(io::Error::other)
}

fn write_suite<W: Write>(writer: &mut Writer<W>, suite: &Suite) -> io::Result<()> {
    let mut attributes = vec![("name", legal(&suite.name))];
    attributes.extend(counts(&suite.cases));
    attributes.push(("timestamp", legal(&suite.timestamp)));
    let element = writer.create_element("testsuite");
    element
        .with_attributes(borrowed(&attributes))
        .write_inner_content(|writer| {
            if !suite.properties.is_empty() {
                writer
                    .create_element("properties")
                    .write_inner_content(|writer| write_properties(writer, &suite.properties))?;
            }
            suite.cases.iter().try_for_each(|case| write_case(writer, case))
        })?;
    Ok(())
}

fn write_properties<W: Write>(writer: &mut Writer<W>, properties: &[(String, String)]) -> io::Result<()> {
    for (name, value) in properties {
        let attributes = [("name", legal(name)), ("value", legal(value))];
        writer
            .create_element("property")
            .with_attributes(borrowed(&attributes))
            .write_empty()?;
    }
    Ok(())
}

fn write_case<W: Write>(writer: &mut Writer<W>, case: &Case) -> io::Result<()> {
    let attributes = [("classname", legal(&case.class)), ("name", legal(&case.name))];
    let element = writer.create_element("testcase");
    element
        .with_attributes(borrowed(&attributes))
        .write_inner_content(|writer| {
            let problem = match &case.outcome {
                Outcome::Passed => None,
                Outcome::Failed(why) => Some(("failure", why)),
                Outcome::Undecided(why) => Some(("error", why)),
                Outcome::Skipped(why) => Some(("skipped", why)),
            };
            if let Some((element, why)) = problem {
                let attributes = [("message", legal(why))];
                writer
                    .create_element(element)
                    .with_attributes(borrowed(&attributes))
                    .write_empty()?;
            }
            if !case.output.is_empty() {
                let output = legal(&case.output);
                writer
                    .create_element("system-out")
                    .write_text_content(BytesText::new(&output))?;
            }
            Ok(())
        })?;
    Ok(())
}

fn counts(cases: &[Case]) -> Vec<(&'static str, String)> {
    let mut counts = [0_usize; 4];
    for case in cases {
        counts[0] += 1;
        match case.outcome {
            Outcome::Passed => {}
            Outcome::Failed(_) => counts[1] += 1,
            Outcome::Undecided(_) => counts[2] += 1,
            Outcome::Skipped(_) => counts[3] += 1,
        }
    }
    let names = ["tests", "failures", "errors", "skipped"];
    names
        .into_iter()
        .zip(counts.map(|count| count.to_string()))
        .collect()
}

fn borrowed<'a>(attributes: &'a [(&'static str, String)]) -> impl Iterator<Item = (&'a str, &'a str)> {
    attributes.iter().map(|(name, value)| (*name, value.as_str()))
}

/// Text without the characters that XML 1.0 cannot hold, however they are written (2.2).
fn legal(text: &str) -> String {
    let is_legal = |c: &char| {
        matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
            && !('\u{7f}'..='\u{9f}').contains(c)
    };
    text.chars()
        .map(|c| if is_legal(&c) { c } else { '\u{fffd}' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_to_ask_for_is_short_and_suffices() {
        for (needed, asked) in [
            (0.0123, 0.01),
            (0.0299, 0.02),
            (0.001, 0.001),
            (0.7, 0.5),
            (0.000_51, 0.0005),
        ] {
            assert_eq!(rounded_down(needed), asked);
        }
    }

    fn case(name: &str, outcome: Outcome) -> Case {
        Case {
            class: "select".into(),
            name: name.into(),
            outcome,
            output: "+28.0 % [27.1, 28.9]".into(),
        }
    }

    fn suite(cases: Vec<Case>) -> Suite {
        Suite {
            name: "budgets".into(),
            timestamp: "2026-01-02T03:04:05Z".into(),
            properties: vec![("server".into(), "MariaDB".into())],
            cases,
        }
    }

    #[test]
    fn every_outcome_is_counted_and_said() {
        let cases = vec![
            case("a", Outcome::Passed),
            case("b", Outcome::Failed("over".into())),
            case("c", Outcome::Undecided("not decided".into())),
            case("d", Outcome::Skipped("left out".into())),
        ];
        insta::assert_snapshot!(render_junit("gate", &suite(cases)).unwrap());
    }

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "</testcase><x a=\"'&]]>\u{1b}[31m\u{0}\u{fffe}";
        let mut hostile_case = case(hostile, Outcome::Failed(hostile.into()));
        hostile_case.output = hostile.into();
        let text = render_junit(hostile, &suite(vec![hostile_case])).unwrap();
        let mut reader = quick_xml::Reader::from_str(&text);
        let mut elements = Vec::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Eof => break,
                Event::Start(start) | Event::Empty(start) => {
                    assert!(start.attributes().all(|attribute| attribute.is_ok()));
                    elements.push(start.name().as_ref().to_owned());
                }
                _ => {}
            }
        }
        assert_eq!(
            elements,
            [
                "testsuites",
                "testsuite",
                "properties",
                "property",
                "testcase",
                "failure",
                "system-out"
            ]
        );
        assert!(!text.contains(['\u{1b}', '\u{0}', '\u{fffe}']));
    }
}
