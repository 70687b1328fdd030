//! The headline: the answer to a study's question in one to three sentences that a manager can read.

mod clause;
mod cost;
mod ranking;
mod saving;

pub(crate) use clause::operation;

use ciphertax_base::format;
use ciphertax_model::Answer;
use ciphertax_records::{Finding, Run};
use ciphertax_stats::FEWEST_BLOCKS;

/// The answer in the shape that the study names; where that shape has nothing decided to say, what the first arm costs.
pub(crate) fn headline(run: &Run) -> String {
    let Some(baseline) = run.head.baseline() else {
        return nothing(run);
    };
    let shaped = match run.head.study.answer {
        Answer::Cost => Vec::new(),
        Answer::Ranking => ranking::sentences(run),
        Answer::Saving => saving::sentences(run),
        Answer::Sum => of_findings(run, "transit-and-rest"),
        Answer::Dose => {
            let mut sentences = of_findings(run, "cells-linear");
            sentences.extend(ranking::sentences(run));
            sentences
        }
    };
    let mut sentences = match shaped.is_empty() {
        true => cost::sentences(run),
        false => shaped,
    };
    sentences.truncate(MOST);
    match sentences.is_empty() {
        true => nothing(run),
        false => format!("Against {}, {}", baseline.name, capitalised(&sentences)),
    }
}

/// Sentences of a headline.
const MOST: usize = 3;

/// The first sentence of each finding of this kind.
fn of_findings(run: &Run, id: &str) -> Vec<String> {
    let found = run.results.findings.iter().filter(|finding| finding.id == id);
    let first = |finding: &Finding| finding.summary.split(". ").next().map(with_stop);
    found.filter_map(first).collect()
}

/// The first sentence as it is, since words go before it; the others with a capital letter, unless they begin with an arm.
fn capitalised(sentences: &[String]) -> String {
    let mut text = String::new();
    for sentence in sentences {
        match sentence.split_once(' ') {
            Some((word @ ("in" | "the" | "a" | "it"), rest)) if !text.is_empty() => {
                let (first, others) = word.split_at(1);
                text.push_str(&format!(" {}{others} {rest}", first.to_uppercase()));
            }
            _ if text.is_empty() => text.push_str(sentence),
            _ => text.push_str(&format!(" {sentence}")),
        }
    }
    text
}

fn with_stop(sentence: &str) -> String {
    format!("{}.", sentence.trim_end_matches('.'))
}

fn nothing(run: &Run) -> String {
    // More time gives more of what does not count.
    let slices: u32 = run
        .results
        .cells
        .iter()
        .map(|cell| cell.blocks * run.head.arms.len() as u32)
        .sum();
    let void = &run.results.void;
    if let Some(last) = void.last().filter(|_| void.len() > slices as usize) {
        return format!(
            "Nothing can be said: {} slices did not count, the last since {}.",
            void.len(),
            last.reason
        );
    }
    match run.results.cells.iter().map(|cell| cell.blocks).max() {
        None | Some(0) => "Nothing can be said: no block was measured completely.".into(),
        Some(blocks) if blocks >= FEWEST_BLOCKS => {
            "Nothing can be said: no arm was compared with the baseline.".into()
        }
        Some(blocks) => {
            let fewest = run.results.cells.iter().map(|cell| cell.blocks.max(1)).min();
            let times = f64::from(FEWEST_BLOCKS) / f64::from(fewest.unwrap_or(1));
            format!(
                "Nothing can be said yet: an interval needs {FEWEST_BLOCKS} blocks of a cell, and there are {blocks}. Run again with some \
                 {} (--time).",
                format::span(run.results.elapsed_s * times)
            )
        }
    }
}
