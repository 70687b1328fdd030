//! `ciphertax quick`.

use ciphertax_lab::catalogue::{CATALOGUE, Protocol};
use ciphertax_model::Study;
use ciphertax_wire::Target;

use crate::arguments::QuickArguments;
use crate::built_in;
use crate::exit::Exit;
use crate::measuring::{Words, measure, option, quoted, target};

/// The study that answers on MongoDB what `quick` answers elsewhere.
const FOR_MONGODB: &str = "mongodb-tls-connection";

pub(crate) fn run(arguments: &QuickArguments) -> Result<Exit, String> {
    let mut study = Study::from_toml(built_in::QUICK).map_err(|error| error.to_string())?;
    if let Some(target) = target(&arguments.measuring)? {
        study = of_its_kind(study, &target)?;
    }
    study.certificate = arguments.certificate.unwrap_or(study.certificate);
    let words = Words {
        command: vec!["quick".to_owned()],
        options: option("--certificate", arguments.certificate).collect(),
    };
    measure(study, &arguments.measuring, None, words)
}

/// The study is the same for every database that speaks SQL, and about servers of the target's kind.
///
/// # Errors
/// When the target speaks none; names the study that answers there.
pub(crate) fn of_its_kind(mut study: Study, target: &Target) -> Result<Study, String> {
    if target.protocol() == Protocol::MongoDb {
        return Err(format!(
            "quick asks SQL; for MongoDB say: ciphertax run {FOR_MONGODB} {}",
            quoted(target.url())
        ));
    }
    let mut entries = CATALOGUE.iter();
    let entry = entries.find(|entry| entry.protocol() == Some(target.protocol()));
    study.server = entry.map_or(study.server, |entry| entry.name.to_owned());
    Ok(study)
}
