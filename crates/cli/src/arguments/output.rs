//! What a command that has a run leaves of it, and how much it says.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

use crate::export::{self, Export};

/// What commands take that have a run to show.
#[derive(Debug, Default, Args)]
pub(crate) struct OutputArguments {
    /// Print run.json to standard output, and nothing else there; ciphertax schema run describes it
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the run into this file too, as its ending says; may be given again
    ///
    /// .json: as run.json. .csv: the estimates, one a line; of a name that ends in samples.csv: the slices, one a line. .md: Markdown,
    /// for a pull request. .html: the report.
    /// .prom: OpenMetrics, for Prometheus. .collapsed or .folded: stacks with their CPU time, where blocks were looked into. A
    /// file that is there is replaced.
    #[arg(long, value_name = "FILE", value_parser = export())]
    pub(crate) export: Vec<Export>,
    /// Print the verdict alone, and nothing but problems to standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Names of files that end in one of these.
pub(crate) fn file_ending_in(endings: &'static [&'static str]) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| export::file_ending_in(path, endings))
}

fn export() -> impl TypedValueParser<Value = Export> {
    PathBufValueParser::new().try_map(Export::new)
}
