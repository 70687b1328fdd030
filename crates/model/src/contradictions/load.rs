//! What a load, or a program as the load, cannot be.

use super::found::{Found, Path};
use crate::load::Load;
use crate::study::{Cell, Study};

/// Ciphertax makes the load of every workload but `command`.
pub(super) fn check_engine_load(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let name = &cell.name;
    if cell.command.is_some() {
        let message = format!(
            "cell {name:?}: a command is run by workload = \"command\" alone, not by {:?}; leave one of them out",
            cell.workload.name()
        );
        found.add(path.key("command"), message);
    }
    if cell.load.is_none() {
        let message = format!(
            "cell {name:?}: load must say how many connections, from 1 to 100000: load = {{ connections = 8 }}"
        );
        found.add(path.key("load"), message);
    } else {
        check_load(name, &cell.load, study.slice_seconds(), &path.key("load"), found);
    }
}

pub(super) fn check_command(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let name = &cell.name;
    match &cell.command {
        None => {
            let message = format!(
                "cell {name:?}: the workload \"command\" needs a program; add command = {{ run = [\"sysbench\", …] }}"
            );
            found.add(path.key("workload"), message);
        }
        Some(command) => {
            for (key, problem) in command.problems() {
                found.add(path.key("command").key(key), format!("cell {name:?}: {problem}"));
            }
        }
    }
    if !cell.load.is_none() {
        let message = format!(
            "cell {name:?}: load says nothing of a command, which is a load of its own; leave it out and tell the program"
        );
        found.add(path.key("load"), message);
    }
    for arm in study.arms_of(cell) {
        if let Some(setting) = arm.tls.not_for_programs() {
            let message = format!(
                "cell {name:?}: arm {:?} sets tls.{setting}, which a program of your own cannot be held to; leave the \
                 arm out with arms = […]",
                arm.name
            );
            found.add(path.key("workload"), message);
        }
    }
}

fn check_load(cell: &str, load: &Load, slice_s: f64, path: &Path, found: &mut Found) {
    if !Load::CONNECTIONS.contains(&load.connections) {
        let (least, most) = Load::CONNECTIONS.into_inner();
        let message = format!("cell {cell:?}: connections must lie between {least} and {most}");
        found.add(path.key("connections"), message);
    } else if load
        .workers
        .is_some_and(|workers| !(1..=load.connections).contains(&workers))
    {
        let message = format!(
            "cell {cell:?}: workers must lie between 1 and connections, which is {}",
            load.connections
        );
        found.add(path.key("workers"), message);
    }
    if !Load::POLL_DELAY_US.contains(&load.poll_delay_us) {
        let most = Load::POLL_DELAY_US.end();
        let message = format!("cell {cell:?}: poll_delay_us must be at most {most}");
        found.add(path.key("poll_delay_us"), message);
    }
    check_pace(cell, load, slice_s, path, found);
}

fn check_pace(cell: &str, load: &Load, slice_s: f64, path: &Path, found: &mut Found) {
    if let Some(batch) = load.batch {
        if !Load::BATCH.contains(&batch) {
            let (least, most) = Load::BATCH.into_inner();
            let message = format!("cell {cell:?}: batch must lie between {least} and {most} operations");
            found.add(path.key("batch"), message);
        } else if batch < load.connections {
            let message = format!(
                "cell {cell:?}: a batch of {batch} keeps no {} connections busy; make it at least as large as connections",
                load.connections
            );
            found.add(path.key("batch"), message);
        }
    }
    let Some(rate) = load.rate else {
        return;
    };
    if load.batch.is_some() {
        let message = format!(
            "cell {cell:?}: batch asks for operations as fast as possible, rate for so many a second; leave one out"
        );
        found.add(path.key("rate"), message);
    } else if !Load::RATE.contains(&rate) {
        let (least, most) = Load::RATE.into_inner();
        let message =
            format!("cell {cell:?}: rate must lie between {least} and {most} operations per second");
        found.add(path.key("rate"), message);
    } else if f64::from(rate) * slice_s < 1.0 {
        let message = format!(
            "cell {cell:?}: at a rate of {rate} a second no operation falls into a slice of {slice_s} s; raise rate or \
             slice_s"
        );
        found.add(path.key("rate"), message);
    }
}
