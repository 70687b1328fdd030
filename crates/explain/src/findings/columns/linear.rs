//! Whether the cost of encrypted columns is that of their cells.

use ciphertax_base::format::{fine, rounded};
use ciphertax_model::{ColumnEncryption, ColumnSelection};
use ciphertax_records::{Finding, Severity};

use super::super::finding::{finding, share};
use super::cost_per_cell::{CostPerCell, payer};

/// A part of the largest cost that a straight line may leave unexplained.
const STRAIGHT: f64 = 0.15;

/// For arms that differ in nothing but which columns they encrypt: the line through the origin that comes nearest to their costs,
/// and what it leaves.
pub(super) fn linear(costs: &[CostPerCell]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut done: Vec<&CostPerCell> = Vec::new();
    for cost in costs {
        if done.iter().any(|other| is_alike(cost, other)) {
            continue;
        }
        done.push(cost);
        let alike: Vec<&CostPerCell> = costs.iter().filter(|other| is_alike(cost, other)).collect();
        findings.extend(of_alike(&alike));
    }
    findings
}

fn is_alike(one: &CostPerCell, other: &CostPerCell) -> bool {
    let of_none = |columns: &ColumnEncryption| ColumnEncryption {
        columns: ColumnSelection::None,
        ..columns.clone()
    };
    one.metric == other.metric && of_none(&one.columns) == of_none(&other.columns)
}

fn of_alike(costs: &[&CostPerCell]) -> Option<Finding> {
    let first = costs.first().filter(|_| costs.len() > 1)?;
    let sum = |of: &dyn Fn(&CostPerCell) -> f64| costs.iter().map(|cost| of(cost)).sum::<f64>();
    // Least squares through the origin.
    let slope = sum(&|cost| cost.cells * cost.per_operation.value) / sum(&|cost| cost.cells * cost.cells);
    let left = |cost: &CostPerCell| (cost.per_operation.value - slope * cost.cells).abs();
    let most = costs
        .iter()
        .map(|cost| cost.per_operation.value)
        .fold(0.0, f64::max);
    let worst = costs.iter().map(|cost| left(cost)).fold(0.0, f64::max);
    let is_straight = worst <= STRAIGHT * most
        || costs.iter().all(|cost| {
            let on_line = slope * cost.cells;
            cost.per_operation.low <= on_line && on_line <= cost.per_operation.high
        });
    let answer = match is_straight {
        true => "the cost is that of its cells",
        false => "the cost is not that of the cells alone",
    };
    let points: Vec<String> = costs
        .iter()
        .map(|cost| {
            format!(
                "{} cells cost {}",
                fine(cost.cells),
                rounded::microseconds_between(cost.per_operation)
            )
        })
        .collect();
    Some(finding(
        "cells-linear",
        Severity::Cause,
        format!(
            "{}, {} CPU: {answer}: {} a cell, and no more than {} of the largest cost is left.",
            first.cell,
            payer(first.metric),
            rounded::microseconds(slope),
            share(worst, most)
        ),
        points.join("; "),
    ))
}
