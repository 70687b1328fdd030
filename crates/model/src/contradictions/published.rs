//! What a published figure cannot be of.

use super::found::{Found, Path};
use super::place::check_place;
use crate::metric::Metric;
use crate::nearest::hint;
use crate::published::{Published, PublishedFigure};
use crate::study::Study;
use crate::workload::Workload;

pub(super) fn check_published(study: &Study, row: &Published, path: &Path, found: &mut Found) {
    check_place(study, Some(&row.arm), Some(&row.cell), path, found);
    if let Some(kind) = &row.kind {
        let kinds = Workload::Ycsb.descriptor().kinds;
        if !kinds.contains(&kind.as_str()) {
            found.add(
                path.key("kind"),
                format!("unknown kind {kind:?}{}", hint(kind, kinds)),
            );
        } else if !Metric::COMPARED_BY_KIND.contains(&row.metric) {
            let message = format!(
                "the {} of one kind of operation is not compared; leave kind out",
                row.metric
            );
            found.add(path.key("kind"), message);
        }
    }
    let cell = study.cells.iter().find(|cell| cell.name == row.cell);
    if cell.is_some_and(|cell| !cell.workload.makes_connections())
        && Metric::COMPARED_OF_CONNECTS.contains(&row.metric)
    {
        let message = format!(
            "cell {:?} makes no connections, which the {} is of",
            row.cell, row.metric
        );
        found.add(path.key("metric"), message);
    }
    match row.figure() {
        None => {
            let message = "a published figure is either change, or baseline and variant, or within";
            found.add(path.clone(), message);
        }
        // A ratio must be a positive number; a bound too.
        Some(PublishedFigure::Change(change)) if change > -1.0 && change.is_finite() => {}
        Some(PublishedFigure::Within(bound)) if bound > 0.0 && bound.is_finite() => {}
        Some(PublishedFigure::Change(_)) => {
            let message = "change must be a fraction above -1: -0.25 is a quarter less; baseline and variant must \
                           be positive";
            found.add(path.clone(), message);
        }
        Some(PublishedFigure::Within(_)) => {
            found.add(
                path.key("within"),
                "within must be a positive fraction: 0.05 is five percent",
            );
        }
    }
}
