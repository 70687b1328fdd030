//! What all outputs of a history say in the same words.

use ciphertax_records::{ChangePoint, Differs, History, HistoryFigure, NotInHistory};
use ciphertax_stats::format;

/// Every version of the history, in the order they first appear; outputs name them by their [`letter`].
pub(crate) fn versions(history: &History) -> Vec<&str> {
    let points = history.figures.iter().flat_map(|figure| &figure.points);
    let mut seen: Vec<(usize, &str)> = points.map(|point| (point.run, point.version.as_str())).collect();
    seen.sort();
    let mut versions = Vec::new();
    for (_, version) in seen {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    versions
}

/// A, B, … Z, A2, …
pub(crate) fn letter(version: usize) -> String {
    let letter = char::from(b'A' + (version % 26) as u8);
    match version / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{}", round + 1),
    }
}

/// What is said of a figure that did not change.
pub(crate) fn unchanged(figure: &HistoryFigure) -> String {
    match figure.smallest_shift {
        None => "too few runs to tell".into(),
        Some(shift) => format!(
            "no change found; less than {} may go unseen",
            format::share_of(shift)
        ),
    }
}

/// `from +28.1 % [27.4, 28.8] to +41.3 % [40.1, 42.5] with the run of 2026-05-12`
pub(crate) fn change_in_words(history: &History, change: &ChangePoint) -> String {
    format!(
        "from {} to {} with the run of {}",
        format::change_with_interval(change.before),
        format::change_with_interval(change.after),
        history.began(change.run)
    )
}

/// `server: MariaDB 10.11.14 → MariaDB 10.11.19`
pub(crate) fn differs_in_words(differs: &Differs) -> String {
    let text = |value: &Option<String>| match value.as_deref() {
        None => "none".to_owned(),
        Some("") => "empty".to_owned(),
        Some(value) => value.to_owned(),
    };
    format!(
        "{}: {} → {}",
        differs.what,
        text(&differs.before),
        text(&differs.after)
    )
}

/// How changes are found, and how often one is found where there is none.
pub(crate) fn method(history: &History) -> String {
    format!(
        "Every figure is an arm's cost against the baseline of the same run. Changes are found by E-divisive over all figures at \
         once: in a history without any, one is found in {} of cases at most. A slow drift counts as a change.",
        format::share(history.false_alarms)
    )
}

/// True if there are runs enough for a change to be found.
pub(crate) fn is_long_enough(history: &History) -> bool {
    history
        .figures
        .iter()
        .any(|figure| figure.smallest_shift.is_some())
}

/// `2026-01-02T03:04:05Z` without its seconds, as people write it; any other text as it is.
pub(crate) fn to_the_minute(timestamp: &str) -> String {
    match timestamp.split_once('T') {
        Some((date, time)) if time.ends_with('Z') && time.is_char_boundary(5) => {
            format!("{date} {} UTC", &time[..5.min(time.len())])
        }
        _ => timestamp.into(),
    }
}

/// What is left out, and why; where it is of several runs for the same reason, once.
pub(crate) fn left_out(history: &History) -> Vec<NotInHistory> {
    let together = history.left_out.chunk_by(|one, next| one.reason == next.reason);
    let once = |rows: &[NotInHistory]| NotInHistory {
        folder: match rows {
            [first, .., last] => format!("{} runs, {} to {}", rows.len(), first.folder, last.folder),
            rows => rows.iter().map(|row| row.folder.as_str()).collect(),
        },
        reason: rows[0].reason.clone(),
    };
    together.map(once).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_letters_without_end() {
        assert_eq!([0, 25, 26, 60].map(letter), ["A", "Z", "A2", "I3"]);
    }
}
