//! Versions, host and settings of the measurement.

use ciphertax_records::{Run, ServerPlacement};
use ciphertax_stats::format;

use super::figure::Item;
use crate::describe;

/// How it was measured and what the figures mean.
pub(super) fn in_three_sentences(run: &Run) -> Vec<String> {
    vec![
        format!(
            "All arms ran the same load in slices of {}, one of every arm in each block in random balanced order, so \
             that drift of the machine fell on all alike.",
            slice_lengths(run)
        ),
        "A change costs if its 95 % interval excludes zero, it exceeds the noise floor (what the baseline differs from itself, \
         measured once more in the same blocks) and it is significant among all comparisons (Holm); it is no cost if the \
         interval ends below the margin, which is twice the precision asked for, or the floor; else it cannot be told."
            .to_owned(),
        "CPU time is that of whole processes, or of the load threads; every connection was held to what its arm says, and a \
         slice that broke a rule does not count."
            .to_owned(),
    ]
}

/// How long slices were: the shortest and the longest of all cells, where they differ.
fn slice_lengths(run: &Run) -> String {
    let lengths = run.results.cells.iter().filter_map(|cell| cell.slice_s);
    let [shortest, longest] = [
        lengths.clone().min_by(f64::total_cmp),
        lengths.max_by(f64::total_cmp),
    ]
    .map(|length| (100.0 * length.unwrap_or(run.head.study.slice_seconds())).round() / 100.0);
    match shortest == longest {
        true => format!("{longest} s"),
        false => format!("{shortest} to {longest} s"),
    }
}

/// Versions, host and settings of the measurement.
pub(super) fn method(run: &Run) -> Vec<Item> {
    let (host, study) = (&run.head.host, &run.head.study);
    let mut items = vec![
        Item::new("started", &run.head.started),
        Item::new(
            "tool",
            format!(
                "{} {} ({})",
                run.head.tool.name, run.head.tool.version, run.head.tool.commit
            ),
        ),
        Item::new("host", format!("{}, kernel {}", host.os, host.kernel)),
        Item::new(
            "machine",
            format!(
                "{}, {} CPUs, {} of memory, virtualization: {}",
                host.cpu,
                host.cpus,
                format::bytes(host.memory_bytes as f64),
                host.virtualization
            ),
        ),
        Item::new(
            "precision asked for",
            format!(
                "±{} CPU per operation, ±{} throughput, in at most {}",
                format::share(study.precision.cpu),
                format::share(study.precision.throughput),
                format::span(study.time_s)
            ),
        ),
        Item::new(
            "slices",
            format!(
                "{} each, arms in random balanced order, seed {}",
                slice_lengths(run),
                run.head.seed
            ),
        ),
    ];
    items.extend(run.head.servers.iter().map(|server| {
        let mut text = format!("{} {}", server.product, server.version);
        match server.placement {
            ServerPlacement::Embedded => text.push_str(" in the load threads"),
            _ => text.push_str(&format!(" at {}", server.address)),
        }
        if !server.tls_library.is_empty() {
            text.push_str(&format!(", {}", server.tls_library));
        }
        text.push_str(&describe::members_in_words(server));
        if let Some(link) = describe::link_in_words(server) {
            text.push_str(&format!("; {link}"));
        }
        Item::new(format!("{} {}", describe::server_word(run), server.name), text)
    }));
    items.extend(run.cells().map(|cell| {
        Item::new(
            format!("cell {}", cell.found.name),
            format!(
                "{}; {}; {} void",
                describe::load_in_words(cell),
                describe::load_threads(run, cell),
                cell.found.void_slices
            ),
        )
    }));
    items
}
