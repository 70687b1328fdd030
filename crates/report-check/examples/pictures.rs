//! Takes pictures of a report: `cargo run -p ciphertax-report-check --example pictures -- report.html FOLDER`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [html, folder] = arguments.as_slice() else {
        eprintln!("usage: pictures REPORT.html FOLDER");
        return ExitCode::from(2);
    };
    match ciphertax_report_check::take_pictures(Path::new(html), Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
