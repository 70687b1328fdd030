//! Findings that say the same of several arms or cells, together.

use ciphertax_records::{Finding, Run, Severity};

/// Findings whose text is the same but for arms, cells and figures.
pub(crate) struct Group {
    pub(crate) severity: Severity,
    /// The findings, those with equal text but for the arm in one.
    pub(crate) statements: Vec<Statement>,
}

/// What one or several findings say.
pub(crate) struct Statement {
    pub(crate) summary: String,
    /// Of each finding; where they are several, it says of which arm it is.
    pub(crate) evidence: Vec<String>,
}

/// The findings of the run in groups, in the order of the record.
pub(crate) fn grouped(run: &Run) -> Vec<Group> {
    let names = Names::of(run);
    let mut groups: Vec<(String, Vec<&Finding>)> = Vec::new();
    for finding in &run.results.findings {
        let shape = format!(
            "{:?} {}",
            finding.severity,
            without_figures(&names.hidden(&finding.summary))
        );
        match groups.iter_mut().find(|(other, _)| *other == shape) {
            Some((_, findings)) => findings.push(finding),
            None => groups.push((shape, vec![finding])),
        }
    }
    groups
        .into_iter()
        .map(|(_, findings)| Group {
            severity: findings[0].severity,
            statements: statements(&names, &findings),
        })
        .collect()
}

fn statements(names: &Names<'_>, findings: &[&Finding]) -> Vec<Statement> {
    let mut statements: Vec<(String, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let text = names.arms_hidden(&finding.summary);
        // Of two arms in one sentence nobody could tell which belongs to which.
        let names_one = text.matches(ARM).count() == 1;
        match statements
            .iter_mut()
            .find(|(other, _)| names_one && *other == text)
        {
            Some((_, alike)) => alike.push(finding),
            None => statements.push((text, vec![finding])),
        }
    }
    statements
        .into_iter()
        .map(|(text, alike)| {
            let arms = arms_in(&text, &alike);
            let evidence = match alike.as_slice() {
                [only] => vec![only.evidence.clone()],
                _ => {
                    let of_arms = arms.iter().zip(&alike);
                    of_arms
                        .map(|(arm, finding)| format!("{arm}: {}", finding.evidence))
                        .collect()
                }
            };
            Statement {
                evidence,
                summary: match alike.len() {
                    1 => alike[0].summary.clone(),
                    _ => text.replace(ARM, &arms.join(", ")),
                },
            }
        })
        .collect()
}

/// The arm that each of these findings names, where their text names one.
fn arms_in<'a>(text: &str, alike: &[&'a Finding]) -> Vec<&'a str> {
    let Some(before) = text.find(ARM) else {
        return Vec::new();
    };
    let after = text.len() - before - ARM.len_utf8();
    let arm = |finding: &&'a Finding| {
        finding
            .summary
            .get(before..finding.summary.len().checked_sub(after)?)
    };
    alike.iter().filter_map(arm).collect()
}

/// The names of arms and cells, the longest first, so that none is taken for a part of another.
struct Names<'a> {
    arms: Vec<&'a str>,
    cells: Vec<&'a str>,
}

/// Stands for an arm; no name or text has it.
const ARM: char = '\u{1}';
const CELL: char = '\u{2}';

impl<'a> Names<'a> {
    fn of(run: &'a Run) -> Self {
        let longest_first = |mut names: Vec<&'a str>| {
            names.sort_by_key(|name| std::cmp::Reverse(name.len()));
            names
        };
        Self {
            // The baseline is what all findings are against.
            arms: longest_first(run.head.variants().map(|arm| arm.name.as_str()).collect()),
            cells: longest_first(run.cells().map(|cell| cell.found.name.as_str()).collect()),
        }
    }

    fn arms_hidden(&self, text: &str) -> String {
        self.arms.iter().fold(text.to_owned(), |text, name| {
            whole_words_replaced(&text, name, ARM)
        })
    }

    fn hidden(&self, text: &str) -> String {
        let text = self.arms_hidden(text);
        self.cells
            .iter()
            .fold(text, |text, name| whole_words_replaced(&text, name, CELL))
    }
}

/// Replaces a name where it stands alone: `plain` in `over plain,`, and not in `plaintext`.
fn whole_words_replaced(text: &str, name: &str, with: char) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name).filter(|_| !name.is_empty()) {
        let (before, found) = rest.split_at(at);
        let (found, after) = found.split_at(name.len());
        let stands_alone = !before
            .chars()
            .next_back()
            .or(replaced.chars().next_back())
            .is_some_and(is_part)
            && !after.chars().next().is_some_and(is_part);
        replaced.push_str(before);
        match stands_alone {
            true => replaced.push(with),
            false => replaced.push_str(found),
        }
        rest = after;
    }
    replaced + rest
}

/// The text with one sign in place of every number.
fn without_figures(text: &str) -> String {
    let mut shape = String::new();
    for c in text.chars() {
        let is_figure = c.is_ascii_digit() || (c == '.' || c == ',') && shape.ends_with('#');
        if !is_figure {
            shape.push(c);
        } else if !shape.ends_with('#') {
            shape.push('#');
        }
    }
    // Small times are given in other units than large ones.
    shape.replace(" µs", " #").replace(" ms", " #")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_only_where_it_stands_alone() {
        assert_eq!(
            whole_words_replaced("over tls, not tls1", "tls", '*'),
            "over *, not tls1"
        );
        assert_eq!(whole_words_replaced("a-tls tls", "tls", '*'), "a-tls *");
    }

    #[test]
    fn figures_do_not_tell_texts_apart() {
        assert_eq!(
            without_figures("takes 206 µs, 52 % of 1,234.5"),
            without_figures("takes 1.2 ms, 7 % of 9")
        );
        assert_ne!(
            without_figures("takes 206 µs longer"),
            without_figures("takes 206 µs")
        );
    }
}
