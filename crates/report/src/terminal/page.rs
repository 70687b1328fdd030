//! The page: lines wrapped to the width of the terminal, tables, and the colours of verdicts.

use ciphertax_stats::Verdict;

pub(crate) use ciphertax_base::harmless;

/// How the terminal wants its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns that may be filled; fewer than 60 are treated as 60, and [`AS_WIDE_AS_NEEDED`] breaks no line.
    pub width: usize,
    /// Whether to colour verdicts and headings with ANSI sequences.
    pub colour: bool,
}

/// The width of what is not read on a terminal.
pub const AS_WIDE_AS_NEEDED: usize = usize::MAX;

/// The text as it grows, wrapped to the width and coloured as asked.
pub(super) struct Page {
    pub(super) text: String,
    width: usize,
    colour: bool,
}

/// How a line is meant.
#[derive(Clone, Copy)]
pub(super) enum Tone {
    Plain,
    Strong,
    Warning,
}

impl Page {
    pub(super) fn new(Style { width, colour }: Style) -> Self {
        Self {
            text: String::new(),
            width: width.max(60),
            colour,
        }
    }

    /// An empty page like this one.
    pub(super) fn like(&self) -> Self {
        Self {
            text: String::new(),
            ..*self
        }
    }

    pub(super) fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// Columns that may be filled.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// An empty line, unless there is one already.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.blank();
        }
    }

    /// The heading of a part that has headings of its own.
    pub(super) fn section(&mut self, title: &str) {
        self.gap();
        self.paragraph(title, Tone::Strong);
        self.paragraph(&"═".repeat(title.chars().count()), Tone::Strong);
    }

    pub(super) fn heading(&mut self, title: &str) {
        self.blank();
        self.paragraph(title, Tone::Strong);
    }

    pub(super) fn paragraph(&mut self, text: &str, tone: Tone) {
        self.wrapped(text, "", "", tone);
    }

    pub(super) fn item(&mut self, text: &str) {
        self.wrapped(text, "  ", "    ", Tone::Plain);
    }

    pub(super) fn detail(&mut self, text: &str) {
        self.wrapped(text, "    ", "    ", Tone::Plain);
    }

    /// Text whose first words stand in columns: where it is wrapped, the next lines begin `indent` columns in.
    pub(super) fn hanging(&mut self, text: &str, indent: usize, tone: Tone) {
        let boundary = text.char_indices().nth(indent).map_or(text.len(), |(at, _)| at);
        let (first, rest) = text.split_at(boundary);
        self.wrapped(rest, &harmless(first), &" ".repeat(indent), tone);
    }

    /// A line that is not wrapped, so that it can be copied.
    pub(super) fn line(&mut self, text: &str) {
        self.push(&harmless(text), Tone::Plain);
    }

    fn wrapped(&mut self, text: &str, first: &str, next: &str, tone: Tone) {
        let text = harmless(text).replace(" %", "\u{a0}%").replace(" µs", "\u{a0}µs");
        let mut line = first.to_owned();
        let mut empty = true;
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            if !empty && line.chars().count() + 1 + word.chars().count() > self.width {
                self.push(&line, tone);
                line = next.to_owned();
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(&word.replace('\u{a0}', " "));
            empty = false;
        }
        self.push(&line, tone);
    }

    fn push(&mut self, line: &str, tone: Tone) {
        let sgr = match tone {
            Tone::Plain => None,
            Tone::Strong => Some("1"),
            Tone::Warning => Some(WARNING),
        };
        match sgr.filter(|_| self.colour) {
            Some(sgr) => self.text.push_str(&format!("\u{1b}[{sgr}m{line}\u{1b}[0m\n")),
            None => self.text.push_str(&format!("{line}\n")),
        }
    }

    /// A line whose text is harmless and may have colours.
    pub(super) fn raw(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.blank();
    }

    /// Text in this colour, where the page has colours.
    pub(super) fn tinted(&self, text: &str, colour: Option<u8>) -> String {
        match colour.filter(|_| self.colour) {
            Some(colour) => format!("\u{1b}[38;5;{colour}m{text}\u{1b}[0m"),
            None => text.to_owned(),
        }
    }
}

/// Colours of xterm's 6×6×6 cube, which themes leave alone: they are read on black and on white.
pub(super) const COSTS: u8 = 166;
pub(super) const NO_COST: u8 = 28;
pub(super) const GAINS: u8 = 127;
/// Bold and red, from the same cube.
const WARNING: &str = "1;38;5;160";

/// The colour of a verdict; one that is not decided has none.
pub(super) fn colour_of(verdict: Verdict) -> Option<u8> {
    match verdict {
        Verdict::Costs => Some(COSTS),
        Verdict::NoCost => Some(NO_COST),
        Verdict::Gains => Some(GAINS),
        Verdict::CostsPerhaps | Verdict::GainsPerhaps | Verdict::CannotTell => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_on_black_and_on_white() {
        // WCAG 2.2, 1.4.11: three to one for what carries a meaning besides the words.
        for index in [COSTS, NO_COST, GAINS, 160] {
            let index = index - 16;
            let level = |digit: u8| {
                if digit == 0 {
                    0.0
                } else {
                    f64::from(55 + 40 * digit) / 255.0
                }
            };
            let linear = |level: f64| {
                if level <= 0.04045 {
                    level / 12.92
                } else {
                    ((level + 0.055) / 1.055).powf(2.4)
                }
            };
            let [red, green, blue] = [index / 36, index / 6 % 6, index % 6].map(|digit| linear(level(digit)));
            let luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
            assert!((luminance + 0.05) / 0.05 >= 3.0, "{index} on black");
            assert!(1.05 / (luminance + 0.05) >= 3.0, "{index} on white");
        }
    }
}
