//! `--dry-run`: what a command that measures would do, and what it lacks.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use ciphertax_base::{SCHEMA, format};
use ciphertax_model::Study;
use ciphertax_records::{DRY_RUN_SCHEMA, DryRun, ServerToStart};
use ciphertax_report::json;
use ciphertax_runner::{Plan, Preview, TIME_OF_CELL_S, preview};
use ciphertax_stats::FEWEST_BLOCKS;

use crate::arguments::MeasuringArguments;
use crate::exit::Exit;
use crate::show;

/// Prints it. The process ends as the run would: with what says that nothing can be measured where something is missing.
pub(crate) fn dry_run(plan: &Plan, arguments: &MeasuringArguments) -> Result<Exit, String> {
    let mut preview = preview(plan).map_err(|error| error.to_string())?;
    preview.missing.extend(taken(arguments.out.as_deref()));
    if arguments.confirm {
        preview.at_most += Duration::from_secs_f64(TIME_OF_CELL_S * plan.study.cells.len() as f64);
    }
    let exit = match preview.missing.is_empty() {
        true => Exit::Done,
        false => Exit::Nothing,
    };
    let text = match arguments.output.json {
        true => json::render(&as_record(plan, preview)),
        false => in_words(plan, &preview, arguments.confirm),
    };
    show::print(&text).map(|()| exit)
}

fn taken(folder: Option<&Path>) -> Option<String> {
    let folder = folder.filter(|folder| folder.exists())?;
    Some(format!(
        "the folder {} exists; give another one with --out",
        folder.display()
    ))
}

fn in_words(plan: &Plan, preview: &Preview, confirms: bool) -> String {
    let study = &plan.study;
    let mut text = format!("{}: {}\n", study.name, study.question);
    let mut part = |title: &str, lines: Vec<String>| {
        let _ = write!(text, "\n{title}\n");
        lines.iter().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
    };
    match &plan.target {
        Some(target) => part("Your server (not contacted)", vec![target.to_string()]),
        None => part("Starts", preview.servers.iter().map(server).collect()),
    }
    let arms = study.measured_arms();
    part(
        "Arms",
        arms.iter().map(|arm| arm_in_words(study, &arm.name)).collect(),
    );
    part(
        "Cells",
        study
            .cells
            .iter()
            .map(|cell| cell_in_words(study, cell))
            .collect(),
    );
    part("Takes", takes(study, preview, confirms));
    if plan.target.is_some() {
        part("Takes of your server", takes_of_target(preview));
    }
    match preview.missing.as_slice() {
        [] => part(
            "Missing",
            vec!["nothing found (a dry run contacts no server)".into()],
        ),
        missing => part("Missing", missing.to_vec()),
    }
    text
}

/// Time, rows and connections.
fn takes(study: &Study, preview: &Preview, confirms: bool) -> Vec<String> {
    let tries = match confirms {
        true => ", trying what bounds each cell among it,",
        false => "",
    };
    let resolution = preview.resolution_at_most.map(|at_most| {
        format!(
            "before, it is found out how often the counter of the server's CPU moves, in {} at most; slices are as long as that needs, \
             and the least time with them",
            format::span(at_most.as_secs_f64())
        )
    });
    let into_each = match preview.servers.len() {
        0 | 1 => "",
        _ => " into each server that is asked for them",
    };
    let at_least = preview.at_least.as_secs_f64();
    let time = match at_least <= study.time_s {
        true => format!(
            "measuring takes {} at least, and {} at most{tries} unless the answer is precise earlier",
            format::span(at_least),
            format::span(preview.at_most.as_secs_f64())
        ),
        false => too_short(study.time_s, at_least),
    };
    let rows = match preview.rows {
        0 => "nothing to load".to_owned(),
        rows => format!("{} rows to load{into_each}", format::count(rows as f64)),
    };
    let load = format!("{rows}, {} at a time", connections(preview.connections));
    resolution.into_iter().chain([time, load]).collect()
}

/// What a run does to an account and its server: all of it is undone at its end, or by `ciphertax clean`.
fn takes_of_target(preview: &Preview) -> Vec<String> {
    let wrong = match preview.wrong_logins {
        0 => "no wrong password".to_owned(),
        1 => "1 login with a wrong password at most, as a proof (none with --no-wrong-logins)".to_owned(),
        many => {
            format!("{many} logins with a wrong password at most, as a proof (none with --no-wrong-logins)")
        }
    };
    let data = match SCHEMA.is_given() {
        true => format!("tables in the schema {SCHEMA}, which are removed afterwards; no others are written"),
        false => format!("a schema {SCHEMA} of its own, which is removed afterwards"),
    };
    let statements = match preview.prepared_statements {
        0 => None,
        count => Some(format!("{count} prepared statements at a time, at most")),
    };
    let settings = "no setting of the server: sessions set what they depend on for themselves";
    let others = [wrong, data, settings.to_owned()];
    statements.into_iter().chain(others).collect()
}

/// That the time is over before anything can be said.
fn too_short(time_s: f64, at_least_s: f64) -> String {
    let fit = (f64::from(FEWEST_BLOCKS) * time_s / at_least_s).floor();
    let blocks = match fit {
        1.0 => "1 block fits".to_owned(),
        fit => format!("{fit} blocks fit"),
    };
    format!(
        "in {} at most {blocks} of every cell, and fewer than {FEWEST_BLOCKS} say nothing; give it {} at least, with --time",
        format::span(time_s),
        format::span(at_least_s.ceil())
    )
}

/// `1 connection`
fn connections(count: u64) -> String {
    match count {
        1 => "1 connection".to_owned(),
        count => format!("{count} connections"),
    }
}

/// `mariadb, ecdsa-p256: plain, baseline again, tls1.3`
fn server(server: &ServerToStart) -> String {
    let embedded = match server.is_embedded {
        true => " (in ciphertax itself)",
        false => "",
    };
    format!("{}{embedded}: {}", server.name, server.arms.join(", "))
}

/// `tls: TLSv1.3, authentication = { method = "scram_sha_256" }`: an arm and what of it is not the default, as study files say it.
fn arm_in_words(study: &Study, name: &str) -> String {
    let Some(arm) = study.arms.iter().find(|arm| arm.name == name) else {
        return format!("{name}: the noise floor");
    };
    let baseline = match *arm == *study.baseline() {
        true => ", the baseline",
        false => "",
    };
    let keys = toml::Table::try_from(arm).unwrap_or_default();
    let others = keys
        .iter()
        .filter(|(key, _)| !["name", "transport"].contains(&key.as_str()));
    let others: String = others.map(|(key, value)| format!(", {key} = {value}")).collect();
    format!("{name}: {}{others}{baseline}", arm.transport)
}

fn cell_in_words(study: &Study, cell: &ciphertax_model::Cell) -> String {
    let load = match &cell.command {
        Some(command) => command.to_string().replace(char::is_control, " "),
        None => format!(
            "{}, {}",
            cell.workload.asks(),
            connections(cell.load.connections.into())
        ),
    };
    let nodes = study
        .node_link(cell)
        .map(|link| format!(", nodes {} ms apart", link.rtt_ms));
    let server = study.link(cell).map(|link| format!(", {} ms away", link.rtt_ms));
    let distance: String = nodes.into_iter().chain(server).collect();
    let arms: Vec<&str> = study.arms_of(cell).map(|arm| arm.name.as_str()).collect();
    let arms = match arms.len() == study.arms.len() {
        true => String::new(),
        false => format!(" ({})", arms.join(", ")),
    };
    format!("{}: {load}{distance}{arms}", cell.name)
}

/// The same as a record. Cells and arms are given as study files say them.
fn as_record(plan: &Plan, preview: Preview) -> DryRun {
    DryRun {
        schema: DRY_RUN_SCHEMA.to_owned(),
        tool: plan.tool.clone(),
        study: plan.study.name.clone(),
        question: plan.study.question.clone(),
        target: plan.target.as_ref().map(ToString::to_string),
        servers: preview.servers,
        arms: plan.study.measured_arms(),
        cells: plan.study.cells.clone(),
        rows: preview.rows,
        connections: preview.connections,
        prepared_statements: preview.prepared_statements,
        wrong_logins: preview.wrong_logins,
        at_least_s: preview.at_least.as_secs_f64(),
        at_most_s: preview.at_most.as_secs_f64(),
        resolution_at_most_s: preview.resolution_at_most.map(|time| time.as_secs_f64()),
        missing: preview.missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_which_too_few_blocks_fit_is_said_to_be_too_short() {
        let words = too_short(2.0, 6.0);
        assert!(words.contains("at most 1 block fits of every cell"), "{words}");
        assert!(words.contains("fewer than 5 say nothing"), "{words}");
        assert!(too_short(1.0, 6.0).contains("at most 0 blocks fit"), "{words}");
    }
}
