//! Where each phase begins and how long it takes, as bars.

use ciphertax_records::{ConnectionPhase, ConnectionRecord};
use ciphertax_stats::format::rounded;

use super::until_answer;
use crate::terminal::page::Page;

/// One bar a phase, over the time until the first answer.
pub(super) fn picture(page: &mut Page, record: &ConnectionRecord, width: usize) {
    let shown: Vec<&ConnectionPhase> = until_answer(record).collect();
    let whole: f64 = shown.iter().map(|phase| phase.wall_us.median).sum();
    let names = shown
        .iter()
        .map(|phase| phase.label.chars().count())
        .max()
        .unwrap_or(0);
    let times: Vec<String> = shown
        .iter()
        .map(|phase| rounded::microseconds(phase.wall_us.median))
        .collect();
    let longest = times.iter().map(|time| time.chars().count()).max().unwrap_or(0);
    // Two spaces before the name, after it, and between the bar and the time.
    let room = width.saturating_sub(names + longest + 6);
    if whole <= 0.0 || room < 10 {
        return;
    }
    let mut before = 0.0;
    for (phase, time) in shown.iter().zip(&times) {
        let bar = bar(before / whole, phase.wall_us.median / whole, room);
        let gap = " ".repeat(room.saturating_sub(bar.chars().count()));
        page.line(&format!(
            "  {:<names$}  {bar}{gap}  {time:>longest$}",
            phase.label
        ));
        before += phase.wall_us.median;
    }
}

/// A bar from a part of the room on, in eighths of a column; never nothing.
fn bar(begin: f64, length: f64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let start = ((begin * room as f64).floor() as usize).min(room - 1);
    let eighths = ((length * room as f64 * 8.0).round() as usize).clamp(1, (room - start) * 8);
    format!(
        "{}{}{}",
        " ".repeat(start),
        "█".repeat(eighths / 8),
        EIGHTHS[eighths % 8]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_begins_where_the_one_before_ended_and_is_never_nothing_nor_too_long() {
        assert_eq!(bar(0.0, 0.5, 10), "█████");
        assert_eq!(bar(0.5, 0.25, 10), "     ██▌");
        assert_eq!(bar(0.0, 0.0, 10), "▏");
        assert_eq!(bar(1.0, 0.0, 10), "         ▏");
        assert_eq!(bar(0.95, 0.2, 10), "         █");
    }
}
