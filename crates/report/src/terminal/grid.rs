//! Tables that fit the terminal without breaking words: columns of figures keep them in one piece while names can give way.

use comfy_table::{Cell, CellAlignment, Table};

use super::page::{Page, harmless};

/// The text of a cell, which may have several lines.
pub(super) struct Text {
    text: String,
    kind: Kind,
    colour: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// On the left, and broken at spaces; if there is no other way, within names, after `_`, `/` and `-`.
    Name,
    /// On the right, and broken at spaces, but not before a unit or within an interval.
    Figure,
}

impl Text {
    pub(super) fn coloured(self, colour: Option<u8>) -> Self {
        Self { colour, ..self }
    }

    fn new(text: &str, kind: Kind) -> Self {
        let lines: Vec<String> = text.split('\n').map(harmless).collect();
        Self {
            text: lines.join("\n"),
            kind,
            colour: None,
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
                (Kind::Name, ' ') => true,
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

    fn cell(&self, page: &Page, columns: usize) -> Cell {
        let cell = Cell::new(self.wrapped(columns));
        let cell = match self.kind {
            Kind::Name => cell,
            Kind::Figure => cell.set_alignment(CellAlignment::Right),
        };
        page.coloured(cell, self.colour)
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

    /// The table, as narrow as the page wants it if that can be.
    pub(super) fn table(&self, page: &Page) -> Table {
        let widths = self.widths(page);
        let cells = |row: &Vec<Text>| -> Vec<Cell> {
            let cells = row.iter().zip(&widths);
            cells.map(|(text, columns)| text.cell(page, *columns)).collect()
        };
        let mut table = page.table(std::iter::empty());
        table.set_header(cells(&self.header));
        for row in &self.rows {
            table.add_row(cells(row));
        }
        table
    }

    fn widths(&self, page: &Page) -> Vec<usize> {
        /// Beside the text of a column, and between two.
        const PADDING: usize = 2;
        const BETWEEN: usize = 1;
        let columns = self.header.len();
        let room = page
            .width()
            .saturating_sub(columns * PADDING + columns.saturating_sub(1) * BETWEEN);
        let most = self.each_column(Text::widest);
        let least = |whole_figures: bool, within_names: bool| {
            self.each_column(|text| match text.kind {
                Kind::Figure if whole_figures => text.widest(),
                _ => text.least(within_names),
            })
        };
        let choices = [(true, false), (false, false), (true, true), (false, true)];
        let mut choices = choices.into_iter().map(|(whole, within)| least(whole, within));
        let fitting = choices.find(|least| least.iter().sum::<usize>() <= room);
        match most.iter().sum::<usize>() <= room {
            true => most,
            false => filled(&fitting.unwrap_or_else(|| vec![1; columns]), &most, room),
        }
    }

    fn each_column(&self, of: impl Fn(&Text) -> usize) -> Vec<usize> {
        let column = |index: usize| {
            let cells = std::iter::once(&self.header).chain(&self.rows);
            cells.filter_map(|row| row.get(index)).map(&of).max().unwrap_or(0)
        };
        (0..self.header.len()).map(column).collect()
    }
}

/// Widths between the least and the most that fill the room: those that are not at an end are alike.
fn filled(least: &[usize], most: &[usize], room: usize) -> Vec<usize> {
    let at = |level: usize| -> Vec<usize> {
        let bounds = least.iter().zip(most);
        bounds
            .map(|(least, most)| level.clamp(*least, (*most).max(*least)))
            .collect()
    };
    let levels = (1..=room).rev();
    let mut fitting = levels
        .map(at)
        .filter(|widths| widths.iter().sum::<usize>() <= room);
    fitting.next().unwrap_or_else(|| least.to_vec())
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
        assert_eq!(figure("cannot tell").wrapped(8), "cannot\ntell");
    }

    #[test]
    fn a_table_is_as_wide_as_the_page_and_breaks_no_word_that_need_not_be_broken() {
        let page = Page::new(Style {
            width: 60,
            colour: false,
        });
        let mut grid = Grid::new([name("cell"), name("method"), figure("measured")]);
        grid.add([
            name("oltp_point_select"),
            name("mysql_native_password/single"),
            figure("+41.2 % [40.1, 42.3]"),
        ]);
        let lines: Vec<String> = grid.table(&page).lines().collect();
        assert!(lines.iter().all(|line| width(line) <= 60), "{lines:#?}");
        let text = lines.join("\n");
        for whole in ["oltp_point_", "password/", "+41.2 % [40.1, 42.3]"] {
            assert!(text.contains(whole), "{whole}: {text}");
        }
    }
}
