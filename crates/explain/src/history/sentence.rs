//! What a history says in a sentence or two.

use ciphertax_records::{ChangePoint, History, HistoryFigure};
use ciphertax_stats::change_points::FEWEST_VALUES;
use ciphertax_stats::format;

pub(super) fn verdict(history: &History) -> String {
    let runs = history.runs.len();
    let span = span(history);
    if history.figures.is_empty() {
        return format!(
            "{} of {} have no figure in common.",
            counted(runs, "run"),
            history.study
        );
    }
    let longest = history
        .figures
        .iter()
        .map(|figure| figure.points.len())
        .max()
        .unwrap_or(0);
    if longest < FEWEST_VALUES {
        return format!(
            "{}{span} {} too few to say whether a figure changed: among fewer than {FEWEST_VALUES}, chance makes a change too \
             easily.",
            counted(runs, "run"),
            if runs == 1 { "is" } else { "are" }
        );
    }
    let changed: Vec<&HistoryFigure> = (history.figures.iter())
        .filter(|figure| !figure.changes.is_empty())
        .collect();
    let (told, too_short): (Vec<&HistoryFigure>, Vec<&HistoryFigure>) =
        (history.figures.iter()).partition(|figure| figure.smallest_shift.is_some());
    let of = counted(told.len(), "figure");
    let untold = match too_short.len() {
        0 => String::new(),
        1 => " 1 figure has too few runs to tell.".into(),
        several => format!(" {several} figures have too few runs to tell."),
    };
    let Some(first) = changed.first() else {
        return format!(
            "No change was found in {of} over {runs} runs{span}{}.{untold}",
            unseen(&told)
        );
    };
    let largest = first.changes.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    let which = largest.map_or_else(String::new, |change| {
        largest_change(history, first, change, changed.len() > 1)
    });
    format!(
        "{} of {of} changed over {runs} runs{span}.{which}{untold}",
        changed.len()
    )
}

/// `; with so many, shifts of less than about 1.2 to 3.4 % may go unseen`
fn unseen(figures: &[&HistoryFigure]) -> String {
    let shifts = || figures.iter().filter_map(|figure| figure.smallest_shift);
    let Some((least, most)) = shifts().reduce(f64::min).zip(shifts().reduce(f64::max)) else {
        return String::new();
    };
    let about = match [least, most].map(format::share_of) {
        [least, most] if least == most => most,
        [least, most] => format!("{} to {most}", least.trim_end_matches(" %")),
    };
    format!("; with so many, shifts of less than about {about} may go unseen")
}

fn size(change: &ChangePoint) -> f64 {
    change.shift.value.ln_1p().abs()
}

/// ` Most: the server CPU per operation of tls1.3 in oltp_point_select, from +28.1 % to +41.3 % with the run of 2026-05-12, when
/// the server became MariaDB 10.11.19.`
fn largest_change(history: &History, figure: &HistoryFigure, change: &ChangePoint, several: bool) -> String {
    let [before, after] = [&change.before, &change.after].map(|level| format::change(level.value));
    let most = if several { "Most: the" } else { "The" };
    let since = history.began(change.run);
    let when = match change.differs.as_slice() {
        [] => ", though nothing that is recorded differs".to_owned(),
        [first, rest @ ..] => {
            let what = match first.what.as_str() {
                "ciphertax" => first.what.clone(),
                what => format!("the {what}"),
            };
            let became = match &first.after {
                Some(after) => format!(", when {what} became {after}"),
                None => format!(", when {what} went away"),
            };
            match rest.len() {
                0 => became,
                more => format!(
                    "{became} ({more} more {})",
                    if more == 1 {
                        "thing differs"
                    } else {
                        "things differ"
                    }
                ),
            }
        }
    };
    format!(
        " {most} {} of {} in {}, from {before} to {after} with the run of {since}{when}.",
        figure.metric, figure.arm, figure.cell
    )
}

/// ` from 2026-01-02 to 2026-05-12`
fn span(history: &History) -> String {
    match history.runs.len() {
        0 | 1 => String::new(),
        runs => format!(" from {} to {}", history.began(0), history.began(runs - 1)),
    }
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
