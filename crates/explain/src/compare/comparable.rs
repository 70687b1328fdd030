//! What of two runs can be compared: what was asked in the same way.
//!
//! Where it was asked, of which version and on which machine, may differ: that is what a comparison is about. Not of which
//! database, but which of MySQL's family.

use ciphertax_records::NotComparable;

use super::Named;
use crate::asked::{self, differing};

/// What of two runs can be compared.
pub(super) struct Comparable<'a> {
    /// Cells with their arms.
    pub(super) places: Vec<(&'a str, &'a str)>,
    pub(super) refused: Vec<NotComparable>,
}

/// What of the first run can be compared with another one, and of the rest why not.
pub(super) fn comparable<'a>(first: &Named<'a>, other: &Named<'a>, run: usize) -> Comparable<'a> {
    let (study, there) = (&first.run.head.study, &other.run.head.study);
    let mut refused = Vec::new();
    let mut refuse = |what: String, why: String| refused.push(NotComparable { run, what, why });
    let whole = [
        ("every cell", other_databases(first, other)),
        ("every arm", other_baseline(first, other)),
    ];
    if let Some((what, Some(why))) = whole.into_iter().find(|(_, why)| why.is_some()) {
        refuse(what.into(), why);
        return Comparable {
            places: Vec::new(),
            refused,
        };
    }
    let mut arms = Vec::new();
    for arm in study.variants() {
        match there.variants().find(|other| other.name == arm.name) {
            None => refuse(format!("arm {}", arm.name), absent_arm(other, &arm.name)),
            Some(same) => {
                match differing(
                    (first.name, &asked::of_arm(arm)),
                    (other.name, &asked::of_arm(same)),
                ) {
                    differs if differs.is_empty() => arms.push(arm.name.as_str()),
                    differs => refuse(format!("arm {}", arm.name), differs.join("; ")),
                }
            }
        }
    }
    let mut places = Vec::new();
    for cell in &study.cells {
        let Some(same) = there.cells.iter().find(|other| other.name == cell.name) else {
            refuse(
                format!("cell {}", cell.name),
                format!("it is not in {}", other.name),
            );
            continue;
        };
        let mut differs = differing(
            (first.name, &asked::of_cell(study, cell)),
            (other.name, &asked::of_cell(there, same)),
        );
        differs.extend(other_database(first, other, &cell.name));
        if !differs.is_empty() {
            refuse(format!("cell {}", cell.name), differs.join("; "));
            continue;
        }
        for arm in study
            .arms_of(cell)
            .filter(|arm| arms.contains(&arm.name.as_str()))
        {
            let here = format!("arm {} in cell {}", arm.name, cell.name);
            let Some(same_arm) = there.arms_of(same).find(|other| other.name == arm.name) else {
                refuse(here, format!("it is not measured in {}", other.name));
                continue;
            };
            let certificates = (first.name, &asked::of_certificates(study, cell, arm));
            match differing(
                certificates,
                (other.name, &asked::of_certificates(there, same, same_arm)),
            ) {
                differs if differs.is_empty() => places.push((cell.name.as_str(), arm.name.as_str())),
                differs => refuse(here, differs.join("; ")),
            }
        }
    }
    Comparable { places, refused }
}

/// Why nothing is comparable where the runs have no database in common.
fn other_databases(first: &Named<'_>, other: &Named<'_>) -> Option<String> {
    let (here, there) = (asked::of_run(first.run), asked::of_run(other.run));
    let is_another = !here.is_empty() && !there.is_empty() && !there.iter().any(|one| here.contains(one));
    let products = |named: &Named<'_>| asked::products(named.run);
    is_another.then(|| another_database((first.name, &products(first)), (other.name, &products(other))))
}

/// The same of one cell.
fn other_database(first: &Named<'_>, other: &Named<'_>, cell: &str) -> Option<String> {
    let of = |named: &Named<'_>| {
        let server = named.run.server_of(named.run.cell(cell)?.found)?;
        Some((asked::of_server(named.run, server)?, server.product.clone()))
    };
    let ((here, product), (there, other_product)) = of(first).zip(of(other))?;
    (here != there).then(|| another_database((first.name, &product), (other.name, &other_product)))
}

fn another_database((first, here): (&str, &str), (other, there): (&str, &str)) -> String {
    format!(
        "the database is {there} in {other} and {here} in {first}; costs of different databases are not compared"
    )
}

/// In what the baselines differ, which all arms are compared with.
fn other_baseline(first: &Named<'_>, other: &Named<'_>) -> Option<String> {
    let baseline = |named: &Named<'_>| named.run.head.study.arms.first().map(asked::of_arm);
    let differs = differing((first.name, &baseline(first)), (other.name, &baseline(other)));
    (!differs.is_empty()).then(|| format!("the baselines differ: {}", differs.join("; ")))
}

fn absent_arm(run: &Named<'_>, arm: &str) -> String {
    let left_out = run.run.head.left_out.iter().find(|left_out| left_out.arm == arm);
    match left_out {
        Some(left_out) => format!("it was left out in {}, because {}", run.name, left_out.reason),
        None => format!("it is not in {}", run.name),
    }
}
