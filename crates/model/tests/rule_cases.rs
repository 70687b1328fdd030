//! A study of which nothing is refused, changes of it, and the reference of what is refused: for the tests of all rules, which
//! include this file by its path.

use std::{env, fs};

/// Nothing of it is refused.
pub(crate) const STUDY: &str = r#"name = "small"
question = "What does TLS cost?"
time_s = 10

[[arm]]
name = "plain"
transport = "plain"

[[arm]]
name = "tls"
transport = "tls1.3"

[[cell]]
name = "near"
workload = "oltp_point_select"
load = { connections = 8 }
"#;

/// The cases of a table, a line each; a line that is indented goes on with the one before.
pub(crate) fn cases(table: &str) -> Vec<String> {
    table
        .trim()
        .replace("\n    ", " ")
        .lines()
        .map(str::to_owned)
        .collect()
}

/// The study after changes: ` ; ` parts replacements, ` ¶ ` is a new line, and what has no arrow follows `transport = "tls1.3"`.
pub(crate) fn changed(changes: &str) -> String {
    let changes = changes.replace("¶ ", "¶").replace(" ¶", "\n");
    let changes = changes.split(" ; ").filter(|change| !change.is_empty());
    changes.fold(STUDY.to_owned(), |text, change| {
        let after_tls = format!("transport = \"tls1.3\" ⇒ transport = \"tls1.3\"\n{change}");
        let change = if change.contains('⇒') {
            change
        } else {
            &after_tls
        };
        let (from, to) = change.split_once('⇒').unwrap();
        let from = from.trim_end_matches(' ');
        assert!(text.contains(from), "{from} is not in {text}");
        text.replacen(from, to.trim_start_matches(' '), 1)
    })
}

/// Holds a table of the reference of what is refused; `CIPHERTAX_WRITE_DOCS` writes it anew.
pub(crate) fn hold(heading: &str, table: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/refusals.md");
    let text = fs::read_to_string(path).unwrap();
    let begin = text.find(heading).unwrap();
    let begin = begin + text[begin..].find("|---|---|\n").unwrap() + 10;
    let end = text[begin..]
        .find("\n\n")
        .map_or(text.len(), |end| begin + end + 1);
    if env::var_os("CIPHERTAX_WRITE_DOCS").is_some() {
        fs::write(path, format!("{}{table}{}", &text[..begin], &text[end..])).unwrap();
    } else {
        assert_eq!(
            &text[begin..end],
            table,
            "write it anew with CIPHERTAX_WRITE_DOCS=1"
        );
    }
}
