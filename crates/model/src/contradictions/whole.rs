//! What a study as a whole cannot be.

use std::collections::HashSet;

use super::found::{Found, Path};
use crate::arm::Arm;
use crate::dataset::Dataset;
use crate::study::{BASELINE_AGAIN, Cell, Placement, Precision, Study};
use crate::ycsb::YcsbTable;

pub(super) fn check_names(study: &Study, found: &mut Found) {
    if study.arms.len() < 2 {
        let message = "a comparison needs at least two arms: a baseline and a variant";
        found.add(Path::of("arm"), message);
    }
    if study.cells.is_empty() {
        found.add(Path::of("cell"), "there is no cell: nothing would be measured");
    }
    let arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    for (kind, names) in [("arm", arms), ("cell", cells)] {
        let mut seen = HashSet::new();
        for (index, name) in names.into_iter().enumerate() {
            let path = Path::of(kind).entry(index).key("name");
            if !seen.insert(name) {
                let message = format!("two {kind}s are named {name:?}; {kind} names must be unique");
                found.add(path, message);
            } else if name.trim().is_empty() || name.contains(char::is_control) {
                let message = format!("{name:?} is no name: it must be one line of text");
                found.add(path, message);
            } else if kind == "arm" && name == BASELINE_AGAIN {
                found.add(
                    path,
                    format!("the arm name {name:?} is taken by the noise-floor arm"),
                );
            }
        }
    }
}

pub(super) fn check_measuring(study: &Study, found: &mut Found) {
    // Not what a counter of the server's CPU makes of it, which has bounds of its own.
    let slice_s = study.slice_s.unwrap_or(Study::SHORT_SLICE_S);
    if !Study::SLICE_S.contains(&slice_s) {
        let (least, most) = Study::SLICE_S.into_inner();
        let message = format!("slice_s is {slice_s}; it must lie between {least} and {most} seconds");
        found.add(Path::of("slice_s"), message);
    }
    if !Study::TIME_S.contains(&study.time_s) {
        let message = format!(
            "time_s is {}; it must lie between 1 second and one day",
            study.time_s
        );
        found.add(Path::of("time_s"), message);
    }
    let precision = &study.precision;
    for (key, value) in [("cpu", precision.cpu), ("throughput", precision.throughput)] {
        if !Precision::HALF_WIDTH.contains(&value) {
            let (least, most) = Precision::HALF_WIDTH.into_inner();
            let message = format!("precision.{key} is {value}; it must lie between {least} and {most}");
            found.add(Path::of("precision").key(key), message);
        }
    }
    let dataset = &study.dataset;
    for (key, value, most) in [
        ("tables", dataset.tables, Dataset::MOST_TABLES),
        ("table_size", dataset.table_size, Dataset::MOST_ROWS),
    ] {
        if !(1..=most).contains(&value) {
            let message = format!("dataset.{key} is {value}; it must lie between 1 and {most}");
            found.add(Path::of("dataset").key(key), message);
        }
    }
    let table = &study.ycsb;
    for (key, value, most) in [
        ("record_count", table.record_count, Dataset::MOST_ROWS),
        ("field_count", table.field_count.into(), YcsbTable::MOST_FIELDS),
        ("field_length", table.field_length, YcsbTable::LONGEST_FIELD),
        ("batch_size", table.batch_size, YcsbTable::LARGEST_BATCH),
        ("load_threads", table.load_threads, YcsbTable::MOST_LOADERS),
    ] {
        if !(1..=most).contains(&value) {
            let message = format!("ycsb.{key} is {value}; it must lie between 1 and {most}");
            found.add(Path::of("ycsb").key(key), message);
        }
    }
    if table.record_bytes() > YcsbTable::LARGEST_RECORD {
        let message = format!(
            "records of {} bytes are too large; field_count times field_length must be at most {}",
            table.record_bytes(),
            YcsbTable::LARGEST_RECORD
        );
        found.add(Path::of("ycsb").key("field_length"), message);
    }
    if !Study::CHAIN_LENGTH.contains(&study.chain_length) {
        let (least, most) = Study::CHAIN_LENGTH.into_inner();
        let message = format!(
            "chain_length is {}; it must lie between {least} and {most}",
            study.chain_length
        );
        found.add(Path::of("chain_length"), message);
    }
}

/// A link, and what carries an arm, are processes of their own. On the one CPU of server and load they would be billed to
/// both.
pub(super) fn check_placement(study: &Study, found: &mut Found) {
    let of_arm = |arm: &Arm| Some(format!("the {} of arm {:?}", arm.is_carried_by()?, arm.name));
    let in_the_way = |cell: &Cell| match study.link(cell) {
        Some(_) => Some(format!("the link of cell {:?}", cell.name)),
        None => study.arms_of(cell).find_map(of_arm),
    };
    let what = study.cells.iter().find_map(in_the_way);
    if let (Placement::Together, Some(what)) = (study.placement, what) {
        let message = format!(
            "placement = \"together\" puts server and load on one CPU, but {what} needs a CPU of its own; take \
             placement = \"free\""
        );
        found.add(Path::of("placement"), message);
    }
}
