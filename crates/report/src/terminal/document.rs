//! A page as text: its headings, paragraphs, lists and tables, without its charts.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::grid::{Grid, Text, figure, name};
use super::page::{COSTS, GAINS, NO_COST, Page, Tone};

/// Elements that have nothing for a reader of text.
const UNSEEN: [&str; 4] = ["head", "footer", "script", "svg"];
/// Elements within a line.
const INLINE: [&str; 8] = ["a", "b", "code", "data", "label", "output", "small", "span"];

/// Prints HTML as the templates of this crate make it. Of its parts with an identifier, one can be chosen.
pub(super) fn print(page: &mut Page, html: &str, only: Option<&str>) {
    let mut printer = Printer {
        page,
        open: Vec::new(),
        text: String::new(),
        table: None,
        header: Vec::new(),
        is_list: false,
        is_label: false,
    };
    let mut reader = Reader::from_str(html);
    let mut unseen = 0;
    loop {
        match reader.read_event().expect("a template makes what can be read") {
            Event::Eof => break,
            Event::Start(tag) => {
                let element = Element::of(&tag);
                match unseen > 0 || element.is_unseen(only) {
                    true => unseen += 1,
                    false => printer.begin(element),
                }
            }
            Event::End(_) if unseen > 0 => unseen -= 1,
            Event::End(_) => printer.end(),
            Event::Empty(tag) if unseen == 0 && tag.name().as_ref() == "br" => printer.flush(),
            Event::Text(text) if unseen == 0 => printer.add(&text),
            Event::GeneralRef(reference) if unseen == 0 => {
                let named = match &*reference {
                    "lt" => Some('<'),
                    "gt" => Some('>'),
                    "amp" => Some('&'),
                    "quot" => Some('"'),
                    "nbsp" => Some(' '),
                    _ => None,
                };
                let sign = reference.resolve_char_ref().ok().flatten();
                printer.text.extend(sign.or(named));
            }
            _ => {}
        }
    }
}

/// An element that has begun.
#[derive(Default)]
struct Element {
    name: String,
    class: String,
    id: String,
    columns: usize,
    rows: usize,
}

impl Element {
    fn of(tag: &BytesStart<'_>) -> Self {
        let mut element = Self {
            name: tag.name().as_ref().to_owned(),
            columns: 1,
            rows: 1,
            ..Self::default()
        };
        for attribute in tag.html_attributes().flatten() {
            let value = attribute.value.into_owned();
            match attribute.key.as_ref() {
                "class" => element.class = value,
                "id" => element.id = value,
                "colspan" => element.columns = value.parse().unwrap_or(1),
                "rowspan" => element.rows = value.parse().unwrap_or(1),
                _ => {}
            }
        }
        element
    }

    fn has(&self, class: &str) -> bool {
        self.class.split(' ').any(|other| other == class)
    }

    fn is_unseen(&self, only: Option<&str>) -> bool {
        let is_part = ["header", "section"].contains(&self.name.as_str());
        UNSEEN.contains(&self.name.as_str())
            || self.has("on-page")
            || only.is_some_and(|only| is_part && self.id != only)
    }

    fn is_inline(&self) -> bool {
        INLINE.contains(&self.name.as_str())
    }
}

/// What has begun, and the text that is collected until it ends.
struct Printer<'p> {
    page: &'p mut Page,
    /// The outermost first.
    open: Vec<Element>,
    text: String,
    table: Option<Table>,
    /// That of the last table, which the next may go on.
    header: Vec<Text>,
    /// True after an item of a list.
    is_list: bool,
    /// True while the text ends with a label, until what it is of begins.
    is_label: bool,
}

#[derive(Default)]
struct Table {
    header: Vec<Text>,
    rows: Vec<Vec<Text>>,
    /// Cells that reach into further rows: their column, and how many rows.
    reaching: Vec<(usize, Text, usize)>,
    is_header: bool,
    /// The lines of the cell that has begun.
    lines: Vec<String>,
    is_figure: bool,
    /// The colours of its verdicts.
    colours: Vec<Option<u8>>,
}

impl Printer<'_> {
    fn begin(&mut self, element: Element) {
        // In a table what is small stands below.
        let is_below = self.table.is_some() && self.open.last().is_some_and(|open| !open.is_inline());
        if !element.is_inline() || element.name == "a" || is_below && element.name == "small" {
            self.flush();
        }
        if element.name == "dd" {
            self.is_label = false;
        }
        if element.name == "small" {
            self.add(" ");
        }
        if element.name == "table" {
            self.table = Some(Table::default());
        }
        if let Some(table) = &mut self.table {
            table.begin(&element);
        }
        self.open.push(element);
    }

    fn end(&mut self) {
        let is_inline = self.open.last().is_none_or(Element::is_inline);
        if !is_inline && self.open.last().is_some_and(|open| open.name != "dt") {
            self.flush();
        }
        let Some(element) = self.open.pop() else { return };
        match (element.name.as_str(), &mut self.table) {
            ("dt", _) => {
                self.text.push_str(": ");
                self.is_label = true;
            }
            ("th" | "td", Some(table)) => table.end_cell(&element),
            ("thead", Some(table)) => table.end_header(),
            ("table", _) => self.end_table(),
            ("dl" | "details", None) if self.open.iter().all(|open| open.name != "li") => self.page.gap(),
            _ => {}
        }
    }

    /// Text with one space for all white space in a row.
    fn add(&mut self, text: &str) {
        for sign in text.chars() {
            match sign.is_whitespace() {
                true if self.text.is_empty() || self.text.ends_with(' ') => {}
                true => self.text.push(' '),
                false => self.text.push(sign),
            }
        }
    }

    /// Prints the text that is collected, as what it stands in wants it; a label waits for what it is of.
    fn flush(&mut self) {
        if self.is_label {
            return;
        }
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if let Some(table) = &mut self.table {
            table.lines.push(text.to_owned());
            return;
        }
        let is_in = |name: &str| self.open.iter().any(|open| open.name == name);
        let element = self.open.iter().rev().find(|open| !open.is_inline());
        let name = element.map_or("", |element| element.name.as_str());
        let has = |class: &str| element.is_some_and(|element| element.has(class));
        let page = &mut self.page;
        let was_list = std::mem::replace(&mut self.is_list, is_in("li"));
        match name {
            "h1" => {
                page.gap();
                page.paragraph(text, Tone::Strong);
                page.gap();
            }
            "h2" => page.section(text),
            _ if ["summary", "figcaption", "h4", "h5"].contains(&name) || has("caption") => {
                page.gap();
                page.paragraph(text, Tone::Strong);
            }
            _ if has("banner") => {
                page.paragraph(text, Tone::Warning);
                page.gap();
            }
            _ if has("evidence") => page.detail(text),
            _ if is_in("li") || is_in("dl") => page.item(text),
            _ => {
                if was_list {
                    page.gap();
                }
                page.paragraph(text, Tone::Plain);
            }
        }
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        if !table.header.is_empty() {
            self.header = table.header;
        }
        let mut grid = Grid::new(self.header.iter().cloned());
        table.rows.into_iter().for_each(|row| grid.add(row));
        grid.print(self.page);
        self.page.gap();
    }
}

impl Table {
    fn begin(&mut self, element: &Element) {
        match element.name.as_str() {
            "thead" => self.is_header = true,
            "tr" => self.rows.push(Vec::new()),
            "th" | "td" => {
                self.reach();
                self.is_figure = element.has("n") || element.has("c");
            }
            "data" => self.is_figure = true,
            _ => {}
        }
        if element.has("chip") {
            let colours = [("costs", COSTS), ("no-cost", NO_COST), ("gains", GAINS)];
            let colour = colours.into_iter().find(|(class, _)| element.has(class));
            self.colours.push(colour.map(|(_, colour)| colour));
        }
    }

    /// Puts cells of rows above into the row, where they reach into it.
    fn reach(&mut self) {
        let Some(row) = self.rows.last_mut() else { return };
        for (column, cell, rows) in &mut self.reaching {
            if *column == row.len() && *rows > 0 {
                *rows -= 1;
                row.push(match self.is_header {
                    true => name(""),
                    false => cell.clone().repeated(),
                });
            }
        }
    }

    fn end_cell(&mut self, element: &Element) {
        let text = std::mem::take(&mut self.lines).join("\n");
        let cell = match self.is_figure {
            true => figure(&text),
            false => name(&text),
        };
        let colours = std::mem::take(&mut self.colours);
        let colour = colours.first().copied().flatten();
        let cell = cell.coloured(colour.filter(|_| colours.iter().all(|other| *other == colour)));
        let Some(row) = self.rows.last_mut() else { return };
        if element.rows > 1 {
            self.reaching.push((row.len(), cell.clone(), element.rows - 1));
        }
        row.extend(std::iter::repeat_n(cell, element.columns));
    }

    /// Makes one header of several rows.
    fn end_header(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.reaching.clear();
        self.is_header = false;
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        self.header = (0..columns)
            .map(|column| {
                let cells = rows.iter().filter_map(|row| row.get(column));
                cells.cloned().reduce(Text::over).unwrap_or_else(|| name(""))
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::Style;
    use super::*;

    #[test]
    fn a_page_is_shown_without_its_charts_and_every_row_has_the_cells_that_reach_into_it() {
        let mut page = Page::new(Style {
            width: 60,
            colour: false,
        });
        let html = r#"<head><style></style></head>
            <section id="why"><h2>Why</h2><p>a &lt; <b>b</b><span class="on-page">, grey</span></p><svg><text>1</text></svg>
            <table><thead><tr><th>arm</th><th class="n">time</th></tr></thead><tbody>
            <tr><th rowspan="2">tls</th><td class="n">1 s</td></tr><tr><td class="n">20 s</td></tr></tbody></table>
            <dl><div><dt>cipher</dt><dd>AES</dd></div></dl></section><section id="more"><p>more</p></section>"#;
        print(&mut page, html, Some("why"));
        let expected = "Why\n═══\na < b\narm  time\n─────────\ntls   1 s\n     20 s\n\n  cipher: AES\n\n";
        assert_eq!(page.text, expected);
    }
}
