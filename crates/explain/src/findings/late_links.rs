//! Links that kept a longer distance than was asked for.

use ciphertax_records::{Finding, Run, Severity};
use ciphertax_stats::format::rounded;

use super::finding::finding;

/// Links that kept a longer distance than was asked for.
pub(super) fn late_links(run: &Run) -> impl Iterator<Item = Finding> {
    /// Microseconds at the median that are not worth a word.
    const PUNCTUAL_US: f64 = 100.0;
    let links = run
        .head
        .servers
        .iter()
        .filter_map(|server| Some((server, server.link.as_ref()?)));
    let late = links.filter(|(_, link)| link.lateness_median_us > PUNCTUAL_US);
    late.map(|(server, link)| {
        finding(
            "link-late",
            Severity::Suspicion,
            format!(
                "The link to {} was late by {} at the median, so every round trip took longer than asked for: this machine \
                 has too few CPUs for it, or too much else to do.",
                server.name,
                rounded::microseconds(link.lateness_median_us)
            ),
            format!(
                "{} packets, late by {} at the 99th percentile and {} at most",
                link.packets,
                rounded::microseconds(link.lateness_p99_us),
                rounded::microseconds(link.lateness_max_us)
            ),
        )
    })
}
