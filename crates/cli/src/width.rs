//! How wide what is printed may be.

use std::env;

use ciphertax_report::terminal::AS_WIDE_AS_NEEDED;
use console::Term;

/// Narrower than this no table is readable.
const NARROWEST: usize = 60;
/// Wider than this no sentence is.
const WIDEST: usize = 120;

/// The columns of standard output: those that `COLUMNS` says, else those of the terminal; as many as needed where it is
/// none.
pub(crate) fn columns() -> usize {
    let terminal = Term::stdout()
        .size_checked()
        .map(|(_, columns)| usize::from(columns));
    chosen(env::var("COLUMNS").ok().as_deref(), terminal)
}

fn chosen(variable: Option<&str>, terminal: Option<usize>) -> usize {
    match variable
        .and_then(|text| text.parse().ok())
        .filter(|columns| *columns > 0)
    {
        Some(columns) => NARROWEST.max(columns),
        None => terminal.map_or(AS_WIDE_AS_NEEDED, |columns| columns.clamp(NARROWEST, WIDEST)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_before_the_terminal_and_what_is_no_terminal_is_as_wide_as_needed() {
        assert_eq!(chosen(Some("80"), Some(200)), 80);
        assert_eq!(chosen(Some("150"), None), 150);
        assert_eq!(chosen(Some("20"), None), NARROWEST);
        assert_eq!(chosen(None, Some(80)), 80);
        assert_eq!(chosen(None, Some(300)), WIDEST);
        assert_eq!(chosen(None, None), AS_WIDE_AS_NEEDED);
        for useless in ["", "0", "wide", "-3"] {
            assert_eq!(chosen(Some(useless), Some(80)), 80);
        }
    }
}
