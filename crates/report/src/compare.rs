//! A comparison of runs, in words that its outputs share, and as Markdown.

use ciphertax_base::format;
use ciphertax_records::{Comparison, CostChange, HeadDifference};
use ciphertax_stats::{CostVerdict, Rule};

use crate::markdown::escaped;
use crate::words;

/// What a run is called in tables, by its place: A for the first.
pub(crate) fn label(run: usize) -> String {
    let letter = u8::try_from(run).ok().filter(|run| *run < 26);
    letter.map_or_else(
        || format!("run {}", run + 1),
        |run| char::from(b'A' + run).to_string(),
    )
}

/// The runs that are compared with the first, by their places.
pub(crate) fn others(comparison: &Comparison) -> impl Iterator<Item = usize> {
    1..comparison.runs.len()
}

/// Costs that changed and that no table of headlines shows.
pub(crate) fn other_changes(comparison: &Comparison, run: usize) -> Vec<&CostChange> {
    let changed = |change: &&CostChange| matches!(change.verdict, CostVerdict::Dearer | CostVerdict::Cheaper);
    let changes = comparison.changes.iter();
    changes
        .filter(|change| change.run == run && !change.headline)
        .filter(changed)
        .collect()
}

/// `tls1.3 in select, p95 latency: dearer, +5.5 % [4.9, 6.1] (+28.0 % → +35.1 %, +41 µs → +52 µs)`
pub(crate) fn in_words(change: &CostChange) -> String {
    format!(
        "{} in {}, {}: {}, {} ({})",
        change.arm,
        change.cell,
        change.metric,
        change.verdict,
        ratio(change),
        change.course_in_words()
    )
}

/// `+5.5 % [4.9, 6.1]`
pub(crate) fn ratio(change: &CostChange) -> String {
    format::change_with_interval(change.change)
}

/// Why the verdict is what it is.
pub(crate) fn rule(change: &CostChange) -> String {
    let floor = change.floor.map_or(format::ABSENT.into(), |floor| {
        format!("±{}", format::share_of(floor))
    });
    let margin = format!("±{}", format::share_of(change.margin));
    match change.rule {
        Rule::BeyondFloor => format!(
            "the interval excludes 0, the change exceeds the difference of the baselines ({floor}), and it is significant after \
             correcting for all comparisons (Holm, {})",
            words::p_value(change.adjusted_p_value)
        ),
        Rule::WithinMargin => format!("the whole interval lies within the margin of {margin}"),
        Rule::IntervalTooWide => {
            format!("the interval includes both 0 and changes above the margin of {margin}; measure longer")
        }
        Rule::WithinFloor => format!("the baselines alone differ by as much ({floor})"),
        Rule::ManyComparisons => format!(
            "not significant after correcting for all comparisons (Holm, {})",
            words::p_value(change.adjusted_p_value)
        ),
        Rule::FloorTooWide => {
            format!("the baselines alone differ by more ({floor}) than the margin of {margin}")
        }
        Rule::NoFloor => "the baseline against itself was not measured in both runs".into(),
        Rule::OnlyInPercent => {
            "the percentage changed, but the extra time did not change beyond both intervals".into()
        }
        Rule::ClientBound => words::CLIENT_BOUND.into(),
    }
}

/// What the figures are, and when which word stands.
pub(crate) const HOW: &str = "Each figure is a ratio of ratios: how much more an arm takes in a run than in A, each against the \
     baseline of its own run, so what makes a whole run faster or slower cancels. In brackets: the 95 % interval, with both runs' errors \
     and run-to-run variation. Dearer, cheaper: it excludes 0, the change exceeds the noise of the repeated baselines, it is significant \
     after correcting for all comparisons (Holm), and it holds in microseconds too. The same: the whole interval lies within the margin \
     (stronger than 'no change found').";

/// How something is in a run.
pub(crate) fn value(difference: &HeadDifference, run: usize) -> &str {
    let value = difference.values.get(run).and_then(Option::as_deref);
    value.unwrap_or(format::ABSENT)
}

/// The comparison as GitHub's Markdown, ending with a newline. Text of servers and users is escaped.
pub fn markdown(comparison: &Comparison) -> String {
    let mut page = String::new();
    let mut line = |text: &str| {
        page.push_str(text);
        page.push('\n');
    };
    line(&format!("### {}\n", escaped(&comparison.verdict)));
    for (run, compared) in comparison.runs.iter().enumerate() {
        let cut_off = compared
            .cut_off
            .as_ref()
            .map(|why| format!(", **cut off: {}**", escaped(why)));
        line(&format!(
            "- **{}** {}, {}{}",
            label(run),
            escaped(&compared.name),
            escaped(&compared.started),
            cut_off.unwrap_or_default()
        ));
    }
    for run in others(comparison) {
        let changes = comparison.changes.iter();
        let mut headlines = changes
            .filter(|change| change.run == run && change.headline)
            .peekable();
        if headlines.peek().is_none() {
            continue;
        }
        line(&format!("\n**From {} to {}**\n", label(0), label(run)));
        line("| arm | cell | metric | change | cost in % | cost | verdict |");
        line("|---|---|---|--:|--:|--:|---|");
        for change in headlines {
            line(&format!(
                "| {} | {} | {} | {} | {} | {} | {} |",
                escaped(&change.arm),
                escaped(&change.cell),
                change.metric,
                ratio(change),
                change.relative_in_words(),
                change.absolute_in_words(),
                verdict(change)
            ));
        }
        for change in other_changes(comparison, run) {
            line(&format!("\n- {}", escaped(&in_words(change))));
        }
    }
    if !comparison.differences.is_empty() {
        let labels: Vec<String> = (0..comparison.runs.len()).map(label).collect();
        line("\n**What differs besides the cost**\n");
        line(&format!("| | {} |", labels.join(" | ")));
        line(&format!("|---|{}", "---|".repeat(labels.len())));
        for difference in &comparison.differences {
            let values: Vec<String> = (0..labels.len())
                .map(|run| escaped(value(difference, run)))
                .collect();
            line(&format!(
                "| {} | {} |",
                escaped(&difference.what),
                values.join(" | ")
            ));
        }
    }
    if !comparison.not_comparable.is_empty() {
        line("\n**Not compared**\n");
        for refused in &comparison.not_comparable {
            let text = format!("{}: {}: {}", label(refused.run), refused.what, refused.why);
            line(&format!("- {}", escaped(&text)));
        }
    }
    line(&format!(
        "\n<details><summary>How to read it</summary>\n\n{HOW}\n\n</details>"
    ));
    page
}

fn verdict(change: &CostChange) -> String {
    match change.verdict {
        CostVerdict::Dearer | CostVerdict::Cheaper => format!("**{}**", change.verdict),
        CostVerdict::Same => change.verdict.to_string(),
        CostVerdict::CannotTell => format!("{}: {}", change.verdict, escaped(&rule(change))),
    }
}
