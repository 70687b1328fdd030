//! Figures in sentences: a number and its unit stay on one line.

use minijinja::{HtmlEscape, Value};

/// What a number in a sentence is followed by.
const UNITS: [&str; 5] = ["%", "ns", "µs", "ms", "s"];

/// The text, escaped, with what must not be torn apart in spans.
pub(super) fn figures(text: &str) -> Value {
    let mut page = String::new();
    let mut words = text.split(' ').peekable();
    let mut begun = false;
    while let Some(word) = words.next() {
        page.push_str(if begun { " " } else { "" });
        begun = true;
        match words.next_if(|unit| is_figure(word, unit)) {
            Some(unit) => {
                let (word, unit) = (HtmlEscape(word), HtmlEscape(unit));
                page.push_str(&format!("<span class=\"figure\">{word} {unit}</span>"));
            }
            None => page.push_str(&HtmlEscape(word).to_string()),
        }
    }
    Value::from_safe_string(page)
}

fn is_figure(word: &str, unit: &str) -> bool {
    let unit = unit.trim_end_matches(|char: char| char.is_ascii_punctuation() && char != '%');
    word.ends_with(|char: char| char.is_ascii_digit()) && UNITS.contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit_and_all_text_is_escaped() {
        assert_eq!(
            figures("tls <costs> 186 µs more (+460 % [8.1, 52]).").to_string(),
            "tls &lt;costs&gt; <span class=\"figure\">186 µs</span> more <span class=\"figure\">(+460 %</span> [8.1, 52])."
        );
        assert_eq!(figures("in 2 cells,  so").to_string(), "in 2 cells,  so");
    }
}
