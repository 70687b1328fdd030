//! The run as Markdown, for a pull request, an issue or a wiki: the verdict, what each arm costs, proofs, advice, and every figure
//! folded.

use ciphertax_base::format::{self, ABSENT};
use ciphertax_base::harmless;
use ciphertax_records::{EstimateRow, Run, Severity};
use ciphertax_stats::FEWEST_BLOCKS;

use crate::answer::{Answer, answers, between, lacks_blocks, needs_blocks, query_heading, sides};
use crate::describe;
use crate::lookup::{Group, grouped};

/// The text, in GitHub's flavour, ending with a newline. Names come from studies and servers, so none of them is markup.
pub fn render(run: &Run) -> String {
    let mut page = String::new();
    page.push_str(&format!("## {}\n\n", escaped(&run.head.study.question)));
    if let Some(warning) = describe::unfinished(run) {
        page.push_str(&format!("> **{}**\n\n", escaped(&warning)));
    }
    page.push_str(&format!("**{}**\n\n", escaped(&run.results.verdict)));
    page.push_str(&format!("{}.\n", escaped(&describe::servers_in_words(run))));
    for words in describe::cpu_unread_in_words(run).chain(describe::left_out_in_words(run)) {
        page.push_str(&format!("{}\n", escaped(&words)));
    }
    if lacks_blocks(run) {
        page.push_str(&format!("\n{}\n", escaped(&needs_blocks())));
    }
    answer(&mut page, run);
    let (advice, causes): (Vec<_>, Vec<_>) = grouped(run)
        .into_iter()
        .partition(|group| group.severity == Severity::Advice);
    findings(&mut page, "What to do", &advice);
    findings(&mut page, "Why", &causes);
    proofs(&mut page, run);
    figures(&mut page, run);
    page.push_str(&format!("\nRepeat: {}\n", code(&run.head.command)));
    page
}

/// What each arm takes more than the baseline on both sides.
fn answer(page: &mut String, run: &Run) {
    let answers = answers(run);
    let Some(baseline) = run.head.baseline().filter(|_| !answers.is_empty()) else {
        return;
    };
    let query = query_heading(&answers).trim_start_matches("per ");
    type CellOf = for<'a> fn(&Answer<'a>) -> Option<ciphertax_records::MeasuredCell<'a>>;
    let columns: [(&str, CellOf); 2] = [
        (query, |answer| answer.query),
        ("connection", |answer| answer.connection),
    ];
    let columns: Vec<(&str, CellOf)> = columns
        .into_iter()
        .filter(|(_, cell)| answers.iter().any(|answer| cell(answer).is_some()))
        .collect();
    let between = between(run, &answers);
    let title = format!("CPU time that each arm takes more than {}", baseline.name);
    page.push_str(&format!("\n{}\n\n", escaped(&title)));
    let mut header = vec!["arm".to_owned()];
    for (what, _) in &columns {
        let sides = sides(run).iter().map(|(_, side)| *side).chain(between);
        header.extend(sides.map(|side| format!("{what}: {side}")));
    }
    table_head(page, &header, 1);
    for answer in &answers {
        let name = match answer.place.as_str() {
            "" => answer.arm.name.clone(),
            place => format!("{}, {place}", answer.arm.name),
        };
        let mut row = vec![escaped(&name)];
        for (_, cell) in &columns {
            let cell = cell(answer);
            row.extend(
                sides(run)
                    .iter()
                    .map(|(metric, _)| cost(run, answer.estimate(run, cell, *metric))),
            );
            row.extend(between.map(|_| {
                let value = answer.between(run, cell);
                value.map_or(ABSENT.into(), |(value, unit)| format::more(value, unit))
            }));
        }
        table_row(page, &row);
    }
}

/// `+3.8 µs, +28 % [26, 29], costs`
fn cost(run: &Run, row: Option<&EstimateRow>) -> String {
    let Some(row) = row else {
        return ABSENT.into();
    };
    format!(
        "{}, {}",
        format::difference(row.difference, &row.unit).value,
        change(run, row)
    )
}

/// `+28 % [26, 29], costs`
fn change(run: &Run, row: &EstimateRow) -> String {
    format!(
        "{}, {}",
        format::change_with_interval(row.interval()),
        describe::verdict_word(run, row)
    )
}

fn findings(page: &mut String, title: &str, groups: &[Group]) {
    if groups.is_empty() {
        return;
    }
    page.push_str(&format!("\n### {title}\n\n"));
    for statement in groups.iter().flat_map(|group| &group.statements) {
        page.push_str(&format!("- {}\n", escaped(&statement.summary)));
    }
}

fn proofs(page: &mut String, run: &Run) {
    page.push_str("\n### Is it true?\n\n");
    for (arm, words) in describe::proofs_in_words(run) {
        page.push_str(&format!("- {}: {words}\n", escaped(arm)));
    }
    let void = run.results.void.len();
    page.push_str(&format!("- {} slices do not count\n", format::count(void as f64)));
}

/// Every comparison, folded.
fn figures(page: &mut String, run: &Run) {
    for cell in run.cells() {
        let name = &cell.found.name;
        let rows: Vec<&EstimateRow> = run
            .results
            .estimates
            .iter()
            .filter(|row| row.cell == *name)
            .collect();
        let load = describe::load_in_words(cell);
        let summary = format!("{name}: {load}, {}", describe::blocks_in_words(cell));
        page.push_str(&format!("\n<details><summary>{}</summary>\n\n", html(&summary)));
        if rows.is_empty() {
            page.push_str(&format!(
                "Nothing was compared: an interval needs {FEWEST_BLOCKS} blocks.\n"
            ));
        } else {
            let header = [
                "metric",
                "arm",
                "baseline",
                "this arm",
                "change [95 % interval], verdict",
                "noise floor",
            ];
            table_head(page, &header.map(str::to_owned), 2);
        }
        for row in rows {
            let floor = row
                .floor
                .map_or(ABSENT.into(), |floor| crate::words::floor(floor, row.metric));
            table_row(
                page,
                &[
                    row.metric.to_string(),
                    escaped(&row.arm),
                    format::quantity(row.baseline, &row.unit),
                    format::quantity(row.variant, &row.unit),
                    change(run, row),
                    floor,
                ],
            );
        }
        page.push_str("\n</details>\n");
    }
}

/// The names of columns, of which the first few are text and the others figures.
fn table_head(page: &mut String, names: &[String], texts: usize) {
    table_row(page, &names.iter().map(|name| escaped(name)).collect::<Vec<_>>());
    let rules: Vec<String> = (0..names.len())
        .map(|column| if column < texts { "---" } else { "--:" }.to_owned())
        .collect();
    table_row(page, &rules);
}

fn table_row(page: &mut String, cells: &[String]) {
    page.push_str(&format!("| {} |\n", cells.join(" | ")));
}

/// Text in which nothing is markup, on one line. An underscore within a word is none.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = on_one_line(text);
    let mut characters = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = characters.next() {
        let is_within_word =
            before.is_alphanumeric() && characters.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '_' if is_within_word => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '#' | '@' | '!' | '&' => {
                out.push('\\');
                out.push(c);
                if characters.peek().is_some_and(|next| is_reference(c, *next)) {
                    out.push_str(NO_REFERENCE);
                }
            }
            c => out.push(c),
        }
        before = c;
    }
    // What looks like an address becomes a link.
    out.replace("://", ":&#47;/").replace("www.", "www&#46;")
}

/// Text within an HTML element.
fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = on_one_line(text);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
        if characters.peek().is_some_and(|next| is_reference(c, *next)) {
            out.push_str(NO_REFERENCE);
        }
    }
    out
}

/// Harmless text, with a space for each line end and tab.
fn on_one_line(text: &str) -> String {
    harmless(&text.replace(['\n', '\r', '\t'], " "))
}

/// Stands within what GitHub would take for a person or an issue, who would hear of it: it looks for them in the text that is shown,
/// where a backslash is gone.
const NO_REFERENCE: &str = "<!-- -->";

/// True where `@name` or `#12` begins.
fn is_reference(c: char, next: char) -> bool {
    match c {
        '@' => next.is_alphanumeric(),
        '#' => next.is_numeric(),
        _ => false,
    }
}

/// Text as code, on one line: between more backticks than it has in a row.
fn code(text: &str) -> String {
    let text = on_one_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    match longest {
        0 => format!("{fence}{text}{fence}"),
        _ => format!("{fence} {text} {fence}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        assert_eq!(escaped("oltp_point_select"), "oltp_point_select");
        assert_eq!(escaped("_a_ *b* <c> d|e\nf"), "\\_a\\_ \\*b\\* \\<c\\> d\\|e f");
        assert_eq!(escaped("a\u{1b}b\u{202e}c\td"), "a\u{fffd}b\u{fffd}c d");
        assert_eq!(escaped("http://x www.x"), "http:&#47;/x www&#46;x");
        assert_eq!(code("a `b` c"), "`` a `b` c ``");
        assert_eq!(code("a"), "`a`");
        assert_eq!(html("<b> & c"), "&lt;b&gt; &amp; c");
    }

    #[test]
    fn names_call_nobody() {
        let expected = "\\@<!-- -->app \\#<!-- -->12 \\#x a\\@ \\#";
        assert_eq!(escaped("@app #12 #x a@ #"), expected);
        assert_eq!(html("@app, #12 & #x"), "@<!-- -->app, #<!-- -->12 &amp; #x");
    }
}
