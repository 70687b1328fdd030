//! `ciphertax studies`, and the studies that are built in and those of files.

use std::fs;
use std::path::Path;

use ciphertax_model::{Distances, FileSystem, Study, StudyText, Tunnel};
use ciphertax_report::json;
use ciphertax_wire::{Target, url_of_another_client};
use serde_json::Value;

use crate::arguments::StudiesArguments;
use crate::exit::Exit;
use crate::show;

pub(crate) const QUICK_NAME: &str = "quick";

/// What does TLS cost, in two minutes?
const QUICK: &str = include_str!("../studies/quick.toml");
/// The same of a MongoDB, which speaks no SQL.
const QUICK_ON_MONGODB: &str = include_str!("../studies/quick-mongodb.toml");

/// Each study's name and its file, which is called so.
macro_rules! studies {
    ($($name:literal)*) => { [(QUICK_NAME, QUICK), $(($name, include_str!(concat!("../studies/", $name, ".toml")))),*] };
}

/// By name, in the order they are listed.
const STUDIES: [(&str, &str); 36] = studies! {
    "mysql-tls-library" "mysql-tls-tunnel-wan" "mysql-connect-rate" "mysql-connect-distance"
    "mysql-tls-scenarios" "mysql-tls-versions" "mysql-tls-client-library" "mysql-tls-resumption"
    "mysql-post-quantum" "mysql-login"
    "mysql-tls-tde-library" "mysql-why" "mysql-at-rest-settings" "mysql-transit-and-rest" "at-rest-everywhere"
    "tpcc" "always-encrypted-tpcc" "stored-columns-tpcc" "columns-server-side"
    "mongodb-tls-connection" "mongodb-tls-versions" "mongodb-auth" "mongodb-login" "csfle-ycsb"
    "postgres-tls" "postgres-tls-versions" "postgres-login" "postgres-connect-distance"
    "postgres-post-quantum" "postgres-pooler"
    "cluster-encryption" "mysql-tls-galera" "mongodb-tls-cluster"
    "sqlcipher" "databases-tls"
};

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|(name, _)| *name)
}

/// The TOML of a study.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    let study = STUDIES.iter().find(|(known, _)| *known == name);
    study.map(|(_, text)| *text)
}

/// The name and the text of a study for this target. A file is named as the user has named it.
pub(crate) fn find(study: &str, target: Option<&Target>) -> Result<(String, String), String> {
    let built_in = match target {
        Some(Target::MongoDb(_)) if study == QUICK_NAME => Some(QUICK_ON_MONGODB),
        _ => text(study),
    };
    if let Some(text) = built_in {
        return Ok((format!("{study}.toml"), text.to_owned()));
    }
    if study.contains("://") || url_of_another_client(study).is_some() {
        return Err(
            "a target is given without a study; say ciphertax run STUDY TARGET, where ciphertax studies lists the studies"
                .into(),
        );
    }
    let path = Path::new(study);
    if !path.exists() && !study.contains('/') && !study.ends_with(".toml") {
        return Err(unknown(study));
    }
    match fs::read_to_string(path) {
        Ok(text) if text.trim_start().starts_with('{') => Err(format!(
            "{study} is JSON, and a study is TOML, as ciphertax studies quick shows; to see a run again, say ciphertax report"
        )),
        Ok(text) => Ok((study.to_owned(), text)),
        Err(error) => Err(format!("the study file {study} cannot be read: {error}")),
    }
}

/// What to say of a name that neither a study nor a file has.
pub(crate) fn unknown(study: &str) -> String {
    let known: Vec<&str> = names().collect();
    let unknown = ciphertax_model::unknown("study", study, &known);
    format!("{unknown}; for a file of your own give its path")
}

pub(crate) fn run(arguments: &StudiesArguments) -> Result<Exit, String> {
    let text = match &arguments.name {
        Some(name) => text(name).ok_or_else(|| unknown(name))?.to_owned(),
        None => {
            let studies = names().map(Listed::new).collect::<Result<Vec<_>, _>>()?;
            if arguments.json {
                json::render(&listed(&studies))
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
        let text = StudyText::new(name, text(name).unwrap_or_default());
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
            "{}\n  {}\n  measures   {} arms in {}, for at most {} s\n  needs      {}\n{scales}\n",
            study.name,
            study.question,
            study.arms.len(),
            match study.cells.len() {
                1 => "1 cell".to_owned(),
                cells => format!("{cells} cells"),
            },
            study.time_s,
            listed.needs(),
        )
    });
    let closing =
        "ciphertax run NAME measures a study; ciphertax studies NAME prints its file, to copy and change.\n";
    paragraphs.chain([closing.to_owned()]).collect()
}

fn listed(studies: &[Listed]) -> Vec<Value> {
    studies
        .iter()
        .map(|listed| {
            let study = &listed.study;
            let arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
            let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
            serde_json::json!({
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
        .collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use ciphertax_model::StudyText;

    #[test]
    fn every_study_is_good_at_every_scale_and_knows_its_name() {
        for (name, toml) in STUDIES.into_iter().chain([(QUICK_NAME, QUICK_ON_MONGODB)]) {
            let text = StudyText::new(name, toml);
            let scales = text.scales().unwrap();
            for scale in [None]
                .into_iter()
                .chain(scales.iter().map(|scale| Some(scale.as_str())))
            {
                let study = text.clone().scale(scale).study();
                let study = study.unwrap_or_else(|error| panic!("{scale:?}: {error}"));
                assert_eq!(study.name, name);
            }
        }
    }

    #[test]
    fn the_tde_study_has_scenarios_at_both_sizes_of_the_working_set_and_as_they_were_published() {
        let text = StudyText::new("tde", text("mysql-tls-tde-library").unwrap());
        let at = |scale| text.clone().scale(Some(scale)).study().unwrap();
        for (scale, scenarios) in [("laptop", 2), ("scenarios", 11)] {
            let study = at(scale);
            // Some 250 bytes a row with its index, which is what `storage` in a record says of it.
            let data_mb = study.dataset.rows() as f64 * 250.0 / 1e6;
            let ratios = study.cells.iter().map(|cell| {
                let memory_mb = study.storage(cell).memory_mb.unwrap();
                data_mb / f64::from(memory_mb)
            });
            let (large, small): (Vec<f64>, Vec<f64>) = ratios.partition(|ratio| *ratio > 1.0);
            let found = (large.len(), small.len());
            assert_eq!(found, (3 * scenarios, 3 * scenarios), "{scale}");
            assert!(large.iter().all(|ratio| (3.5..4.5).contains(ratio)), "{large:?}");
            assert!(small.iter().all(|ratio| (0.4..0.6).contains(ratio)), "{small:?}");
        }
        assert!(at("laptop").time_s <= 12.0 * 60.0);
        let published = at("published");
        let found = (published.dataset.tables, published.dataset.table_size);
        assert_eq!(found, (100, 4_000_000));
        let of_scenarios = published.cells.iter().filter(|cell| cell.load.connections == 50);
        assert_eq!(of_scenarios.count(), 33);
    }

    #[test]
    fn every_study_is_named_in_the_reference() {
        let reference = include_str!("../../../docs/studies.md");
        let named: Vec<&str> = reference.split('`').skip(1).step_by(2).collect();
        for (name, _) in STUDIES {
            assert!(named.contains(&name), "docs/studies.md does not name {name}");
        }
    }

    #[test]
    fn a_study_takes_ten_minutes_and_shows_all_that_was_published_at_the_published_scale() {
        for (name, toml) in STUDIES {
            let text = StudyText::new(name, toml);
            let study = text.study().unwrap();
            assert!(study.time_s <= 540.0, "{name} takes {} s", study.time_s);
            if !study.published.is_empty() {
                let published = text.scale(Some("published")).study().unwrap();
                let rows = toml.matches("[[published]]").count();
                assert_eq!(published.published.len(), rows, "{name}");
            }
        }
    }
}
