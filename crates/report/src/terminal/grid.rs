//! Tables that fit the terminal without breaking words: columns of figures keep them in one piece while names can give way.

use std::collections::BTreeSet;

use super::page::{Page, harmless};

/// The text of a cell, which may have several lines.
#[derive(Clone)]
pub(super) struct Text {
    text: String,
    kind: Kind,
    colour: Option<u8>,
    /// True if the cell above says it.
    is_repeated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// On the left, and broken at spaces, but not before a percent sign; if there is no other way, within names, after `_`, `/` and `-`.
    Name,
    /// On the right, and broken at spaces, but not before a unit or within an interval.
    Figure,
}

impl Text {
    pub(super) fn coloured(self, colour: Option<u8>) -> Self {
        Self { colour, ..self }
    }

    pub(super) fn repeated(self) -> Self {
        Self {
            is_repeated: true,
            ..self
        }
    }

    /// This text with the other below it.
    pub(super) fn over(self, other: Self) -> Self {
        let text = format!("{}\n{}", self.text, other.text);
        Self {
            text: text.trim_matches('\n').to_owned(),
            ..other
        }
    }

    fn new(text: &str, kind: Kind) -> Self {
        let lines: Vec<String> = text.split('\n').map(harmless).collect();
        Self {
            text: lines.join("\n"),
            kind,
            colour: None,
            is_repeated: false,
        }
    }

    /// The widest piece that must not be broken.
    fn least(&self, within_names: bool) -> usize {
        let pieces = self
            .text
            .split('\n')
            .flat_map(|line| self.pieces(line, within_names));
        pieces.map(|piece| width(piece.trim_end())).max().unwrap_or(0)
    }

    fn widest(&self) -> usize {
        self.text.split('\n').map(width).max().unwrap_or(0)
    }

    /// A line in pieces, each with the space behind it.
    fn pieces<'a>(&self, line: &'a str, within_names: bool) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut begin = 0;
        for (at, c) in line.char_indices() {
            let after = at + c.len_utf8();
            let may_break = match (self.kind, c) {
                (Kind::Name, ' ') => !line[after..].starts_with('%'),
                (Kind::Name, '_' | '/' | '-') => within_names,
                (Kind::Figure, ' ') => !belong_together(&line[..at], &line[after..]),
                _ => false,
            };
            if may_break {
                pieces.push(&line[begin..after]);
                begin = after;
            }
        }
        pieces.push(&line[begin..]);
        pieces
    }

    /// The text in lines of at most so many columns.
    fn wrapped(&self, columns: usize) -> String {
        if self.is_repeated {
            return String::new();
        }
        let mut lines: Vec<String> = Vec::new();
        for line in self.text.split('\n') {
            if width(line) <= columns {
                lines.push(line.to_owned());
                continue;
            }
            let within_names = self.least(false) > columns;
            let mut begun = String::new();
            for piece in self.pieces(line, within_names) {
                if !begun.is_empty() && width(&begun) + width(piece.trim_end()) > columns {
                    lines.push(begun.trim_end().to_owned());
                    begun.clear();
                }
                for c in piece.chars() {
                    // A piece that is longer than the column.
                    if width(&begun) >= columns && c != ' ' {
                        lines.push(std::mem::take(&mut begun).trim_end().to_owned());
                    }
                    begun.push(c);
                }
            }
            lines.push(begun.trim_end().to_owned());
        }
        lines.join("\n")
    }
}

/// True if what is before and after a space is one figure: `+1.2 %`, `[1.1, 1.3]`, `→ +3.4 ms`.
fn belong_together(before: &str, after: &str) -> bool {
    let is_number = before.ends_with(|c: char| c.is_ascii_digit());
    let is_unit = after
        .split(' ')
        .next()
        .is_some_and(|word| !word.contains(|c: char| c.is_ascii_digit() || "[→".contains(c)));
    before.ends_with([',', '→']) || (is_number && is_unit)
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Text on the left.
pub(super) fn name(text: &str) -> Text {
    Text::new(text, Kind::Name)
}

/// A figure, on the right.
pub(super) fn figure(text: &str) -> Text {
    Text::new(text, Kind::Figure)
}

/// A table: a header, and rows of as many cells.
pub(super) struct Grid {
    header: Vec<Text>,
    rows: Vec<Vec<Text>>,
}

/// Spaces between columns.
const GAP: usize = 2;
/// Wider than this a name gives way to figures.
const WIDEST_NAME: usize = 40;

impl Grid {
    pub(super) fn new(header: impl IntoIterator<Item = Text>) -> Self {
        Self {
            header: header.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, row: impl IntoIterator<Item = Text>) {
        self.rows.push(row.into_iter().collect());
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The width that the table has if no cell is broken.
    pub(super) fn width(&self) -> usize {
        sum(&self.each_column(Text::widest))
    }

    pub(super) fn fits(&self, page: &Page) -> bool {
        self.width() <= page.width()
    }

    /// Prints the header and at most so many lines, no cell broken; the last says how many more there are.
    pub(super) fn print_first(&self, page: &mut Page, lines: usize) {
        let columns: Vec<usize> = (0..self.header.len()).collect();
        let widths = self.each_column(Text::widest);
        print_row(page, &self.header, &columns, &widths);
        let shown = match self.rows.len() > lines {
            true => lines.saturating_sub(1),
            false => lines,
        };
        for row in self.rows.iter().take(shown) {
            match row.as_slice() {
                [group] => page.line(&group.text),
                _ => print_row(page, row, &columns, &widths),
            }
        }
        if shown < self.rows.len() {
            page.line(&format!("… {} more lines by --full", self.rows.len() - shown));
        }
    }

    /// Prints the table; in parts one below the other, where no word would be whole in one.
    pub(super) fn print(mut self, page: &mut Page) {
        for column in 0..self.header.len() {
            let mut cells = self.rows.iter().filter_map(|row| row.get(column));
            if cells.any(|cell| cell.kind == Kind::Figure) {
                let rows = std::iter::once(&mut self.header).chain(&mut self.rows);
                let cells = rows.filter_map(|row| row.get_mut(column));
                cells.for_each(|cell| cell.kind = Kind::Figure);
            }
        }
        for (part, columns) in self.parts(page.width()).into_iter().enumerate() {
            if part > 0 {
                page.gap();
            }
            self.print_columns(page, &columns);
        }
    }

    fn print_columns(&self, page: &mut Page, columns: &[usize]) {
        let widths = self.widths(columns, page.width());
        if self.header.iter().any(|text| !text.text.is_empty()) {
            print_row(page, &self.header, columns, &widths);
            page.raw(&"─".repeat(sum(&widths)));
        }
        self.rows
            .iter()
            .for_each(|row| print_row(page, row, columns, &widths));
    }

    /// Columns that are printed beside each other. Each part has those by which rows are told apart.
    fn parts(&self, room: usize) -> Vec<Vec<usize>> {
        let least = self.each_column(|text| text.least(false));
        let all: Vec<usize> = (0..least.len()).collect();
        if sum(&least) <= room {
            return vec![all];
        }
        let (key, others) = all.split_at(self.key());
        let of = |size| others.chunks(size).map(|part| [key, part].concat()).collect();
        let fits = |parts: &Vec<Vec<usize>>| {
            let widths = |part: &Vec<usize>| part.iter().map(|column| least[*column]).collect::<Vec<_>>();
            parts.iter().all(|part| sum(&widths(part)) <= room)
        };
        // As few parts as can be, of like size.
        let mut parts = (2..=others.len()).map(|count| of(others.len().div_ceil(count)));
        parts.find(fits).unwrap_or_else(|| of(1))
    }

    /// The first columns, so many that no two rows have the same there.
    fn key(&self) -> usize {
        let columns = self.header.len();
        let is_key = |count: &usize| {
            let mut known = BTreeSet::new();
            let mut rows = self.rows.iter();
            rows.all(|row| known.insert(row.iter().take(*count).map(|text| &text.text).collect::<Vec<_>>()))
        };
        (1..columns).find(is_key).unwrap_or(1)
    }

    fn widths(&self, columns: &[usize], room: usize) -> Vec<usize> {
        let of = |each: Vec<usize>| columns.iter().map(|column| each[*column]).collect::<Vec<_>>();
        let most = of(self.each_column(Text::widest));
        if sum(&most) <= room {
            return most;
        }
        // Of several widths of names those that take fewest lines.
        let choices = (0..=WIDEST_NAME).step_by(4).map(|wide| {
            of(self.each_column(|text| match text.kind {
                Kind::Name => text.least(false).max(text.widest().min(wide)),
                Kind::Figure => text.least(false),
            }))
        });
        let fitting = choices.filter(|least| sum(least) <= room);
        let widths = fitting.map(|least| filled(&least, &most, room));
        widths
            .min_by_key(|widths| self.lines(columns, widths))
            .unwrap_or_else(|| {
                let least = of(self.each_column(|text| text.least(true)));
                filled(&least, &most, room)
            })
    }

    /// Lines that the rows take.
    fn lines(&self, columns: &[usize], widths: &[usize]) -> usize {
        let height = |row: &Vec<Text>| {
            let cells = columns.iter().zip(widths);
            let heights = cells.map(|(column, width)| {
                row.get(*column)
                    .map_or(0, |text| text.wrapped(*width).lines().count())
            });
            heights.max().unwrap_or(0)
        };
        self.rows.iter().map(height).sum()
    }

    fn each_column(&self, of: impl Fn(&Text) -> usize) -> Vec<usize> {
        let column = |index: usize| {
            // A group's name stands across.
            let rows = self.rows.iter().filter(|row| row.len() == self.header.len());
            let cells = std::iter::once(&self.header).chain(rows);
            cells.filter_map(|row| row.get(index)).map(&of).max().unwrap_or(0)
        };
        (0..self.header.len()).map(column).collect()
    }
}

fn print_row(page: &mut Page, row: &[Text], columns: &[usize], widths: &[usize]) {
    let cells = columns.iter().zip(widths);
    let cells = cells.filter_map(|(column, width)| Some((row.get(*column)?, *width)));
    let cells: Vec<(&Text, String, usize)> = cells
        .map(|(text, width)| (text, text.wrapped(width), width))
        .collect();
    let height = cells.iter().map(|(_, lines, _)| lines.lines().count());
    for index in 0..height.max().unwrap_or(0) {
        let pieces = cells.iter().map(|(text, lines, columns)| {
            let piece = lines.lines().nth(index).unwrap_or_default();
            let room = " ".repeat(columns.saturating_sub(width(piece)));
            let piece = page.tinted(piece, text.colour);
            match text.kind {
                Kind::Figure => room + &piece,
                Kind::Name => piece + &room,
            }
        });
        let pieces: Vec<String> = pieces.collect();
        page.raw(&pieces.join(&" ".repeat(GAP)));
    }
}

/// The width of columns side by side.
fn sum(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Widths between the least and the most that fill the room: those that are not at an end are alike.
fn filled(least: &[usize], most: &[usize], room: usize) -> Vec<usize> {
    let at = |level: usize| -> Vec<usize> {
        let bounds = least.iter().zip(most);
        bounds
            .map(|(least, most)| level.clamp(*least, (*most).max(*least)))
            .collect()
    };
    let mut levels = (1..=room).rev().map(at);
    levels
        .find(|widths| sum(widths) <= room)
        .unwrap_or_else(|| least.to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::page::Style;
    use super::*;

    #[test]
    fn names_break_at_their_joints_and_figures_at_none() {
        assert_eq!(name("oltp_point_select").wrapped(12), "oltp_point_\nselect");
        let expected = "one-thread-per-\nconnection, always";
        assert_eq!(name("one-thread-per-connection, always").wrapped(18), expected);
        assert_eq!(name("abcdefgh").wrapped(3), "abc\ndef\ngh");
        let cost = figure("+41.2 % [40.1, 42.3]");
        assert_eq!(cost.wrapped(20), "+41.2 % [40.1, 42.3]");
        assert_eq!(cost.wrapped(15), "+41.2 %\n[40.1, 42.3]");
        assert_eq!(figure("+689 µs → +1.49 ms").wrapped(12), "+689 µs\n→ +1.49 ms");
        assert_eq!(figure("not decided").wrapped(8), "not\ndecided");
    }

    #[test]
    fn a_table_is_as_wide_as_the_page_and_breaks_no_word_that_need_not_be_broken() {
        let mut page = Page::new(Style {
            width: 60,
            colour: false,
        });
        let mut grid = Grid::new([name("cell"), name("method"), figure("measured")]);
        grid.add([
            name("oltp_point_select"),
            name("mysql_native_password/single"),
            figure("+41.2 % [40.1, 42.3]"),
        ]);
        grid.print(&mut page);
        let lines: Vec<&str> = page.text.lines().collect();
        assert!(lines.iter().all(|line| width(line) <= 60), "{lines:#?}");
        let text = lines.join("\n");
        for whole in ["oltp_point_", "password/", "+41.2 % [40.1, 42.3]"] {
            assert!(text.contains(whole), "{whole}: {text}");
        }
    }
}
