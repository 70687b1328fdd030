//! The charts as files: every chart has a button that saves all of it as one SVG that needs nothing else.

use std::path::Path;

use serde::Deserialize;

use crate::browser::{Broken, Tab};

/// What the button of a chart saves.
#[derive(Deserialize)]
pub(crate) struct File {
    /// The chart's names, with spaces between.
    of: String,
    faults: Vec<String>,
    text: String,
}

/// Presses every button.
pub(crate) fn files(tab: &mut Tab<'_>) -> Result<Vec<File>, Broken> {
    let text = tab.evaluate(include_str!("svg.js"))?;
    serde_json::from_str(&text)
        .map_err(|error| Broken::Faults(format!("the saved charts cannot be read: {error}")))
}

/// What is wrong with the files.
pub(crate) fn faults(tab: &mut Tab<'_>) -> Result<Vec<String>, Broken> {
    let files = files(tab)?;
    let of_file = |file: &File| {
        let name = file.of.clone();
        let faults = file.faults.clone().into_iter();
        faults
            .map(move |fault| format!("the saved chart {name} {fault}"))
            .collect::<Vec<_>>()
    };
    Ok(files.iter().flat_map(of_file).collect())
}

/// Writes them into a folder, for people to look at.
pub(crate) fn write(tab: &mut Tab<'_>, folder: &Path) -> Result<(), Broken> {
    for (number, file) in files(tab)?.iter().enumerate() {
        let name: String = file
            .of
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '-' })
            .collect();
        crate::write(
            &folder.join(format!("{number:02}-{name}.svg")),
            file.text.as_bytes(),
        )?;
    }
    Ok(())
}
