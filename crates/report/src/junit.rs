//! JUnit's XML, which every CI system shows: suites of cases that passed, failed, could not be decided or were left out.
//!
//! The format has no standard; this is what Jenkins, GitLab and GitHub's actions read
//! (<https://github.com/testmoapp/junitxml>).

use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

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
pub(crate) fn render(name: &str, suite: &Suite) -> io::Result<String> {
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
            case("c", Outcome::Undecided("cannot tell".into())),
            case("d", Outcome::Skipped("left out".into())),
        ];
        insta::assert_snapshot!(render("gate", &suite(cases)).unwrap());
    }

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "</testcase><x a=\"'&]]>\u{1b}[31m\u{0}\u{fffe}";
        let mut hostile_case = case(hostile, Outcome::Failed(hostile.into()));
        hostile_case.output = hostile.into();
        let text = render(hostile, &suite(vec![hostile_case])).unwrap();
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
