//! A comparison as Markdown, for a pull request.

use ciphertax_records::Comparison;
use ciphertax_stats::{CostVerdict, format};

use super::{HOW, headlines, in_words, label, other_changes, others, ratio, rule, value};
use crate::markdown::escaped;

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
        let (metrics, rows) = headlines(comparison, run);
        if rows.is_empty() {
            continue;
        }
        let columns: Vec<String> = metrics.iter().map(ToString::to_string).collect();
        line(&format!("\n**From {} to {}**\n", label(0), label(run)));
        line(&format!("| arm | cell | {} |", columns.join(" | ")));
        line(&format!("|---|---|{}", "---|".repeat(columns.len())));
        for row in &rows {
            let cells: Vec<String> = metrics
                .iter()
                .map(|metric| row.of(*metric).map_or(format::ABSENT.into(), cell))
                .collect();
            line(&format!(
                "| {} | {} | {} |",
                escaped(row.arm),
                escaped(row.cell),
                cells.join(" | ")
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

fn cell(change: &ciphertax_records::CostChange) -> String {
    let word = match change.verdict {
        CostVerdict::Dearer | CostVerdict::Cheaper => format!("**{}**", change.verdict),
        CostVerdict::Same => change.verdict.to_string(),
        CostVerdict::CannotTell => format!("{}: {}", change.verdict, escaped(&rule(change))),
    };
    format!(
        "{}<br>{}<br>{}<br>{word}",
        ratio(change),
        change.relative_in_words(),
        change.absolute_in_words()
    )
}
