//! `ciphertax studies`.

use ciphertax_model::{Distances, FileSystem, Study, StudyText, Tunnel};
use serde_json::{Value, json};

use crate::arguments::StudiesArguments;
use crate::exit::Exit;
use crate::{built_in, show};

pub(crate) fn run(arguments: &StudiesArguments) -> Result<Exit, String> {
    let text = match &arguments.name {
        Some(name) => built_in::text(name)
            .ok_or_else(|| built_in::unknown(name))?
            .to_owned(),
        None => {
            let studies = built_in::names()
                .map(Listed::new)
                .collect::<Result<Vec<_>, _>>()?;
            if arguments.json {
                json(&studies)?
            } else {
                list(&studies)
            }
        }
    };
    show::print(&text)?;
    Ok(Exit::Done)
}

/// A built-in study and what it needs.
struct Listed {
    study: Study,
    scales: Vec<String>,
}

impl Listed {
    fn new(name: &str) -> Result<Self, String> {
        let text = StudyText::new(name, built_in::text(name).unwrap_or_default());
        let read = || Ok((text.study()?, text.scales()?));
        read()
            .map(|(study, scales)| Self { study, scales })
            .map_err(|error: ciphertax_model::StudyError| error.to_string())
    }

    /// The private servers it measures, each once.
    fn servers(&self) -> Vec<String> {
        unique(self.study.server_specs().into_iter().map(|spec| spec.server))
    }

    /// The tunnels of its arms, each once.
    fn tunnels(&self) -> Vec<String> {
        let tunnels = self.study.arms.iter().filter_map(|arm| arm.tunnel);
        unique(tunnels.map(|tunnel| program(tunnel).to_owned()))
    }

    /// The file systems that its servers lie on, but for the machine's own, each once.
    fn file_systems(&self) -> Vec<String> {
        let arms = self.study.arms.iter();
        let kinds = arms.filter_map(|arm| arm.at_rest.file_system);
        let made = kinds.filter(|kind| *kind != FileSystem::Bind);
        unique(made.map(|kind| kind.name().to_owned()))
    }

    /// What it needs rights for, in words: links are made of network devices, which root has and who has namespaces of their own;
    /// images are mounted.
    fn rights(&self) -> Option<&'static str> {
        let mut arms = self.study.arms.iter();
        match self.makes_devices() {
            true => Some("root or own namespaces, for network devices"),
            false => arms
                .any(|arm| arm.at_rest.file_system.is_some_and(FileSystem::is_in_an_image))
                .then_some("root, for file systems"),
        }
    }

    fn makes_devices(&self) -> bool {
        let mut cells = self.study.cells.iter();
        cells.any(|cell| self.study.distances(cell) != Distances::default())
    }

    /// `mariadb, mysql-5.6; ssh; root, for file systems`
    fn needs(&self) -> String {
        let rights = self.rights().map(str::to_owned);
        let parts = [self.servers(), self.tunnels(), self.file_systems()].map(|names| names.join(", "));
        let parts = parts.into_iter().filter(|part| !part.is_empty()).chain(rights);
        parts.collect::<Vec<_>>().join("; ")
    }
}

fn list(studies: &[Listed]) -> String {
    let paragraphs = studies.iter().map(|listed| {
        let study = &listed.study;
        let scales = match &listed.scales[..] {
            [] => String::new(),
            scales => format!("  scales     {}\n", scales.join(", ")),
        };
        format!(
            "{}\n  {}\n  measures   {} arms in {} cells, for at most {} s\n  needs      {}\n{scales}\n",
            study.name,
            study.question,
            study.arms.len(),
            study.cells.len(),
            study.time_s,
            listed.needs(),
        )
    });
    let closing =
        "ciphertax run NAME measures a study; ciphertax studies NAME prints its file, to copy and change.\n";
    paragraphs.chain([closing.to_owned()]).collect()
}

fn json(studies: &[Listed]) -> Result<String, String> {
    let studies: Vec<Value> = studies
        .iter()
        .map(|listed| {
            let study = &listed.study;
            let arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
            let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
            json!({
                "name": study.name,
                "question": study.question,
                "time_s": study.time_s,
                "arms": arms,
                "cells": cells,
                "servers": listed.servers(),
                "tunnels": listed.tunnels(),
                "file_systems": listed.file_systems(),
                "needs_rights": listed.rights(),
                "scales": listed.scales,
            })
        })
        .collect();
    let text = serde_json::to_string_pretty(&studies).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

/// The program that makes a tunnel.
fn program(tunnel: Tunnel) -> &'static str {
    match tunnel {
        Tunnel::Ssh(_) => "ssh",
        Tunnel::Stunnel => "stunnel",
        Tunnel::Haproxy => "haproxy",
    }
}

fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}
