//! The categories as comma-separated values.

use ciphertax_records::Run;
use ciphertax_records::why::CategoryRow;

use super::Chosen;
use super::words::side_word;

/// A line of column names, then one a category; times in microseconds of an operation, empty where there is none.
pub fn csv(run: &Run, chosen: Chosen<'_>) -> String {
    let mut text = String::from(
        "cell,arm,side,category,baseline_us,variant_us,difference_us,low_us,high_us,floor_us,is_significant\n",
    );
    let rows = run.results.why.categories.iter();
    for row in rows.filter(|row| chosen.has(&row.cell, &row.arm)) {
        text.push_str(&line(row));
        text.push('\n');
    }
    text
}

fn line(row: &CategoryRow) -> String {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let interval = row.difference;
    [
        field(&row.cell),
        field(&row.arm),
        side_word(row.side).to_owned(),
        field(&row.category),
        number(Some(row.baseline_us)),
        number(Some(row.variant_us)),
        number(interval.map(|interval| interval.value)),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
        number(row.floor_us),
        row.is_significant.to_string(),
    ]
    .join(",")
}

/// RFC 4180.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_commas_and_quotes_is_one_field() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
