//! Study files: TOML with scales and settings in, a valid study or everything that is wrong with it out.

mod document;
mod patch;
mod shape;

use document::{
    Content, Entry, Fault, Node, Origin, Table, as_written, get, line_and_column, names, to_value,
};
use patch::Additions;

use ciphertax_base::harmless;

use crate::problem::{Position, StudyError, StudyProblem, hint};
use crate::rules::refusals;
use crate::study::Study;

/// The text of a study, and what is to be changed in it.
#[must_use]
#[derive(Debug, Clone)]
pub struct StudyText<'a> {
    name: &'a str,
    text: &'a str,
    scale: Option<&'a str>,
    settings: &'a [String],
}

impl Study {
    /// Parses and validates the text of a study. [`StudyText`] takes a file's name, scales and settings too.
    ///
    /// # Errors
    /// Says everything that is wrong with it, each with its line and column.
    pub fn from_toml(text: &str) -> Result<Self, StudyError> {
        StudyText::new("study", text).study()
    }
}

impl<'a> StudyText<'a> {
    /// `text` as it is; problems are reported as `name:line:column`.
    pub fn new(name: &'a str, text: &'a str) -> Self {
        Self {
            name,
            text,
            scale: None,
            settings: &[],
        }
    }

    /// Applies the table `[scale.SCALE]` of the text.
    pub fn scale(self, scale: Option<&'a str>) -> Self {
        Self { scale, ..self }
    }

    /// Applies settings `key=value`, after the scale and in this order.
    pub fn settings(self, settings: &'a [String]) -> Self {
        Self { settings, ..self }
    }

    /// True if it says which server it is about, with its scale and settings.
    pub fn names_server(&self) -> bool {
        let Ok((mut study, scales)) = self.document() else {
            return false;
        };
        self.patch(&mut study, &scales, &mut Vec::new());
        get(&study, "server").is_some()
    }

    /// The study that the text describes. What the text says of scales that are not asked for is checked too.
    ///
    /// # Errors
    /// All that is wrong: if the text is no TOML, what is wrong with that; else unknown and missing keys, wrong types,
    /// unknown names, and what is refused of all that is understood.
    pub fn study(&self) -> Result<Study, StudyError> {
        let (base, scales) = self.document().map_err(|faults| self.error(faults))?;
        let mut faults = Vec::new();
        let study = self.read(base.clone(), &scales, &mut faults);
        for scale in scales.keys() {
            if self.scale != Some(scale) {
                let other = StudyText::new(self.name, self.text).scale(Some(scale));
                other.read(base.clone(), &scales, &mut faults);
            }
        }
        match study {
            Some(study) if faults.is_empty() => Ok(study),
            _ => Err(self.error(faults)),
        }
    }

    /// The names of the scales that the text knows.
    ///
    /// # Errors
    /// If the text is no TOML.
    pub fn scales(&self) -> Result<Vec<String>, StudyError> {
        let (_, scales) = self.document().map_err(|faults| self.error(faults))?;
        let scales = as_written(&scales).into_iter();
        Ok(scales.map(|(scale, _)| scale.clone()).collect())
    }

    /// The document without its scales, and the scales.
    fn document(&self) -> Result<(Table, Table), Vec<Fault>> {
        let mut study = document::parse(self.text)?;
        let Some(Entry { node, .. }) = study.remove("scale") else {
            return Ok((study, Table::default()));
        };
        match node.content {
            Content::Table(scales) => Ok((study, scales)),
            _ => {
                let message = "\"scale\" must be a table of scales, for example [scale.published]";
                Err(vec![Fault::at(node.origin, message)])
            }
        }
    }

    /// Patches and checks; a study comes out only if its shape is right.
    fn read(&self, mut study: Table, scales: &Table, faults: &mut Vec<Fault>) -> Option<Study> {
        self.patch(&mut study, scales, faults);
        remove_figures_of_other_scales(&mut study, scales);
        let is_whole = shape::check(&mut study, faults);
        match to_value(&study).try_into::<Study>() {
            Ok(typed) => {
                let refusals = refusals(&typed, is_whole).into_iter();
                faults.extend(refusals.map(|(path, refusal)| Fault {
                    origin: origin_of(&study, &path),
                    message: refusal.to_string(),
                }));
                Some(typed)
            }
            // The walk has told what is wrong, and where.
            Err(_) if !faults.is_empty() => None,
            Err(error) => {
                faults.push(Fault {
                    origin: None,
                    message: error.message().to_owned(),
                });
                None
            }
        }
    }

    /// Applies the scale and the settings.
    fn patch(&self, study: &mut Table, scales: &Table, faults: &mut Vec<Fault>) {
        if let Some(scale) = self.scale {
            self.apply_scale(scale, study, scales, faults);
        }
        for (index, setting) in self.settings.iter().enumerate() {
            match patch::from_setting(setting, index, study) {
                Ok(patch) => patch::apply(study, &patch, Additions::Refused, faults),
                Err(fault) => faults.push(fault),
            }
        }
    }

    fn apply_scale(&self, scale: &str, study: &mut Table, scales: &Table, faults: &mut Vec<Fault>) {
        match get(scales, scale) {
            Some(node) => match node.as_table() {
                Some(patch) => patch::apply(study, patch, Additions::Allowed, faults),
                None => {
                    let message = format!("scale {scale:?} must be a table, headed [scale.{scale}]");
                    faults.push(Fault::at(node.origin, message));
                }
            },
            None => {
                let known: Vec<&str> = as_written(scales)
                    .into_iter()
                    .map(|(key, _)| key.as_str())
                    .collect();
                let hint = match known[..] {
                    [] => "; it has none".to_owned(),
                    _ => hint(scale, &known),
                };
                faults.push(Fault {
                    origin: None,
                    message: format!("the study has no scale {scale:?}{hint}"),
                });
            }
        }
    }

    fn error(&self, mut faults: Vec<Fault>) -> StudyError {
        faults.sort();
        faults.dedup();
        let problem = |fault: Fault| StudyProblem {
            position: self.position(fault.origin),
            message: harmless(&fault.message),
        };
        StudyError::new(self.name, faults.into_iter().map(problem).collect())
    }

    fn position(&self, origin: Option<Origin>) -> Position {
        match origin {
            None => Position::Study(self.name.to_owned()),
            Some(Origin::Text(byte)) => {
                let (line, column) = line_and_column(self.text, byte);
                Position::Text {
                    file: self.name.to_owned(),
                    line,
                    column,
                }
            }
            Some(Origin::Setting(index)) => Position::Setting(self.settings[index].clone()),
        }
    }
}

/// Published figures stand beside measured ones, and budgets limit them; those of arms and cells that only another scale has are
/// left out.
fn remove_figures_of_other_scales(study: &mut Table, scales: &Table) {
    let is_kept = |study: &Table, row: &Node| {
        ["arm", "cell"].into_iter().all(|kind| {
            let name = row.as_table().and_then(|row| get(row, kind)?.as_str());
            name.is_none_or(|name| names(study, kind).contains(&name) || !is_patched(kind, name, scales))
        })
    };
    for key in ["published", "budget"] {
        let Some(mut figures) = study.remove(key) else {
            continue;
        };
        if let Content::List(rows) = &mut figures.node.content {
            rows.retain(|row| is_kept(study, row));
        }
        study.insert(key.to_owned(), figures);
    }
}

/// True if a scale says something of the arm or cell with this name.
fn is_patched(kind: &str, name: &str, scales: &Table) -> bool {
    let mut scales = scales.values().filter_map(|scale| scale.node.as_table());
    scales.any(|scale| {
        let named = get(scale, kind).and_then(Node::as_table);
        named.is_some_and(|named| named.contains_key(name))
    })
}

/// Where the value at `path` was written, or the nearest table around it; `None` for the document as a whole.
fn origin_of(study: &Table, path: &str) -> Option<Origin> {
    let mut steps = path.split('.');
    let mut node = get(study, steps.next()?)?;
    for step in steps {
        let next = match &node.content {
            Content::Table(table) => get(table, step),
            Content::List(nodes) => step.parse().ok().and_then(|index: usize| nodes.get(index)),
            Content::Scalar(_) => None,
        };
        node = next.unwrap_or(node);
    }
    Some(node.origin)
}
